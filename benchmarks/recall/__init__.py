"""What is found of long conversations by their words, by what they mean, and by both."""
