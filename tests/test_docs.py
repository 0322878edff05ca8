"""The documents match the program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given

from chat_loop.sessions.marker import KINDS
from chat_loop.sessions.records import Session
from chat_loop.sessions.writer import render
from tests.support.strategies import sessions

pytestmark = pytest.mark.slow

FORMAT = (Path(__file__).parent.parent / "docs" / "format.md").read_text()
MARKER = re.compile(r"^<!-- chat:([a-z-]+)((?: [a-z_]+=\S+)*) -->$", re.MULTILINE)


def rows() -> dict[str, str]:
    """Return the rows of the table of records, by kind."""
    found = {}
    for line in FORMAT.partition("## Kinds")[2].partition("## The header")[0].split("\n"):
        for kind in re.findall(r"`([a-z-]+)`", line.partition("|")[2].partition("|")[0]):
            found[kind] = line
    return found


def test_every_kind_of_record_is_in_the_format() -> None:
    assert set(rows()) == {*KINDS, "session", "compaction", "sealed"}


@given(sessions)
def test_every_value_of_a_marker_and_every_line_of_the_header_is_in_the_format(
    session: Session,
) -> None:
    known, opened = rows(), "session"
    head = render(session).decode().partition("<!-- chat:end")[0]
    for field in re.findall(r"^(\*\*[^:]+:\*\*)", head, re.MULTILINE):
        assert f"`{field}`" in FORMAT
    markers = MARKER.findall(render(session).decode())
    assert markers[0][0] == "session"
    for kind, values in markers:
        opened = kind if kind != "end" else opened
        for key in re.findall(r" ([a-z_]+)=", values):
            row = known["reply" if opened == "acknowledgment" else opened]
            assert f"`{key}`" in row, f"{key} of {kind} ({opened})"
