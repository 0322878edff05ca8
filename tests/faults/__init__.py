"""Fault trials: `python -m tests.faults --trials N --seed S`. docs/reliability.md has the results."""
