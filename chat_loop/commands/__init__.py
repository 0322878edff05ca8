"""Commands: a registry, and a file per family; a function's docstring is its help."""
