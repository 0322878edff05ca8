"""Tests of `chat_loop/store/`."""
