"""Imports: a hostile document gives an error message or a correct session, and storing it changes
no existing file.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from chat_loop.errors import SaveError
from chat_loop.export import documents, importing
from chat_loop.export.exporting import export_bytes
from chat_loop.export.importing import StoredImport
from chat_loop.sessions.chain import read_chain
from chat_loop.sessions.files import Files
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Header, Query, Session
from chat_loop.sessions.rows import read_rows
from chat_loop.sessions.writer import render
from tests.support.hostile_chain import FIRST, SECOND, SESSIONS, START, loaded
from tests.support.imported_chain import Imported, imported, store

PLAIN = Path(__file__).parents[1] / "golden" / "plain"
JSON: dict[str, Any] = json.loads(export_bytes(loaded(*SESSIONS), "json", secrets=True))


def named(identity: str, parent: str = "", text: str = "Hello") -> Session:
    header = Header(id=identity, created=START, agent="Sally", parent=parent)
    return Session(header=header, entries=(Query(number=1, at=START, text=text),))


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    """Return the chain's JSON after a change."""
    document = json.loads(json.dumps(JSON))
    change(document)
    return json.dumps(document).encode()


def entry(place: int, /, **values: object) -> Callable[[dict[str, Any]], object]:
    return lambda document: document["sessions"][0]["entries"][place - 1].update(values)


def header(**values: object) -> Callable[[dict[str, Any]], object]:
    return lambda document: document["sessions"][0]["header"].update(values)


def first(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
    """Return a change of the document that applies `change` to its first session."""
    return lambda document: change(document["sessions"][0])


LEFT_OUT = [
    (entry(1, text=7), "Expected `str`, got `int` - at `$.text`"),
    (entry(1, at="yesterday"), "Invalid RFC3339 encoded datetime - at `$.at`"),
    (entry(3, stop="never"), "Invalid enum value 'never' - at `$.stop`"),
    (header(agent=None), "Expected `str`, got `null` - at `$.header.agent`"),
    (first(lambda one: one.pop("header")), "Object missing required field `header`"),
    (
        first(lambda one: one["seal"]["summary"].update(topics="one")),
        "Expected `array`, got `str` - at `$.seal.summary.topics`",
    ),
    (lambda document: document["sessions"].__setitem__(0, [1]), "Expected `object`, got `array`"),
]
REFUSED = [
    entry(1, number=-1),
    entry(12, media="x --> y"),
    entry(12, sha256="x\n<!-- chat:end -->"),
    entry(4, name="read file -->"),
]


@pytest.mark.parametrize(("change", "reason"), LEFT_OUT)
def test_one_wrong_session_is_left_out_with_a_sentence(
    change: Callable[[dict[str, Any]], object], reason: str
) -> None:
    complaint = f"x.json: Session 1 is left out: {reason}."
    assert imported(changed(change), "x.json") == Imported((SECOND,), (complaint,))


@pytest.mark.parametrize("change", REFUSED)
def test_a_session_that_no_transcript_can_hold_is_left_out(
    change: Callable[[dict[str, Any]], object],
) -> None:
    left_out = f"x.json: Session {FIRST.header.id} is left out: no transcript can hold it."
    assert imported(changed(change), "x.json") == Imported((SECOND,), (left_out,))


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "It is neither an export nor a transcript."),
        (b"\xff\xfe{\x00", "It is neither an export nor a transcript."),
        (b"PK\x03\x04", "The archive cannot be read: File is not a zip file."),
        (b"just some notes", "It is neither an export nor a transcript."),
        (b"\n<!DOCTYPE html>", "It is neither an export nor a transcript."),
        (b"<!-- chat:sealed -->\n", "The file has no header record."),
    ],
    ids=lambda value: None if isinstance(value, str) else str(value[:12]),
)  # fmt: skip
def test_what_is_no_export_gets_one_sentence(data: bytes, complaint: str) -> None:
    assert imported(data) == Imported(complaints=(f"x: {complaint}",))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{", "Expecting property name enclosed in double quotes: line 1 column 2"),
        (b'{"a": "\xff"}', "'utf-8' codec can't decode byte 0xff in position 7"),
        (b'{"a": ' * 100_000, "maximum recursion depth exceeded"),
        (b'{"format": "other"}', "Invalid enum value 'other' - at `$.format`"),
        (
            b'{"format": "chat-loop", "version": true}',
            "Expected `int`, got `bool` - at `$.version`",
        ),
        (b'{"format": "chat-loop", "version": 1}', "Object missing required field `sessions`"),
    ],
    ids=lambda value: None if isinstance(value, str) else str(value[:12]),
)
def test_json_that_is_no_export_gets_one_sentence(data: bytes, reason: str) -> None:
    (complaint,) = imported(data).complaints
    assert complaint.startswith(f"x: It is not a JSON export of version 1: {reason}")


