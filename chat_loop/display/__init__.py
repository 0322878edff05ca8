"""The only door to the terminal's output: events and values become text here."""
