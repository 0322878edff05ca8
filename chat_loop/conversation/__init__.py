"""The live end of a chain: the open session, its compaction, and how to resume an old one."""
