"""Erasing a text from a session removes it in every form, and removes nothing else."""

from __future__ import annotations

import json
from functools import partial

import pytest
from hypothesis import given
from msgspec.structs import replace

from chat_loop.errors import UsageError
from chat_loop.sessions.edits import change_content
from chat_loop.sessions.erasure import Eraser, without_parent, without_text
from chat_loop.sessions.escape import encode, encode_line
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import PURGED_PARENT, REMOVED, Call, Opaque, Query, Session, Tag
from chat_loop.sessions.writer import render
from tests.support.saved_sessions import ALL, FIRST, RATES, SECOND, at
from tests.support.strategies import sessions, texts

SECRET = "Correct horse <!--staple\x1b"


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("horse", "A horse, HORSE!", f"A {REMOVED}, {REMOVED}!"),
        ("a b\nc d", "x a  b c\n  d y", f"x {REMOVED} y"),
        ('say "hi"', json.dumps({"x": 'Say "hi"\n'}), f'{{"x": "{REMOVED}\\n"}}'),
        ("grüße", r'"gr\u00fc\u00DFe"', f'"{REMOVED}"'),
        ("\x1b[31mred", "⟦U+001B⟧[31mred", REMOVED),
        ("⟦U+001B⟧[31mred", "\x1b[31mred", REMOVED),
        ("<!-- end -->", "a\n\\\\<!-- end -->", f"a\n{REMOVED}"),
        ("horse staple", "It is “horse sta…”", f"It is “{REMOVED}…”"),
        ("horse staple", "(…se staple)", f"(…{REMOVED})"),
        ("horse staple", "horse, staple … horses", "horse, staple … horses"),
        ("removed", f"{REMOVED} is removed", f"{REMOVED} is {REMOVED}"),
        ("a.c*", "abcc a.c*", f"abcc {REMOVED}"),
    ],
)  # fmt: skip
def test_a_text_goes_in_every_form(text: str, before: str, after: str) -> None:
    erase = Eraser(text)
    assert erase(before) == after
    assert erase.count == after.count(REMOVED) - before.count(REMOVED)
    assert erase(after) == after


@pytest.mark.parametrize("text", ["", "abc", "  a b ", "\n"])
def test_a_short_text_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="fewer than 4"):
        Eraser(text)


@given(session=sessions, before=texts, after=texts)
def test_an_erased_session_is_a_transcript_and_has_nothing_left(
    session: Session, before: str, after: str
) -> None:
    said = f"{before} {SECRET} {after}"
    query = Query(number=9, at=at(11, 1), text=said)
    call = Call(number=9, at=at(11, 1), id="x", name="y", arguments=json.dumps({"a": said}))
    header = replace(session.header, title=said)
    session = replace(session, header=header, entries=(*session.entries, query, call))
    erase = Eraser(SECRET)
    erased = without_text(session, erase)
    assert erase.count >= 3
    data = render(erased)
    assert parse(data).session == erased
    for form in (SECRET, encode(SECRET), encode_line(SECRET), json.dumps(SECRET)[1:-1]):
        assert form.encode().lower() not in data.lower()
    readable = [entry for entry in session.entries if not isinstance(entry, Opaque)]
    assert [type(entry) for entry in erased.entries] == [type(entry) for entry in readable]


@pytest.mark.parametrize("session", ALL)
def test_what_is_not_there_changes_no_byte(session: Session) -> None:
    data = render(session)
    assert change_content(data, partial(without_text, erase=Eraser("nobody said this"))) == data


def test_a_tag_with_the_text_is_dropped() -> None:
    header = replace(FIRST.header, tags=("swordfish", "work"))
    session = replace(FIRST, header=header, entries=(Tag(at=at(11, 1), text="a/swordfish"),))
    erased = without_text(session, Eraser("Swordfish"))
    assert (erased.header.tags, erased.entries) == (("work",), ())


def test_lines_that_others_added_to_the_header_stay() -> None:
    data = render(FIRST, ["**Mood:** calm, with a swordfish"])
    erase = Eraser("swordfish")
    changed = change_content(data, partial(without_text, erase=erase), erase)
    assert changed == render(FIRST, [f"**Mood:** calm, with a {REMOVED}"])


@pytest.mark.parametrize("data", [b"no transcript", render(FIRST) + b"\nSwordfish\n"])
def test_a_file_that_the_program_cannot_write_is_left(data: bytes) -> None:
    assert change_content(data, partial(without_text, erase=Eraser("Swordfish"))) is None


@given(session=sessions)
def test_what_came_from_a_parent_goes_and_the_own_words_stay(session: Session) -> None:
    orphan = without_parent(session, ())
    assert parse(render(orphan)).session == orphan
    queries = [entry for entry in session.entries if isinstance(entry, Query)]
    assert [entry for entry in orphan.entries if isinstance(entry, Query)] == queries


def test_a_child_of_a_purged_session_has_no_block() -> None:
    orphan = without_parent(SECOND, ())
    assert orphan.restoration is not None
    assert orphan.restoration.block == PURGED_PARENT
    assert RATES.decisions[0].encode() not in render(orphan)
    assert b"Up to 20 at once." in render(orphan)
