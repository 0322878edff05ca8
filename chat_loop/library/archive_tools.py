"""The tools with which a model reads and searches the archive, as the model sees them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from chat_loop.values import ToolSpec

READ = "session_archive_read"
SEARCH = "archive_search"
TOOLS = {
    spec.name: spec
    for spec in msgspec.json.decode(
        Path(__file__).with_suffix(".json").read_bytes(), type=tuple[ToolSpec, ...]
    )
}
"""The tools by name."""
