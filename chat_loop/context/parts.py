"""What fills the window (pure), part by part."""

from __future__ import annotations

from collections.abc import Mapping

from chat_loop.context.budget import MEMORY, SYSTEM, TOOLS, Budget, reserve, shared
from chat_loop.context.messages import BLOCK, CARRIED, FILES, OWN, RECALLED, USED

ORDER = (SYSTEM, MEMORY, TOOLS, BLOCK, CARRIED, RECALLED, USED, FILES, OWN)


def parts(weights: Mapping[str, int], budget: Budget, queries: int) -> tuple[tuple[str, int], ...]:
    """Return (part, tokens) in the order in which they are sent; those that are used add up to what
    the budget says.

    `weights` are the parts' estimates, `queries` those of this session.
    """
    used = shared(weights, budget.used, OWN)
    names = {OWN: f"{OWN} ({queries})"}
    taken = [(names.get(part, part), used[part]) for part in ORDER if used.get(part)]
    kept = reserve(budget.window.tokens)
    return (
        *taken,
        ("Kept for the reply", kept),
        ("Free", max(0, budget.window.tokens - budget.used - kept)),
    )
