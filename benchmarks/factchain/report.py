"""From readings to percentages, goals, text and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean, median, quantiles

from benchmarks.factchain.baselines import FREE, TEMPLATE, TRUNCATE, VERBATIM
from benchmarks.factchain.run import OURS, Reading, Results
from benchmarks.factchain.scoring import share
from benchmarks.factchain.talk import SEGMENTS, Fact
from benchmarks.factchain.wording import KINDS, LANGUAGES, PROFILES

ARMS = (OURS, TRUNCATE, FREE, TEMPLATE, VERBATIM)
AGES = ((0, 0), (1, 2), (3, 5), (6, 9))
"""The age groups: the fewest and the most compactions since a fact's first one."""

LIMIT = 6_500
"""The tokens of talk that the goals allow."""

Share = float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """An arm's scores after a number of compactions, over all conversations of a profile. Shares
    are in percent.
    """

    arm: str
    profile: str
    compactions: int
    facts: int
    context: Share
    reached: Share
    resumed: Share
    stale: Share
    pins: Share
    ledger: int
    """Invented values in the part that code maintains, over all conversations."""
    narrative: int
    tokens: float
    most_tokens: int


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal: its limit, and the value reached, which is None if it was not measured."""

    name: str
    value: Share
    limit: float
    unit: str
    at_least: bool = True

    @property
    def met(self) -> bool:
        if self.value is None:
            return False
        return self.value >= self.limit if self.at_least else self.value <= self.limit


def rows(readings: Sequence[Reading]) -> list[Row]:
    """Return one row per arm, profile and number of compactions, in that order."""
    return [
        row(chosen)
        for arm in ARMS
        for profile in PROFILES
        for segment in range(1, SEGMENTS + 1)
        if (
            chosen := [
                one
                for one in readings
                if (one.arm, one.talk.profile, one.segment) == (arm, profile, segment)
            ]
        )
    ]


def row(readings: Sequence[Reading]) -> Row:
    """Return the scores of several conversations as one row; their facts are pooled."""
    first = readings[0]
    live = sum(len(one.live) for one in readings)
    pins = [one.pins for one in readings if one.pins is not None]
    return Row(
        arm=first.arm,
        profile=first.talk.profile,
        compactions=first.segment,
        facts=live,
        context=share(sum(len(one.context) for one in readings), live),
        reached=_pooled([one.reached for one in readings], live),
        resumed=_pooled([one.resumed for one in readings], live),
        stale=share(
            sum(len(one.stale) for one in readings), sum(one.superseded for one in readings)
        ),
        pins=share(sum(kept for kept, _ in pins), sum(of for _, of in pins)),
        ledger=sum(len(one.ledger) for one in readings),
        narrative=sum(len(one.narrative) for one in readings),
        tokens=mean(one.tokens for one in readings),
        most_tokens=max(one.tokens for one in readings),
    )


def _pooled(sets: Sequence[frozenset[int] | None], live: int) -> Share:
    there = [one for one in sets if one is not None]
    return share(sum(map(len, there)), live) if len(there) == len(sets) else None


def facets(fact: Fact, at: int) -> dict[str, str]:
    """Return the groups of a fact after `at` segments, as names by group."""
    age = next((low, high) for low, high in AGES if low <= at - fact.segment <= high)
    return {
        "type": fact.kind,
        "language": fact.language,
        "said by": fact.speaker,
        "manner": "announced" if fact.announced else "in passing",
        "age": "-".join(map(str, sorted(set(age)))),
    }


ORDER = {
    "type": KINDS,
    "language": tuple(LANGUAGES),
    "said by": ("user", "model", "told", "used", "result"),
    "manner": (),
    "age": (),
}


@dataclass(frozen=True, slots=True)
class Part:
    """The shares of a group of facts at a number of compactions; `reached` includes one search."""

    group: str
    name: str
    profile: str
    compactions: int
    facts: int
    context: Share
    reached: Share


def parts(readings: Sequence[Reading]) -> list[Part]:
    """Return the program's scores by group of facts, for the readings that include a search."""
    counts: dict[tuple[str, str, str, int], list[int]] = {}
    for one in readings:
        if one.reached is not None:
            for fact in one.live:
                for group, name in facets(fact, one.segment).items():
                    count = counts.setdefault(
                        (group, name, one.talk.profile, one.segment), [0, 0, 0]
                    )
                    count[0] += 1
                    count[1] += fact.number in one.context
                    count[2] += fact.number in one.reached
    return [
        Part(*key, facts, share(context, facts), share(reached, facts))
        for key, (facts, context, reached) in sorted(
            counts.items(), key=lambda item: _place(item[0])
        )
    ]


