"""The archive of an open conversation: how it is updated in the background, searched, read, and
put into words for a model.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from benchmarks.support.exchanges import ExchangeIndex, hit_of
from benchmarks.support.planting import FACTS, NOTHING_TO_FIND, conversation, exchange
from chat_loop.context.ledger import newer_values
from chat_loop.library.archive import (
    CANNOT,
    NO_ARCHIVE,
    NOT_READY,
    RECALL_ROOM,
    ROOM,
    STRONG,
    Archive,
    read_text,
    recall_text,
    search_text,
)
from chat_loop.library.archive_tools import READ, SEARCH
from chat_loop.library.hits import Hit, TextRange
from chat_loop.library.index import FILE, stale_count
from chat_loop.library.library import Library
from chat_loop.library.search import excerpt
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Exchange
from chat_loop.sessions.rows import newest_first
from chat_loop.tokens import estimate
from tests.support.archives import chained, session
from tests.support.scripted_chat import START, words
from tests.support.strategies import texts as hostile

PORT = "Decision: the staging database listens on port 5433."
WEATHER = "How is the weather by the sea?"


def refs(hits: list[Hit]) -> list[str]:
    return [hit.exchange.ref for hit in hits]


def followed(sessions: SessionManager, *spoken: list[str | tuple[str, str]]) -> Archive:
    """Return the archive of a chain whose last session is the open one."""
    return Archive(sessions, chained(sessions, *spoken))


def test_a_second_query_looks_at_no_other_file_and_misses_no_change_of_an_ancestor(
    tmp_path: Path,
) -> None:
    sessions = SessionManager(tmp_path, now=lambda: START)
    archive = followed(sessions, [WEATHER, PORT], ["Hello."], ["Go on."])
    question = "Which port does the staging database listen on?"
    assert archive.recall(question)[1] == ("1.2",)
    session(sessions, "other", "", ["An unrelated session."])
    assert archive.recall(question)[1] == ("1.2",)
    unread = stale_count(tmp_path, newest_first(tmp_path))
    assert unread == 2, "the open session and the other one are not read for a recall"
    (tmp_path / FILE).unlink()
    assert archive.recall(question)[1] == ("1.2",)
    (ancestor,) = tmp_path.glob("s1_*.md")
    ancestor.write_text(ancestor.read_text("utf-8").replace("5433", "5434"), "utf-8")
    assert "5434" in archive.recall(question)[0]
    ancestor.unlink()
    assert archive.recall(question) == ("", ())


def test_an_older_value_is_attached_with_the_newer_one(tmp_path: Path) -> None:
    old, new = "The gate of the marina opens at 6:30.", "From May on, the gate opens at 7:15."
    said: list[str | tuple[str, str]] = [old, f"All 3 of us saw the gate of the marina open. {new}"]
    sessions = SessionManager(tmp_path, now=lambda: START)
    archive = followed(sessions, said, ["Hello."], ["Go on."])
    question = "When does the gate of the marina open?"
    alone, _ = archive.recall(question, weak=True)
    assert old in alone
    assert new not in alone
    both, refs = archive.recall(question, weak=True, newer=newer_values)
    assert f"user: “{old}”\n[1.2] {START:%Y-%m-%d}, user: “{new}”" in both
    assert {*refs} == {"1.1", "1.2"}
    assert new not in archive.recall(question, (), 60, weak=True, newer=newer_values)[0]
    assert old not in archive.recall(question, (), 60, weak=True, newer=newer_values)[0]
    known, _ = archive.recall(question, (), 400, new, weak=True, newer=newer_values)
    assert old in known
    assert new not in known


def test_what_the_ancestors_said_is_found_under_its_reference(tmp_path: Path) -> None:
    archive = followed(
        SessionManager(tmp_path, now=lambda: START),
        [WEATHER, PORT],
        [WEATHER, "The port is open."],
        ["port of the live session"],
    )
    assert refs(archive.search("staging port")) == ["1.2", "2.2"]
    assert refs(archive.search("staging port", without={"1.2"})) == ["2.2"]
    text, _ = archive.recall(f"What did we say on {START:%d %B}?")
    assert WEATHER in text
    assert PORT in text
    assert archive.recall(f"What did we say on {START + timedelta(days=1):%d %B}?") == ("", ())


def test_after_a_compaction_the_new_parent_is_found_as_well(tmp_path: Path) -> None:
    sessions = SessionManager(tmp_path, now=lambda: START)
    live = chained(sessions, [PORT], [WEATHER], ["Now the port is 5434."])
    archive = Archive(sessions, live)
    assert refs(archive.search("port")) == ["1.1"]
    archive = Archive(sessions, session(sessions, "s4", live.header.id, ["hello"], 4))
    assert set(refs(archive.search("port"))) == {"1.1", "3.1"}


def test_a_broken_chain_is_searched_as_far_as_it_goes(tmp_path: Path) -> None:
    sessions = SessionManager(tmp_path, now=lambda: START)
    live = chained(sessions, ["lost"], [PORT], ["hello"])
    next(tmp_path.glob("s1_*")).unlink()
    archive = Archive(sessions, live)
    assert refs(archive.search("port")) == ["2.1"]
    assert "[2.1]" in archive.call(SEARCH, {"query": "port"})


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the index of a folder against reads and writes, as another process that writes does."""
    with closing(Library(folder, thorough=True)) as library:
        library.update_index()
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as database:
        database.execute("BEGIN EXCLUSIVE")
        yield


