"""What the server receives of an exchange after each way of going on.

`python -m tests.continuing.test_what_is_carried` prints the table.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.chats import WIRES, Asked, Chats, Step, Wire, call
from tests.support.images import png

WINDOWS = (4_000, 16_000, 128_000)
KINDS = ("query", "reply", "call", "result", "text file", "image", "reference")
WORDS = KINDS[:-1]
BLOCK = ("query", "text file", "image", "reference")
EXPECTED: dict[str, tuple[str, ...]] = {
    "next": WORDS,
    "fork": WORDS,
    "resume --full": WORDS,
    "-c -p": WORDS,
    "resume --last": (*WORDS, "reference"),
    "compact": BLOCK,
    "uncompact": WORDS,
    "automatic": BLOCK,
}
TALK = "The crane is green and the tide is low today, as it was before. "


def received(asked: Asked) -> tuple[str, ...]:
    """Return the kinds of which a request has something."""
    text = asked.text
    found = {
        "query": "pier 731" in text,
        "reply": "assistant: Noted, berth" in text,
        "call": 'call: read_file {"path": "notes.txt"}' in text,
        "result": "result: the port is 5150" in text,
        "text file": "lamp 953" in text or "log.txt (" in text,
        "image": "image" in asked.messages or "photo.png (image" in text,
        "reference": re.search(r"\[1\.1\b", text) is not None,
    }
    return tuple(kind for kind in KINDS if found[kind])


def table(folder: Path, wire: Wire, window: int) -> dict[str, tuple[str, ...]]:
    """Return what the server received by way."""
    with Chats(folder, wire, window=window) as chats:
        model = {"window": window, "images": True}
        chats.configure(
            agent={"tools": ["read_file"]},
            models={"test-model": model},
            restoration={"acknowledge": False},
        )
        (chats.project / "notes.txt").write_text("the port is 5150\n")
        (chats.project / "log.txt").write_text("the lamp 953 is lit\n")
        (chats.project / "photo.png").write_bytes(png(8, 8))
        chats.replies["pier 731"] = [call("read_file", path="notes.txt"), "Noted, berth 842."]
        rows: dict[str, tuple[str, ...]] = {}

        def play(name: str, *steps: Step) -> None:
            rows[name] = received(chats.play(*steps, "exit").requests[-1])

        play("next", "We moor at pier 731. @log.txt @photo.png", "And now?")
        play("fork", "/resume session-1 --full", "/fork", "And now?")
        play("resume --full", "/resume session-1 --full", "And now?")
        printed = chats.run("-c", "-p", "And now?", "--model", chats.model, "--tools", "read_file")
        rows["-c -p"] = received(printed.requests[-1])
        play("resume --last", "/resume session-1 --last 2", "And now?")
        talk = [f"{number} {TALK}" for number in range(5)]
        play("compact", "/resume session-1 --full", *talk, "/compact --force", "And now?")
        play(
            "uncompact",
            *("/resume session-1 --full", *talk, "/compact --force", "/uncompact", "And now?"),
        )
        chats.configure(
            agent={"tools": ["read_file"]},
            models={"test-model": model},
            restoration={"acknowledge": False},
            context={"max_history_messages": 12},
            auto_compact={"preserve_recent": 2},
        )
        play("automatic", "/resume session-1 --full", *talk, *talk, "And now?")
    return rows


@pytest.mark.slow
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("wire", WIRES)
def test_what_is_carried(tmp_path: Path, wire: Wire, window: int) -> None:
    assert table(tmp_path, wire, window) == EXPECTED


if __name__ == "__main__":
    for wire in WIRES:
        for window in WINDOWS:
            with tempfile.TemporaryDirectory() as folder:
                sys.stdout.write(f"{wire}, {window:,} tokens\n")
                for way, kinds in table(Path(folder), wire, window).items():
                    sys.stdout.write(f"  {way:15} {', '.join(kinds)}\n")
