"""The measured figures in the pages for users: blocks that are generated from committed results.

A block is between `<!-- figures: NAME -->` and `<!-- end of figures -->`. NAME is a function below
that returns the block's text. `python -m benchmarks --report` writes all blocks; a test checks that
they are up to date.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from benchmarks import ages
from benchmarks.continued import table as tasks
from benchmarks.embedded import table
from benchmarks.factchain import pages
from benchmarks.peers import OURS as OWN
from benchmarks.support.results import Measure, apart, number, read, short

TOP = Path(__file__).resolve().parent.parent
BLOCK = re.compile(
    r"(?P<begin><!-- figures: (?P<name>\w+) -->\n).*?(?P<end><!-- end of figures -->)", re.DOTALL
)
LARGE = {
    "`sessions list`, the first time (indexes what was said)": "list",
    "`sessions list`, from then on": "list again",
    "`sessions search --text`": "search again",
    "`sessions show`": "show",
    "`--resume`, sealed, until a key shows": "resume",
    "`--resume -p`, sealed": "resume -p",
    "`sessions export`, markdown": "export md",
    "`sessions export`, JSON": "export json",
    "`sessions export`, HTML": "export html",
    "`sessions import`, JSON": "import json",
    "`sessions import`, markdown": "import md",
}
SIZES = ("mb_1", "mb_5", "mb_20")
MEASURED = {
    "others": "factchain-automatic",
    "worst": "factchain-16k",
    "embedded": "embedded",
    "continued": "continued",
    "team": "team",
}
"""Blocks that end in what was measured, with the name of the result."""


def pages_of(folder: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield each page with blocks, its current text, and its text from the results in `folder`."""
    for page in (TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))):
        old = page.read_text("utf-8")
        if BLOCK.search(old):
            yield page, old, with_figures(old, folder)


def with_figures(text: str, folder: Path) -> str:
    """Return a page's text with its blocks made from the results. A block without a result stays as
    it is. Raises KeyError for an unknown block name.
    """

    def block(found: re.Match[str]) -> str:
        name = found["name"]
        try:
            made = BLOCKS[name](folder).strip()
            if name in MEASURED:
                made += f"\n\n{_age(folder, MEASURED[name])}"
        except FileNotFoundError:
            return found[0]
        return f"{found['begin']}\n{made}\n\n{found['end']}"

    return BLOCK.sub(block, text)


def _age(folder: Path, name: str) -> str:
    """Return the sentence about the version of the program that a result is of."""
    age = ages.read(folder)[name]
    return f"Measured on commit {age.commit}, {age.date}; {age}."


class Headline(Struct, frozen=True):
    """A result of chat-loop beside the best other one, and what a user notices of the difference."""

    label: str
    own: str
    other: str
    is_won: bool
    notice: str
    on_front: bool = True

    def cells(self) -> str:
        """Return the two results as cells; the better one is bold."""
        if self.is_won:
            return f"**{self.own}** | {self.other}"
        return f"{self.own} | **{self.other}**"


class Act(Struct, frozen=True):
    """An act that was measured in all programs, as the tables name it."""

    name: str
    label: str
    notice: str
    on_front: bool = True


ACTS = msgspec.toml.decode(
    Path(__file__).with_name("acts.toml").read_bytes(), type=dict[str, list[Act]]
)["act"]
HEADLINES = ("peers", "factchain-automatic", "embedded-answers-19")
"""The results of which the headlines are."""


def headlines(folder: Path) -> list[Headline]:
    """Return what is won and what is lost. Raises FileNotFoundError without a result."""
    found = measures(folder, "peers")
    others = [name for name in programs_of(found) if name not in OWN]
    rows = [_beside(found, act, others) for act in ACTS]
    rows += (Headline(*each) for each in pages.headlines(folder))
    answers = _answers(folder)
    own = [one["chat-loop with archive hits"] for one in answers]
    other = [one["newest messages"] for one in answers if "newest messages" in one]
    rows.append(
        Headline(
            "right answers of a small model",
            f"{_between(own, 'percent')} %",
            f"{_between(other, 'percent')} %",
            is_won=min(one["percent"] for one in own) >= max(one["percent"] for one in other),
            notice="whether it knows what you said an hour ago",
        )
    )
    return rows


def _answers(folder: Path) -> list[dict[str, dict[str, float]]]:
    """Return the counts of a real model's answers, by context, for each conversation."""
    paths = sorted(folder.glob("embedded-answers-*.json"))
    return [json.loads(path.read_bytes())["contexts"] for path in paths]


def _beside(found: Mapping[str, Measure], act: Act, others: Sequence[str]) -> Headline:
    """Return the row of an act: chat-loop's median, and that of the best other program."""
    medians = {name: found[f"{act.name}, {name}"].median for name in others}
    best = min(medians, key=medians.__getitem__)
    own, other = found[f"{act.name}, chat-loop"], found[f"{act.name}, {best}"]
    return Headline(
        act.label,
        apart(own.median, other.median, own.unit),
        f"{apart(other.median, own.median, own.unit)} ({best})",
        is_won=own.median <= other.median,
        notice=act.notice,
        on_front=act.on_front,
    )


def front(folder: Path) -> str:
    """Return the front page's table of what is won and what is lost, and what it compares."""
    rows = headlines(folder)
    lines = ["| | chat-loop | best other |", "|---|---|---|"]
    lines += (f"| {row.label} | {row.cells()} |" for row in rows if row.on_front)
    return "\n".join([*lines, "", textwrap.fill(compared(folder), 80)])


