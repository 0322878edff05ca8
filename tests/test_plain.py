"""Transcripts of basic-agent-chat-loop are read as far as they can be, in linear time, and no file
makes it fail.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.library.library import Library
from chat_loop.library.lineage import tree
from chat_loop.sessions import plain
from chat_loop.sessions.plain import PlainExchange, PlainSession, is_plain, read_plain

if TYPE_CHECKING:
    from _typeshed import TraceFunction

FILES = {
    path.stem: path.read_bytes() for path in sorted((Path(__file__).parent / "plain").glob("*.md"))
}


def test_a_resumed_session() -> None:
    assert read_plain(FILES["resumed"]) == PlainSession(
        id="harbor_pilot_20260203_081500",
        created="2026-02-03T08:31:07.004211",
        agent="Harbor Pilot",
        agent_path="/srv/agents/harbor_pilot/agent.py",
        resumed_from="harbor_pilot_20260202_170000",
        previous_session="/srv/chats/.chat-sessions/harbor_pilot_20260202_170000.md",
        exchanges=(
            PlainExchange(
                query="How deep is the water there?\nGive metres.",
                reply="6.4 m at low tide.\n\n| tide | depth |\n|------|-------|\n| low  | 6.4 m |",
                time="08:20:45",
                seconds=3.2,
                input=1123,
                output=222,
            ),
            PlainExchange(
                query="Und bei Springflut?", reply="Etwa 9,1 m. 🚢", time="08:31:07", seconds=0.8
            ),
        ),
        restoration="We chose quay 7 for the ferry.\n\nReady to go on.",
        summary=(
            "**Background Context:** The ferry was given quay 7.\n\n**Current Session Summary:**\n"
            "**Topics Discussed:**\n- Water depth at quay 7\n\n**Decisions Made:**\n- none\n\n"
            "**Pending:**\n- Ask the harbour master"
        ),
    )


def test_the_older_formats() -> None:
    session = read_plain(FILES["before-1.8"])
    assert (session.id, session.agent, session.agent_path) == (
        "tide_table_20251201_190000",
        "Tide Table",
        "",
    )
    assert session.exchanges == (
        PlainExchange(
            query="When is high water?",
            reply="At 03:12 and 15:40.",
            time="19:01:02",
            seconds=1.4,
            input=41,
            output=19,
        ),
        PlainExchange(query="And tomorrow?", reply="", time="19:04:11", seconds=12.0),
    )
    assert (session.summary, session.damage) == ("", ())
    oldest = read_plain(FILES["before-1.2"])
    assert (oldest.id, oldest.created, oldest.agent) == ("", "2025-10-16 07:30:00", "Rope/Knot")
    assert [exchange.reply for exchange in oldest.exchanges] == [
        "A round turn and two half hitches."
    ]
    assert oldest.damage == ("The header has no session id.",)


def test_quoted_structure_stays_text() -> None:
    session = read_plain(FILES["quoting"])
    first, second = session.exchanges
    assert first.query.startswith(
        "What does this file mean?\n\n## Query 2 (09:00:00)\n**You:** an old question\n**Sal:**"
    )
    assert first.query.endswith("not the summary\n<!-- SESSION_SUMMARY_END -->")
    assert first.reply == (
        "It is a transcript:\n\n---\n\n## Query 2 (not followed by a query)\n\n"
        "*Time: 9.9s | Tokens: 3 (in: 1, out: 2)*\n\n---\n\nIt ends so."
    )
    assert (first.seconds, first.input, first.output) == (2.5, 20, 10)
    assert second.query == "And its summary?"
    assert second.reply.endswith("an example\n<!-- SESSION_SUMMARY_END -->")
    assert second.seconds == 4.0
    assert (session.summary, session.damage) == ("", ())


def test_damage_is_told_and_the_rest_is_read() -> None:
    session = read_plain(FILES["damaged"])
    assert [(exchange.query, exchange.reply) for exchange in session.exchanges] == [
        ("Is the header gone?", "Yes, and two queries with it."),
        ("Nobody answered this.", ""),
        ("Still there?", "Yes."),
    ]
    assert session.summary == "**Background Context:** The first"
    assert session.damage == (
        "The header is missing.",
        "After query 0 comes query 3.",
        "After query 3 comes query 5.",
        "There is no reply to query 5.",
        "The summary block has no end.",
    )


@pytest.mark.parametrize("name", FILES)
def test_line_ends_and_bom_change_nothing(name: str) -> None:
    expected = read_plain(FILES[name])
    assert read_plain(FILES[name].replace(b"\n", b"\r\n")) == expected
    assert read_plain(b"\xef\xbb\xbf" + FILES[name]) == expected
    assert is_plain(b"\xef\xbb\xbf" + FILES[name].replace(b"\n", b"\r\n")) == is_plain(FILES[name])


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


@pytest.mark.parametrize(("total", "forged"), [("2", 7), ("9", 7), ("many", 3), ("2", 1), ("2", 0)])
def test_a_heading_that_a_reply_quotes_takes_no_query_away(total: str, forged: int) -> None:
    session = read_plain(FORGED.format(total=total, forged=forged).encode())
    assert [exchange.query for exchange in session.exchanges] == [
        "Which format do you write?",
        "And now?",
    ]
    assert f"## Query {forged} (10:00:00)" in session.exchanges[0].reply
    assert session.exchanges[1].reply == "Still this one."


def test_a_heading_behind_the_last_query_counts_only_as_far_as_the_header_does() -> None:
    last = FORGED.replace("## Query 2 (11:23:00)", "## Nothing").format(total="1", forged=7)
    assert len(read_plain(last.encode()).exchanges) == 1
    gone = FORGED.replace("## Query 2 (11:23:00)", "## Nothing").format(total="3", forged=3)
    session = read_plain(gone.encode())
    assert [exchange.query for exchange in session.exchanges][1] == "quoted"
    assert "After query 1 comes query 3." in session.damage


def cut(name: str, before: str) -> PlainSession:
    return read_plain(FILES[name].partition(before.encode())[0])


def test_truncated_files() -> None:
    session = cut("resumed", " out: 222")
    assert session.exchanges[0].reply.startswith("6.4 m")
    assert session.damage == (
        "The reply to query 1 has no end.",
        "The header counts 2 queries, the file has 1.",
    )
    session = cut("resumed", "quay 7 for")
    assert (session.restoration, session.exchanges) == ("We chose ", ())
    assert session.damage[0] == "The reply to the restoration has no end."
    session = cut("resumed", "_SUMMARY_START")
    assert session.exchanges[1].reply == "Etwa 9,1 m. 🚢"
    assert session.damage == ("There is text after the last exchange that belongs to nothing.",)
    session = cut("resumed", "SUMMARY_END")
    assert (session.summary, session.damage) == ("", ("The summary block has no end.",))
    session = cut("before-1.8", "\n**Tide Table:** \n")
    assert session.exchanges[1] == PlainExchange(query="And tomorrow?", reply="", time="19:04:11")
    assert session.damage == ("There is no reply to query 2.",)


def test_small_damage() -> None:
    assert (
        read_plain(b"").damage
        == read_plain(b"\xef\xbb\xbf\r\n \n").damage
        == ("The file is empty.",)
    )
    latin = read_plain(FILES["before-1.8"].replace(b"tomorrow", b"\xe9"))
    assert latin.exchanges[1].query == "And \ufffd?"
    assert latin.damage == ("Some bytes are not UTF-8; they are shown as U+FFFD.",)
    assert read_plain("a \ufffd".encode()).damage == ("The header is missing.",)
    stray = FILES["before-1.8"].replace(b"---\n", b"---\nlost words\n", 1)
    assert read_plain(stray).damage == (
        "There is text before the first query that belongs to nothing.",
    )
    unruled = FILES["before-1.8"].replace(b"---\n", b"", 1)
    assert read_plain(unruled) == read_plain(FILES["before-1.8"])


TIDE = FILES["before-1.8"]
OPEN = TIDE.partition(b"**Tide Table:** \n")[0]
"""Up to the second query's reply."""


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
    exchange = read_plain(data).exchanges[1]
    assert exchange.reply == reply or reply is None
    assert exchange.seconds == seconds


