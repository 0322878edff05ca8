"""An agent: a name, a system prompt, and a provider that it asks with one visible retry loop."""
