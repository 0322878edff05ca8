"""The library: what all sessions of a folder come to. Everything here is derived from the files and
can be rebuilt.
"""