def test_what_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "MAX_BYTES", 2_000_000)
    assert imported(b" " * 2_000_001, "big.json") == Imported(
        complaints=("big.json: It is larger than 2.0 MB and is not read.",)
    )


def test_a_hostile_name_is_shown_and_not_obeyed() -> None:
    assert imported(b"", "../\x1b[2J\n.md").complaints == (
        "../⟦U+001B⟧[2J⟦U+000A⟧.md: It is neither an export nor a transcript.",
    )


@pytest.mark.parametrize(
    ("identity", "valid"),
    [
        ("", "x"),
        ("../../etc/passwd", "passwd"),
        ("a b", "a_b"),
        ("x" * 65, "x" * 64),
        (".hidden", "hidden"),
        ("a\n", "a"),
        ("é", "x"),
    ],
)
def test_an_id_that_is_none_becomes_one(identity: str, valid: str) -> None:
    read = imported(changed(header(id=identity, parent="../up")), "x")
    assert [session.header.id for session in read.sessions] == [valid, SECOND.header.id]
    assert read.sessions[0].header.parent == "up"
    assert read.complaints == ()


def test_kinds_and_fields_of_a_later_program_are_left_out() -> None:
    def later(document: dict[str, Any]) -> None:
        document["sessions"][0]["entries"].append({"kind": "dream", "text": "?"})
        document["sessions"][0]["header"]["mood"] = "fine"
        document["sessions"][0]["seal"]["usage"]["joules"] = 3

    told = "x: Session 1: 1 entries of unknown kinds are left out."
    assert imported(changed(later), "x") == Imported(SESSIONS, (told,))


def test_the_same_session_twice_is_one_and_two_under_one_id_are_two(tmp_path: Path) -> None:
    sessions = [named("a"), named("a"), named("a", text="Other"), named("b", parent="a")]
    stored = store(SessionManager(tmp_path), *sessions)
    assert [(one.id, one.is_new) for one in stored] == [
        ("a", True),
        ("a", False),
        ("a_2", True),
        ("b", True),
    ]


def test_parents_in_a_circle_are_stored_as_they_are(tmp_path: Path) -> None:
    circle = [named("a", "c"), named("b", "a"), named("c", "b"), named("self", "self")]
    read = imported(documents.write_json(circle, {}), "x")
    assert read == Imported(tuple(circle))
    assert [one.id for one in store(SessionManager(tmp_path), *read.sessions)] == [
        "a",
        "b",
        "c",
        "self",
    ]


@pytest.mark.slow
def test_a_long_chain_is_looked_through_once() -> None:
    chain = tuple(named(f"s{number}", f"s{number + 1}") for number in range(5_000))
    assert imported(documents.write_json(chain, {}), "x") == Imported(chain)


def test_a_document_that_was_cut_off_says_so() -> None:
    document = export_bytes(loaded(FIRST, SECOND, named("last")), "markdown", secrets=True)
    read = imported(document[: document.index(b"\n<!-- chat:session v=1 minor=2 id=last")], "x")
    assert read == Imported(
        SESSIONS, ("x: It says that it holds 3 sessions, and 2 are there: it was cut off.",)
    )


def test_a_document_cut_off_in_a_record_keeps_what_came_before() -> None:
    document = export_bytes(loaded(*SESSIONS), "markdown", secrets=True)
    read = imported(document[:-40], "x")
    assert read.sessions[0] == FIRST
    assert read.sessions[1].entries[:3] == SECOND.entries[:3]
    assert len(read.complaints) == 1


