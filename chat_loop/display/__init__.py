"""Terminal output: turns events and values into text."""
