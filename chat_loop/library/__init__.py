"""The sessions of a folder as a whole: everything here is derived from the files."""
