"""Searches on our own conversations.

Some questions use other words than the conversations (`talks.py`); others ask about facts in the
words of the facts (`benchmarks/support/planting.py`). Half of each was used to choose passages and
weights; the other half was held out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product

from benchmarks.recall.engines import CANDIDATES, NAMES, Costs, Engines, recalls
from benchmarks.recall.talks import Talk, held_out, talks, tuning
from benchmarks.support.planting import FACTS, Fact, conversation
from benchmarks.support.results import NotMeasured, Results, Settings
from chat_loop.errors import ChatLoopError
from chat_loop.library.refresh import texts
from chat_loop.library.vectors import FLOOR, Embedder, load, weigh

PLANTED = 1_000
FIVE = 1
"""The index of the recall among five in the result of `recalls`."""
CHANCE = 0.02
"""A difference of two questions in a hundred may be chance."""

Ranks = dict[str, list[int]]


def ranks_of(engines: Engines, asked: Iterable[tuple[str, set[int]]]) -> Ranks:
    """Return for each way the rank of the first right exchange of each question, counted from 0."""
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
    """Ask each question in its own conversation; return the ranks and the questions' kinds."""
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


def shown(half: Sequence[Talk], embedder: Embedder, costs: Costs) -> tuple[float, float]:
    """Ask each question in every conversation of the half; return the share of the shown hits that
    answer, and of the questions that find nothing in conversations without an answer.
    """
    engines = {talk.name: Engines(talk.exchanges, embedder, costs) for talk in half}
    right = found = silent = absent = 0
    for talk, other in product(half, half):
        for question in talk.questions:
            near = dict(engines[other.name].near(question.text))
            hits = list(weigh(question.text, near, (), FLOOR))[:5]
            if other is talk:
                found += len(hits)
                right += len(_places(talk, question.answers).intersection(hits))
            else:
                absent += 1
                silent += not hits
    return right / max(1, found), silent / absent


def _places(talk: Talk, answers: frozenset[str]) -> set[int]:
    return {place for place, exchange in enumerate(talk.exchanges) if exchange.ref in answers}


def planted(embedder: Embedder, costs: Costs) -> Callable[[Sequence[Fact]], Ranks]:
    """Return a function that asks about some of the facts, planted among chatter."""
    exchanges = conversation(PLANTED)
    engines = Engines(exchanges, embedder, costs)

    def right(fact: Fact) -> set[int]:
        return {
            place
            for place, exchange in enumerate(exchanges)
            if any(fact.statement in text for _, text in texts(exchange))
        }

    return lambda facts: ranks_of(engines, [(fact.question, right(fact)) for fact in facts])


def run(results: Results, settings: Settings) -> None:
    """Measure and judge. The search results are the same in each run, so this is done only once.
    Raises NotMeasured without the model.
    """
    try:
        embedder = load()
    except (ChatLoopError, ImportError) as error:
        raise NotMeasured(f"The sentence model cannot be loaded: {error}.") from error
    every, costs = talks(), Costs()
    facts = planted(embedder, costs)
    for name, half, known in (
        ("tuned on", tuning(every), FACTS[::2]),
        ("held out", held_out(every), FACTS[1::2]),
    ):
        own, kinds = each_in_its_own(half, embedder, costs)
        exact = facts(known)
        judged = name == "held out"
        goal = max(recalls(own[way])[FIVE] for way in ("text", "meaning")) - CHANCE
        add(results, f"other words, {name}", own, goal if judged else None)
        for kind in sorted(set(kinds)):
            some = {
                way: [rank for rank, one in zip(own[way], kinds, strict=True) if one == kind]
                for way in NAMES
            }
            add(results, f"other words, {name}, {kind}", some, only_five=True)
        goal = recalls(exact["text"])[FIVE]
        add(results, f"planted facts, {name}", exact, goal if judged else None)
        precision, silent = shown(half, embedder, costs)
        results.add(f"hits that answer, by meaning, {name}", [100 * precision], "%")
        results.add(f"nothing found where nothing is, {name}", [100 * silent], "%")
    results.add("embedding an exchange", [1000 * costs.embedding / costs.exchanges], "ms")
    for way, seconds in costs.asking.items():
        results.add(f"a query by {way}", [1000 * each for each in seconds], "ms")


def add(
    results: Results,
    name: str,
    ranks: Ranks,
    goal: float | None = None,
    *,
    only_five: bool = False,
) -> None:
    """Record the percentages that each way finds among one, five and ten. `goal` is the share among
    five that both ways together must reach.
    """
    results.add(f"{name}: questions", [len(ranks[NAMES[0]])], "")
    for way in NAMES:
        for first, share in zip((1, 5, 10), recalls(ranks[way]), strict=True):
            if first == 5 or not only_five:
                judged = goal is not None and first == 5 and way == "both"
                results.add(
                    f"{name}: {way}, among {first}",
                    [100 * share],
                    "%",
                    at_least=100 * goal if judged and goal is not None else None,
                )
