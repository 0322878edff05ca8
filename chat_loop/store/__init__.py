"""The sessions of a folder on an object store."""
