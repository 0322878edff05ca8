"""The project's memory: facts that hold across conversations, in a readable file, given to the
model.
"""
