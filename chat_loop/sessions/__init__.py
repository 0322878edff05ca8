"""Sessions on disk: the file format (pure), and SessionManager, which begins, reads, seals and
renames transcripts. `export/storing.py` adds those that come from elsewhere.
"""
