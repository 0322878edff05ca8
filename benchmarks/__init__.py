"""What the program costs, measured in one run and printed as ratios."""
