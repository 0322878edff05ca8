"""The only door to the terminal's output: events and values become text here, and nothing else
prints.
"""
