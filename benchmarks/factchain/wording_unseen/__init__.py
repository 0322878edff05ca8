"""The wording of the unseen profile: the author of the extractor never looks at it, nor at what
fails here.

Written independently of `wording_seen`: other phrasings, topics, names and small talk. What the
program keeps of these talks is what it keeps of talks that nobody prepared it for. `wording.py`
says what the signs in the texts mean.
"""
