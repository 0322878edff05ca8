"""The conversations of FactChain: the same words for a seed, whatever changes in the generator."""

from __future__ import annotations

from hashlib import sha256

import msgspec
import pytest

from benchmarks.factchain.generator import generate, long_talk
from benchmarks.factchain.tools import with_tools
from benchmarks.factchain.wording import PROFILES

pytestmark = pytest.mark.slow

SEEDS = range(1, 6)
HASHES = {
    "seen": ("f613a13921a54590", "4e01092b65bb274c"),
    "unseen": ("dfb06145601b31e8", "cf1105b9d79519f4"),
    "third": ("492aa96e9352973e", "e33c0bfc007cab20"),
}
"""Of the five conversations with committed results, without and with tools."""


@pytest.mark.parametrize("profile", PROFILES)
def test_the_measured_conversations_stay_byte_for_byte(profile: str) -> None:
    plain, tools = sha256(), sha256()
    for seed in SEEDS:
        talk = generate(seed, profile)
        plain.update(msgspec.json.encode(talk))
        tools.update(msgspec.json.encode(with_tools(talk)))
    assert (plain.hexdigest()[:16], tools.hexdigest()[:16]) == HASHES[profile]


@pytest.mark.parametrize("profile", PROFILES)
def test_a_long_conversation_has_facts_and_tools_in_every_segment(profile: str) -> None:
    talk = long_talk(1, profile)
    assert len(talk.text()) > 800_000
    planted = {fact.segment for fact in talk.facts if fact.speaker in ("user", "model")}
    assert planted == set(range(1, len(talk.segments) + 1))
    for turns in talk.segments:
        assert any(turn.calls for turn in turns)
    last = [fact for fact in talk.facts if fact.segment == len(talk.segments)]
    assert all(fact.superseded_by is None for fact in last)
