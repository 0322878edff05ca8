"""From readings to percentages, goals, text and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean, median, quantiles

from benchmarks.factchain.run import Reading, Results
from benchmarks.factchain.scoring import share
from benchmarks.factchain.talk import SEGMENTS
from benchmarks.factchain.wording import PROFILES

LIMIT = 6_500
"""The tokens of talk that the goals allow."""

Share = float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The scores after the last compaction, over all conversations of a wording. Shares are in
    percent.
    """

    profile: str
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
    """Return one row for each wording."""
    found = ([one for one in readings if one.talk.profile == profile] for profile in PROFILES)
    return [row(mine) for mine in found if mine]


def row(readings: Sequence[Reading]) -> Row:
    """Return the scores of several conversations as one row; their facts are pooled."""
    live = sum(len(one.live) for one in readings)
    pins = [one.pins for one in readings if one.pins is not None]
    return Row(
        profile=readings[0].talk.profile,
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


def bar(window: int) -> Bar:
    """Return the goals in a window."""
    return next(one for one in BARS if window >= one.window)


def goals(results: Results, window: int) -> list[Goal]:
    """Return the program's goals in a window, after ten compactions, profile by profile."""
    limits = bar(window)
    found: list[Goal] = []
    for one in rows(results.readings):
        name = f"@{SEGMENTS}, {one.profile}"
        found += [
            Goal(
                f"tokens of talk in the request {name}",
                one.most_tokens,
                limits.tokens,
                "",
                at_least=False,
            ),
            Goal(f"pins byte for byte {name}", one.pins, 100, " %"),
            Goal(f"facts in the context {name}", one.context, limits.context, " %"),
            Goal(f"the same after exit and resume {name}", one.resumed, limits.context, " %"),
            Goal(f"facts with one search {name}", one.reached, limits.reached, " %"),
            Goal(f"stale values {name}", one.stale, limits.stale, " %", at_least=False),
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


def text(results: Results, title: str, window: int) -> str:
    """Return the tables."""
    names = ("context", "reached", "resumed", "stale", "ledger", "narrative", "pins", "tokens")
    lines = [title, "", f"{'percent':10}" + "".join(f"{name:>11}" for name in names)]
    for one in rows(results.readings):
        cells = (f"{_number(getattr(one, name)):>11}" for name in names)
        lines.append(f"{one.profile:10}{''.join(cells)}")
    lines += [
        "stale: of the replaced values; ledger, narrative: invented values",
        "",
        *_costs(results),
        "",
        "goals",
    ]
    lines += [
        f"  {'met   ' if goal.met else 'MISSED'}  {goal.name}: {_number(goal.value)}{goal.unit}"
        f" (goal {'>=' if goal.at_least else '<='} {goal.limit:,.0f}{goal.unit})"
        for goal in goals(results, window)
    ]
    return "\n".join(lines)


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


def _number(value: Share) -> str:
    return "–" if value is None else f"{value:,.1f}"


def as_json(results: Results, settings: Mapping[str, object], window: int) -> str:
    """Return everything in the tables as JSON."""
    data = {
        "settings": dict(settings),
        "rows": [asdict(one) for one in rows(results.readings)],
        "conversations": [{"seed": one.talk.seed} | asdict(row([one])) for one in results.readings],
        "milliseconds": dict(times(results)),
        "automatic": [asdict(one) for one in results.waits],
        "failing": [asdict(one) for one in results.faults],
        "goals": [asdict(goal) | {"met": goal.met} for goal in goals(results, window)],
    }
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"
