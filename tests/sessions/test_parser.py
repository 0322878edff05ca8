"""The law of the format, every kind of damage, and the page that a reader of the file sees."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace

from chat_loop.sessions.edits import append_seal
from chat_loop.sessions.parser import Parsed, parse
from chat_loop.sessions.records import (
    MINOR,
    AgentChange,
    Aside,
    AsideReply,
    Call,
    Covered,
    Entry,
    Header,
    LeftOut,
    ModelChange,
    Opaque,
    Pin,
    Query,
    Redo,
    Reply,
    Restoration,
    Result,
    Seal,
    Session,
    Shortened,
    Summary,
    Undo,
)
from chat_loop.sessions.writer import closing_fence, entry_text, render, tail, with_digest
from chat_loop.values import Usage, compact_number
from tests.support.hostile_chain import SESSIONS
from tests.support.limits import cpu_limit
from tests.support.saved_sessions import FIRST
from tests.support.strategies import ATOMS, sessions

FORMATS = Path(__file__).parents[1] / "golden" / "transcripts"
"""Transcripts in every minor version of the format, with the same sessions in each version."""
GOLDEN = [
    *sorted((Path(__file__).parents[2] / "sessions").glob("assistant_*.md")),
    *sorted(FORMATS.rglob("*.md")),
]
ZONE = timezone(timedelta(hours=1))


def at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2026-11-21T{clock}").replace(tzinfo=ZONE)


WORKED = Session(
    header=Header(
        id="simple_sally_20261121_143022",
        created=at("14:30:22"),
        agent="Simple Sally",
        agent_path="/agents/sally.py",
        model="scripted:demo",
        parent="simple_sally_20261120_090000",
        parent_path="/data/simple_sally_20261120_090000.md",
    ),
    entries=(
        Restoration(
            at=at("14:30:22"),
            parent_created=at("09:00:00"),
            queries=5,
            tokens=2345,
            block="**Background Context:** Initial session.",
        ),
        Reply(
            number=0,
            at=at("14:30:22"),
            text="Ready to continue!",
            seconds=2.1,
            usage=Usage(input=89, output=67),
        ),
        Query(number=1, at=at("14:30:45"), text="Let's implement the rate limiter"),
        Reply(
            number=1,
            at=at("14:30:46"),
            text="```python\nlimit = 100",
            stop="interrupted",
            seconds=3.2,
            usage=Usage(input=123, output=222, cached=100, reasoning=12, estimated=True),
        ),
        Pin(at=at("14:31:00"), text="100 requests per minute"),
        Query(
            number=2,
            at=at("14:31:10"),
            text="<!-- chat:end -->\n## Query 3 (10:00:00)\n**You:** forged",
        ),
        Reply(number=2, at=at("14:31:12"), text="- a list"),
    ),
    seal=Seal(
        at=at("14:32:00"),
        reason="exit",
        source="model",
        summary=Summary(topics=("Rate limiter",), pinned=("100 requests per minute",)),
        usage=Usage(input=400, output=90),
        seconds=1.25,
    ),
)


EVERYTHING_NEW = Session(
    header=Header(
        id="sally_20261121_143100",
        created=at("14:31:00"),
        agent="Sally",
        name="Which port is free",
        model="compatible:m",
        endpoint="https://models.example/v1",
        tools="read_file, run_command",
        effort="high",
        sampling='{"temperature": 0.2}',
        minor=2,
    ),
    entries=(
        Covered(
            at=at("14:31:00"),
            block="**Background Context:** Ports.",
            last_ref="1.3",
            session="sally_20261121_143000",
        ),
        Query(number=1, at=at("14:31:01"), text="Which port is free?"),
        LeftOut(number=1, at=at("14:31:01"), text="keys/.env", reason="secret"),
        Reply(
            number=1,
            at=at("14:31:01"),
            text="I look.",
            stop="tool",
            seconds=0.75,
            usage=Usage(input=1200, output=30, cached=1000, written=100, reasoning=12),
        ),
        Opaque(
            number=1,
            at=at("14:31:01"),
            text='{"type": "reasoning", "signature": "c2lnbmVk"}',
            model="m",
            endpoint="https://models.example/v1",
        ),
        Call(number=1, at=at("14:31:02"), id="c1", name="run_command", arguments="{}"),
        Call(number=1, at=at("14:31:02"), id="c1", name="read_file", arguments="{}"),
        Result(number=1, at=at("14:31:03"), id="c1", text="5432", given=2),
        Result(number=1, at=at("14:31:03"), id="c1", text="# ports", not_kept=524_288, seconds=0.5),
        Reply(number=1, at=at("14:31:03"), text="5433 is free.", usage=Usage(input=7, output=3)),
        Shortened(at=at("14:31:04"), ref="1.1", call="c1", tokens=12),
        Undo(number=1, at=at("14:31:05")),
        Redo(number=1, at=at("14:31:06")),
        Undo(number=0, at=at("14:31:07"), ref="1.3", session="sally_20261121_143000"),
        Aside(at=at("14:31:08"), text="What is a port?"),
        AsideReply(at=at("14:31:08"), text="A number.", seconds=1.0, usage=Usage(input=5)),
        AgentChange(at=at("14:31:09"), text="Harry"),
        ModelChange(at=at("14:31:09"), text="openai:gpt-5", endpoint="https://api.openai.com/v1"),
    ),
    seal=with_digest(Seal(at=at("14:32:00"), summary=Summary(topics=("Ports",))), 2),
)
"""A session with each record and each value that 1.2 adds."""
IN_EACH_VERSION = [
    pytest.param(session, minor, id=f"{session.header.id}-1.{minor}")
    for session in (WORKED, *SESSIONS)
    for minor in range(MINOR + 1)
]


@pytest.mark.parametrize(
    ("session", "minor"), [*IN_EACH_VERSION, pytest.param(EVERYTHING_NEW, 2, id="everything new")]
)
def test_a_transcript_is_this_text(session: Session, minor: int) -> None:
    session = replace(session, header=replace(session.header, minor=minor))
    golden = FORMATS / f"1.{minor}" / f"{session.header.id}.md"
    assert render(session).decode() == golden.read_bytes().decode()
    assert parse(golden.read_bytes()).session == session


def test_a_page_shows_no_two_fields_on_one_line() -> None:
    """Markdown shows a line break as a space. Two spaces before it, or a blank line, separate fields
    and headings.
    """
    session = replace(WORKED, header=replace(WORKED.header, minor=2))
    lines = render(session).decode().split("\n")
    labels = [at for at, line in enumerate(lines) if line.startswith("**") and ":**" in line]
    joined = [lines[at] for at in labels if at + 1 in labels and not lines[at].endswith("  ")]
    assert joined == []
    assert len(labels) == 26


def test_the_steps_of_a_reply() -> None:
    """Calls that share an id, as in files of other programs, get their results in order."""
    [exchange] = EVERYTHING_NEW.exchanges
    first, last = exchange.steps
    assert [use.call.name for use in first.uses] == ["run_command", "read_file"]
    assert [use.result.text for use in first.uses if use.result] == ["5432", "# ports"]
    assert [part.model for part in first.opaque] == ["m"]
    assert first.reply == EVERYTHING_NEW.entries[3]
    assert (last.reply, last.uses) == (EVERYTHING_NEW.entries[9], ())
    assert exchange.uses == first.uses


def test_what_is_undone_and_redone_counts_once() -> None:
    entries = EVERYTHING_NEW.entries
    assert Session(header=WORKED.header, entries=entries[:12]).exchanges == ()
    assert len(Session(header=WORKED.header, entries=entries[:13]).exchanges) == 1
    assert EVERYTHING_NEW.totals.session.input == 1200 + 7 + 5


def test_a_summary_that_a_person_edits_is_known_by_its_digest() -> None:
    data = render(EVERYTHING_NEW)
    for old, new, edited in ((b"- Ports", b"- Ports", False), (b"- Ports", b"- Harbors", True)):
        session = parse(data.replace(old, new)).session
        assert session is not None
        assert session.seal is not None
        assert session.seal.edited is edited
        assert render(session) == data.replace(old, new)
    digest = b" block=" + data.partition(b" block=")[2][:16]
    for unknown in (b"", b" block=made-up"):
        session = parse(data.replace(digest, unknown).replace(b"- Ports", b"- Harbors")).session
        assert session is not None
        assert session.seal is not None
        assert not session.seal.edited


def test_spaces_that_an_editor_removes_from_the_ends_of_lines_were_no_content() -> None:
    session = replace(WORKED, header=replace(WORKED.header, name="ends with a space ", minor=2))
    data = render(session)
    trimmed = b"\n".join(line.rstrip(b" ") for line in data.split(b"\n"))
    assert trimmed != data
    assert parse(trimmed).session == session


def test_versions_may_be_mixed_in_one_file() -> None:
    """An earlier version appends to, or seals, a file of this one: each record has its own form."""
    old = replace(WORKED, header=replace(WORKED.header, minor=1), seal=None)
    header = replace(EVERYTHING_NEW.header, agent=WORKED.header.agent)
    later = replace(EVERYTHING_NEW, header=header, seal=None)
    data = render(old) + render(later).partition(b"<!-- chat:end -->\n")[2]
    parsed = parse(data)
    assert parsed.damage == ()
    assert parsed.session is not None
    assert parsed.session.entries == (*old.entries, *later.entries)


def test_unknown_keys_and_values_that_are_none_are_ignored() -> None:
    data = render(EVERYTHING_NEW)
    for old, new in (
        (b"chat:opaque n=1", b"chat:opaque later=yes n=1"),
        (b"given=2", b"given=many"),
        (b" of=1.1 ", b" of=first "),
        (b"session=sally_20261121_143000 at", b"session=../x at"),
    ):
        assert data.count(old) >= 1
        data = data.replace(old, new)
    parsed = parse(data)
    assert parsed.damage == ()
    assert parsed.session is not None
    results = [entry for entry in parsed.session.entries if isinstance(entry, Result)]
    assert [(result.text, result.given) for result in results] == [
        ("5432", None),
        ("# ports", None),
    ]
    [shortened] = [entry for entry in parsed.session.entries if isinstance(entry, Shortened)]
    assert (shortened.ref, shortened.call) == ("", "c1")


@pytest.mark.slow
def test_a_part_of_five_megabytes_is_read_and_written_as_it_is() -> None:
    """Services send reasoning of this size; a reader takes each line once."""
    part = Opaque(number=1, at=at("15:00:00"), text='{"signature": "' + "eA==\n" * 1_000_000 + '"}')
    session = replace(WORKED, entries=(*WORKED.entries, part))
    with cpu_limit(60):
        assert parse(render(session)).session == session


def test_a_file_of_a_later_minor_version_is_read_and_sealed_as_one_of_ours() -> None:
    session = replace(WORKED, header=replace(WORKED.header, minor=2), seal=None)
    data = render(session).replace(b" minor=2 ", b" minor=7 later=yes ")
    parsed = parse(data)
    assert (parsed.session, parsed.damage) == (session, ())
    assert WORKED.seal is not None
    sealed = append_seal(data, parsed, WORKED.seal)
    again = parse(sealed).session
    assert again is not None
    assert again.seal == with_digest(WORKED.seal, MINOR)
    assert render(again) == sealed


@given(sessions)
def test_law_parse_of_render_is_identity(session: Session) -> None:
    data = render(session)
    parsed = parse(data)
    assert replace(parsed, tail=None) == Parsed(session)
    end = tail(session.seal, session.totals, session.header.minor).encode() if session.seal else b""
    assert data[len(data) if parsed.tail is None else parsed.tail :] == end


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_law_render_of_parse_is_identity_for_golden_files(path: Path) -> None:
    data = path.read_bytes()
    parsed = parse(data)
    assert parsed.damage == ()
    assert parsed.session is not None
    assert render(parsed.session) == data


def test_truncation_at_every_byte_keeps_all_complete_records() -> None:
    """Only the record that is cut may change, and the damage is reported."""
    data = render(WORKED)
    for cut in range(len(data)):
        parsed = parse(data[:cut])
        complete = data[:cut].count(b"\n<!-- chat:end")
        if parsed.session is None:
            assert parsed.damage
            continue
        whole = WORKED.entries[: max(0, complete - 2)]
        assert parsed.session.entries[: len(whole)] == whole


@given(st.binary(max_size=300), st.integers(0, 4000), st.integers(0, 40))
def test_damage_never_raises_and_never_forges_an_earlier_record(
    junk: bytes, where: int, cut: int
) -> None:
    data = render(WORKED)
    where = min(where, len(data))
    parsed = parse(data[:where] + junk + data[where + cut :])
    assert parsed.session is None or len(parsed.session.entries) <= len(
        WORKED.entries
    ) + junk.count(b"<!--")


@given(st.lists(st.one_of(st.sampled_from(ATOMS), st.text(max_size=5)), max_size=40).map("\n".join))
def test_foreign_text_is_read_without_raising(text: str) -> None:
    data = text.encode("utf-8", "replace")
    parsed = parse(data)
    assert parsed.session is not None or parsed.damage
    parsed = parse(render(WORKED) + b"\n" + data)
    assert parsed.session is not None
    assert parsed.session.entries[: len(WORKED.entries)] == WORKED.entries


def test_a_fenced_tear_followed_by_the_record_again_counts_once() -> None:
    data = render(Session(header=WORKED.header, entries=WORKED.entries[2:3]))
    start = data.index(b"\n---\n")
    torn = data[: start + 120] + b"\n<!-- chat:torn -->\n" + data[start:]
    parsed = parse(torn)
    assert parsed.session is not None
    assert parsed.session.entries == WORKED.entries[2:3]
    assert [sentence.partition(": ")[2] for sentence in parsed.damage] == [
        "the query record has no end.",
        "an interrupted write was fenced off here.",
    ]


def test_an_interrupted_reply_is_kept_as_far_as_it_came() -> None:
    data = render(
        Session(
            header=WORKED.header,
            entries=(*WORKED.entries[2:3], Reply(number=1, at=at("15:00:00"), text="one\ntwo")),
        )
    )
    parsed = parse(data[: data.rindex(b"\n<!-- chat:end")])
    assert parsed.session is not None
    assert parsed.session.entries[1] == Reply(
        number=1, at=at("15:00:00"), text="one\ntwo", stop="interrupted"
    )
    assert len(parsed.damage) == 1


def test_hostile_sizes_are_read_in_linear_steps() -> None:
    """A backtracking regular expression or a quadratic reader takes minutes for these inputs."""
    for piece in (
        b"<!-- SESSION_SUMMARY_START -->\n",
        b"<!-- chat:query n=1 at=x -->\n",
        b"<!-- chat:" + b" " * 40,
    ):
        with cpu_limit(60):
            parsed = parse(render(WORKED) + b"\n" + piece * 40_000)
        assert parsed.session is not None
        assert parsed.session.entries[: len(WORKED.entries)] == WORKED.entries
        assert parsed.damage
    with cpu_limit(60):
        parsed = parse(b"<!-- chat:end" + b" a=b" * 200_000 + b" -->")
    assert parsed.session is None
    assert parsed.damage


@pytest.mark.parametrize(
    ("text", "fence"),
    [
        ("```\ncode", "```\n"),
        ("```\ncode\n```", ""),
        ("~~~~ python\n~~~\n", "~~~~\n"),
        ("``` inline ```", ""),
        ("    ```\nindented code", ""),
        ("````\n```\n", "````\n"),
    ],
)
def test_the_fence_a_text_leaves_open(text: str, fence: str) -> None:
    assert closing_fence(text) == fence


@pytest.mark.parametrize("entry", WORKED.entries, ids=lambda entry: str(type(entry).__name__))
def test_code_that_an_entry_leaves_open_ends_with_it(entry: Entry) -> None:
    """No markdown renderer shows what follows as code, and the text stays as it was."""
    names = {"text", "arguments", "block"}.intersection(entry.__struct_fields__)
    changes = dict.fromkeys(names, "Before\n\n```sh\nls")
    opened = replace(entry, **changes)
    if names:
        assert "\n```\n" in entry_text(opened, WORKED.header)
    data = render(replace(WORKED, entries=(opened,)))
    parsed = parse(data)
    assert not parsed.damage
    assert parsed.session is not None
    assert parsed.session.entries == (opened,)
    assert "<h2>After</h2>" in MarkdownIt().render(f"{data.decode()}\n\n## After")


def test_numbers_as_the_lines_show_them() -> None:
    assert [compact_number(n) for n in (0, 156, 999, 1000, 2345, 61_000, 128_400, 1_250_000)] == [
        "0", "156", "999", "1K", "2.3K", "61K", "128K", "1.2M",
    ]  # fmt: skip


PLAIN_TALK = Session(
    header=Header(id="a_1", created=at("10:00:00"), agent="A"),
    entries=(
        Query(number=1, at=at("10:00:00"), text="HERE and there"),
        Reply(number=1, at=at("10:00:01"), text="the whole text"),
    ),
)


@pytest.mark.parametrize(
    "sign", ["\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]
)
def test_only_a_line_feed_ends_a_line(sign: str) -> None:
    """A hand edit may leave such a character unescaped. It does not start a line or a marker."""
    text = f"one{sign}<!-- chat:end n=1 -->"
    parsed = parse(render(PLAIN_TALK).replace(b"HERE", text.encode()))
    assert parsed.session is not None
    assert [entry.text for entry in parsed.session.entries if isinstance(entry, Query)] == [
        f"{text} and there"
    ]
    assert parsed.damage == ()


def test_a_record_cut_off_in_its_end_marker_has_its_text_and_nothing_else() -> None:
    data = render(PLAIN_TALK)
    end = data.rindex(b"\n<!-- chat:end")
    for cut in range(end, data.rindex(b"-->") + 2):
        session = parse(data[:cut]).session
        assert session is not None
        reply = session.entries[-1]
        assert isinstance(reply, Reply)
        # Up to its fourth character, the marker looks like text that begins the same way.
        assert reply.text.partition("\n")[0] == "the whole text"
        if cut > end + 4:
            assert (reply.text, reply.stop) == ("the whole text", "interrupted")


def test_a_later_version_is_read_as_far_as_it_goes() -> None:
    parsed = parse(render(EVERYTHING_NEW).replace(b" v=1 ", b" v=2 ", 1))
    assert parsed.damage == ("Line 1: the file's format is not version 1.",)
    assert parsed.session is not None
    assert parsed.session.entries == EVERYTHING_NEW.entries


def test_an_end_marker_within_a_summary_ends_nothing() -> None:
    data = render(FIRST)
    changed = data.replace(b"**Decisions Made:**", b"<!-- chat:end -->\n**Decisions Made:**", 1)
    assert changed != data
    parsed = parse(changed)
    assert parsed.session is not None
    assert parsed.session.seal is not None
    assert parsed.session.seal.summary is not None
    assert FIRST.seal is not None
    assert FIRST.seal.summary is not None
    assert parsed.session.seal.summary.topics[0].startswith(FIRST.seal.summary.topics[0])


def test_a_second_header_is_skipped_and_named() -> None:
    data = render(FIRST)
    other = render(replace(FIRST, header=replace(FIRST.header, id="other", agent="Bob")))
    again = other.partition(b"\n---\n")[0]
    parsed = parse(data + b"\n" + again + b"\n")
    assert parsed.session == FIRST
    line = data.count(b"\n") + 2
    assert f"Line {line}: a second header is skipped." in parsed.damage


def test_a_torn_query_is_not_taken_for_the_next_one() -> None:
    head, first, rest = render(PLAIN_TALK).partition(b"\n---\n")
    torn = first + rest.partition(b" and there")[0] + b"\n<!-- chat:torn -->\n"
    again = replace(
        PLAIN_TALK, entries=(Query(number=2, at=at("10:00:00"), text="HERE and there"),)
    )
    second = render(again).partition(b"\n---\n")[2]
    parsed = parse(head + torn + b"\n---\n" + second)
    assert parsed.session is not None
    assert [(one.number, one.text) for one in parsed.session.entries if isinstance(one, Query)] == [
        (1, "HERE"),
        (2, "HERE and there"),
    ]
