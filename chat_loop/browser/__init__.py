"""The session browser: a full screen to find a session in, read its preview, and resume, edit or
throw it away.

`browsing` and `keys` decide (state, and what a key makes of it), `table`, `pane` and `frame` draw,
all pure; `app` is the terminal, `previews` what is read behind it.
"""
