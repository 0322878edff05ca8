"""Markdown of replies as a terminal shows it, while it streams.

What is printed is never touched again: a line is printed as far as it is certain, and what may
still turn out to be markup waits until it is decided, at most `inline.FARTHEST` characters. So
nothing has to be drawn twice, a change of the terminal's size disturbs nothing, and what comes out
depends on the text alone, not on the pieces it came in.
"""
