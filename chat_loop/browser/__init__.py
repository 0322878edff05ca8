"""The full-screen session browser: the screen and keys, the list, and the preview."""