@pytest.mark.slow
def test_an_index_that_cannot_be_read_holds_nobody_up(tmp_path: Path) -> None:
    sessions = SessionManager(tmp_path, now=lambda: START)
    archive = Archive(sessions, chained(sessions, [PORT], ["hello"]))
    with locked(tmp_path):
        assert archive.recall("port") == ("", ())
        assert CANNOT in archive.call(SEARCH, {"query": "port"})
    assert refs(archive.search("port")) == ["1.1"]


@pytest.mark.slow
def test_what_takes_too_long_to_index_is_continued_by_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = SessionManager(tmp_path, now=lambda: START)
    live = chained(sessions, *([f"This is session {number}."] for number in range(120)))
    monkeypatch.setattr("chat_loop.library.archive.CALL_SECONDS", -1.0)
    archive = Archive(sessions, live)
    answers = [archive.call(SEARCH, {"query": "session 7"}) for _ in range(4)]
    assert answers[0] == NOT_READY
    assert "User: This is session 7." in answers[-1]


def test_without_an_index_the_model_is_told_why(tmp_path: Path) -> None:
    sessions = SessionManager(tmp_path, now=lambda: START)
    live = chained(sessions, [PORT], ["hello"])
    (tmp_path / FILE).mkdir()
    archive = Archive(sessions, live)
    answer = archive.call(SEARCH, {"query": "port"})
    assert "The archive cannot be searched: The index" in answer


def test_the_tools_calls(tmp_path: Path) -> None:
    archive = followed(
        SessionManager(tmp_path, now=lambda: START),
        [PORT],
        [("Which day?", "Friday."), WEATHER],
        ["hello"],
    )
    assert (
        archive.call(SEARCH, {"query": "staging port"})
        == """\
Found in the archive of this conversation, best first, as it was said:

[1.1] 2026-11-21 22:30
User: Decision: the staging database listens on port 5433.
Assistant: Fine."""
    )
    assert archive.call(SEARCH, {"query": "unicorn"}) == (
        "Nothing in the archive matches that. It may have been said in other words: "
        "rephrase the question."
    )
    friday = "[2.1] 2026-11-21 22:30\nUser: Which day?\nAssistant: Friday."
    assert archive.call(READ, {"queries": "1"}) == friday
    assert archive.call(READ, {"queries": "[2.1]"}) == friday
    assert archive.call(READ, {"queries": "1-2"}).startswith(f"{friday}\n\n[2.2]")
    assert archive.call(READ, {"queries": " "}).startswith("Give the number of a query")


