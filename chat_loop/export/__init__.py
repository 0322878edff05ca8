"""Exports sessions as one document in markdown, JSON or HTML, and imports sessions."""
