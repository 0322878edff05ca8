"""The child's block: what is carried, added and left out, and that code keeps its word whatever the
texts are.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from chat_loop.context.cover import Kept, ledger
from chat_loop.context.ledger import items
from chat_loop.facts.extract import Found
from chat_loop.sessions import summary_block
from chat_loop.sessions.records import Exchange, Summary
from tests.said import CHATTER, FACTS, REPLIES
from tests.strategies import lines, texts
from tests.talking import words
from tests.test_extract import exchanges

PLENTY = 100_000

SPOKEN = exchanges(
    ("We take oak because pine dents. I still have to order the screws.", "Good choice."),
    (
        "The shelf is 87 cm wide. Never drill into the north wall.",
        "Noted. The anchors need 8 mm holes.",
    ),
)

BLOCK = Summary(
    topics=("A shelf [1 user]",),
    decisions=(
        "We take oak because pine dents. [1 user]",
        "Never drill into the north wall. [1 user]",
    ),
    pending=("I still have to order the screws. [1 user]",),
    pinned=("The alarm code is 4711.",),
    key_facts=("The shelf is 87 cm wide. [1 user]", "The anchors need 8 mm holes. [1 reply]"),
)


def made(
    parent: Summary | None = None,
    fresh: list[Exchange] | None = None,
    *,
    narrative: Summary | None = None,
    tail: list[Exchange] | None = None,
    pins: tuple[str, ...] = (),
    room: int = PLENTY,
) -> Kept:
    return ledger(parent, narrative, fresh or [], tail or [], pins, room, words)


def cost(summary: Summary) -> int:
    """The tokens of a block's lines; the mark of neighbours of one session and speaker stands
    once.
    """
    marks = {(item.section, item.line.removeprefix(item.text)) for item in items(summary)}
    return sum(words(f"- {item.text}\n") for item in items(summary)) + sum(
        words(mark) for _, mark in marks
    )


def test_the_first_block_of_a_chain() -> None:
    narrative = Summary(topics=("A shelf [1 user]",))
    kept = made(None, SPOKEN, narrative=narrative, pins=("The alarm code is 4711.",))
    assert kept == Kept(BLOCK, (), 0, 0)


def test_a_parents_lines_are_carried_as_bytes_and_the_new_ones_follow() -> None:
    parent = replace(BLOCK, files=("shelf.md",), tools=("ruler: 2",))
    fresh = exchanges(
        ("Decision: the shelf gets three boards. The wall is 240 cm high.", "Fine."), depth=2
    )
    assert made(
        parent, fresh, narrative=Summary(background="A shelf.", topics=("Boards",))
    ).summary == Summary(
        background="A shelf.",
        topics=("Boards",),
        decisions=(*BLOCK.decisions, "Decision: the shelf gets three boards. [2 user]"),
        pending=BLOCK.pending,
        key_facts=(*BLOCK.key_facts, "The wall is 240 cm high. [2 user]"),
        files=("shelf.md",),
        tools=("ruler: 2",),
    )


def test_what_was_said_again_takes_no_second_line() -> None:
    fresh = exchanges(
        ("As I said, the shelf is 87 cm wide. We take oak because pine dents!", "Yes, 87 cm."),
        depth=2,
    )
    assert made(BLOCK, fresh).summary.key_facts == BLOCK.key_facts
    assert made(BLOCK, fresh).summary.decisions == BLOCK.decisions


def test_a_pin_needs_no_line() -> None:
    kept = made(
        None, exchanges(("The alarm code is 4711.", "Fine.")), pins=("The alarm code is 4711.",)
    )
    assert kept.summary == Summary(pinned=("The alarm code is 4711.",))


def test_the_tail_stays_in_the_context_and_only_its_corrections_count() -> None:
    tail = exchanges(
        (
            "The shelf is 92 cm wide instead of 87. The screws are ordered. The lamp is 40 cm high.",
            "Fine.",
        ),
        depth=2,
    )
    kept = made(BLOCK, [], tail=tail)
    assert kept.summary.key_facts == ("The anchors need 8 mm holes. [1 reply]",)
    assert kept.summary.pending == ()
    assert (kept.superseded, kept.closed, kept.archived) == (1, 1, ())


def test_the_narrative_adds_what_no_line_says() -> None:
    narrative = Summary(
        decisions=("Use oak for the shelf, as pine dents [1.2]", "Paint it white [1.3]"),
        pending=("Order the screws [1.2]", "Measure again [1.3]"),
        key_facts=("ignored",),
    )
    summary = made(None, SPOKEN, narrative=narrative).summary
    assert summary.decisions == (*BLOCK.decisions, "Paint it white [1.3]")
    assert summary.pending == (*BLOCK.pending, "Measure again [1.3]")
    assert summary.key_facts == BLOCK.key_facts
    tight = made(None, SPOKEN, narrative=narrative, room=words(f"- {BLOCK.decisions[0]}\n")).summary
    assert tight.pending == ()


def test_what_does_not_fit_goes_by_rank_and_what_is_exact_in_it_is_counted() -> None:
    room = sum(words(f"- {line}\n") for line in BLOCK.decisions)
    kept = made(None, SPOKEN, room=room)
    assert kept.summary == Summary(decisions=BLOCK.decisions)
    assert kept.archived == (
        Found("The shelf is 87 cm wide.", "1.2", "user", "fact", ("87 cm",), 6),
        Found("The anchors need 8 mm holes.", "1.2", "reply", "fact", ("8 mm",), 3),
    )
    without_room = made(BLOCK, [], room=0)
    assert [found.text for found in without_room.archived] == [
        "The shelf is 87 cm wide.",
        "The anchors need 8 mm holes.",
    ]
    assert without_room.summary == Summary()


def test_an_evicted_value_that_another_line_holds_is_not_lost() -> None:
    spoken = exchanges(
        (
            "We keep the 87 cm shelf because it fits.",
            "Then the curtain rod over it has to be 87 cm long too, I think.",
        )
    )
    kept = made(None, spoken, room=12)
    assert kept.summary.decisions == ("We keep the 87 cm shelf because it fits. [1 user]",)
    assert kept.archived == ()


def test_ten_compactions_keep_what_matters() -> None:
    """A chain whose every session brings facts among chatter: the whole ledger fits, and nothing
    old is worn away.
    """
    facts = [line.split("|") for line in FACTS.strip().split("\n")]
    talk, replies = CHATTER.strip().split("\n"), REPLIES.strip().split("\n")
    parent: Summary | None = None
    for depth in range(10):
        pairs = []
        for number, (speaker, text, _) in enumerate(facts[depth::10]):
            query, reply = (
                talk[(depth + number) % len(talk)],
                replies[(depth + number) % len(replies)],
            )
            pairs.append(
                (f"{query} {text}", reply) if speaker == "u" else (query, f"{text} {reply}")
            )
        parent = made(parent, exchanges(*pairs, depth=depth + 1)).summary
        assert summary_block.parse(summary_block.render(parent)) == parent
    assert parent is not None
    text = "\n".join([*parent.decisions, *parent.pending, *parent.key_facts])
    missing = [part for _, _, part in facts if part not in text]
    assert len(missing) <= 0.07 * len(facts), missing


facts = st.sampled_from([line.split("|")[1] for line in FACTS.strip().split("\n")])
spans = st.lists(st.tuples(st.one_of(texts, facts), st.one_of(texts, facts)), max_size=4)
ledgers = st.lists(
    st.one_of(lines, facts.map(lambda fact: f"{fact} [1.7]")), max_size=4, unique=True
).map(tuple)


@settings(max_examples=120)
@given(
    spans,
    spans,
    ledgers,
    ledgers,
    st.lists(texts, max_size=3, unique=True).map(tuple),
    st.integers(0, 120),
)
def test_whatever_is_said_the_ledger_keeps_its_word(
    fresh: list[tuple[str, str]],
    tail: list[tuple[str, str]],
    decisions: tuple[str, ...],
    key_facts: tuple[str, ...],
    pins: tuple[str, ...],
    room: int,
) -> None:
    parent = Summary(decisions=decisions, key_facts=key_facts)
    kept = ledger(
        parent, None, exchanges(*fresh, depth=2), exchanges(*tail, depth=3), pins, room, words
    )
    summary = kept.summary
    ours = (*summary.decisions, *summary.pending, *summary.key_facts)
    assert summary.pinned == pins
    assert cost(summary) <= room
    old = {*decisions, *key_facts}
    said = " ".join(" ".join(text.split()) for pair in fresh for text in pair)
    for line in ours:
        text, _, place = line.rpartition(" [")
        assert line in old or (place.startswith("2") and all(word in said for word in text.split()))
    assert summary_block.parse(summary_block.render(summary)) == summary


@given(ledgers, ledgers)
def test_without_anything_new_everything_stays(
    decisions: tuple[str, ...], pending: tuple[str, ...]
) -> None:
    parent = Summary(decisions=decisions, pending=pending)
    once = made(parent).summary
    assert made(once).summary == once
    assert set(once.decisions) <= set(decisions)


@pytest.mark.parametrize("piece", ["5 kg. ", "never ", "x", "- 5 kg\n", "[2.14] "])
def test_a_hostile_span_is_covered_in_bounded_time(piece: str) -> None:
    text = piece * (400_000 // len(piece))
    kept = made(BLOCK, exchanges((text, text), depth=2), room=200)
    assert kept.summary.decisions[:2] == BLOCK.decisions