def _place(key: tuple[str, str, str, int]) -> tuple[int, int, str, str, int]:
    """Return a key that sorts by group, name, profile and number of compactions."""
    group, name, profile, segment = key
    names = ORDER[group]
    return (
        list(ORDER).index(group),
        names.index(name) if name in names else 0,
        name,
        profile,
        segment,
    )


def times(results: Results) -> Mapping[str, float]:
    """Return milliseconds: the wait for a compaction without the model, and the work."""
    waits = [1000 * one.wait for one in results.compactions if one.made]
    found: dict[str, float] = {}
    if len(waits) > 1:
        found = {"p50": median(waits), "p95": quantiles(waits, n=20, method="inclusive")[-1]}
    for name in results.work[0] if results.work else ():
        found[name] = 1000 * median(one[name] for one in results.work)
    return found


@dataclass(frozen=True, slots=True)
class Bar:
    """The goals in windows of `window` tokens or more: percentages, and the tokens of a request."""

    window: int
    context: float
    stale: float
    reached: float
    tokens: int


BARS = (
    Bar(65_536, 95, 2, 98, 14_500),
    Bar(16_384, 75, 3, 95, LIMIT + 1_500),
    Bar(0, 55, 3, 95, LIMIT),
)


def goals(results: Results, window: int) -> list[Goal]:
    """Return the program's goals in a window, after ten compactions, profile by profile."""
    bar = next(one for one in BARS if window >= one.window)
    found: list[Goal] = []
    for one in rows(results.readings):
        if one.arm == OURS and one.compactions == SEGMENTS:
            name = f"@{SEGMENTS}, {one.profile}"
            found += [
                Goal(
                    f"tokens of talk in the request {name}",
                    one.most_tokens,
                    bar.tokens,
                    "",
                    at_least=False,
                ),
                Goal(f"pins byte for byte {name}", one.pins, 100, " %"),
                Goal(f"facts in the context {name}", one.context, bar.context, " %"),
                Goal(f"the same after exit and resume {name}", one.resumed, bar.context, " %"),
                Goal(f"facts with one search {name}", one.reached, bar.reached, " %"),
                Goal(f"stale values {name}", one.stale, bar.stale, " %", at_least=False),
                Goal(f"invented values in the ledger {name}", one.ledger, 0, "", at_least=False),
            ]
    if results.waits:
        wait = max(1000 * (one.longest - one.typical) for one in results.waits)
        found += [
            Goal(
                "automatic compaction: the longest wait, without the model",
                wait,
                50,
                " ms",
                at_least=False,
            ),
            Goal(
                "automatic compaction: queries refused",
                sum(one.refused for one in results.waits),
                0,
                "",
                False,
            ),
        ]
    if results.faults:
        found += [
            Goal(
                "failing model: exchanges lost",
                sum(one.lost for one in results.faults),
                0,
                "",
                at_least=False,
            ),
            Goal(
                "failing model: orders in the ledger",
                sum(one.obeyed for one in results.faults),
                0,
                "",
                False,
            ),
        ]
    for name in ("scan of 100 messages", "ledger of 100 messages"):
        took = times(results).get(name)
        found.append(Goal(f"{name}, work", took, 20, " ms", at_least=False))
    return found


