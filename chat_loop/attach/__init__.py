"""Files that a query names: `@path` found in what was typed, and read as texts and images."""
