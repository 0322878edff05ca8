"""Commands: a registry, and a file per family. A command is a function and its docstring is its
help.
"""
