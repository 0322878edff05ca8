"""The wording of the seen profile: the author of the extractor may look at what fails here, and
learn from it.

Written independently of `wording_unseen`: other phrasings, topics, names and small talk.
`wording.py` says what the signs in the texts mean.
"""
