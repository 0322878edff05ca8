"""What the blocks of twenty conversations keep, against lines that were judged by hand before."""

from __future__ import annotations

import pytest

from chat_loop.context.ledger import collect, items, ledger
from tests.context.judged import Talk, cases, is_held_out, talks
from tests.support.scripted_chat import words
from tests.support.sentences import exchanges

TALKS = talks("talks.txt")
TINY_TALKS = talks("tiny_talks.txt")


def lines_of(talk: Talk) -> list[str]:
    block = ledger(None, None, talk.exchanges, (), (), 100_000, words).summary
    return [item.text for item in items(block)]


def is_useless(line: str, talk: Talk) -> bool:
    return any(line == part[1:] if part.startswith("=") else part in line for part in talk.useless)


def judged(some: list[Talk]) -> tuple[list[str], int]:
    """Return the useless lines of the blocks, and the number of all lines."""
    lines = [(line, is_useless(line, talk)) for talk in some for line in lines_of(talk)]
    return [line for line, bad in lines if bad], len(lines)


@pytest.mark.parametrize("talk", TALKS + TINY_TALKS, ids=lambda talk: talk.name)
def test_a_block_has_what_its_reader_needs(talk: Talk) -> None:
    lines = lines_of(talk)
    assert [part for part in talk.needed if not any(part in line for line in lines)] == []


def test_few_lines_of_twenty_blocks_are_useless() -> None:
    """Before the rules for tables, formulas, links and courtesies, 24 of 60 lines were."""
    useless, total = judged(TALKS)
    assert len(useless) < 0.05 * total, useless
    assert total >= 45


def test_few_lines_of_the_blocks_of_tiny_conversations_are_useless() -> None:
    """Before the rules for orders and for words that tell nothing, 16 of 52 lines were."""
    useless, total = judged(TINY_TALKS)
    assert len(useless) <= 0.125 * total, useless
    assert total >= 40


@pytest.mark.parametrize("held_out", [False, True])
def test_what_only_exclaims_is_kept_if_it_tells_something(held_out: bool) -> None:
    """A courtesy is answered with another one. Those that are not stay, which loses nothing."""
    judged = {case for case in cases("exclamations.txt") if is_held_out(case) == held_out}
    kept = {
        (tells, said, reply) for tells, said, reply in judged if collect(exchanges((said, reply)))
    }
    telling = {case for case in judged if case[0] == "yes"}
    assert telling - kept == set()
    assert len(kept - telling) <= 0.5 * len(judged - telling)
