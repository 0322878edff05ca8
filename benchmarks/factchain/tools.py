"""with_tools(talk): the conversation, with questions between its exchanges that are answered by
tools.

A result of 200 bytes to 20 KB holds three facts. The reply tells one of them whole, uses the value
of the second one without its subject, and does not mention the third. A quarter of the questions is
asked again later, and has other answers then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from msgspec.structs import replace

from benchmarks.factchain.planting import Deck
from benchmarks.factchain.talk import Called, Fact, Talk, Turn
from benchmarks.factchain.wording import Filling, Speaker, blocks, named

QUESTIONS = 4  # per segment
AGAIN = 0.25  # the share of questions whose subject was asked about before
SIZES = (200, 20_000)  # bytes of a result, any order of magnitude equally likely
ROLES: tuple[Speaker, ...] = ("told", "used", "result")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of result: its call, the query, the lines around, and the texts of each fact."""

    call: str
    query: str
    around: tuple[str, ...]
    facts: tuple[dict[str, str], ...]

    @property
    def subject(self) -> str:
        """The slot that names what the result is about."""
        return self.query.partition("{")[2].partition("}")[0]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question, who says its three facts, and the numbers of these facts."""

    kind: Kind
    filling: Filling
    roles: tuple[Speaker, ...]
    numbers: list[int]


@cache
def kinds(profile: str) -> tuple[Kind, ...]:
    """Read a wording: the first one for the profile `seen`, the other for all others."""
    block = blocks("tools")["seen" if profile == "seen" else "unseen"]
    return tuple(_kind(part.split("\n")) for part in block.strip("\n").split("\n\n"))


def _kind(lines: Sequence[str]) -> Kind:
    head: dict[str, str] = {}
    around: list[str] = []
    facts: list[dict[str, str]] = []
    for line in lines:
        sign, text = line[0], line[2:]
        if sign in "@!":
            head[sign] = text
        elif sign == ".":
            around.append(text)
        elif sign == "-":
            facts.append({sign: text})
        else:
            facts[-1][sign] = text
    return Kind(head["@"], head["!"], tuple(around), tuple(facts))


def with_tools(talk: Talk, questions: int = QUESTIONS) -> Talk:
    """Return a talk with so many more questions in each segment, and their facts."""
    asker = _Asker(talk, questions)
    segments = [
        tuple(asker.segment(turns, number)) for number, turns in enumerate(talk.segments, 1)
    ]
    return replace(talk, facts=tuple(asker.facts), segments=tuple(segments))


class _Asker:
    """Adds questions to the segments of a talk."""

    def __init__(self, talk: Talk, questions: int) -> None:
        self._questions = questions
        self.facts = list(talk.facts)
        self._random = Random(f"tools {talk.profile} {talk.seed}")
        self._deck = Deck(self._random)
        self._kinds = kinds(talk.profile)
        self._slots = named(blocks("tools")["slots"], ",")
        self._asked: list[_Asked] = []
        self._values: set[tuple[str, ...]] = set()

    def segment(self, turns: Sequence[Turn], segment: int) -> list[Turn]:
        """Return a segment's exchanges and new ones between them."""
        mixed = list(turns)
        for _ in range(self._questions):
            mixed.insert(self._random.randint(0, len(mixed)), self._question(segment))
        return mixed

    def _question(self, segment: int) -> Turn:
        if self._asked and self._random.random() < AGAIN:
            asked = self._asked.pop(0)
        else:
            kind = self._kinds[int(self._deck.deal("kinds", [*"01234"]))]
            subject = self._deck.deal(kind.subject, self._slots[kind.subject])
            filling = Filling(self._random, self._slots, {kind.subject: subject})
            asked = _Asked(kind, filling, tuple(self._random.sample(ROLES, 3)), [])
        before = tuple(asked.numbers)
        asked.numbers.clear()
        lines: list[str] = []
        said: list[str] = []
        for number, (texts, role) in enumerate(zip(asked.kind.facts, asked.roles, strict=True)):
            fact, line, reply = self._fact(asked, texts, role, segment)
            lines.append(line)
            said += [reply] if reply else []
            if before:
                old = self.facts[before[number] - 1]
                newer = replace(old, superseded_by=fact.number, superseded_in=segment)
                self.facts[old.number - 1] = newer
            self.facts.append(fact)
            asked.numbers.append(fact.number)
        self._asked.append(asked)
        query = asked.filling.fill(asked.kind.query)
        return Turn(query, self._reply(said), tuple(self._calls(asked, lines)))

    def _fact(
        self, asked: _Asked, texts: dict[str, str], role: Speaker, segment: int
    ) -> tuple[Fact, str, str]:
        """Return a fact, its line in the result, and what the reply says of it."""
        filling = asked.filling
        line = filling.sentence(texts["-"])
        while line.marked in self._values:
            line = filling.sentence(texts["-"])
        self._values.add(line.marked)
        filling.chosen["value"] = line.marked[0]
        as_returned = (
            line.text if texts["-"][0].isupper() else line.text[:1].lower() + line.text[1:]
        )
        told = filling.sentence(texts[">"])
        used = filling.fill(texts["~"])
        said = {"told": told.text, "used": used}.get(role, "")
        fact = Fact(
            number=len(self.facts) + 1,
            kind="id",
            language="en",
            speaker=role,
            announced=False,
            segment=segment,
            sentence=told.text if role == "told" else as_returned.strip(),
            values=line.marked,
            keys=told.keys,
            question=filling.fill(texts["?"]),
        )
        return fact, as_returned, said

    def _reply(self, said: Sequence[str]) -> str:
        filler = blocks("tools")["filler"].strip().split("\n")
        sentences = [*said, *(self._deck.deal("filler", filler) for _ in range(3))]
        self._random.shuffle(sentences)
        joint = self._random.choice((" ", "\n\n", "\n- "))
        return joint.join(sentences)

    def _calls(self, asked: _Asked, lines: Sequence[str]) -> Iterator[Called]:
        """Yield up to two calls with nothing of interest, then the one with the facts."""
        for _ in range(self._random.choice((0, 0, 1, 2))):
            word = Filling(self._random, self._slots).fill("{word}_{=??}")
            yield Called("list_files", f"src/{word}", self._result(asked.kind, ()))
        name, _, argument = asked.filling.fill(asked.kind.call).partition(" ")
        yield Called(name, argument, self._result(asked.kind, lines))

    def _result(self, kind: Kind, lines: Sequence[str]) -> str:
        """Return lines of text with others around them."""
        low, high = SIZES
        size = low * (high / low) ** self._random.random() - sum(map(len, lines))
        around: list[str] = []
        while size > 0:
            around.append(Filling(self._random, self._slots).fill(self._random.choice(kind.around)))
            size -= len(around[-1]) + 1
        for line in lines:
            around.insert(self._random.randint(0, len(around)), line)
        return "\n".join(around)
