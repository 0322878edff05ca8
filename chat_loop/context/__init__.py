"""Pure functions that decide the model's context. Only the summary call has side effects."""
