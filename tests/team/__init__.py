"""Tests of `chat_loop/team/`."""
