"""Sessions as one document for others, markdown, JSON or an HTML page, and the way back."""