def test_headings_that_do_not_count() -> None:
    session = read_plain(TIDE + b"\n## Query 3 (10:00:00)\n\n")
    assert len(session.exchanges) == 2
    assert session.damage == ("There is text after the last exchange that belongs to nothing.",)
    late = (
        b"\n## Session Restored (10:00:00)\n**Context:** Resumed from x (1 queries)\n\n**Tide "
        b"Table:** no\n\n---\n"
    )
    session = read_plain(TIDE + late)
    assert (session.restoration, session.resumed_from) == ("", "")
    assert read_plain(TIDE.replace(b"19:01:02", b"whenever")).exchanges[0].time == ""


def test_header_values_are_the_first_above_the_rule() -> None:
    session = read_plain(
        b"# A Conversation\n**Session ID:** a\n**Session ID:** b\n---\n**Agent Path:** c\n"
    )
    assert (session.id, session.agent, session.agent_path) == ("a", "A", "")
    assert read_plain(TIDE.replace(b"Total Queries:** 2", b"Total Queries:** two")).damage == ()


def test_parent_and_agent_from_elsewhere() -> None:
    session = read_plain(
        FILES["resumed"].replace(b"**Resumed From:** ", b"").replace(b"**Agent:** ", b"")
    )
    assert session.resumed_from == "harbor_pilot_20260202_170000"
    assert session.agent == "Harbor Pilot"


