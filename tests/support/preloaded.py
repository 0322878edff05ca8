"""What a forked program would import or collect again: import it once, and keep it out of the
garbage collector, whose passes copy the pages that a program shares with its parent.
"""

from __future__ import annotations

import gc
import sqlite3
import tomllib

import anthropic
import anyio._backends._asyncio
import anyio.streams.tls
import h11
import httpcore2
import mcp
import openai
import rich.console
import rich.padding
import rich.panel
import rich.text
import tiktoken
import truststore
import yaml

import chat_loop.agent.mcp_servers
import chat_loop.cli
import chat_loop.config
import chat_loop.context.ledger
import chat_loop.context.summary
import chat_loop.conversation.continuing
import chat_loop.headless
import chat_loop.input.composer
import chat_loop.interactive
import chat_loop.library.archive
import chat_loop.library.index
import chat_loop.library.library
import chat_loop.library.refresh
import chat_loop.library.search
import chat_loop.providers.wire
import chat_loop.subcommands.sessions
import chat_loop.tokens
import tests.support.fork_server

__all__ = ["anthropic", "anyio", "chat_loop", "h11", "httpcore2", "mcp", "openai", "rich"]
__all__ += ["sqlite3", "tests", "tiktoken", "tomllib", "truststore", "yaml"]

chat_loop.config.parse(b"models: {m: {window: 32000}}", "a config")  # msgspec looks at its types
chat_loop.providers.wire.http_client(openai, "http://127.0.0.1:1")  # reads the certificates
chat_loop.tokens.TokenCounter().load()

gc.collect()
gc.freeze()
