"""What fills the window (pure), part by part."""

from __future__ import annotations

from collections.abc import Sequence

from chat_loop.context.budget import Budget, Count, attached_size, reserve, size
from chat_loop.context.thread import Thread
from chat_loop.sessions.entries import Attachment, Query, Recall, Result
from chat_loop.values import Message


def parts(
    thread: Thread,
    messages: Sequence[Message],
    system_prompt: str,
    memory: str,
    budget: Budget,
    count: Count,
    offered: int = 0,
) -> tuple[tuple[str, int], ...]:
    """(part, tokens), in the order in which they are sent; together they are what the budget says is used.

    `offered` are the tokens in which the model is told of its tools. The parts are estimated one by one; what the
    provider reported beyond that is the turns'.
    """
    session = thread.session
    block = carried = recalled = tools = files = 0
    if session.restoration is not None and session.restoration.block and messages:
        block = size(session.restoration.block, count)
    for exchange in thread.carried:
        carried += size(exchange.query.text, count) + (size(exchange.reply.text, count) if exchange.reply else 0)
        carried += attached_size(exchange.attached, count)
    for entry in session.standing:
        if isinstance(entry, Recall):
            recalled += size(entry.text, count)
        elif isinstance(entry, Result):
            tools += size(entry.text, count)
        elif isinstance(entry, Attachment):
            files += attached_size((entry,), count)
    system, noted = count(system_prompt), count(memory)
    queries = sum(isinstance(entry, Query) for entry in session.standing)
    rest = budget.used - system - noted - offered - block - carried - recalled - tools - files
    found = [
        ("System prompt", system),
        ("Memory", noted),
        ("Tools", offered),
        ("Restored block", block),
        ("Carried words", carried),
        ("From the archive", recalled),
        ("Tool results", tools),
        ("Attached files", files),
        (f"This session ({queries})", max(0, rest)),
    ]
    taken = [(name, tokens) for name, tokens in found if tokens > 0]
    free = budget.window.tokens - budget.used - reserve(budget.window.tokens)
    return (*taken, ("Kept for the reply", reserve(budget.window.tokens)), ("Free", max(0, free)))
