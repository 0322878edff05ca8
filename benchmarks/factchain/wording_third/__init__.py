"""The wording of the third profile: two languages that no table in the program ever listed fully.

It was written before the ledger was rebuilt, and nobody tunes on it. `wording.py` explains the
marks in the texts.
"""
