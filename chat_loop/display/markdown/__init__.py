"""Renders the markdown of a reply for a terminal while the reply streams.

With each piece, markdown-it-py parses the last, growing block again. The part that later text
cannot change is printed. Printed text is never touched again: nothing is drawn twice, and resizing
the terminal does no harm. The output depends only on the text, not on how it was cut into pieces.
"""