def test_the_tools_of_a_conversation_without_ancestors(tmp_path: Path) -> None:
    sessions = SessionManager(tmp_path, now=lambda: START)
    archive = followed(sessions, ["hello"])
    assert archive.call(SEARCH, {"query": "hello"}) == NO_ARCHIVE
    assert "hello" in archive.call(READ, {"queries": "1.1"}), "what was shortened is read there"
    live = chained(sessions, ["lost"], ["hello"])
    next(path for path in tmp_path.glob("s1_*") if path.stem == live.header.parent).unlink()
    archive = Archive(sessions, live)
    assert archive.call(SEARCH, {"query": "lost"}) == NO_ARCHIVE


def said(*pairs: tuple[str, str], depth: int = 2) -> list[Exchange]:
    return [exchange(depth, number, *pair) for number, pair in enumerate(pairs, 1)]


def searched(exchanges: list[Exchange], query: str) -> list[Hit]:
    search = ExchangeIndex()
    search.add(exchanges)
    hits = search.search(query)
    search.close()
    return hits


LONG = " ".join(f"Sentence number {at} is about nothing at all." for at in range(400))


def test_a_long_reply_is_cut_to_what_matches() -> None:
    reply = f"{LONG} The invoice of the printer is no. 771. {LONG}"
    text = search_text(
        searched(said(("Which one?", reply), ("hello", "")), "invoice of the printer"), 60, words
    )
    heading, at, user, assistant = [line for line in text.split("\n") if line]
    assert (heading, at, user) == (
        "Found in the archive of this conversation, best first, as it was said:",
        "[2.1] 2026-03-02 09:00",
        "User: Which one?",
    )
    assert assistant.startswith("Assistant: … ")
    assert assistant.endswith(" …")
    assert " The invoice of the printer is no. 771. " in assistant
    assert 30 <= words(text) <= 60


def test_what_is_attached_to_a_query() -> None:
    exchanges = conversation(planted=FACTS[:1])
    place = next(one for one in exchanges if FACTS[0].statement in f"{one.query.text}{one.reply}")
    search = ExchangeIndex()
    search.add(exchanges)
    text, attached = recall_text(search.search(FACTS[0].question), estimate)
    assert attached == (place.ref,)
    assert text == (
        "Found automatically earlier in this conversation; it may be superseded or beside the "
        "point:\n"
        f"[{place.ref}] {place.query.at:%Y-%m-%d}, user: “Decision: the staging database "
        "listens on port 5433.”"
    )
    for query in ("thanks, go on", "write a poem about the sea", "", "\x00", "port"):
        assert recall_text(search.search(query), estimate) == ("", ())
    search.close()


def test_the_answer_to_a_question_is_attached_with_it() -> None:
    hit = hit_of(
        exchange(2, 3, "Which day is market day?", "Friday. Or so."),
        1.0,
        (TextRange(0, 0, 24),),
    )
    text, attached = recall_text([hit], estimate)
    assert attached == ("2.3",)
    assert text.split("\n")[1] == (
        "[2.3] 2026-03-02, user: “Which day is market day?”; assistant: “Friday.”"
    )
    alone = replace(hit, strength=0.3)
    assert recall_text([alone], estimate)[1] == ("2.3",)
    assert recall_text([alone], estimate, weak=True) == ("", ()), "perhaps only a similar question"


