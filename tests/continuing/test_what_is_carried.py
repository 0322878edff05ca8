"""What the server receives of an exchange after each way of going on, and who gets it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.chats import WIRES, Asked, Chats, Step, Wire, call, field
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
WAYS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "resume": ((), ("/resume 1",)),
    "resume --quick": ((), ("/resume 1 --quick",)),
    "resume --summary": ((), ("/resume 1 --summary",)),
    "resume --full": ((), ("/resume 1 --full",)),
    "-c": (("-c",), ()),
    "-r": (("-r", "session-1"), ()),
    "auto_resume": ((), ()),
    "-c -p": (("-c", "-p", "And now?"), ()),
    "/fork": (("-c",), ("/fork 1.1",)),
    "/rewind": (("-c",), ("/rewind 1.2",)),
    "/undo": (("-c",), ("/undo",)),
    "compact": (("-c",), ("/compact",)),
    "/uncompact": (("-c",), ("/compact", "/uncompact")),
    "/merge": ((), ("/merge session-2 session-3",)),
}
"""The options and the lines of each way to go on with a session of two messages."""
BLOCKS = {"resume --summary": 1, "compact": 0, "/merge": 0}
"""The ways that begin with a block, and how many messages are sent word for word beside it."""
WITHOUT_LAST = ("/rewind", "/undo", "/fork")
"""The ways after which the last of two messages is not sent."""
SAID = ("We moor at pier 731.", "The lamp is 953.", "The crane is green.", "The tide is low.")
NOT_SHOWN = ("-c -p", "/merge")
"""The ways after which the last exchange is not on the screen."""
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


@pytest.mark.slow
@pytest.mark.parametrize("name", WAYS)
def test_who_is_asked_on_each_way(tmp_path: Path, name: str) -> None:
    """The default model is another vendor's, and nobody names the one of the session."""
    options, lines = WAYS[name]
    allowed = ("--tools", "read_file")
    with Chats(tmp_path) as chats:
        chats.play(*SAID[:2], "exit", options=allowed)
        if name == "/merge":
            for query in SAID[2:]:
                chats.play("/resume session-1 --quick", query, "exit", options=allowed)
        if name == "auto_resume":
            chats.configure(sessions={"auto_resume": True})
        if "-p" in options:
            played = chats.run(*allowed, *options)
        else:
            typed = "".join(f"{line}\n" for line in (*lines, "And now?", "exit"))
            played = chats.run(*allowed, *options, stdin=typed)
        newest = [*chats.transcripts().values()][-1]
    assert played.code == 0, played.shown + played.errors
    request = played.requests[-1]
    assert (request.wire, request.body["model"]) == ("openai", "test-model")
    assert field(newest, "Endpoint") == "http://SERVER/v1"
    assert "read_file" in request.tools
    assert bool(request.block) == (name in BLOCKS)
    words = sum(f"assistant: You said: {query}" in request.messages for query in SAID)
    assert words == BLOCKS.get(name, 1 if name in WITHOUT_LAST else 2)
    assert ("  You: The lamp is 953." in played.shown) == (name not in NOT_SHOWN)


def table(folder: Path, wire: Wire, window: int) -> dict[str, tuple[str, ...]]:
    """Return what the server received by way."""
    with Chats(folder, wire, window=window) as chats:
        model = {"window": window, "images": True}
        chats.configure(
            agent={"tools": ["read_file"]},
            models={"test-model": model},
            resume={"acknowledge": False},
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
        play("compact", "/resume session-1 --full", *talk, "/compact", "And now?")
        play(
            "uncompact", *("/resume session-1 --full", *talk, "/compact", "/uncompact", "And now?")
        )
        chats.configure(
            agent={"tools": ["read_file"]},
            models={"test-model": model},
            resume={"acknowledge": False},
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
