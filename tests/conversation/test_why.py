"""Where a text comes from: who said it, which summaries kept it, what replaced or dropped it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from msgspec.structs import replace

from chat_loop.context.budget import Limits
from chat_loop.context.wanted_text import LONGEST, WantedText
from chat_loop.conversation.why import MOST_SAID, Origins, origins_of
from chat_loop.errors import UsageError
from chat_loop.sessions import summary_block
from chat_loop.sessions.chain import read_chain
from chat_loop.sessions.records import (
    Call,
    Entry,
    Header,
    Query,
    Reply,
    Restoration,
    Result,
    Seal,
    Session,
    Summary,
)
from chat_loop.values import Window
from tests.support.chats import Chats, Played, call
from tests.support.screens import Screen
from tests.support.scripted_chat import QUIET, START, SUMMARY, Talk
from tests.support.strategies import texts

CHATTER = [f"Tell me about boat {name}." for name in ("Ada", "Bea", "Cora", "Dora", "Eva", "Fee")]


def talked(
    folder: Path, *parts: Sequence[tuple[str, str]], window: int = 100_000, pins: Sequence[str] = ()
) -> list[Session]:
    """Return the chain of a conversation that is compacted after each part, oldest first."""
    steps = [step for part in parts for step in (*(reply for _, reply in part), SUMMARY)]
    steps += [SUMMARY] * 3  # a summary for a small window is asked for in parts
    options = replace(QUIET, limits=Limits(enabled=False))
    talk = Talk(folder, *steps, options=options, window=Window(window))

    async def work() -> None:
        for part in parts:
            for query, _ in part:
                await talk.conversation.ask(query)
            for pin in pins:
                talk.conversation.pin(pin)
            await talk.conversation.compact()

    asyncio.run(work())
    session = talk.conversation.session
    chain = read_chain(talk.sessions, session)
    return [*(loaded.session for loaded in reversed(chain.ancestors)), session]


def chatter() -> list[tuple[str, str]]:
    """Return enough exchanges after which nothing before them stays word for word."""
    return [(query, "It is a fine boat.") for query in CHATTER]


def origins(text: str, sessions: Sequence[Session]) -> Origins:
    return origins_of(WantedText(text), sessions)


def told(found: Origins) -> list[tuple[str, str, str]]:
    return [(each.message, each.speaker, each.text) for each in found.said]


def passed(found: Origins) -> list[tuple[int, str, int, str]]:
    """The number, the list and the messages of each passage, and why nothing went on."""
    return [
        (
            each.number,
            each.kept.lines[0][0] if each.kept.lines else "",
            len(each.kept.messages),
            each.loss,
        )
        for each in found.passages
    ]


def test_a_value_is_followed_to_the_one_that_replaced_it(tmp_path: Path) -> None:
    sessions = talked(
        tmp_path,
        [("Hi. We test on port 5544.", "Fine."), *chatter()],
        chatter(),
        [("Correction: we test on port 6000.", "Fine."), *chatter()],
        chatter(),
    )
    found = origins("port  5544", sessions)
    assert told(found) == [("1.1", "user", "We test on port 5544.")]
    assert passed(found) == [
        (1, "key_facts", 0, ""),
        (2, "key_facts", 0, ""),
        (3, "", 0, "replaced"),
        (4, "", 0, ""),
    ]
    newer = found.passages[2].newer
    assert [(each.old, each.text, each.ref) for each in newer] == [
        ("We test on port 5544.", "Correction: we test on port 6000.", "3.1")
    ]
    assert not found.now
    later = origins("PORT 6000", sessions)
    assert (told(later)[0][0], later.now.lines[0][0]) == ("3.1", "key_facts")


def test_what_no_summary_has_names_the_compaction_that_dropped_it(tmp_path: Path) -> None:
    moon = "The moon looked like a lantern over the harbor."
    sessions = talked(tmp_path, chatter(), [("How was it?", moon), *chatter()], chatter())
    found = origins("like a lantern", sessions)
    assert told(found) == [("2.1", "model", moon)]
    assert passed(found) == [(1, "", 0, ""), (2, "", 0, "left out"), (3, "", 0, "")]
    assert [each.compaction is not None for each in found.passages] == [True] * 3
    assert not found.now


def test_what_a_full_summary_leaves_out(tmp_path: Path) -> None:
    many = [(f"Rule: the {'very ' * 20}long rope {n} has {n}.5 m.", "Fine.") for n in range(40)]
    sessions = talked(
        tmp_path, [(f"The {'dear ' * 20}old Bob has 3 m.", "Fine."), *many], window=2_000
    )
    found = origins("Bob has 3 m", sessions)
    assert passed(found)[0] == (1, "", 0, "no room")


def test_words_that_stay_and_what_the_next_compaction_replaces(tmp_path: Path) -> None:
    sessions = talked(
        tmp_path,
        [*chatter(), ("The mast is 12 m.", "Fine."), ("Correction: the mast is 14 m.", "Fine.")],
    )
    found = origins("mast is 12 m", sessions)
    assert passed(found) == [(1, "", 1, "")]
    assert found.now.messages == ("1.7",)
    assert [each.ref for each in found.newer] == ["1.8"]


def test_a_pin_is_told_and_stays(tmp_path: Path) -> None:
    sessions = talked(tmp_path, chatter(), chatter(), pins=["Never sail on Fridays"])
    found = origins("never sail on fridays", sessions)
    assert told(found)[0] == ("", "pin", "Never sail on Fridays")
    assert found.now.lines == (("pinned", "Never sail on Fridays"),)


def chained(
    depth: int, text: str, parent: str, *facts: str, got: Sequence[str] = (), merged: str = ""
) -> Session:
    """Return a session in which one thing was said, sealed with these facts if there are any."""
    entries: list[Entry] = []
    if got:
        block = summary_block.render(Summary(key_facts=tuple(got)))
        restored = Restoration(at=START, parent_created=START, queries=1, tokens=9, block=block)
        entries.append(replace(restored, depth=depth, merged=merged))
    entries.append(Query(at=START, number=1, text=text))
    header = Header(id=f"s{depth}", created=START, agent="Sally", parent=parent)
    seal = None
    if facts:
        seal = Seal(at=START, reason="compact", source="model", summary=Summary(key_facts=facts))
    return Session(header=header, entries=tuple(entries), seal=seal)


def of(*entries: Entry, depth: int = 1) -> Session:
    return Session(header=Header(id=f"s{depth}", created=START, agent="Sally"), entries=entries)


def asked(*pairs: tuple[str, str]) -> Session:
    """Return an open session with these queries and replies."""
    entries: list[Entry] = []
    for number, (query, reply) in enumerate(pairs, 1):
        at = START + timedelta(seconds=number)
        entries.append(Query(at=at, number=number, text=query))
        entries.append(Reply(at=at, number=number, text=reply))
    return of(*entries)


def test_a_merge_keeps_what_one_of_its_branches_has() -> None:
    port = "The port is 5544. [1 user]"
    boom = "The boom is 4 m. [2 user]"
    first = chained(1, "The port is 5544.", "", port)
    one = chained(2, "Hi.", "s1", port, got=[port])
    other = chained(3, "The boom is 4 m.", "s1", boom, got=[port])
    both = chained(4, "Go on.", "s2", got=[port, boom], merged="s3")
    found = origins("5544", [first, one, other, both])
    assert passed(found) == [(1, "key_facts", 0, ""), (2, "key_facts", 0, ""), (3, "", 0, "")]
    assert passed(origins("boom", [first, one, other, both])) == [
        (1, "", 0, ""),
        (2, "", 0, ""),
        (3, "key_facts", 0, ""),
    ]


def test_a_line_of_the_model_replaces_a_value_in_the_summary_that_it_is_in() -> None:
    said = chained(1, "The mast is 12 m.", "")
    child = chained(2, "Hi.", "s1", got=["The hull is white. [1 user]"])
    [passage] = origins("mast is 12 m", [said, child]).passages
    assert (passage.reason, passage.loss, passage.newer) == ("", "no room", ())
    summary = Summary(pending=("The mast goes from 12 m to 14 m.",))
    seal = Seal(at=START, reason="compact", source="model", summary=summary)
    [passage] = origins("mast is 12 m", [replace(said, seal=seal), child]).passages
    assert (passage.reason, passage.loss) == ("compact", "replaced")
    assert [each.text for each in passage.newer] == [*summary.pending]


def test_a_word_in_ten_thousand_messages_is_counted() -> None:
    pairs = [(f"Is rope {number} ready?", "No.") for number in range(1, 10_001)]
    found = origins("rope", [asked(*pairs)])
    assert (found.count, len(found.said), len(found.now.messages)) == (10_000, MOST_SAID, 10_000)
    assert (found.said[0].message, found.said[-1].message) == ("1.1", "1.10000")


def test_a_tool_said_it_and_the_reply_in_other_words() -> None:
    session = of(
        Query(at=START, number=1, text="Which port?"),
        Call(at=START, number=1, id="a", name="read_file", arguments="{}"),
        Result(at=START, number=1, id="a", text="host = db\nport = 5150\n"),
        Reply(at=START, number=1, text="The database listens on 5150, as always."),
    )
    assert [(each[1], each[2]) for each in told(origins("5150", [session]))] == [
        ("tool", "port = 5150"),
        ("model", "The database listens on 5150, as always."),
    ]
    found = origins("always listens: database 5150", [session])
    assert (found.exact, [each[1] for each in told(found)]) == (False, ["model"])
    assert not origins("always listens: database 5151", [session]).is_found


def test_what_was_undone_is_found_last(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Fine.", "Fine.", options=QUIET)

    async def work() -> None:
        await talk.conversation.ask("The mast is 12 m.")
        await talk.conversation.ask("The boom is 4 m.")
        await talk.conversation.undo(talk.conversation.context.exchanges[-1])

    asyncio.run(work())
    session = talk.conversation.session
    found = origins("boom", [session])
    assert (found.count, found.counts, told(found)[0][0]) == (1, False, "1.2")
    assert not found.now
    assert origins("mast", [session]).counts


@pytest.mark.parametrize(
    ("wanted", "text", "has"),
    [
        ("5 min", "It takes 25 min.", False),
        ("5 min", "It takes 5  MIN.", True),
        ("1.5", "It is 1.55 m", False),
        ("c++ (.*)", "Use C++ (.*) here.", True),
        ("[a-z", "In [a-z] order", True),
        ("東京", "私は東京に住む", True),
        ("rope", "Ropes", False),
        ("\x1b[31m", "It is \x1b[31m red.", True),
    ],
)
def test_a_text_is_found_whole(wanted: str, text: str, has: bool) -> None:
    assert WantedText(wanted).is_in(text) is has


@pytest.mark.parametrize(
    ("wanted", "sentence", "tells"),
    [
        ("the limit is 30 s", "30 s: that is the limit.", True),
        ("the limit is 30 s", "The limit is 45 s, not 30.", True),
        ("the limit is 30 s", "The limit is 45 s.", False),
        ("The barn's wifi password is ass92bqd.", "The barn's wifi password is spq61jxi.", False),
        ("The tortoise must get no avocado, not a crumb.", "The cat must get no onion.", False),
        ("limit", "Limits are low.", False),
    ],
)
def test_a_sentence_tells_a_text_in_other_words(wanted: str, sentence: str, tells: bool) -> None:
    assert bool(WantedText(wanted).told_in(f"Hi! {sentence}")) is tells


@pytest.mark.parametrize("text", ["", " \n ", "\x1b\x00", "x" * (LONGEST + 1)])
def test_nothing_to_look_for(text: str) -> None:
    with pytest.raises(UsageError) as raised:
        WantedText(text)
    assert raised.value.hint


@given(texts, texts)
def test_any_text_is_found_in_what_contains_it(text: str, other: str) -> None:
    try:
        wanted = WantedText(text)
    except UsageError:
        return
    assert wanted.is_in(f"{other}\n{text} {other}")
    assert wanted.sentence_in(f"{other}\n{text} {other}")


def test_the_command(tmp_path: Path) -> None:
    lines = [
        *("We test on port 5544.", *CHATTER, "/compact", "Correction: we test on port 6000."),
        *(*CHATTER, "/compact", "/why port 5544", "/why gaffer", "/why"),
    ]
    steps = ["Fine."] * 7 + [SUMMARY] + ["Fine."] * 7 + [SUMMARY]
    text = Screen(tmp_path, lines, *steps, options=QUIET).text.partition("You: /why port 5544\n")[2]
    assert text.startswith(
        "“port 5544” was said in 1 place:\n  1.1       you, today 22:30: We test on port 5544.\n"
        "  kept      in the summary of session 1 (today 22:30), under Key "
        "Facts\n  dropped   by the compaction of session 2 (today 22:30, messages "
    )
    assert "): a newer line replaced it\n  newer     2.1, you: Correction: we test" in text
    assert (
        "\n  now       not in the context\n  back      with your next message: /quote 1.1\n" in text
    )
    assert "This conversation does not say that." in text
    assert "Usage: /why TEXT" in text


def test_what_only_tools_and_files_say_is_in_no_summary(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        (chats.project / "harbor.txt").write_text("The gate code is 7781.\n")
        (chats.project / "quay.txt").write_text("The quay has 14 rings.\n")
        chats.configure(agent={"tools": ["read_file"]})
        chats.replies["Read"] = [call("read_file", path="quay.txt"), "I have read it."]
        played = chats.play(
            *("Mind @harbor.txt", "Read the quay", "compact", "/why gate code", "/why 14 rings"),
            "exit",
        )
    reason = "summaries do not repeat what only tools and files say"
    for text, speaker in (("gate code", "1.1 a file"), ("14 rings", "1.2 a tool")):
        told = " ".join(played.after(f"/why {text}").split())
        assert f": {speaker}, " in told
        assert "dropped by the compaction of session 1 (" in told
        assert f"): {reason}" in told
        assert "now not in the context" in told


def test_what_a_person_took_out_of_a_summary_was_edited(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.play("Our port is 8443.", "The lamp has 40 watts.", "exit")
        path = chats.path("session-1")
        before, start, after = path.read_text().partition("<!-- SESSION_SUMMARY_START -->")
        path.write_text(before + start + after.replace("8443", "9000"))
        stored = chats.run("sessions", "why", "8443", "--session", "session-1")
        played = chats.play("/why 8443", "exit", options=("-r", "session-1"))
    reason = "the summary was edited, or made again later"
    text = " ".join(stored.shown.split())
    assert "missing in the summary of session 1 (" in text
    assert f"), with which a resume may go on: {reason}" in text
    told = " ".join(played.after("/why 8443").split())
    assert "dropped after session 1 (" in told
    assert f"): {reason}" in told


def test_a_chain_with_a_gap_and_a_session_that_never_ended_tell_what_is_there(
    tmp_path: Path,
) -> None:
    inner: list[Played] = []
    with Chats(tmp_path) as chats:

        def go_on() -> None:
            inner.append(chats.play("/why 8443", "exit", options=("-r", "session-1")))

        chats.play("Our port is 8443.", go_on, "exit")
        chats.play("The lamp has 40 watts.", "exit", options=("-r", "session-1"))
        chats.lose("session-1")
        gap = chats.play("/why 40 watts", "/why 8443", "exit", options=("-r", "session-2"))
    [open_parent] = inner
    told = " ".join(open_parent.after("/why 8443").split())
    assert "kept word for word after session 1 (" in told
    assert "now in the context: word for word in 1.1" in told
    assert "; word for word in 2.1" in gap.after("/why 40 watts")
    assert "No message of this conversation says “8443”" in gap.after("/why 8443")
