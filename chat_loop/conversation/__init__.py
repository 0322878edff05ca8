"""The live end of a chain: the open session, its compaction, and the way an old one is resumed."""
