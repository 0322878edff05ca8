"""An agent: a name, a system prompt, tools, and a provider behind one retry loop."""
