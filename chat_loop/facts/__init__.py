"""What is exact in a text, found by code: values, and the sentences that decide, rule, ask for or
hold something.
"""
