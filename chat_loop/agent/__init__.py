"""An agent: a name, a system prompt, tools, and a provider that it asks with one visible retry
loop.
"""
