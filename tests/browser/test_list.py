"""The list and the preview of the session browser, without a terminal."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input

from chat_loop.browser.list import SessionList
from chat_loop.browser.message_picker import AHEAD, Choice, Messages, choose
from chat_loop.display.preview import CHARACTERS, EXCHANGES, Preview, preview_of
from chat_loop.errors import SessionError
from chat_loop.sessions.records import (
    Exchange,
    Header,
    Query,
    Reply,
    Seal,
    Session,
    SessionRow,
    Summary,
)
from tests.support import strategies
from tests.support.browser_program import NOW, MadeShelf, row

texts = st.one_of(
    strategies.texts,
    st.sampled_from(
        ("👩‍👩‍👧‍👦❤️👍🏽", "漢字 " * 50, "e\u0301" * 100, "e" + "\u0301" * 100, "x" * 500, "")
    ),
)
rows = st.builds(
    SessionRow,
    id=strategies.ids,
    folder=st.just(Path("/nowhere")),
    state=st.sampled_from(("sealed", "unsealed", "plain", "damaged", "empty", "foreign")),
    updated=st.datetimes(timezones=st.just(UTC)),
    agent=texts,
    parent=st.one_of(st.just(""), strategies.ids),
    queries=st.one_of(st.none(), strategies.counts),
    tokens=st.one_of(st.none(), strategies.counts),
    said=st.one_of(st.none(), strategies.counts),
    name=texts,
    depth=st.integers(1, 10**6),
    tags=st.lists(texts, max_size=3).map(tuple),
    folded=st.integers(0, 10**6),
)


def listed(shelf: MadeShelf, words: str = "") -> SessionList:
    sessions = SessionList(NOW)
    sessions.filter(words)
    sessions.set_rows(shelf.rows())
    return sessions


def lines(sessions: SessionList, width: int) -> list[str]:
    """Return the lines of the list as they are drawn."""
    content = sessions.create_content(width, 10)
    drawn = [content.get_line(number) for number in range(content.line_count)]
    return ["".join(piece[1] for piece in line) for line in drawn]


def ids(sessions: SessionList) -> list[str]:
    """Return the ids of the sessions that match, beginning with the first."""
    found: list[str] = []
    sessions.select(0)
    while sessions.row is not None and (not found or found[-1] != sessions.row.id):
        found.append(sessions.row.id)
        sessions.select(sessions.selected + 1)
    return found


@given(
    st.integers(0, 30),
    st.lists(st.sampled_from(("up", "down", "end", "deploy", "sally 1", "zz", "")), max_size=40),
)
def test_whatever_is_done_a_row_that_matches_is_selected(count: int, acts: Sequence[str]) -> None:
    shelf = MadeShelf(count)
    sessions = listed(shelf)
    for act in acts:
        match act:
            case "up" | "down":
                sessions.select(sessions.selected + (-1 if act == "up" else 1))
            case "end":
                sessions.select(10**9)
            case _:
                sessions.filter(act)
        content = sessions.create_content(80, 10)
        assert 0 <= content.cursor_position.y < content.line_count
        if sessions.row is None:
            assert lines(sessions, 80)[0].startswith(("  No sessions match", "  No conversations"))
    sessions.filter("")
    assert len(ids(sessions)) == count


@given(st.lists(rows, max_size=6), st.integers(12, 210), texts)
def test_no_line_is_obeyed_by_a_terminal(
    shown: Sequence[SessionRow], width: int, words: str
) -> None:
    sessions = SessionList(NOW)
    sessions.set_rows(shown)
    drawn = lines(sessions, width) if shown else []
    assert bool(drawn) == bool(shown)
    sessions.filter(words)
    if sessions.row is not None:
        drawn += lines(sessions, width)
    for line in drawn:
        assert not [sign for sign in line if unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp")]
        assert not {*line} & {*"\u202a\u202b\u202c\u202d\u202e\u200e\u200f\u061c\u200b\u200d"}


@given(strategies.sessions, st.lists(texts, max_size=3))
def test_a_preview_is_short_and_safe(session: Session, damage: Sequence[str]) -> None:
    preview = preview_of(session, damage)
    for name, text in (*preview.about, *preview.messages):
        assert len(text) <= CHARACTERS
        assert not {*name, *text} & {*"\n\r\t\x1b\x00\x9b\u202e"}
    assert len(preview.messages) <= 2 * EXCHANGES
    assert preview.earlier == max(0, len(session.exchanges) - EXCHANGES)


def test_words_are_looked_for_in_name_id_agent_day_state_and_tags_in_any_case() -> None:
    shelf = MadeShelf(110)
    for words, expected in (
        ("SESSION 49 of", ["sally_000049"]),
        ("sally_000103", ["sally_000103"]),
        ("#python two keys sort 000012 sally", ["sally_000012"]),
        ("2026-11-15 research", ["sally_000025"]),
        ("nov 15 漢字", ["sally_000023", "sally_000025", "sally_000026"]),
        ("damaged", ["sally_000099"]),
        ("nowhere to be found", []),
    ):
        assert ids(listed(shelf, words)) == expected, words


def test_the_same_session_stays_selected_when_rows_come_and_go() -> None:
    known = MadeShelf(10).rows()
    for rows_now, expected in (
        (known[3:], "sally_000004"),
        ([row(77), *known], "sally_000004"),
        (known[:4], "sally_000003"),
        ([], ""),
    ):
        sessions = SessionList(NOW)
        sessions.set_rows(known)
        sessions.select(4)
        sessions.set_rows(rows_now)
        assert (sessions.row.id if sessions.row else "") == expected


SUMMARISED = Session(
    header=Header(
        id="sally_000000", created=NOW, agent="Sally", model="gpt", parent="older_000000_3"
    ),
    entries=(
        Query(number=1, at=NOW, text="How do I sort by two keys?\n\nQuickly, please."),
        Reply(number=1, at=NOW, text="By the second first. The sort is stable."),
        Query(number=2, at=NOW, text="And ties?"),
        Reply(number=2, at=NOW, text="They keep", stop="interrupted"),
        Query(number=3, at=NOW, text="Thanks"),
    ),
    seal=Seal(
        at=datetime(2026, 11, 22, 16, tzinfo=UTC),
        reason="compact",
        source="model",
        summary=Summary(
            topics=("Sorting [1]", "Ties [2]"),
            decisions=("The database sorts [2]",),
            pending=("Measure it [3]",),
        ),
    ),
)


def test_what_a_preview_holds() -> None:
    faults = ("Line 7: text outside a record.", "Line 9: the same.")
    facts = (
        "sally_000000 · gpt · 2026-11-22 15:04, compacted · 3 queries, 0 tokens · $0.01 · "
        "session 2 of its chain, after older_000000_3"
    )
    preview = preview_of(SUMMARISED, faults, "$0.01")
    assert preview == Preview(
        about=[
            ("", facts),
            ("Damage", "Line 7: text outside a record. … and 1 more fault"),
            ("Topics", "Sorting [1]; Ties [2]"),
            ("Decisions", "The database sorts [2]"),
            ("Pending", "Measure it [3]"),
        ],
        messages=[
            ("[1] You", "How do I sort by two keys? Quickly, please."),
            ("Sally", "By the second first. The sort is stable."),
            ("[2] You", "And ties?"),
            ("Sally (interrupted)", "They keep"),
            ("[3] You", "Thanks"),
        ],
    )


def chosen(messages: Messages, keys: str) -> Choice | None:
    """Return what these keys choose in the list of messages."""
    with create_pipe_input() as pipe, create_app_session(input=pipe):
        pipe.send_text(keys)
        return asyncio.run(choose(messages))


def test_older_messages_are_read_as_one_goes_down_to_them() -> None:
    said = [
        Exchange(Query(number=number, at=NOW, text=f"Number {number}."))
        for number in range(5_000, 0, -1)
    ]
    older = iter(said)
    messages = Messages(older)
    assert messages.read == said[:AHEAD]

    assert chosen(messages, "jjf") == Choice("fork", said[2])
    assert (len(messages.read), messages.are_all) == (AHEAD + 2, False)
    assert chosen(messages, "Gk\r") == Choice("rewind", said[-2])
    assert (messages.read, messages.are_all) == (said, True)
    assert chosen(messages, "Gjjs") == Choice("summarize", said[-1])


def test_older_messages_that_cannot_be_read_end_the_list() -> None:
    def damaged() -> Iterator[Exchange]:
        for number in range(AHEAD):
            yield Exchange(Query(number=number, at=NOW, text="Again."))
        raise SessionError("It cannot be read.")

    messages = Messages(damaged())
    with pytest.raises(SessionError, match="It cannot be read"):
        chosen(messages, "j")
