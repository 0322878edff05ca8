"""Who allows calls: the user, asked about each, or beforehand; and what is remembered of the
answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

from chat_loop.agent.workspace import OUTSIDE, POWERFUL
from chat_loop.errors import ToolDenied

Answer = Literal["yes", "no", "always"]
_ANSWERS: dict[str, Answer] = {
    **dict.fromkeys(("y", "yes"), "yes"),
    **dict.fromkeys(("n", "no"), "no"),
    **dict.fromkeys(("a", "always"), "always"),
}
_EXACT = frozenset({"run_command"})
"""Tools whose calls have nothing in common: “always” is for the same call only."""
MOST_ASKED = 5
"""How often an answer that means nothing is asked for again."""


def meant(answer: str) -> Answer | None:
    """What an answer means; None when it means nothing: an empty line allows nothing, and refuses
    nothing.
    """
    return _ANSWERS.get(answer.strip().lower())


def covered(name: str, text: str) -> tuple[str, str]:
    """What “always” covers, for a call of the tool `name` that the user is shown as `text`.

    All calls of the tool; of `run_command`, and where a file is touched that lies outside of the
    working directory, or that can run code or steer later sessions, only the call that does exactly
    the same.
    """
    return (name, text if name in _EXACT or text.startswith((OUTSIDE, POWERFUL)) else "")


def question(name: str, text: str) -> str:
    """What is asked below a call, in one line."""
    always = f"{name}" if not covered(name, text)[1] else "exactly this"
    return f"Run it? (y, n, a = always, until you leave: {always}) "


class Approvals:
    """What was answered in one run of the program. `ask(question)` gives an answer, `show(name,
    text)` shows a call.
    """

    def __init__(
        self, show: Callable[[str, str], None], ask: Callable[[str], Awaitable[str]]
    ) -> None:
        self._show = show
        self._ask = ask
        self._always: set[tuple[str, str]] = set()

    async def approve(self, name: str, text: str) -> bool:
        """Whether a call may run. Nothing is asked about what is always allowed."""
        if covered(name, text) in self._always:
            return True
        self._show(name, text)
        asked = question(name, text)
        for _ in range(MOST_ASKED):
            answer = meant(await self._ask(asked))
            asked = f"Please answer y, n or a. {question(name, text)}"
            if answer == "always":
                self._always.add(covered(name, text))
            if answer is not None:
                return answer != "no"
        return False


async def anything(name: str, text: str) -> bool:
    """The user allowed all calls beforehand."""
    return True


def nobody(told: Callable[[str, str], None]) -> Callable[[str, str], Awaitable[bool]]:
    """There is nobody to ask: what needs an answer does not run; `told(sentence, hint)` is for who
    reads later.
    """

    async def refuse(name: str, text: str) -> bool:
        told(
            f"{name} was not run: it has to be allowed, and there is nobody to ask.",
            "--yes allows all such calls.",
        )
        raise ToolDenied(
            "Not run: the user has to allow it, and there is nobody to ask.", "Go on without it."
        )

    return refuse
