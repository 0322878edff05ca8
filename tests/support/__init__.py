"""Doubles and helpers that several test files use."""
