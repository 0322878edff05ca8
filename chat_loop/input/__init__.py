"""The parts of the line editor: what is pasted, what is remembered, what the keys do, what is
completed.
"""
