"""What is found of what was said: `python -m benchmarks.recall`; exit code 1 when searching by both
is the worse way.

Questions in other words than those of the conversations (`talks.py`), and facts that are asked
about in their own words (`benchmarks/support/planting.py`). One half of each was used to choose passages and
weights, the other was kept out of it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from msgspec.structs import replace

from benchmarks.recall.engines import CANDIDATES, NAMES, Costs, Engines, recalls
from benchmarks.recall.talks import KINDS, Talk, held_out, talks, tuning
from benchmarks.support.planting import FACTS, Fact, conversation
from chat_loop.errors import ChatLoopError
from chat_loop.library.refresh import texts
from chat_loop.library.vectors import FLOOR, Embedder, load, weigh
from chat_loop.sessions.records import Exchange

PLANTED = 1_000
FIVE = 1
"""Where the recall among five stands in `recalls`."""
CHANCE = 0.02
"""A difference of two questions in a hundred is none."""

FLOORS = (0.0, 0.2, 0.24, 0.26, 0.28, 0.3, 0.32, 0.34, 0.36, 0.4)

Ranks = dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class Shares:
    """At one floor: of what is shown, how much answers; of the questions, how many are answered and
    how many hits each has; and how many find nothing in conversations that do not answer them.
    """

    precision: float
    recall: float
    shown: float
    silent: float


def ranks_of(engines: Engines, asked: Iterable[tuple[str, set[int]]]) -> Ranks:
    """For each way the ranks, from 0, of the first right exchange of each question."""
    found: Ranks = {name: [] for name in NAMES}
    for question, answers in asked:
        for name, places in engines.ask(question).items():
            found[name].append(
                next((rank for rank, place in enumerate(places) if place in answers), CANDIDATES)
            )
    return found


def each_in_its_own(
    half: Sequence[Talk], embedder: Embedder, costs: Costs
) -> tuple[Ranks, list[str]]:
    """Every question is asked of its own conversation. The second part are the questions' kinds."""
    found: Ranks = {name: [] for name in NAMES}
    kinds: list[str] = []
    for talk in half:
        engines = Engines(talk.exchanges, embedder, costs)
        asked = [(question.text, _places(talk, question.answers)) for question in talk.questions]
        for name, ranks in ranks_of(engines, asked).items():
            found[name] += ranks
        kinds += [f"{question.kind} ({talk.language})" for question in talk.questions]
        engines.close()
    return found, kinds


def floors(
    half: Sequence[Talk], embedder: Embedder, costs: Costs
) -> Iterator[tuple[float, Shares]]:
    """What each floor leaves of the hits by meaning, when each question is asked of every
    conversation of the half.
    """
    engines = {talk.name: Engines(talk.exchanges, embedder, costs) for talk in half}
    near = {
        (talk.name, other.name, question.text): engines[other.name].near(question.text)
        for talk in half
        for question in talk.questions
        for other in half
    }
    for floor in FLOORS:
        shown = right = answered = absent = silent = asked = 0
        for talk in half:
            for question in talk.questions:
                answers = _places(talk, question.answers)
                for other in half:
                    found = dict(near[talk.name, other.name, question.text])
                    left = list(weigh(question.text, found, (), floor))[:5]
                    if other is talk:
                        asked += 1
                        shown += len(left)
                        right += sum(place in answers for place in left)
                        answered += any(place in answers for place in left)
                    else:
                        absent += 1
                        silent += not left
        yield floor, Shares(right / max(1, shown), answered / asked, shown / asked, silent / absent)


def all_together(
    every: Sequence[Talk], embedder: Embedder, costs: Costs
) -> Callable[[Sequence[Talk]], Ranks]:
    """Every conversation in one index; what is returned asks the questions of some of them."""
    exchanges: list[Exchange] = []
    starts: dict[str, int] = {}
    for number, talk in enumerate(every):
        starts[talk.name] = len(exchanges)
        exchanges += [
            replace(exchange, depth=10 * number + exchange.depth) for exchange in talk.exchanges
        ]
    engines = Engines(exchanges, embedder, costs)

    def ask(some: Sequence[Talk]) -> Ranks:
        return ranks_of(
            engines,
            [
                (
                    question.text,
                    {starts[talk.name] + place for place in _places(talk, question.answers)},
                )
                for talk in some
                for question in talk.questions
            ],
        )

    return ask


