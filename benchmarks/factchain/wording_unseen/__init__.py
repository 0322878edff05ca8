"""The wording of the unseen profile: the author of the extractor never looks at it or at its
failures.

Written independently of `wording_seen`: other phrasings, topics, names and small talk. The facts
that the program keeps from these talks are those it keeps from any talk that nobody prepared it
for. `wording.py` explains the marks in the texts.
"""
