"""Where the file tools may go: the working directory freely, elsewhere after asking, chat-loop's
own files never.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from chat_loop.errors import ChatLoopError, os_reason

OUTSIDE = "Outside of the working directory"
"""How the question begins for a file that is not below it; what is allowed so is allowed once."""
POWERFUL = "This file can run code or steer later sessions"
"""How the question begins for a change of such a file; what is allowed so is allowed once."""
_STEERING = frozenset(
    {
        "memory.md",
        "agents.md",
        "claude.md",
        "gemini.md",
        "makefile",
        "gnumakefile",
        "justfile",
        "package.json",
    }
    | {"setup.py", "conftest.py", "sitecustomize.py", "usercustomize.py", "dockerfile"}
)
"""Files that programs run, or give to a model, without being told to; in lower case."""


class Place(Struct, frozen=True):
    """A path as the model named it: where it leads with all links followed, how it is shown,
    whether it leads out.
    """

    path: Path
    shown: str
    outside: bool


class Grounds:
    """`root` is the working directory; `protected` are files and folders that no tool touches."""

    def __init__(self, root: Path, protected: Sequence[Path] = ()) -> None:
        self.root = root.resolve()
        self._protected = tuple(path.resolve() for path in protected)
        self._asked: tuple[str, Path] | None = None
        """The last question about a path outside, and the path; questions come one at a time."""
        self._allowed: Counter[Path] = Counter()
        """How many calls on a path outside the user has allowed that have not run yet."""
        self._lock = threading.Lock()

    def place(self, given: str) -> Place:
        """Raises ChatLoopError for a path that means nothing, or that is protected."""
        if not given.strip() or "\0" in given or len(given) > 4096:
            raise ChatLoopError("This is no path.", "Paths are relative to the working directory.")
        try:
            path = (self.root / Path(given).expanduser()).resolve()
        except (RuntimeError, OSError) as error:  # a home that is not known; links in a circle
            raise ChatLoopError(f"The path {given} leads nowhere.") from error
        if self.protects(path):
            raise ChatLoopError(f"{given} belongs to chat-loop itself: tools do not touch it.")
        outside = path != self.root and self.root not in path.parents
        return Place(
            path, str(path) if outside else path.relative_to(self.root).as_posix(), outside
        )

    def protects(self, path: Path) -> bool:
        """Whether a path, with all links followed, is chat-loop's own."""
        return any(path == kept or kept in path.parents for kept in self._protected)

    def about_reading(self, place: Place) -> str:
        """Return the question about a call that reads: empty inside of the working directory."""
        return self._outside(place, f"read {place.path}") if place.outside else ""

    def about_changing(self, place: Place, change: str) -> str:
        """Return the question about a call that changes a file, with a line before it where
        “always” does not hold.
        """
        if place.outside:
            return self._outside(place, change)
        return f"{POWERFUL}:\n{change}" if is_powerful(place) else change

    def allow(self, question: str) -> None:
        """Record that the user allowed the call that this question was about."""
        with self._lock:
            if self._asked is not None and self._asked[0] == question:
                self._allowed[self._asked[1]] += 1

    def entered(self, given: str) -> Place:
        """Return the place of a call that runs. Raises ChatLoopError for one that leads out and was
        not allowed.
        """
        place = self.place(given)
        if place.outside:
            with self._lock:
                if not self._allowed[place.path]:
                    raise ChatLoopError(
                        f"{given} has come to lead out of the working directory.",
                        "Call the tool again.",
                    )
                self._allowed[place.path] -= 1
        return place

    def _outside(self, place: Place, text: str) -> str:
        question = f"{OUTSIDE} {self.root}:\n{text}"
        self._asked = question, place.path
        return question


def is_powerful(place: Place) -> bool:
    """Return whether a file runs code or steers later sessions: hidden, in a hidden folder, or
    known.
    """
    parts = Path(place.shown).parts
    name = parts[-1].lower() if parts else ""
    return any(part.startswith(".") for part in parts) or name in _STEERING or name.endswith(".pth")


def sentence(shown: str, error: OSError) -> ChatLoopError:
    """What the system says of a file, for the model."""
    match error:
        case FileNotFoundError():
            return ChatLoopError(f"There is no file {shown}.")
        case IsADirectoryError():
            return ChatLoopError(f"{shown} is a folder.")
        case PermissionError():
            return ChatLoopError(f"{shown} may not be opened.")
    return ChatLoopError(f"{shown}: {os_reason(error)}.")
