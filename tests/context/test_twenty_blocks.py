"""What the blocks of twenty conversations keep, against lines that were judged by hand before."""

from __future__ import annotations

import pytest

from chat_loop.context.ledger import items, ledger
from tests.context.judged import Talk, talks
from tests.support.scripted_chat import words
from tests.support.sentences import exchanges

TALKS = talks()


def lines_of(talk: Talk) -> list[str]:
    block = ledger(None, None, exchanges(*talk.pairs), (), (), 100_000, words).summary
    return [item.text for item in items(block)]


def is_useless(line: str, talk: Talk) -> bool:
    return any(line == part[1:] if part.startswith("=") else part in line for part in talk.useless)


@pytest.mark.parametrize("talk", TALKS, ids=[talk.name for talk in TALKS])
def test_a_block_has_what_its_reader_needs(talk: Talk) -> None:
    lines = lines_of(talk)
    assert [part for part in talk.needed if not any(part in line for line in lines)] == []


def test_few_lines_of_twenty_blocks_are_useless() -> None:
    """Before the rules for tables, formulas and links, 24 of 60 lines were. Greetings are left."""
    judged = [(line, is_useless(line, talk)) for talk in TALKS for line in lines_of(talk)]
    useless = [line for line, bad in judged if bad]
    assert len(useless) <= 4, useless
    assert len(judged) >= 45
