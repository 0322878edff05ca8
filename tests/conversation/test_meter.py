"""The numbers shown about the context are those of the next request, as counted by a server."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, Received
from benchmarks.support.loopback import Reply as Served
from chat_loop.agent.tools import Tool
from chat_loop.context.budget import Limits
from chat_loop.conversation.options import Options
from chat_loop.providers.wire import WireProvider
from chat_loop.values import ToolSpec, Window
from tests.support.counting_server import CountedChat, Numbers, answered, quiet
from tests.support.images import png
from tests.support.providers import anthropic_at, openai_at

TALK = [f"Tell me of boat {number}, and of port {8000 + number}." for number in range(1, 7)]
SHORT = ["We take oak for the hull.", "And which paint?"]


async def _look(given: object) -> str:
    return "The harbor has 12 berths, and the tide comes at 14:20. " * 12


def tool(name: str, words: int = 20) -> Tool:
    """Return a tool whose description has about `words` words."""
    schema = {
        "type": "object",
        "properties": {"path": {"type": "string", "description": "Where it is."}},
    }
    return Tool(
        ToolSpec(
            name, f"{name} looks at things. " + "It is told of at length. " * (words // 6), schema
        ),
        _look,
    )


MANY = tuple(tool(f"server_{number}_read_records", 120) for number in range(60))
"""About as many tools as three MCP servers have."""


@dataclass(frozen=True)
class Case:
    """The lines that are typed before the numbers are compared, and the setup of the chat."""

    lines: list[str]
    tools: tuple[Tool, ...] = ()
    options: Options = field(default_factory=quiet)
    window: int = 128_000
    served: Callable[[Received], Served] = answered


def reasoning(request: Received) -> Served:
    """Think before the answer, and read half of the prompt from a cache."""
    made = answered(request)
    assert made.usage is not None
    usage = replace(
        made.usage, output=made.usage.output + 700, reasoning=700, cached=made.usage.input // 2
    )
    return replace(made, usage=usage)


def silent(request: Received) -> Served:
    """Report no usage."""
    return replace(answered(request), usage=None)


SMALL = quiet(limits=Limits(max_tokens=3_000, preserve_recent=4))
OFF = quiet(limits=Limits(enabled=False, max_messages=6))
CASES = {
    "before anything, with 60 tools": Case([], MANY),
    "no usage is told": Case(TALK, served=silent),
    "after compact, with 60 tools": Case([*TALK, "compact"], MANY),
    "after /model": Case([*TALK, "/model scripted:other"]),
    "with an image": Case(["Tell me of this.", "Look at @photo.png"]),
    "after a compaction made ready before": Case([*TALK, *TALK, *SHORT], options=SMALL),
    "compacted by code, with 60 tools": Case(
        [*TALK, *TALK, *TALK, *SHORT], MANY, quiet(use_ai_summary=False), window=20_000
    ),
    "with reasoning and cached tokens": Case(TALK, served=reasoning),
    "truncated, compaction is off": Case(TALK, options=OFF),
}
"""The other cases are in tests/continuing/test_sizes.py."""

OF_THE_WIRE = ("after compact", "no usage", "with ")
"""The cases whose numbers depend on how a wire writes messages and counts tokens."""


def run(case: Case, wire: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Numbers:
    monkeypatch.chdir(folder)
    (folder / "photo.png").write_bytes(png(640, 480))

    with Loopback(case.served) as server:

        def provider() -> WireProvider:
            made = (anthropic_at if wire == "anthropic" else openai_at)(server.url)
            made.window = Window(case.window)
            return made

        other = openai_at(server.url, model="other")
        other.name = "scripted"
        chat = CountedChat(
            *(folder / "s", provider(), case.lines, server, case.tools, case.options),
            others=[other],
        )
        return chat.numbers()


@pytest.mark.slow
@pytest.mark.parametrize("wire", ["anthropic", "openai"])
def test_the_four_numbers_agree(tmp_path: Path, wire: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = [
        (
            f"{'situation, on ' + wire:<44} {'status':>7} {'/context':>8} {'→':>7} {'its in':>7} "
            f"{'next in':>7}"
        )
    ]
    wrong = []
    for place, (name, case) in enumerate(CASES.items()):
        if wire == "anthropic" and not name.startswith(OF_THE_WIRE):
            continue
        folder = tmp_path / str(place)
        folder.mkdir()
        found = run(case, wire, folder, monkeypatch)
        told = f"{'':>15}" if found.told is None else f"{found.told:>7,} {found.told_served:>7,}"
        table.append(f"{name:<44} {found.status:>7,} {found.parts:>8,} {told} {found.served:>7,}")
        if not found.agree or found.parts != found.status:
            wrong.append(name)
    sys.stdout.write("\n".join(("", *table, "")))
    assert not wrong, "\n".join((*wrong, *table))
