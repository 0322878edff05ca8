"""docs/format.md is complete: a parser written from it alone reads the same as the program's."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given

from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import Session
from chat_loop.sessions.writer import render
from tests.support import second_parser, strategies

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "format.md").read_text("utf-8")
EXAMPLE = "".join(
    re.findall(r"^~~~~markdown\n(.*?)^~~~~$", PAGE, re.MULTILINE | re.DOTALL)
).encode()
FILES = sorted(
    [
        *(ROOT / "sessions").glob("*.md"),
        *(ROOT / "tests" / "golden" / "chains").rglob("*.md"),
        *(ROOT / "tests" / "golden" / "grouped").glob("*.md"),
        *(ROOT / "tests" / "golden" / "transcripts").rglob("*.md"),
    ]
)


def lists(value: Any) -> Any:
    """Return nested values with lists instead of tuples, as in JSON."""
    if isinstance(value, dict):
        return {name: lists(one) for name, one in value.items()}
    return [lists(one) for one in value] if isinstance(value, list | tuple) else value


def compare(data: bytes) -> None:
    session = parse(data).session
    assert session is not None
    parts = {"header": session.header, "entries": session.entries, "seal": session.seal}
    ours = msgspec.to_builtins(parts, builtin_types=(datetime,))
    assert second_parser.parse(data) == lists(ours)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_golden_file_reads_the_same(path: Path) -> None:
    compare(path.read_bytes())


def test_the_exported_chain_reads_the_same() -> None:
    document = (ROOT / "tests" / "golden" / "exports" / "chain.md").read_bytes()
    transcripts = document.split(b"\n---\n\n<!-- chat:session ")[1:]
    assert len(transcripts) == 2
    for transcript in transcripts:
        compare(b"<!-- chat:session " + transcript)


def test_the_example_of_the_page_is_a_file_as_the_program_writes_it() -> None:
    parsed = parse(EXAMPLE)
    assert parsed.damage == ()
    assert parsed.session is not None
    assert render(parsed.session) == EXAMPLE
    compare(EXAMPLE)


@given(strategies.sessions)
def test_law_every_session_reads_the_same(session: Session) -> None:
    compare(render(session))
