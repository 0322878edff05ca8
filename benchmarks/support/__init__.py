"""Helpers that benchmarks share with each other and with the tests."""
