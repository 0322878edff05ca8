"""Embedded models: what can be installed, the installation, and where the files live."""