def compared(folder: Path) -> str:
    """Return the sentences about what the headlines compare. Raises FileNotFoundError."""
    count = len(programs_of(measures(folder, "peers"))) - len(OWN)
    answers = _answers(folder)
    conversations = len(answers)
    after = f" after each of {conversations} conversations" if conversations > 1 else ""
    compared_with = sum("newest messages" in each for each in answers)
    only = "" if compared_with == conversations else f", after {compared_with} of them"
    return (
        f"The times are medians beside {count} other programs on one slow machine. The facts are those that still "
        "hold, compacted automatically with a simulated model, beside four other methods. The answers are those to 50 "
        f"questions about exact facts{after}, in a window of 4K, beside the newest messages alone{only}."
    )


def programs_of(found: Mapping[str, Measure]) -> list[str]:
    """Return the names of the programs that `peers` measured."""
    prefix = "exit, "
    return [name.removeprefix(prefix) for name in found if name.startswith(prefix)]


def _between(rows: list[dict[str, float]], name: str) -> str:
    values = [row[name] for row in rows]
    if None in values:
        return "–"
    low, high = short(min(values)), short(max(values))
    return low if low == high else f"{low} to {high}"


def measures(folder: Path, benchmark: str) -> dict[str, Measure]:
    """Return the measures of a result. Raises FileNotFoundError."""
    result = read(folder / f"{benchmark}.json")
    if result is None:
        raise FileNotFoundError(benchmark)
    return result.measures


def recall(folder: Path) -> str:
    """Return the table of searches on our own conversations."""
    found = measures(folder, "recall")
    lines = ["| kept out of tuning | text | meaning | both |", "|---|---|---|---|"]
    for label, name in (
        ("questions in other words", "other words, held out"),
        ("planted facts, ids and numbers", "planted facts, held out"),
    ):
        cells = (
            " / ".join(short(found[f"{name}: {way}, among {first}"].median) for first in (1, 5, 10))
            for way in ("text", "meaning", "both")
        )
        asked = found[f"{name}: questions"].median
        lines.append(f"| {label} ({asked:.0f}) | {' | '.join(cells)} |")
    return "\n".join(lines)


def locomo(folder: Path) -> str:
    """Return the sentences about LoCoMo."""
    found = measures(folder, "locomo")

    def shares(way: str, title: str) -> str:
        both = (found[f"evidence among {first}, {way}, {title}"].median for first in (5, 10))
        return " / ".join(short(share) for share in both)

    return (
        "On 400 questions about the ten public dialogues of LoCoMo, the first 5 / 10 hits hold the evidence for "
        f"{shares('text', 'all')} % by words and for\n{shares('both', 'all')} % by both. Plain FTS5 over windows of three "
        f"exchanges finds {shares('plain windows', 'all')} %. Five of the dialogues were used to choose the weights; the\n"
        f"other five give {shares('text', 'held out')}, {shares('both', 'held out')} and "
        f"{shares('plain windows', 'held out')} % (`benchmarks/results/locomo.json`)."
    )


def large(folder: Path) -> str:
    """Return the table of large sessions, and a sentence about the growth of the costs."""
    found = measures(folder, "large")
    lines = ["| | 1 MB | 5 MB | 20 MB |", "|---|---|---|---|"]
    seconds, memory = list[float](), list[float]()
    for label, act in LARGE.items():
        costs = [
            (found[f"{size}: {act}"].median, found[f"{size}: {act}, memory"].median)
            for size in SIZES
        ]
        cells = " | ".join(f"{cpu:.1f} s, {mebibytes:.0f}" for cpu, mebibytes in costs)
        lines.append(f"| {label} | {cells} |")
        seconds.append(costs[2][0] / costs[1][0])
        memory.append(costs[2][1] / costs[1][1])
    growth = (
        "From 5 to 20 MB, four times the size, no command of this table took more than "
        f"{max(seconds):.1f} times the processor time, or more\nthan {max(memory):.1f} times the memory."
    )
    return "\n".join([*lines, "", growth])


LIBRARIES = "folder", "team", "one owner"
MANY = {"10⁴": "10,000", "10⁵": "100,000", "10⁶": "1,000,000"}


def team(folder: Path) -> str:
    """Return the table of large libraries."""
    found = measures(folder, "team")
    larger = read(folder / "million.json")
    if larger is not None:
        found |= larger.measures
    columns = [
        (name, power)
        for name in LIBRARIES
        for power in MANY
        if f"{name}, {MANY[power]}: first page" in found
    ]
    heads = " | ".join(f"{name}, {power}" for name, power in columns)
    lines = [f"| median | {heads} |", f"|---|{'---|' * len(columns)}"]
    acts = [name.partition(": ")[2] for name in found if name.startswith("folder, 10,000: ")]
    for act in acts:
        cells = []
        for name, power in columns:
            measure = found.get(f"{name}, {MANY[power]}: {act}")
            cells.append("–" if measure is None else number(measure.median))
        unit = found[f"folder, 10,000: {act}"].unit
        lines.append(f"| {act}, {unit} | {' | '.join(cells)} |")
    return "\n".join(lines)


BLOCKS: Mapping[str, Callable[[Path], str]] = {
    each.__name__: each
    for each in (
        pages.automatic,
        pages.others,
        pages.losses,
        pages.money,
        pages.tools,
        pages.worst,
        front,
        recall,
        locomo,
        large,
        team,
    )
} | {"embedded": table.text, "continued": tasks.text}
