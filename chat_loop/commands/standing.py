"""Where the conversation stands: the numbers of the status line, of info and of stats, each computed in one place."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from chat_loop.conversation import Conversation
from chat_loop.display.status import Status
from chat_loop.sessions.naming import name_of
from chat_loop.sessions.records import Session
from chat_loop.values import Usage

Cost = Callable[[str, Usage], float | None]


def session_cost(session: Session, cost: Cost) -> float | None:
    """What a session's replies cost in US dollars, summaries apart; None when one of the prices is unknown."""
    costs = [cost(model, usage) for model, usage in session.usage_of_models.items()]
    known = [one for one in costs if one is not None]
    return sum(known) if len(known) == len(costs) else None


def remembered(cost: Cost) -> Cost:
    """`cost`, which looks its last answers up: the line is drawn with every key."""
    return lru_cache(maxsize=16)(cost)


def standing(conversation: Conversation, cost: Cost) -> Status:
    """What the status line tells of a conversation now."""
    live, session, budget = conversation.live, conversation.session, conversation.budget
    tokens = session.totals.combined
    return Status(
        model=conversation.agent.model,
        share=budget.share,
        window=budget.window,
        estimated=budget.estimated,
        tokens=tokens,
        cost=session_cost(session, cost) if tokens else None,
        session="" if live.empty else name_of(session) or live.header.id,
        unsaved=not live.empty and not live.saved,
        summary=conversation.summary_state,
    )
