"""The tables of FactChain on the pages for users."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import mean

import msgspec

from benchmarks.embedded.script import write_script
from benchmarks.factchain.automatic import CASES, Case, Found, Run
from benchmarks.factchain.baselines import EVERYTHING, FREE, HALF, TEMPLATE, TRUNCATE, VERBATIM
from benchmarks.factchain.meter import LEAST
from benchmarks.factchain.run import OURS
from benchmarks.factchain.scoring import Context
from benchmarks.factchain.summarisers import LOSSES
from benchmarks.factchain.wording import KINDS, PROFILES
from benchmarks.support.results import short
from chat_loop.sessions.manager import SessionManager

METHODS = {
    OURS: "chat-loop",
    TRUNCATE: "the newest messages",
    FREE: "a summary of the summary, free",
    TEMPLATE: "a summary of the summary, with a template",
    VERBATIM: "the user's words and a summary",
}
SHORT = {
    TRUNCATE: "newest messages",
    HALF: "newest messages",
    FREE: "summaries",
    TEMPLATE: "summaries",
    VERBATIM: "user's words",
    EVERYTHING: "everything",
}
PRICED = {
    HALF: "the newest messages, half dropped at once",
    EVERYTHING: "the whole conversation, in a window of 1M",
}
WINDOWS = tuple(case for case in CASES if case.loss == "published" and case.talk != "tools")
LONG = next(case for case in CASES if case.talk == "long")
TOOLS = next(case for case in CASES if case.talk == "tools")
COLUMNS = {
    "in the context": "context",
    "or in one search": "reached",
    "or attached": "attached",
    "after exit and resume": "resumed",
    "stale": "stale",
    "stale when asked": "stale_when_asked",
}
SPEAKERS = {
    "user": "said by the user",
    "model": "said by the reply, without a tool",
    "told": "in a result, and told by the reply",
    "used": "in a result, its value used by the reply",
    "result": "only in a result",
}


def found_in(
    folder: Path, case: Case, method: str = OURS, given: str = "window"
) -> dict[str, list[Found]]:
    """Return what a method has in a case, by wording. Raises FileNotFoundError."""
    path = folder / "factchain-automatic.json"
    run = msgspec.json.decode(path.read_bytes(), type=Run)
    wanted = (case, method, given)
    mine = [one for one in run.found if (one.case, one.method, one.given) == wanted]
    return {profile: [one for one in mine if one.profile == profile] for profile in PROFILES}


def cell(found: dict[str, list[Found]], name: str) -> str:
    """Return the means of a score in the wordings; a dash where it was not measured."""
    digits = int(name.startswith("stale"))
    texts: list[str] = []
    for mine in found.values():
        known = [value for one in mine if (value := getattr(one, name)) is not None]
        texts.append(short(mean(known), digits) if known else "–")
    return " / ".join(texts) if set(texts) != {"–"} else "–"


def all_of(found: dict[str, list[Found]]) -> list[Found]:
    return [one for mine in found.values() for one in mine]


def size_of(case: Case) -> str:
    return f"{case.window:,}" + (", long, with tools" if case.talk == "long" else "")


def automatic(folder: Path) -> str:
    """Return the table of what a user gets in each window."""
    lines = [
        f"| window | {' | '.join(COLUMNS)} | tokens | compactions | conversations |",
        f"|---|---|---|---|{'---|' * len(COLUMNS)}",
    ]
    for case in WINDOWS:
        found = found_in(folder, case)
        everything = all_of(found)
        cells = [cell(found, name) for name in COLUMNS.values()]
        cells.append(f"{mean(one.tokens for one in everything) / 1000:.1f}K")
        cells.append(f"{mean(one.compactions for one in everything):.0f}")
        cells.append(str(len(everything)))
        lines.append(f"| {size_of(case)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def kept(folder: Path, case: Case, method: str, given: str = "window") -> float:
    """Return the facts in the context of a method, in percent, over all wordings."""
    return mean(one.context for one in all_of(found_in(folder, case, method, given)))


def others(folder: Path) -> str:
    """Return the table of the methods in the same window and in the same size."""
    lines = [
        f"| in the context, same window / same size | {' | '.join(map(size_of, WINDOWS))} |",
        f"|---|{'---|' * len(WINDOWS)}",
    ]
    for method, label in METHODS.items():
        cells = [short(kept(folder, case, method)) for case in WINDOWS]
        if method != OURS:
            sized = (short(kept(folder, case, method, "size")) for case in WINDOWS)
            cells = [f"{own} / {size}" for own, size in zip(cells, sized, strict=True)]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    stale = [
        one.stale
        for case in WINDOWS
        for method in METHODS
        if method != OURS
        for one in all_of(found_in(folder, case, method))
    ]
    whole = short(kept(folder, LONG, EVERYTHING))
    own = [one.stale for case in WINDOWS for one in all_of(found_in(folder, case))]
    said = (
        f"The whole long conversation, of {_tokens(folder)} tokens, would hold {whole} % in one line or sentence. Of the "
        f"replaced values, {span(own, 1)} % are stale with chat-loop, and {span(stale, 1)} % with the others."
    )
    return "\n".join([*lines, "", said])


def _tokens(folder: Path) -> str:
    sizes = [one.tokens / 1000 for one in all_of(found_in(folder, LONG, EVERYTHING))]
    return f"{span(sizes)}K"


def span(values: Iterable[float], digits: int = 0) -> str:
    """Return the lowest and the highest of some values."""
    known = sorted(values)
    low, high = short(known[0], digits), short(known[-1], digits)
    return low if low == high else f"{low} to {high}"


def losses(folder: Path) -> str:
    """Return the table of the stand-in's rates and what they decide, and the rates that were
    measured.
    """
    lines = [
        f"| window 16,384, in the context | {' | '.join(METHODS.values())} |",
        f"|---|{'---|' * len(METHODS)}",
    ]
    for name in LOSSES:
        case = Case(16_384, loss=name)
        if not all_of(found_in(folder, case)):
            continue
        cells = (short(kept(folder, case, method)) for method in METHODS)
        lines.append(f"| {LABELS[name]} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", _measured(folder)])


def headlines(folder: Path) -> Iterator[tuple[str, str, str, bool, str, bool]]:
    """Yield what chat-loop keeps and costs, and the best other method with the same window or size:
    what it is, both results, whether chat-loop's is better, what a user notices, and whether the
    front page has it.
    """
    for case, label in (
        (Case(16_384), "facts in the context, window of 16K"),
        (LONG, "facts in the context, 250K tokens in a window of 64K"),
    ):
        own = kept(folder, case, OURS)
        other, best = max(
            (kept(folder, case, method, given), method)
            for method in METHODS
            if method != OURS
            for given in ("window", "size")
        )
        notice = "how often the model asks again for what you said"
        texts = f"{short(own)} %", f"{short(other)} % ({SHORT[best]})"
        yield label, *texts, own > other, notice, True
    model = next(iter(LEAST))
    prices = {method: price(folder, method, model) for method in (*METHODS, *PRICED)}
    own = prices.pop(OURS)
    best = min(prices, key=prices.__getitem__)
    texts = f"${own:.2f}", f"${prices[best]:.2f} ({SHORT[best]})"
    label = f"the price of the latter, {model} with a cache"
    yield label, *texts, own < prices[best], "the bill", False


def price(folder: Path, method: str, model: str) -> float:
    """Return the US dollars of a long conversation with a prompt cache."""
    rows = [one.money for one in all_of(found_in(folder, LONG, method))]
    return mean(one.cached[model] for one in rows if one is not None)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _label(name: str) -> str:
    loss = LOSSES[name]
    rates = sorted({loss.new[kind] for kind in KINDS})
    lost = " to ".join(_percent(rate) for rate in dict.fromkeys((rates[0], rates[-1])))
    return f"{lost} of new facts lost, {_percent(1 - loss.old)} of old lines"


LABELS = {name: _label(name) for name in LOSSES}


def _measured(folder: Path) -> str:
    """Return the sentences about what the embedded model's own summaries lose."""
    said = there = 0
    again: list[tuple[int, int]] = []
    for path in sorted(folder.glob("embedded-answers-*.json")):
        seed = path.stem.rpartition("-")[2]
        with tempfile.TemporaryDirectory() as copy:
            sessions = SessionManager(Path(copy))
            for file in sorted((folder / "embedded" / seed / "sessions").glob("*.md")):
                session = sessions.load(file).session
                if session.seal is None or session.seal.summary is None:
                    continue
                words = "\n".join(exchange.query.text for exchange in session.exchanges)
                topics = Context("\n".join(session.seal.summary.topics))
                told = [fact for fact in write_script(int(seed)).facts if fact.core in words]
                said += len(told)
                there += sum(map(topics.has, told))
        answers = json.loads(path.read_bytes())
        if last := answers["contexts"].get("summary of the summary"):
            again.append((last["in_context"], len(answers["questions"])))
    if not (said and again):
        return ""
    lost = _percent(1 - there / said)
    left = _percent(sum(left for left, _ in again) / sum(of for _, of in again))
    return (
        f"The embedded model is worse: the topics of its summaries lose {lost} of {said} new facts, and a summary of its "
        f"summaries with the newest words has {left} at the end."
    )