def test_without_a_time_line_the_rule_ends_the_reply() -> None:
    data = FILES["resumed"].replace(b"*Time: 3.2s | Tokens: 1,345 (in: 1,123, out: 222)*\n\n", b"")
    assert read_plain(data).exchanges[0].reply.endswith("| low  | 6.4 m |")
    data = (
        FILES["resumed"].replace(b"*Time: 0.8s*\n\n", b"").replace(b"Here is the summary:\n\n", b"")
    )
    session = read_plain(data)
    assert session.exchanges[1] == PlainExchange(
        query="Und bei Springflut?", reply="Etwa 9,1 m. 🚢", time="08:31:07"
    )
    assert session.summary.endswith("harbour master")
    assert session.damage == ()


def test_markers_within_a_line_and_repeated_blocks() -> None:
    head = FILES["before-1.8"]
    start, end = b"<!-- SESSION_SUMMARY_START -->", b"<!-- SESSION_SUMMARY_END -->"
    assert read_plain(head + b"\nSure: " + start + b" first " + end + b" done").summary == "first"
    assert read_plain(head + start + b"\n1\n" + end + b"\n" + start + b"\n2\n" + end).summary == "2"
    assert read_plain(head + start + b"\n1\n" + start + b"\n2\n" + end).summary == "2"
    assert read_plain(head + end + b"\n").summary == ""


def test_is_plain() -> None:
    assert {name for name, data in FILES.items() if is_plain(data[:4096])} == set(FILES) - {
        "damaged"
    }
    assert not is_plain(b"")
    assert not is_plain(b"# Notes\n\n**Session ID:** a\n")
    assert not is_plain(b"# A Conversation\n\nAbout **Session ID:** lines.\n")
    assert not is_plain(b"<!-- chat:session v=1 id=a -->\n" + FILES["resumed"])
    assert not is_plain(FILES["resumed"].replace(b"\n\n", b"\n\n<!-- chat:session id=a -->\n\n", 1))
    assert is_plain(FILES["before-1.8"].replace(b"And tomorrow?", b"\n<!-- chat:session v=1 -->\n"))
    long = (
        b"# A Conversation\n\n**Session ID:** a\n\n---\n\n## Query 1 (10:00:00)\n**You:** "
        + "ü".encode() * 4096
    )
    assert is_plain(long[:4096])
    assert is_plain(long[:4095])


FRAGMENTS = [
    *(line.encode() for line in plain._LABELS),
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
    session = read_plain(data)
    is_plain(data[:4096])
    texts = [session.summary, session.restoration, *(e.query + e.reply for e in session.exchanges)]
    assert sum(map(len, texts)) <= len(data)
    assert all(sentence.endswith(".") and "\n" not in sentence for sentence in session.damage)


@given(data=st.sampled_from(list(FILES.values())), at=st.integers(0, 5000))
def test_a_prefix_never_holds_more_than_the_file(data: bytes, at: int) -> None:
    whole, part = read_plain(data), read_plain(data[:at])
    assert len(part.exchanges) <= len(whole.exchanges)
    for ours, theirs in zip(part.exchanges[:-1], whole.exchanges, strict=False):
        assert ours == theirs


def lines_executed(data: bytes) -> int:
    """How many lines of the reader's code run; library calls per line are linear in the line."""
    count = 0

    def local(_frame: FrameType, event: str, _arg: object) -> TraceFunction:
        nonlocal count
        count += event == "line"
        return local

    def enter(frame: FrameType, _event: str, _arg: object) -> TraceFunction | None:
        return local if frame.f_code.co_filename == plain.__file__ else None

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        read_plain(data)
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


def test_work_grows_with_the_number_of_queries() -> None:
    body = [
        b"## Query %d (10:00:00)\n**You:** a\n\n**A:** b\n\n*Time: 1.0s*\n\n---\n\n" % n
        for n in range(1, 1001)
    ]
    once, twice = (lines_executed(b"".join(body[:n])) for n in (500, 1000))
    assert twice <= 2.1 * once
    assert len(read_plain(b"".join(body)).exchanges) == 1000


def test_the_tree_of_a_session_that_was_not_imported_has_its_parent(tmp_path: Path) -> None:
    parent, child = "harbor_pilot_20260202_170000", "harbor_pilot_20260203_081500"
    (tmp_path / f"{parent}.md").write_bytes(FILES["before-1.8"])
    (tmp_path / f"{child}.md").write_bytes(FILES["resumed"])
    library = Library(tmp_path, lambda: datetime(2026, 11, 22, tzinfo=UTC))
    assert [node.id for node in tree(child, library.links())] == [parent, child]
    library.close()
