"""Commands: a registry, and a file per family. The docstring of a command is its help."""