def test_transcripts_that_were_put_into_one_file_by_hand_are_as_good() -> None:
    assert imported(render(FIRST) + render(SECOND), "x") == Imported(SESSIONS)


def test_an_editor_that_ends_lines_otherwise_changes_nothing() -> None:
    for form in ("markdown", "json"):
        document = export_bytes(loaded(*SESSIONS), form, secrets=True)
        assert imported(b"\xef\xbb\xbf" + document.replace(b"\n", b"\r\n"), "x") == Imported(
            SESSIONS
        )


def test_a_torn_header_that_was_written_again_is_no_second_session() -> None:
    data = render(named("a"))
    torn = data[: data.index(b"\n\n")] + b"\n<!-- chat:torn -->\n" + data
    read = imported(torn, "x")
    assert read.sessions == (named("a"),)
    assert all(complaint.startswith("x: In a: Line ") for complaint in read.complaints)


@given(
    st.binary(max_size=200),
    st.integers(0, 6_000),
    st.integers(0, 60),
    st.sampled_from(["markdown", "json"]),
)
def test_damage_never_raises_and_what_comes_out_can_be_stored(
    junk: bytes, where: int, cut: int, form: Any
) -> None:
    document = export_bytes(loaded(*SESSIONS), form, secrets=True)
    read = imported(document[:where] + junk + document[where + cut :], "x")
    assert read.sessions or read.complaints
    for session in read.sessions:
        assert imported(render(session), "x") == Imported((session,))


def test_a_transcript_of_the_other_program_is_converted() -> None:
    read = imported((PLAIN / "resumed.md").read_bytes(), "harbor_pilot_20260203_081500.md")
    assert read.complaints == ()
    assert [session.header.id for session in read.sessions] == ["harbor_pilot_20260203_081500"]
    assert read.sessions[0].header.parent == "harbor_pilot_20260202_170000"
    assert [exchange.query.text for exchange in read.sessions[0].exchanges] == [
        "How deep is the water there?\nGive metres.",
        "Und bei Springflut?",
    ]


@pytest.mark.parametrize(
    ("name", "identity"),
    [
        ("Rope & Knot (1).md", "Rope_Knot_1"),
        ("../../x.md", "x"),
        ("---.md", "session"),
        ("C:\\chats\\b.md", "b"),
    ],
)
def test_its_file_name_becomes_an_id(name: str, identity: str) -> None:
    assert imported((PLAIN / "resumed.md").read_bytes(), name).sessions[0].header.id == identity


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    folder = tmp_path / "chats"
    folder.mkdir()
    for path in PLAIN.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "notes.md").write_text("only notes")
    (folder / "notes.txt").write_text("not looked at")
    (folder / "link.md").symlink_to(folder / "resumed.md")
    (folder / "folder.md").mkdir()
    os.mkfifo(folder / "pipe.md")
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    read = imported(folder)
    assert [session.header.id for session in read.sessions] == [
        "before-1_2",
        "before-1_8",
        "quoting",
        "resumed",
    ]
    complaints = [
        complaint for complaint in read.complaints if not complaint.startswith(("before", "quot"))
    ]
    assert complaints == [
        "damaged.md: It is neither an export nor a transcript.",
        "folder.md: it is not a regular file.",
        "link.md: too many levels of symbolic links.",
        "notes.md: It is neither an export nor a transcript.",
        "pipe.md: it is not a regular file.",
    ]
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_a_path_that_is_not_there_or_empty(tmp_path: Path) -> None:
    missing = tmp_path / "missing.md"
    complaint = "missing.md: no such file or directory."
    assert imported(missing) == Imported(complaints=(complaint,))
    folder = tmp_path / "none"
    folder.mkdir()
    assert imported(folder) == Imported(complaints=("none: The folder has no transcripts.",))
    (folder / "one.json").write_bytes(export_bytes(loaded(FIRST), "json", secrets=True))
    assert imported(folder / "one.json") == Imported((FIRST,))


