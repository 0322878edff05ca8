"""The live end of a chain: the session that is open, how it is compacted, and how an old one is
taken up again.
"""