def test_only_sure_hits_and_only_what_people_said_is_attached() -> None:
    one = exchange(2, 3, "Port 5433 it is.", "Fine.")
    strong, weak, weaker, weakest = (
        hit_of(one, strength, (TextRange(0, 0, 16),)) for strength in (STRONG, 0.31, 0.1, 0.05)
    )
    assert recall_text([strong], estimate)[1] == ("2.3",)
    assert recall_text([weak, weaker], estimate)[1] == ("2.3",), "thrice as strong as the next"
    assert recall_text([weak, weak], estimate) == ("", ())
    assert recall_text([weaker, weakest], estimate) == ("", ())
    assert recall_text([hit_of(one, 1.0, (TextRange(2, 0, 1),))], estimate) == ("", ())
    assert recall_text([strong] * 9, estimate)[1] == ("2.3",), "no sentence twice"
    others = [
        hit_of(
            exchange(2, number, f"Port {number} it is.", "Fine."),
            STRONG,
            (TextRange(0, 0, 16),),
        )
        for number in range(3, 12)
    ]
    assert recall_text(others, estimate, 60)[1] == ("2.3", "2.4")
    assert recall_text(others, estimate)[1] == ("2.3", "2.4", "2.5")
    assert len(recall_text(others, estimate, weak=True)[1]) == 9
    faint = hit_of(one, 0.005, (TextRange(0, 0, 16),))
    assert recall_text([faint], estimate, weak=True) == ("", ()), "it is there by chance"


def test_in_a_small_window_weak_hits_are_attached_to_what_asks_something(tmp_path: Path) -> None:
    sessions = SessionManager(tmp_path, now=lambda: START)
    told = (f"The boiler likes {number} bar." for number in range(1, 4))
    archive = followed(sessions, [*told], ["Hello."])
    ask = "What pressure does the heating in the cellar want, with its boiler of a certain age?"
    assert archive.recall(ask) == ("", ())
    assert len(archive.recall(ask, weak=True)[1]) == 3
    assert archive.recall(ask[:-1], weak=True) == ("", ()), "it asks nothing"
    assert archive.recall("How do planes fly?", weak=True) == ("", ())


TALK = said(*((f"Question {number}?", f"Answer {number}.") for number in range(1, 15)))
HAS = (
    "The previous session, number 2 of the chain, has queries 1 to 14. Search the archive for "
    "what is older."
)
FORMS = (
    'Give the number of a query such as "14", a range such as "12-16", or a reference such as '
    '"2.14".'
)


@pytest.mark.parametrize(
    ("request_", "numbers"),
    [
        ("14", [14]),
        (" #14 ", [14]),
        ("[2.14]", [14]),
        ("12-16", [12, 13, 14]),
        ("13 – 12", [12, 13]),
        ("2.12-2.13", [12, 13]),
        ("0-2", [1, 2]),
        ("14:1", [14]),
        ("14:2", [14]),
    ],
)
def test_reading_queries(request_: str, numbers: list[int]) -> None:
    assert read_text(TALK, request_, ROOM, estimate) == "\n\n".join(
        f"[2.{number}] 2026-03-02 09:00\nUser: Question {number}?\nAssistant: Answer {number}."
        for number in numbers
    )


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("99", f"No query 99. {HAS}"),
        ("0", f"No query 0. {HAS}"),
        ("20-30", f"No query 20-30. {HAS}"),
        ("the last one", f"{FORMS} {HAS}"),
        ("", f"{FORMS} {HAS}"),
        ("1" * 50, f"{FORMS} {HAS}"),
        ("١٤", f"{FORMS} {HAS}"),
        ("1.3", f"{FORMS} {HAS}"),
    ],
)
def test_reading_what_is_not_there(request_: str, answer: str) -> None:
    assert read_text(TALK, request_, ROOM, estimate) == answer
    assert read_text([], request_, ROOM, estimate) == "There is no previous session to read."


def test_a_long_reading_goes_on_in_the_next() -> None:
    text = read_text(TALK, "3-9", 60, words)
    assert text.startswith("[2.3] ")
    assert text.endswith('\n\n(Cut here. Read "3-9:2" for what follows.)')
    assert words(text) <= 60
    assert read_text(TALK, "6-9", 70, words).count("\n[2.") == 3


