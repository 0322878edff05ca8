"""Who allows calls: the user, asked about each, or beforehand; and what is remembered of the
answers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from chat_loop.agent.workspace import OUTSIDE, POWERFUL
from chat_loop.errors import ToolDenied

MOST_ASKED = 5
"""How often an answer that means nothing is asked for again."""


def covered(name: str, text: str) -> tuple[str, str]:
    """Return what “always” covers, for a call of the tool `name` that is shown as `text`.

    All calls of the tool; of `run_command`, and where a file is touched that lies outside of the
    working directory, or that can run code or steer later sessions, only the call that does exactly
    the same.
    """
    exact = name == "run_command" or text.startswith((OUTSIDE, POWERFUL))
    return (name, text if exact else "")


class Approvals:
    """The answers of one run of the program. `ask(question)` gives an answer, `show(name, text)`
    shows a call.
    """

    def __init__(
        self, show: Callable[[str, str], None], ask: Callable[[str], Awaitable[str]]
    ) -> None:
        self._show = show
        self._ask = ask
        self._always: set[tuple[str, str]] = set()

    async def approve(self, name: str, text: str) -> bool:
        """Tell if a call may run. Nothing is asked about what is always allowed."""
        if covered(name, text) in self._always:
            return True
        self._show(name, text)
        always = "exactly this" if covered(name, text)[1] else name
        question = f"Run it? (y, n, a = always, until you leave: {always}) "
        for number in range(MOST_ASKED):
            again = "Please answer y, n or a. " if number else ""
            match (await self._ask(again + question)).strip().lower():
                case "y" | "yes":
                    return True
                case "a" | "always":
                    self._always.add(covered(name, text))
                    return True
                case "n" | "no":
                    return False
        return False


async def anything(name: str, text: str) -> bool:
    """Approve everything: the user allowed all calls beforehand."""
    return True


def nobody(tell: Callable[[str, str], None]) -> Callable[[str, str], Awaitable[bool]]:
    """Return an approval that refuses, since there is nobody to ask; `tell(sentence, hint)` is for
    who reads later.
    """

    async def refuse(name: str, text: str) -> bool:
        tell(
            f"{name} was not run: it has to be allowed, and there is nobody to ask.",
            "--yes allows all such calls.",
        )
        raise ToolDenied(
            "Not run: the user has to allow it, and there is nobody to ask.", "Go on without it."
        )

    return refuse
