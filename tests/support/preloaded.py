"""What a forked program would import or collect again: import it once, and keep it out of the
garbage collector, whose passes copy the pages that a program shares with its parent.
"""

from __future__ import annotations

import gc
import sqlite3
import tomllib

import anthropic
import mcp
import openai
import rich.console
import rich.padding
import rich.panel
import rich.text
import tiktoken

import chat_loop.cli
import chat_loop.headless
import chat_loop.interactive
import chat_loop.library.library
import tests.support.fork_server

__all__ = ["anthropic", "chat_loop", "mcp", "openai", "rich", "sqlite3", "tests"]
__all__ += ["tiktoken", "tomllib"]

gc.collect()
gc.freeze()
