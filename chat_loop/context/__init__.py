"""What the model sees, decided by pure functions. The acts are few: a summary call, its background,
the archive.
"""