def text(results: Results, title: str, shown: Sequence[int], window: int) -> str:
    """Return the tables."""
    table = rows(results.readings)
    heads = "".join(f"{f'@{number}':>6}" for number in shown)
    lines = [
        title,
        "",
        f"{'live facts, percent':32}{'in the context':>{6 * len(shown)}}   {'with one search':>24}",
    ]
    lines.append(
        f"{'':32}{heads}   {heads}{'stale':>8}{'ledger!':>9}{'model!':>8}{'pins':>6}{'tokens':>8}"
    )
    for arm in ARMS:
        for profile in PROFILES:
            mine = {
                one.compactions: one for one in table if (one.arm, one.profile) == (arm, profile)
            }
            if mine:
                lines.append(_line(f"{arm}, {profile}", mine, shown))
    lines += [
        "",
        (
            "stale: of the replaced values; ledger!, model!: invented values, kept by code, "
            "written by a model"
        ),
        "",
    ]
    lines += _broken_down(parts(results.readings), shown[-1])
    lines += ["", *_costs(results), "", "goals"]
    lines += [
        f"  {'met   ' if goal.met else 'MISSED'}  {goal.name}: {_number(goal.value)}{goal.unit}"
        f" (goal {'>=' if goal.at_least else '<='} {goal.limit:,.0f}{goal.unit})"
        for goal in goals(results, window)
    ]
    return "\n".join(lines)


def _line(name: str, mine: Mapping[int, Row], shown: Sequence[int]) -> str:
    last = mine[shown[-1]]
    context = "".join(f"{_number(mine[number].context):>6}" for number in shown)
    reached = "".join(f"{_number(mine[number].reached):>6}" for number in shown)
    end = f"{_number(last.stale):>8}{last.ledger:>9}{last.narrative:>8}{_number(last.pins, 0):>6}{last.tokens:>8,.0f}"
    return f"{name:32}{context}   {reached}{end}"


def _broken_down(found: Sequence[Part], segment: int) -> list[str]:
    """Return the program's scores by group of facts, with the profiles side by side."""
    chosen = {
        (part.group, part.name, part.profile): part for part in found if part.compactions == segment
    }
    lines = [
        f"{f'{OURS} @{segment}, percent':32}"
        + "".join(f"{f'{one}: context':>20}{'search':>8}" for one in PROFILES)
    ]
    for group, name in dict.fromkeys((group, name) for group, name, _ in chosen):
        cells = ""
        for profile in PROFILES:
            part = chosen.get((group, name, profile))
            cells += (
                f"{_number(part.context):>20}{_number(part.reached):>8}"
                if part
                else f"{'–':>20}{'–':>8}"
            )
        lines.append(f"  {group:10}{name:20}{cells}")
    return lines


def _costs(results: Results) -> list[str]:
    took = ", ".join(f"{name} {value:.1f}" for name, value in times(results).items())
    lines = [f"compaction beside the model, ms: {took}"]
    lines += [
        f"compacting by itself: {one.compactions} times, a query is sent after "
        f"{1000 * one.typical:.2f} ms, at most after {1000 * one.longest:.1f} ms; {one.refused} "
        f"refused; {one.context:.1f} % in the context at the end"
        for one in results.waits
    ]
    lines += [
        f"with a model that fails: {one.made} of {SEGMENTS} compactions made, {one.lost} "
        f"exchanges lost, {one.refused} refused; {one.context:.1f} % in {one.tokens:,} tokens at "
        f"the end; invented in the ledger: {len(one.invented)}"
        for one in results.faults
    ]
    if results.sentences:
        lines.append(
            f"the sentences of the live facts alone take {max(results.sentences):,} tokens at "
            "the end"
        )
    return [*lines, f"the run took {results.seconds:.0f} s"]


def _number(value: Share, places: int = 1) -> str:
    return "–" if value is None else f"{value:,.{places}f}"


def as_json(results: Results, settings: Mapping[str, object], window: int) -> str:
    """Return everything in the tables and the rows for all numbers of compactions as JSON."""
    data = {
        "settings": dict(settings),
        "rows": [asdict(one) for one in rows(results.readings)],
        "conversations": [
            {"seed": one.talk.seed} | asdict(row([one]))
            for one in results.readings
            if one.arm == OURS and one.segment == SEGMENTS
        ],
        "parts": [asdict(one) for one in parts(results.readings)],
        "milliseconds": dict(times(results)),
        "automatic": [asdict(one) for one in results.waits],
        "failing": [asdict(one) for one in results.faults],
        "goals": [asdict(goal) | {"met": goal.met} for goal in goals(results, window)],
    }
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