def _places(talk: Talk, answers: frozenset[str]) -> set[int]:
    return {place for place, exchange in enumerate(talk.exchanges) if exchange.ref in answers}


def planted(embedder: Embedder, costs: Costs) -> Callable[[Sequence[Fact]], Ranks]:
    """The planted facts among chatter; what is returned asks about some of them."""
    exchanges = conversation(PLANTED)
    engines = Engines(exchanges, embedder, costs)

    def right(fact: Fact) -> set[int]:
        return {
            place
            for place, exchange in enumerate(exchanges)
            if any(fact.statement in text for _, text in texts(exchange))
        }

    return lambda facts: ranks_of(engines, [(fact.question, right(fact)) for fact in facts])


def show(title: str, ranks: Ranks) -> None:
    """Print one table."""
    print(f"\n{title}, {len(ranks[NAMES[0]])} questions")
    for name in NAMES:
        shares = zip((1, 5, 10), recalls(ranks[name]), strict=True)
        print(f"  {name:8}" + "".join(f"  @{at} {share:6.1%}" for at, share in shares))


def show_floors(title: str, found: Iterable[tuple[float, Shares]]) -> None:
    """Print one table; `*` marks the floor in use."""
    print(f"\n{title}: hits by meaning at each floor, among the first five")
    for floor, shares in found:
        print(
            f"  {floor:.2f}{'*' if floor == FLOOR else ' '} precision {shares.precision:6.1%}  "
            f"recall {shares.recall:6.1%}  shown {shares.shown:.1f}  silent where it should be "
            f"{shares.silent:6.1%}  sum {shares.recall + shares.silent:.2f}"
        )


def by_kind(ranks: Ranks, kinds: Sequence[str]) -> None:
    """Print the recall among five for each kind of question and language."""
    for kind in sorted(set(kinds)):
        some = {
            name: [rank for rank, one in zip(ranks[name], kinds, strict=True) if one == kind]
            for name in NAMES
        }
        shares = "".join(f"  {name} {recalls(some[name])[FIVE]:6.1%}" for name in NAMES)
        print(f"    @5, {kind + ',':20} {len(some[NAMES[0]]):3} asked:{shares}")


def main() -> int:
    """Measure, print, judge."""
    try:
        embedder = load()
    except ChatLoopError as error:
        sys.stderr.write(f"{error.message} {error.hint}\n")
        return 2
    every, costs = talks(), Costs()
    asked = sum(len(talk.questions) for talk in every)
    print(
        f"{len(every)} conversations, {sum(len(talk.exchanges) for talk in every):,} "
        f"exchanges, {asked} questions"
    )
    print(f"Kinds: {', '.join(KINDS.values())}")
    met: list[bool] = []
    together = all_together(every, embedder, costs)
    facts = planted(embedder, costs)
    for name, half, known in (
        ("tuning", tuning(every), FACTS[::2]),
        ("held out", held_out(every), FACTS[1::2]),
    ):
        own, kinds = each_in_its_own(half, embedder, costs)
        show(f"{name}: in its own conversation", own)
        by_kind(own, kinds)
        show_floors(name, floors(half, embedder, costs))
        pooled, exact = together(half), facts(known)
        show(f"{name}: among all conversations", pooled)
        show(f"{name}: planted facts among {PLANTED:,} exchanges, in their own words", exact)
        if name == "held out":
            met = [
                not_worse("in its own conversation", own, ("text", "meaning"), CHANCE),
                not_worse("planted facts", exact, ("text",), 0.0),
            ]
    cost = costs.embedding / costs.exchanges
    print(
        f"\nCPU: {cost * 1000:.1f} ms per exchange ({costs.vectors / costs.exchanges:.1f} vectors)",
        end="",
    )
    for name, seconds in costs.asking.items():
        print(f"; a query by {name} {median(seconds) * 1000:.1f} ms", end="")
    print()
    return 0 if all(met) else 1


def not_worse(what: str, ranks: Ranks, than: Sequence[str], chance: float) -> bool:
    """Whether both are as good among five as the best of the ways named, but for chance; prints the
    verdict.
    """
    goal = max(recalls(ranks[name])[FIVE] for name in than) - chance
    got = recalls(ranks["both"])[FIVE]
    print(
        f"{'met   ' if got >= goal else 'MISSED'} held out, {what}: both {got:.1%} among "
        f"five, goal {goal:.1%}"
    )
    return got >= goal


if __name__ == "__main__":
    raise SystemExit(main())
