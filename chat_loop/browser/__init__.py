"""The session browser: `state` decides and `view` draws, both pure; `app` is the terminal."""
