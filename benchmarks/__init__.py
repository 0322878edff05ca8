"""Benchmarks of the program, with goals and committed results."""
