"""Where the conversation stands: the numbers of the status line, of info and of stats, each
computed in one place.
"""

from __future__ import annotations

from collections.abc import Callable

from chat_loop.conversation.conversation import Conversation
from chat_loop.display.status import Status
from chat_loop.sessions.naming import name_of
from chat_loop.sessions.records import Session
from chat_loop.values import Usage

Cost = Callable[[str, Usage], float | None]


def session_cost(session: Session, cost: Cost) -> float | None:
    """What a session's replies cost in US dollars, summaries apart; None when one of the prices is
    unknown.
    """
    costs = [cost(model, usage) for model, usage in session.usage_of_models.items()]
    known = [one for one in costs if one is not None]
    return sum(known) if len(known) == len(costs) else None


class Standing:
    """What the status line tells of a conversation. It is asked for with every key: the sums over
    all of a session are remembered until something is added to it.
    """

    def __init__(self, conversation: Conversation, cost: Cost) -> None:
        self._conversation = conversation
        self._cost = cost
        self._key = ("", 0)
        self._sums: tuple[int, float | None, str] = (0, None, "")

    def __call__(self) -> Status:
        conversation = self._conversation
        live, budget, session = conversation.live, conversation.budget, conversation.session
        key = (live.header.id, len(session.entries))
        if key != self._key:
            tokens = session.totals.combined
            price = session_cost(session, self._cost) if tokens else None
            self._key, self._sums = key, (tokens, price, name_of(session))
        tokens, price, name = self._sums
        return Status(
            model=conversation.agent.model,
            share=budget.share,
            window=budget.window,
            estimated=budget.estimated,
            tokens=tokens,
            cost=price,
            session=name if live.empty else name or live.header.id,
            unsaved=not live.empty and not live.saved,
            summary=conversation.compaction.background.state,
        )