def put(directory: Path, *sessions: Session) -> list[tuple[str, bool]]:
    return [(stored.id, stored.is_new) for stored in store(SessionManager(directory), *sessions)]


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def test_storing_writes_private_files_with_the_times_of_their_last_events(tmp_path: Path) -> None:
    directory = tmp_path / "sessions"
    assert store(SessionManager(directory), *SESSIONS) == [
        StoredImport(session.header.id, session.header.id, True) for session in SESSIONS
    ]
    assert files(directory) == {f"{session.header.id}.md": render(session) for session in SESSIONS}
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}
    assert [row.id for row in read_rows(directory)] == [SECOND.header.id, FIRST.header.id]
    assert (directory / f"{FIRST.header.id}.md").stat().st_mtime == FIRST.seal.at.timestamp()  # type: ignore[union-attr]


def test_what_is_there_already_is_not_written_twice(tmp_path: Path) -> None:
    put(tmp_path, *SESSIONS)
    before = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in tmp_path.iterdir()}
    assert put(tmp_path, *SESSIONS) == [(session.header.id, False) for session in SESSIONS]
    assert {
        path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in tmp_path.iterdir()
    } == before


def test_a_taken_id_gets_a_number_and_the_links_follow(tmp_path: Path) -> None:
    put(tmp_path, named("a", text="Mine"), named("a_2", text="Mine too"))
    before = files(tmp_path)
    sessions = [named("c", "b"), named("b", "a"), named("a"), named("other", "elsewhere")]
    for minutes, session in enumerate(sessions):
        created = START - timedelta(minutes=minutes)
        sessions[minutes] = replace(session, header=replace(session.header, created=created))
    for written in (True, False):
        assert put(tmp_path, *sessions) == [
            ("other", written),
            ("a_3", written),
            ("b", written),
            ("c", written),
        ]
    after = files(tmp_path)
    assert {name: after[name] for name in before} == before
    linked = replace(sessions[1], header=replace(sessions[1].header, parent="a_3"))
    assert after["b.md"] == render(linked)
    assert after["other.md"] == render(sessions[3])
    manager = SessionManager(tmp_path)
    chain = read_chain(manager, manager.load(tmp_path / "c.md").session)
    assert [loaded.session.header.id for loaded in chain.ancestors] == ["b", "a_3"]
    assert chain.problem == ""


def test_nothing_is_written_through_what_only_looks_free(tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    directory = tmp_path / "sessions"
    directory.mkdir()
    (directory / "a.md").symlink_to(outside)
    (directory / "a_2.md").mkdir()
    (directory / "a_3.md").touch()
    assert put(directory, named("a")) == [("a_4", True)]
    assert not outside.exists()


def test_a_converted_file_is_recognized_by_its_original(tmp_path: Path) -> None:
    original = tmp_path / "resumed.md"
    original.write_bytes((PLAIN / "resumed.md").read_bytes())
    assert put(tmp_path, *imported(original).sessions) == [("resumed", False)]
    assert original.read_bytes() == (PLAIN / "resumed.md").read_bytes()


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (datetime(2090, 1, 1, tzinfo=UTC), START.timestamp()),
        (datetime(9999, 12, 31, 23, 59), START.timestamp()),
        (datetime(1, 1, 1, tzinfo=UTC), 0),
        (datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC).timestamp()),
    ],
)
def test_odd_times(tmp_path: Path, at: datetime, expected: float) -> None:
    session = named("a")
    session = replace(
        session,
        header=replace(session.header, created=at),
        entries=(Query(number=1, at=at, text="Hello"),),
    )
    read = imported(export_bytes(loaded(session), "json"), "x")
    assert read == Imported((session,))
    store(SessionManager(tmp_path, now=lambda: START), *read.sessions)
    assert (tmp_path / "a.md").stat().st_mtime == expected
    assert SessionManager(tmp_path).load(tmp_path / "a.md").session == session


class Full(Files):
    """A full disk."""

    def write(self, descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_no_half_of_a_session(tmp_path: Path) -> None:
    with pytest.raises(SaveError, match=r"a\.md cannot be written: no space left on device\."):
        store(SessionManager(tmp_path, files=Full()), named("a"))
    assert files(tmp_path) == {}
