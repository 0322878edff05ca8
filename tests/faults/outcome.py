"""Outcomes of fault trials, and a table of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields


@dataclass
class Outcome:
    """A trial: its number, its fault, and the findings, each an explanation or an empty string."""

    number: int
    fault: str
    injected: bool = False
    loss: str = ""
    hang: str = ""
    traceback: str = ""

    @property
    def failure(self) -> str:
        """Return all findings as one text; empty if there are none."""
        found = {"lost": self.loss, "hung": self.hang, "raised": self.traceback}
        missed = "" if self.injected else "the fault was not injected"
        texts = [missed, *(f"{kind}: {text}" for kind, text in found.items() if text)]
        return "; ".join(filter(None, texts))

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


COLUMNS = [field.name for field in fields(Outcome)][2:]


def table(outcomes: Iterable[Outcome]) -> str:
    """Return the outcomes as a Markdown table with a row for each fault."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0] * (1 + len(COLUMNS)))
    for outcome in outcomes:
        values = (1, *(bool(getattr(outcome, name)) for name in COLUMNS))
        for row in (outcome.fault, "**all**"):
            counts[row] = [count + value for count, value in zip(counts[row], values, strict=True)]
    rows = sorted(counts.items(), key=lambda item: (item[0] == "**all**", item[0]))
    lines = [
        "| fault | trials | injected | losses | hangs | tracebacks |",
        "|---|---|---|---|---|---|",
    ]
    lines += [f"| {name} | {' | '.join(f'{count:,}' for count in row)} |" for name, row in rows]
    return "\n".join(lines)
