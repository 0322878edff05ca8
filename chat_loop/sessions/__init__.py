"""Sessions on disk: the file format (pure), and SessionManager, which writes it."""
