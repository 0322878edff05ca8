"""Markdown of replies as a terminal shows it, while it streams.

markdown-it-py reads the block that still grows again with each piece, and what no more text can
change is printed. What is printed is never touched again: nothing is drawn twice, a change of the
terminal's size disturbs nothing, and what comes out depends on the text alone, not on the pieces it
came in.
"""
