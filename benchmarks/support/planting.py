"""Conversations with facts planted in chatter, to measure which facts a search finds, and which
queries it rightly finds nothing for.

A line of `planted.txt` contains a fact: the sentence that is said, a question about it in other
words, and the text that the right exchange must contain. Every second fact is kept out of all
tuning: `FACTS[1::2]`.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec

from chat_loop.sessions.records import Exchange, Query, Reply

START = datetime(2026, 3, 2, 9, 0, tzinfo=timezone(timedelta(hours=1)))


@dataclass(frozen=True)
class Fact:
    language: str
    statement: str
    question: str
    answer: str


@dataclass(frozen=True)
class Chatter:
    """The small talk in one language; `planting.toml` explains it."""

    topics: tuple[str, ...]
    queries: tuple[str, ...]
    sentences: tuple[str, ...]
    asides: tuple[str, ...]


@dataclass(frozen=True)
class _Texts:
    nothing_to_find: tuple[str, ...]
    chatter: dict[str, Chatter]


_TEXTS = msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=_Texts)
CHATTER = _TEXTS.chatter
NOTHING_TO_FIND = _TEXTS.nothing_to_find


def facts() -> tuple[Fact, ...]:
    found = []
    language = ""
    for line in (Path(__file__).parent / "planted.txt").read_text("utf-8").split("\n"):
        if line.startswith("# "):
            language = line[2:]
        elif line:
            found.append(Fact(language, *line.split(" | ")))
    return tuple(found)


FACTS = facts()


def conversation(
    length: int = 1000, seed: int = 7, planted: tuple[Fact, ...] = FACTS
) -> list[Exchange]:
    """Return chatter in several languages in which every fact is said once, by the user or in a
    reply. A session has 40 queries.
    """
    chance = random.Random(seed)
    places = dict(zip(chance.sample(range(length), len(planted)), planted, strict=True))
    languages = sorted(CHATTER)
    found = []
    for place in range(length):
        language = languages[place // 20 % len(languages)]
        fact = places.get(place)
        query, reply = talk(
            chance, CHATTER.get(fact.language if fact else language, CHATTER[language])
        )
        if fact is not None:
            if chance.random() < 0.6:
                query = fact.statement if chance.random() < 0.5 else f"{query} {fact.statement}"
            else:
                sentences = reply.split(" ")
                cut = chance.randrange(len(sentences))
                reply = f"{' '.join(sentences[:cut])} {fact.statement} {' '.join(sentences[cut:])}"
        found.append(exchange(place // 40 + 1, place % 40 + 1, query, reply, minutes=place * 7))
    return found


def talk(chance: random.Random, chatter: Chatter) -> tuple[str, str]:
    topics = chance.sample(chatter.topics, 2)
    query = (
        chance.choice(chatter.asides)
        if chance.random() < 0.2
        else chance.choice(chatter.queries).format(*topics)
    )
    sentences = chance.sample(chatter.sentences, chance.randint(2, 9))
    return query, " ".join(sentence.format(*topics) for sentence in sentences)


def exchange(
    depth: int, number: int, query: str, reply: str | None = "", minutes: int = 0
) -> Exchange:
    at = START + timedelta(minutes=minutes)
    answered = None if reply is None else Reply(number=number, at=at, text=reply)
    return Exchange(Query(number=number, at=at, text=query), answered, depth)
