"""The results of searches in long conversations by words, by meaning, and by both."""
