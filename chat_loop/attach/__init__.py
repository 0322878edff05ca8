"""Files that a query names: `@path` found in what was typed, and read as texts and images."""

LONGEST = 1_000
"""Characters: a longer word is no path."""
OPENERS = "([{<\"'“„«‘"
"""What a path may stand behind, beside a blank."""
