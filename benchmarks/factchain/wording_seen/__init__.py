"""The wording of the seen profile: the author of the extractor may look at its failures and learn
from them.

Written independently of `wording_unseen`: other phrasings, topics, names and small talk.
`wording.py` explains the marks in the texts.
"""
