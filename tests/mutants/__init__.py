"""Known bugs, put back one by one: each must be caught by the tests that it names."""
