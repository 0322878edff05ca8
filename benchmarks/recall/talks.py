"""The conversations: facts that are stated in passing, small talk around them, and questions in
other words.

A file of `talks/` contains one conversation. Its first lines give the language, the subjects of
small talk, and sentences that fill replies. Then come sessions (`=== DATE`) of named exchanges,
each with a fact that a question asks about later, and the questions:

    ?1  one exchange answers it
    ?t  it asks when something happened, and the exchange's date is the answer
    ?2  it takes two exchanges; either counts

The files were written before anything was searched in them, and no question was changed afterwards.
The last file was added to the tuning half when that half had too few questions in languages other
than English. Between two exchanges with a question, there are several that are made of the file's
subjects.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

import msgspec

from chat_loop.sessions.records import Exchange, Query, Reply

FOLDER = Path(__file__).parent / "talks"
KINDS = {"1": "one exchange", "t": "when", "2": "two exchanges"}
SEED = 11
_BETWEEN = (4, 7)
_FILLING = (1, 6)
_CHATTER = (3, 10)

_ASKS = msgspec.toml.decode(
    Path(__file__).with_suffix(".toml").read_bytes(), type=dict[str, tuple[str, ...]]
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its kind, and the references of the exchanges that answer it."""

    text: str
    kind: str
    answers: frozenset[str]


@dataclass(slots=True)
class Talk:
    """One conversation of about 80 exchanges in several sessions, and the questions about it."""

    name: str
    language: str
    exchanges: list[Exchange] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)


def talks() -> list[Talk]:
    """Return all conversations, always the same. Those at even positions are for tuning; the others
    are held out.
    """
    return [_talk(path) for path in sorted(FOLDER.glob("*.txt"))]


def tuning(every: list[Talk]) -> list[Talk]:
    return every[::2]


def held_out(every: list[Talk]) -> list[Talk]:
    return every[1::2]


class _Chatter:
    """The small talk of one conversation."""

    def __init__(self, language: str, subjects: list[str], sentences: list[str], seed: str) -> None:
        self._asks = _ASKS[language]
        self._subjects = subjects
        self._sentences = sentences
        self._chance = random.Random(seed)

    def between(self) -> Iterator[tuple[str, str]]:
        for _ in range(self._chance.randint(*_BETWEEN)):
            one, other = self._chance.sample(self._subjects, 2)
            query = self._chance.choice(self._asks).format(one, other)
            yield query, self.filling(*_CHATTER)

    def filling(self, least: int = _FILLING[0], most: int = _FILLING[1]) -> str:
        subject = self._chance.choice(self._subjects)
        count = min(len(self._sentences), self._chance.randint(least, most))
        return " ".join(self._chance.sample(self._sentences, count)).format(subject)


class _Writer:
    """Numbers and dates exchanges in order."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._at = datetime(2026, 1, 1, tzinfo=timezone(timedelta(hours=1)))
        self._depth = self._number = 0

    def begin(self, date: str) -> None:
        self._at = datetime.fromisoformat(f"{date}T09:00:00+01:00")
        self._depth += 1
        self._number = 0

    def say(self, query: str, reply: str) -> str:
        """Add an exchange; return its reference."""
        self._number += 1
        self._at += timedelta(minutes=3)
        said = Query(number=self._number, at=self._at, text=query)
        answered = Reply(number=self._number, at=self._at, text=reply)
        self._talk.exchanges.append(Exchange(said, answered, self._depth))
        return f"{self._depth}.{self._number}"


def _talk(path: Path) -> Talk:
    lines = path.read_text("utf-8").rstrip("\n").split("\n")
    language, about = lines[0], lines[1].removeprefix("about: ")
    sentences = [line[2:] for line in lines if line.startswith("~ ")]
    talk = Talk(path.stem, language)
    chatter = _Chatter(language, about.split("; "), sentences, f"{SEED} {path.stem}")
    writer = _Writer(talk)
    refs: dict[str, str] = {}
    name = query = ""
    for line in lines[2:]:
        if line.startswith("=== "):
            writer.begin(line[4:])
        elif line.startswith("["):
            name = line.strip("[]")
        elif line.startswith("> "):
            query = line[2:]
        elif line.startswith("< "):
            refs[name] = writer.say(query, f"{line[2:]} {chatter.filling()}")
            for pair in chatter.between():
                writer.say(*pair)
        elif line.startswith("?"):
            asked, _, names = line[3:].rpartition(" | ")
            answers = frozenset(refs[one] for one in names.split(" "))
            talk.questions.append(Question(asked, KINDS[line[1]], answers))
    return talk
