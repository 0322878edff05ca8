"""Embedded models: the catalogue of what can be installed, the installation, and where the files
live.
"""
