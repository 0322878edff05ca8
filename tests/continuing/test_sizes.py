"""The sizes that are shown are those of the next request, whatever came before it."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks.support.loopback import Received, Reply, failing
from chat_loop.tokens import TokenCounter
from tests.support.chats import ONE_WIRE_QUICK, WIRES, Chats, Played, Step, Wire, call
from tests.support.images import png

MESSAGE = 3
"""What a server counts for each message, and for the beginning of the reply."""
IMAGE = ((640, 480), 425)
"""The size of an image that both services price similarly: 410 tokens and 425."""


@cache
def counter() -> TokenCounter:
    """Return the token counter, with the encoding loaded once."""
    made = TokenCounter()
    assert made.load(), made.problem
    return made


def tokens(text: str) -> int:
    return counter().count(text)


def counted(request: Received) -> int:
    """Return the tokens of a request as a server counts them with tiktoken: the texts as sent, each
    tool as its JSON, each image at the service's price.
    """
    body = request.body
    system = body.get("system") or ""
    total = MESSAGE + (
        tokens(system if isinstance(system, str) else "".join(block["text"] for block in system))
    )
    for message in body["messages"]:
        total += MESSAGE + _content(message["content"])
        total += sum(
            tokens(f"{call['function']['name']} {call['function']['arguments']}")
            for call in message.get("tool_calls") or ()
        )
    for tool in body.get("tools") or ():
        told = {
            key: value
            for key, value in tool.get("function", tool).items()
            if key != "cache_control"
        }
        total += tokens(json.dumps(told))
    return total


def _content(content: str | list[dict[str, Any]] | None) -> int:
    if not isinstance(content, list):
        return tokens(content or "")
    total = 0
    for block in content:
        match block["type"]:
            case "text":
                total += tokens(block["text"])
            case "tool_use":
                total += tokens(f"{block['name']} {json.dumps(block['input'])}")
            case "tool_result":
                total += _content(block["content"])
            case "image" | "image_url":
                total += IMAGE[1]
    return total


TALK = [f"Tell me of boat {number}, and of port {8000 + number}." for number in range(1, 7)]
SHORT = ["We take oak for the hull.", "And which paint?"]
TOLD = (
    "The hull of the boat is sanded twice, then painted with two layers that dry for a day each. "
)
NEXT = "Go on."


def agree(shown: int, served: int) -> bool:
    """Return True if a size is at most 10 % or 50 tokens from the server's, whichever is more."""
    return abs(shown - served) <= max(50, served // 10)


def number(text: str) -> int:
    value = float(text.replace(",", "").removesuffix("K"))
    return round(value * 1_000) if text.endswith("K") else round(value)


def told(text: str) -> list[int]:
    """Return the size after a compaction if nothing was said since."""
    _, found, after = text.rpartition("📦 Compacted ")
    if not found or "\nYou: " in after:
        return []
    size = re.match(r"\S+ → (\S+)\s+tokens", after)
    assert size, after
    return [number(size[1])]


def wrong(played: Played, names: list[str]) -> list[str]:
    """Return what is wrong in each part of a chat that ends with /context and NEXT."""
    parts = played.shown.split(f"\nYou: {NEXT}\n")
    requests = [request for request in played.requests if request.messages[-1].endswith(NEXT)]
    assert len(requests) == len(names)
    found = []
    for name, part, request in zip(names, parts, requests, strict=False):
        before, _, context = part.rpartition("You: /new\n")[2].rpartition("You: /context\n")
        before, _, info = before.rpartition("You: /info\n")
        headline = re.search(r"^Context: ~?([\d,]+) of [\d,]+ tokens \(", context)
        assert headline, part
        sizes = re.findall(r"^  (\S.*?)  +([\d,]+)  +\d+%", context, re.MULTILINE)
        total = sum(
            number(size) for what, size in sizes if what not in ("Kept for the reply", "Free")
        )
        status = re.search(r"^Context: +~?([\d,]+) of", info, re.MULTILINE)
        assert status, info
        shown = [number(headline[1]), total, number(status[1]), *told(before)]
        if not all(agree(size, request.usage.input) for size in shown):
            found.append(f"{name}: shown {shown}, served {request.usage.input}")
    return found


def play(chats: Chats, cases: dict[str, list[Step]]) -> list[str]:
    """Play the cases in one chat, each in a fresh session; return what is wrong."""
    chats.replies["Tell me"] = TOLD * 14
    lines: list[Step] = []
    for case in cases.values():
        lines += [*case, "/info", "/context", NEXT, "/new"]
    return wrong(chats.play(*lines, "exit"), list(cases))


@pytest.mark.parametrize("wire", ONE_WIRE_QUICK)
def test_the_sizes_agree(tmp_path: Path, wire: Wire) -> None:
    with Chats(tmp_path, wire, window=128_000) as chats:
        chats.configure(memory={"max_tokens": 1_500})
        (chats.project / "notes.txt").write_text(TOLD * 8)
        (chats.home / "MEMORY.md").write_text(
            "".join(f"- Boat {each} is red.\n" for each in range(40))
        )
        refusal = failing(400, "invalid_request_error", "No.")
        found = play(
            chats,
            {
                "nothing was said": [],
                "two short turns": [*SHORT],
                "long turns": [*TALK],
                "compact": [*TALK, "compact"],
                "compact and a turn": [*TALK, "compact", "Tell me more."],
                "compact with a focus, twice": [*TALK, "/compact boats", *TALK, *TALK, "compact"],
                "a small compact": [*SHORT, "/compact"],
                "uncompact": [*TALK, "compact", "/uncompact"],
                "resume": ["/resume session-1"],
                "resume from the summary": ["/resume session-3 --summary"],
                "resume with all words": ["/resume session-3 --full"],
                "resume with the last words": ["/resume session-3 --last 3"],
                "a text file": ["Tell me of this.", "Look at @notes.txt"],
                "a text file, after uncompact": [
                    *(*TALK[:4], "Look at @notes.txt", "compact", "/uncompact")
                ],
                "a failed message": [
                    *SHORT,
                    lambda: chats.server.enqueue(refusal),
                    "Tell me " + TOLD * 9,
                ],
                "undo": [*TALK, "/undo"],
                "retry": [*TALK, "/retry"],
                "edit": [*TALK, "/edit What of oak?"],
                "fork": [*TALK, "/fork 5"],
            },
        )
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize("wire", ONE_WIRE_QUICK)
def test_the_sizes_agree_with_tools_and_after_automatic_compactions(
    tmp_path: Path, wire: Wire
) -> None:
    with Chats(tmp_path, wire) as chats:
        chats.configure(
            agent={"tools": ["read_file", "write_file", "edit_file", "run_command"]},
            auto_compact={"preserve_recent": 4},
            context={"max_history_tokens": 6_000},
        )
        (chats.project / "notes.txt").write_text("The tide comes at 14:20. " * 12)
        chats.replies["Look at the log"] = [call("read_file", path="notes.txt"), TOLD]
        look = ["Look at the log.", "Look at the log again."]
        found = play(
            chats,
            {
                "tool calls": [*look, *SHORT],
                "tool calls, after compact": [*look, *TALK[:3], "compact"],
                "automatic compactions": [*TALK, *TALK, *SHORT],
            },
        )
    assert found == []


@pytest.mark.parametrize(
    ("settings", "cases"),
    [
        (
            {"models": {"test-model": {"window": 128_000, "images": True}}},
            {
                "with an image": ["Tell me of this.", "Look silently at @photo.png"],
                "no usage is told": ["Say it silently.", *SHORT],
                "another model": [*TALK, "/model openai:other-model"],
            },
        ),
        (
            {
                "models": {"test-model": {"window": 20_000}},
                "auto_compact": {"use_ai_summary": False},
            },
            {"compacted by code": [*TALK, *TALK, *TALK, *SHORT]},
        ),
        (
            {"auto_compact": {"enabled": False}, "context": {"max_history_messages": 6}},
            {"compaction is off": [*TALK]},
        ),
    ],
    ids=["kinds", "by code", "off"],
)
@pytest.mark.slow
def test_the_sizes_agree_with_what_the_server_counts(
    tmp_path: Path, settings: dict[str, Any], cases: dict[str, list[Step]]
) -> None:
    with Chats(tmp_path) as chats:
        chats.count = counted
        chats.configure(**settings)
        (chats.project / "photo.png").write_bytes(png(640, 480))
        chats.replies["silently"] = Reply(chunks=(TOLD,), usage=None)
        assert play(chats, cases) == []


ACKNOWLEDGED = (
    "I have read the summary: we talked about the tides, and the log says when they come. I am "
    "ready to go on from here, so tell me what you need next."
)
FINE = 0.03


@pytest.mark.slow
@pytest.mark.parametrize("way", ["typed", "automatic"])
@pytest.mark.parametrize("wire", WIRES)
def test_the_first_compaction_of_a_run_tells_what_the_server_counts(
    tmp_path: Path, wire: Wire, way: str
) -> None:
    """The server counts with the encoding that the program uses, which is not loaded before."""
    with Chats(tmp_path, wire, window=16_000 if way == "automatic" else 64_000) as chats:
        chats.count = counted
        chats.acknowledgment = ACKNOWLEDGED
        chats.configure(agent={"tools": ["read_file", "write_file", "edit_file", "run_command"]})
        log = "".join(f"2026-11-{day:02} 14:{day}: tide, 3.{day} m\n" for day in range(10, 30))
        (chats.project / "notes.txt").write_text(log * 3)
        chats.replies["Look at the log"] = [call("read_file", path="notes.txt"), TOLD * 3]
        look = [f"Look at the log, for the {number}th time." for number in range(3)]
        chats.replies["Tell me"] = TOLD * 60
        lines = [*look, *TALK, *TALK] if way == "automatic" else [*look, "compact"]
        played = chats.play(*lines, "/context", NEXT, "exit")
        sealed = next(text for text in chats.transcripts().values() if "chat:compaction" in text)
    _, _, after = played.shown.partition("📦 Compacted ")
    shown = re.match(r"\S+ → (\S+)\s+tokens", after)
    recorded = re.search(r"chat:compaction .*after=(\d+)", sealed)
    context = re.search(r"^Context: ~?([\d,]+) of", played.after("/context"), re.MULTILINE)
    assert shown
    assert recorded
    assert context
    first = next(
        asked
        for asked in played.asked
        if asked.kind != "summary" and asked.messages[0].startswith("user: CONTEXT RESTORATION")
    )
    last = played.requests[-1].usage.input
    close = FINE * last + 10  # tokens of the query
    assert abs(number(context[1]) - last) <= close
    told = last if way == "typed" else first.usage.input
    assert abs(int(recorded[1]) - told) <= FINE * told + 20
    assert number(shown[1]) - close <= told <= number(shown[1]) + 100 + close, "it is rounded"
    if way == "typed":
        assert first.kind == "acknowledgment"
    else:
        assert "\nresult: " in played.requests[2].text
