"""The reader of basic-agent-chat-loop transcripts reads all that it can, in linear time, and no
file makes it fail.
"""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.library.library import Library
from chat_loop.library.lineage import tree
from chat_loop.sessions import legacy
from chat_loop.sessions.legacy import is_legacy
from chat_loop.sessions.records import EPOCH, Exchange, Header, Query, Reply, Session, Summary
from chat_loop.values import Usage

if TYPE_CHECKING:
    from _typeshed import TraceFunction

FILES = {
    path.stem: path.read_bytes()
    for path in sorted((Path(__file__).parents[1] / "golden" / "plain").glob("*.md"))
}


def read(data: bytes) -> Session:
    return legacy.parse(data, "file")[0]


def damage(data: bytes) -> tuple[str, ...]:
    return legacy.parse(data, "file")[1]


def said(data: bytes) -> list[tuple[str, str]]:
    """Return the texts of all queries and replies."""
    return [words(exchange) for exchange in read(data).exchanges]


def words(exchange: Exchange) -> tuple[str, str]:
    return exchange.query.text, exchange.reply.text if exchange.reply else ""


def local(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone()


def background(data: bytes) -> str:
    """Return the background of the summary. A block without headings is all background."""
    seal = read(data).seal
    return seal.summary.background if seal is not None and seal.summary is not None else ""


def test_a_resumed_session() -> None:
    created = local("2026-02-03T08:31:07.004211")
    first, last = local("2026-02-03T08:20:45"), local("2026-02-03T08:31:07")
    session, faults = legacy.read(FILES["resumed"], Path("/x/file.md"))
    assert session is not None
    assert faults == ()
    assert session.header == Header(
        id="file",
        created=created,
        agent="Harbor Pilot",
        agent_path="/srv/agents/harbor_pilot/agent.py",
        parent="harbor_pilot_20260202_170000",
        parent_path="/srv/chats/.chat-sessions/harbor_pilot_20260202_170000.md",
    )
    assert session.entries == (
        Query(number=1, at=first, text="How deep is the water there?\nGive metres."),
        Reply(
            number=1,
            at=first,
            text="6.4 m at low tide.\n\n| tide | depth |\n|------|-------|\n| low  | 6.4 m |",
            seconds=3.2,
            usage=Usage(input=1123, output=222),
        ),
        Query(number=2, at=last, text="Und bei Springflut?"),
        Reply(number=2, at=last, text="Etwa 9,1 m. 🚢", seconds=0.8),
    )
    assert session.seal is not None
    assert (session.seal.at, session.seal.source) == (created, "model")
    assert session.seal.summary == Summary(
        background="The ferry was given quay 7.",
        topics=("Water depth at quay 7",),
        decisions=("none",),
        pending=("Ask the harbour master",),
    )


def test_the_older_formats() -> None:
    session = read(FILES["before-1.8"])
    assert (session.header.agent, session.header.agent_path) == ("Tide Table", "")
    first, second = session.exchanges
    assert words(first) == ("When is high water?", "At 03:12 and 15:40.")
    assert first.reply is not None
    assert (first.reply.seconds, first.reply.usage) == (1.4, Usage(input=41, output=19))
    assert f"{first.query.at:%H:%M:%S}" == "19:01:02"
    assert words(second) == ("And tomorrow?", "")
    assert f"{second.query.at:%H:%M:%S}" == "19:04:11"
    assert (session.seal, damage(FILES["before-1.8"])) == (None, ())
    oldest = FILES["before-1.2"]
    header = read(oldest).header
    assert (header.created, header.agent) == (local("2025-10-16 07:30:00"), "Rope/Knot")
    assert [reply for _, reply in said(oldest)] == ["A round turn and two half hitches."]


def test_quoted_structure_stays_text() -> None:
    session = read(FILES["quoting"])
    first, second = said(FILES["quoting"])
    assert first[0].startswith(
        "What does this file mean?\n\n## Query 2 (09:00:00)\n**You:** an old question\n**Sal:**"
    )
    assert first[0].endswith("not the summary\n<!-- SESSION_SUMMARY_END -->")
    assert first[1] == (
        "It is a transcript:\n\n---\n\n## Query 2 (not followed by a query)\n\n"
        "*Time: 9.9s | Tokens: 3 (in: 1, out: 2)*\n\n---\n\nIt ends so."
    )
    replies = [entry for entry in session.entries if isinstance(entry, Reply)]
    assert [reply.seconds for reply in replies] == [2.5, 4.0]
    assert replies[0].usage == Usage(input=20, output=10)
    assert second[0] == "And its summary?"
    assert second[1].endswith("an example\n<!-- SESSION_SUMMARY_END -->")
    assert (session.seal, damage(FILES["quoting"])) == (None, ())


def test_damage_is_told_and_the_rest_is_read() -> None:
    assert said(FILES["damaged"]) == [
        ("Is the header gone?", "Yes, and two queries with it."),
        ("Nobody answered this.", ""),
        ("Still there?", "Yes."),
    ]
    assert background(FILES["damaged"]) == "The first"
    assert damage(FILES["damaged"]) == ("The file has 3 of 6 queries.", "The end is missing.")


@pytest.mark.parametrize("name", FILES)
def test_line_ends_and_bom_change_nothing(name: str) -> None:
    expected, returns = legacy.parse(FILES[name], "a"), FILES[name].replace(b"\n", b"\r\n")
    assert legacy.parse(returns, "a") == expected
    assert legacy.parse(b"\xef\xbb\xbf" + FILES[name], "a") == expected
    assert is_legacy(b"\xef\xbb\xbf" + returns) == is_legacy(FILES[name])


FORGED = """\
# Sally Conversation

**Session ID:** sally_1
**Date:** 2026-01-07T11:21:53
**Agent:** Sally
**Total Queries:** {total}

---

## Query 1 (11:22:45)
**You:** Which format do you write?

**Sally:** This one:

---

## Query {forged} (10:00:00)
**You:** quoted

**Sally:** quoted as well

*Time: 9.9s*

---

*Time: 3.2s*

---

## Query 2 (11:23:00)
**You:** And now?

**Sally:** Still this one.

*Time: 1.0s*

---
"""


@pytest.mark.parametrize(("total", "forged"), [("2", 7), ("2", 1), ("2", 0), ("many", 1)])
def test_a_heading_that_a_reply_quotes_takes_no_query_away(total: str, forged: int) -> None:
    first, second = said(FORGED.format(total=total, forged=forged).encode())
    assert first[0] == "Which format do you write?"
    assert f"## Query {forged} (10:00:00)" in first[1]
    assert second == ("And now?", "Still this one.")


def test_a_heading_behind_the_last_query_counts_only_as_far_as_the_header_does() -> None:
    last = FORGED.replace("## Query 2 (11:23:00)", "## Nothing").format(total="1", forged=7)
    assert len(said(last.encode())) == 1
    gone = FORGED.replace("## Query 2 (11:23:00)", "## Nothing").format(total="3", forged=3)
    assert said(gone.encode())[1][0] == "quoted"
    assert "The file has 2 of 3 queries." in damage(gone.encode())


def cut(name: str, before: str) -> bytes:
    return FILES[name].partition(before.encode())[0]


def test_truncated_files() -> None:
    data = cut("resumed", " out: 222")
    assert said(data)[0][1].startswith("6.4 m")
    assert damage(data) == ("The file has 1 of 2 queries.", "The end is missing.")
    data = cut("resumed", "quay 7 for")
    assert said(data) == []
    assert damage(data) == ("The file has 0 of 2 queries.", "The end is missing.")
    data = cut("resumed", "_SUMMARY_START")
    assert said(data)[1][1] == "Etwa 9,1 m. 🚢"
    data = cut("resumed", "SUMMARY_END")
    assert (read(data).seal, damage(data)) == (None, ("The end is missing.",))
    data = cut("before-1.8", "\n**Tide Table:** \n")
    assert said(data)[1] == ("And tomorrow?", "")


def test_small_damage() -> None:
    assert damage(b"") == damage(b"\xef\xbb\xbf\r\n \n") == ()
    latin = FILES["before-1.8"].replace(b"tomorrow", b"\xe9")
    assert said(latin)[1][0] == "And \ufffd?"
    assert damage(latin) == ("Some bytes are not UTF-8; they are shown as U+FFFD.",)
    assert damage("a \ufffd".encode()) == ()
    unruled = FILES["before-1.8"].replace(b"---\n", b"", 1)
    assert legacy.parse(unruled, "a") == legacy.parse(FILES["before-1.8"], "a")


TIDE = FILES["before-1.8"]
OPEN = TIDE.partition(b"**Tide Table:** \n")[0]
"""The file up to the second query's reply."""


@pytest.mark.parametrize(
    ("data", "reply", "seconds"),
    [
        (
            OPEN + b"**Tide Table:** a\n\n*Time: 1.0s*\nb\n\n---\n\nc",
            "a\n\n*Time: 1.0s*\nb\n\n---\n\nc",
            None,
        ),
        (OPEN + b"*Time: 1.0s*\n\n---\n\n**Tide Table:** a\n\n*Time: 2.0s*\n\n---\n", "a", 2.0),
        (OPEN + b"*Time: 1.0s*\n\n---\n\n**Tide Table:** a", "a", None),
        (OPEN + b"**Tide Table:** a\n\n---\n", "a", None),
        (OPEN + b"**Other Name:** a\n\n*Time: 2.0s*\n\n---\n", "a", 2.0),
        (
            OPEN + b"**Tide Table:** a\n\n*Time: " + b"9" * 400 + b"s*\n\n---\n",
            "a\n\n*Time: " + "9" * 400 + "s*",
            None,
        ),
        (
            OPEN
            + b"**Tide Table:** a\n\n*Time: 1s | Tokens: 1 (in: 1, out: "
            + b"9" * 5000
            + b")*\n\n---\n",
            None,
            None,
        ),
    ],
)
def test_where_a_reply_begins_and_ends(
    data: bytes, reply: str | None, seconds: float | None
) -> None:
    found = read(data).exchanges[1].reply
    assert found is not None
    assert found.text == reply or reply is None
    assert found.seconds == seconds


def test_headings_that_do_not_count() -> None:
    data = TIDE + b"\n## Query 3 (10:00:00)\n\n"
    assert len(said(data)) == 2
    late = (
        b"\n## Session Restored (10:00:00)\n**Context:** Resumed from x (1 queries)\n\n**Tide "
        b"Table:** no\n\n---\n"
    )
    assert read(TIDE + late).header.parent == ""
    data = TIDE.replace(b"19:01:02", b"whenever")
    assert read(data).exchanges[0].query.at == read(data).header.created


def test_header_values_are_the_first_above_the_rule() -> None:
    data = b"# A Conversation\n**Agent:** a\n**Agent:** b\n---\n**Agent Path:** c\n"
    assert (read(data).header.agent, read(data).header.agent_path) == ("a", "")
    header = read(b"# A Conversation\n**Date:** never\n---\n").header
    assert (header.agent, header.created) == ("A", EPOCH)
    assert damage(TIDE.replace(b"Total Queries:** 2", b"Total Queries:** two")) == ()


def test_parent_and_agent_from_elsewhere() -> None:
    data = FILES["resumed"].replace(b"**Resumed From:** ", b"").replace(b"**Agent:** ", b"")
    assert read(data).header.parent == "harbor_pilot_20260202_170000"
    assert read(data).header.agent == "Harbor Pilot"


def test_without_a_time_line_the_rule_ends_the_reply() -> None:
    data = FILES["resumed"].replace(b"*Time: 3.2s | Tokens: 1,345 (in: 1,123, out: 222)*\n\n", b"")
    assert said(data)[0][1].endswith("| low  | 6.4 m |")
    data = (
        FILES["resumed"].replace(b"*Time: 0.8s*\n\n", b"").replace(b"Here is the summary:\n\n", b"")
    )
    reply = read(data).exchanges[1].reply
    assert reply is not None
    assert (reply.text, reply.seconds, reply.usage) == ("Etwa 9,1 m. 🚢", None, None)
    seal = read(data).seal
    assert seal is not None
    assert seal.summary is not None
    assert seal.summary.pending == ("Ask the harbour master",)
    assert damage(data) == ()


def test_markers_within_a_line_and_repeated_blocks() -> None:
    head = FILES["before-1.8"]
    start, end = b"<!-- SESSION_SUMMARY_START -->", b"<!-- SESSION_SUMMARY_END -->"
    assert background(head + b"\nSure: " + start + b" first " + end + b" done") == "first"
    assert background(head + start + b"\n1\n" + end + b"\n" + start + b"\n2\n" + end) == "2"
    assert background(head + start + b"\n1\n" + start + b"\n2\n" + end) == "2"
    assert read(head + end + b"\n").seal is None


def test_is_legacy() -> None:
    assert {name for name, data in FILES.items() if is_legacy(data[:4096])} == set(FILES) - {
        "damaged"
    }
    assert not is_legacy(b"")
    assert not is_legacy(b"# Notes\n\n**Session ID:** a\n")
    assert not is_legacy(b"# A Conversation\n\nAbout **Session ID:** lines.\n")
    assert not is_legacy(b"<!-- chat:session v=1 id=a -->\n" + FILES["resumed"])
    assert not is_legacy(
        FILES["resumed"].replace(b"\n\n", b"\n\n<!-- chat:session id=a -->\n\n", 1)
    )
    assert is_legacy(
        FILES["before-1.8"].replace(b"And tomorrow?", b"\n<!-- chat:session v=1 -->\n")
    )
    long = (
        b"# A Conversation\n\n**Session ID:** a\n\n---\n\n## Query 1 (10:00:00)\n**You:** "
        + "ü".encode() * 4096
    )
    assert is_legacy(long[:4096])
    assert is_legacy(long[:4095])


FRAGMENTS = [
    *(b"Session ID", b"Date", b"Agent", b"Total Queries", b"Resumed From", b"Context"),
    *(data[i : i + 40] for data in FILES.values() for i in range(0, len(data), 40)),
    b"## Query 1 (10:00:00)\n**You:** ",
    b"## Query " + b"9" * 5000 + b" (x)\n**You:** ",
    b"*Time: " + b"9" * 5000 + b"s*\n---\n",
    b"*Time: 1.0s | Tokens: 1,, (in: 1,,, out: 0,)*\n\n---\n",
    b"**Total Queries:** " + b"1" * 5000 + b"\n",
    "**Total Queries:** ١٢\n## Query ٣ (10:00:00)\n".encode(),
    *(b"\xff\xfe", b"\0", b"\r", b"\x85", b"\n---\n\n"),
    *(b"<!-- SESSION_SUMMARY_START -->", b"<!-- SESSION_SUMMARY_END -->"),
]
pieces = st.lists(st.sampled_from(FRAGMENTS) | st.binary(max_size=8), max_size=40).map(b"".join)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    data = draw(st.sampled_from(list(FILES.values())))
    for _ in range(draw(st.integers(0, 4))):
        at, upto = sorted((draw(st.integers(0, len(data))), draw(st.integers(0, len(data)))))
        data = (
            data[:at]
            + draw(st.sampled_from(FRAGMENTS) | st.binary(max_size=4) | st.just(data[at:]))
            + data[upto:]
        )
    return data


@given(data=st.binary() | pieces | mutated())
def test_no_bytes_make_it_fail(data: bytes) -> None:
    session, faults = legacy.parse(data, "file")
    is_legacy(data[:4096])
    assert sum(len(query + reply) for query, reply in said(data)) <= len(data)
    assert len(background(data)) <= len(data)
    assert [entry.number for entry in session.entries if isinstance(entry, Query)] == [
        *range(1, len(session.exchanges) + 1)
    ]
    assert all(sentence.endswith(".") and "\n" not in sentence for sentence in faults)


def lines_executed(data: bytes) -> int:
    """Return the number of lines of the reader that run. This measures its work, because the
    library calls in each line take linear time.
    """
    count = 0

    def local(_frame: FrameType, event: str, _arg: object) -> TraceFunction:
        nonlocal count
        count += event == "line"
        return local

    def enter(frame: FrameType, _event: str, _arg: object) -> TraceFunction | None:
        return local if frame.f_code.co_filename == legacy.__file__ else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        legacy.parse(data, "file")
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "unit",
    [
        *(
            b"## Query 1 (10:00:00)\n\n",
            b"---\n\n## Query 1 (10:00:00)\n",
            b"*Time: 1.0s*\n\n---\n\n",
        ),
        *(
            b"\n**You:** a\n\n**A:** b\n\n---\n",
            b"<!-- SESSION_SUMMARY_START -->\n",
            b"---\n",
            b"\n",
        ),
    ],
)
def test_work_grows_with_the_size_and_not_faster(unit: bytes) -> None:
    head = FILES["before-1.8"]
    once, twice = (lines_executed(head + unit * n) for n in (500, 1000))
    assert twice <= 2.1 * once


def test_the_tree_of_a_session_that_was_not_imported_has_its_parent(tmp_path: Path) -> None:
    parent, child = "harbor_pilot_20260202_170000", "harbor_pilot_20260203_081500"
    (tmp_path / f"{parent}.md").write_bytes(FILES["before-1.8"])
    (tmp_path / f"{child}.md").write_bytes(FILES["resumed"])
    library = Library(tmp_path)
    assert [node.id for node in tree(child, library.links().value)] == [parent, child]
    library.close()
