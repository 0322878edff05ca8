"""Sessions on disk: the file format (pure) and SessionManager, the only code that writes
transcripts.
"""