def test_a_query_that_is_too_long_is_read_in_parts() -> None:
    exchanges = said(("hello", LONG), ("bye", "bye"))
    request, read, asked = "1-2", "", []
    while request:
        asked.append(request)
        text = read_text(exchanges, request, 1000, words)
        assert words(text) <= 1000
        piece, _, rest = text.partition("\n\n(Cut here. Read ")
        read += f" {piece}"
        request = rest.split('"')[1] if rest else ""
    assert asked == ["1-2", "1-2:2", "1-2:3", "1-2:4"]
    bye = "[2.2] 2026-03-02 09:00 User: bye Assistant: bye"
    assert read.split()[4:] == f"hello Assistant: {LONG} {bye}".split()


PAIRS = st.lists(st.tuples(st.one_of(hostile, st.just(LONG)), hostile), min_size=1, max_size=4)
ROOMS = st.integers(120, 2000)


@given(PAIRS, st.one_of(hostile, st.from_regex(r"\d{0,3}[.:-]?\d{0,3}", fullmatch=True)), ROOMS)
def test_nothing_asked_of_the_archive_raises_or_exceeds_its_room(
    pairs: list[tuple[str, str]], asked: str, room: int
) -> None:
    exchanges = said(*pairs)
    hits = searched(exchanges, asked)
    assert estimate(search_text(hits, room, estimate)) <= max(room, 100)
    text, attached = recall_text(hits, estimate, room)
    assert estimate(text) <= room
    assert set(attached) <= {one.ref for one in exchanges}
    assert (
        recall_text(hits, estimate)[1] == ()
        or estimate(recall_text(hits, estimate)[0]) <= RECALL_ROOM
    )
    assert estimate(read_text(exchanges, asked, room, estimate)) <= max(room, 100)


def test_an_excerpt_without_any_room_is_a_few_words() -> None:
    assert excerpt("0", (), -20, lambda text: 0) == "0"
    assert excerpt("", (), -1, words) == ""
    assert excerpt(LONG, (), -1, words) == excerpt(LONG, (), 0, words) != ""


@given(hostile, st.integers(0, 60), st.data())
def test_an_excerpt_fits_and_is_of_the_text(text: str, room: int, data: st.DataObject) -> None:
    text = f"{text} {LONG[:600]}"
    start = data.draw(st.integers(0, len(text) - 1))
    cut = excerpt(
        text, [TextRange(0, start, data.draw(st.integers(start + 1, len(text))))], room, words
    )
    assert len(cut) <= 60 or words(cut) <= room
    assert all(piece.strip() in text for piece in cut.strip("…").split(" … "))


@pytest.mark.slow
def test_precision_and_recall_of_what_is_attached() -> None:
    """Search an archive of 1,000 exchanges for every second fact. These facts were kept out of all
    tuning.
    """
    search = ExchangeIndex()
    search.add(conversation())
    right = wrong = 0
    for fact in FACTS[1::2]:
        text, attached = recall_text(search.search(fact.question), estimate)
        right += fact.answer in text
        wrong += bool(attached) and fact.answer not in text
    wrong += sum(
        recall_text(search.search(query), estimate) != ("", ()) for query in NOTHING_TO_FIND[1::2]
    )
    search.close()
    assert right / (right + wrong) >= 0.95
    assert right / len(FACTS[1::2]) >= 0.6


def test_what_the_restored_block_says_word_for_word_is_not_attached() -> None:
    exchanges = said(
        ("The database listens on port 5544, by the way.", "Noted."), ("How are you?", "Well.")
    )
    hits = searched(exchanges, "Which port does the database listen on?")
    text, _ = recall_text(hits, words)
    assert "port 5544" in text
    assert recall_text(
        hits, words, known="- The database listens on port 5544, by the way. [2 user]"
    ) == ("", ())
