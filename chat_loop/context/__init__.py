"""The model's context, decided by pure functions. The one act is the summary call."""
