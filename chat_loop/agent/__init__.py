"""An agent: a name, a system prompt, tools, and a provider behind one visible retry loop."""
