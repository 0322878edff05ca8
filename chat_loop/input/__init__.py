"""The line editor: pastes, history, key bindings, completion."""
