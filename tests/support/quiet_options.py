"""Options of a conversation that makes no requests of its own."""

from __future__ import annotations

from msgspec.structs import replace

from chat_loop.conversation.conversation_options import Options

QUIET = replace(Options(), acknowledge=False, on_exit="later", attach_from_archive=False)