def money(folder: Path) -> str:
    """Return the table of the tokens and the price of the long conversation."""
    lines = [
        f"| window 65,536 | requests | sent | cached | written | {' | '.join(LEAST)} |",
        f"|---|---|---|---|---|{'---|' * len(LEAST)}",
    ]
    for method, label in (METHODS | PRICED).items():
        rows = [one.money for one in all_of(found_in(folder, LONG, method)) if one.money]
        sent = mean(one.input for one in rows)
        same = 100 * mean(one.same for one in rows) / sent
        prices = [
            f"{mean(one.plain[model] for one in rows):.2f} / {mean(one.cached[model] for one in rows):.2f}"
            for model in LEAST
        ]
        cells = [
            f"{mean(one.requests for one in rows):,.0f}",
            f"{sent / 1e6:.1f}M",
            f"{same:.0f} %",
            f"{mean(one.output for one in rows) / 1000:.0f}K",
            *prices,
        ]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def tools(folder: Path) -> str:
    """Return the table of facts in results of tools, by who said them."""
    cases = [case for case in (TOOLS, LONG) if all_of(found_in(folder, case))]
    heads = " | ".join(f"{case.window:,} | or in one search" for case in cases)
    lines = [f"| percent, three wordings as above | {heads} |", f"|---|{'---|---|' * len(cases)}"]
    for speaker, label in SPEAKERS.items():
        cells: list[str] = []
        for case in cases:
            for place in (1, 2):
                counts = (
                    [one.speakers[speaker] for one in mine]
                    for mine in found_in(folder, case).values()
                )
                cells.append(" / ".join(_pooled(mine, place) for mine in counts))
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _pooled(counts: Sequence[tuple[int, int, int]], place: int) -> str:
    """Return a share in percent; a dash without counts."""
    facts = sum(one[0] for one in counts)
    return short(100 * sum(one[place] for one in counts) / facts) if facts else "–"


def worst(folder: Path) -> str:
    """Return the sentences about the worst case: ten compactions that the user types."""
    ends = json.loads((folder / "factchain-16k.json").read_bytes())["conversations"]
    names = ("context", "reached", "resumed")
    kept_of = {
        name: span(
            mean(one[name] for one in ends if one["profile"] == profile) for profile in PROFILES
        )
        for name in names
    }
    return (
        "**The worst case** is a user who types `compact` ten times in such a conversation, in a window of 16,384 tokens: "
        f"{kept_of['context']} % are then in the context, {kept_of['reached']} % there or in one search, and "
        f"{kept_of['resumed']} % in the context after an exit and a resume."
    )
