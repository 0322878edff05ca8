"""Where the file tools may go: the working directory freely, elsewhere after asking, chat-loop's
own files never.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from chat_loop.agent.tools import OUTSIDE, POWERFUL
from chat_loop.errors import ChatLoopError, os_reason
from chat_loop.sessions.files import opened
from chat_loop.wording import size_text

LARGEST = 10_000_000
"""Bytes of a file that is read at all."""
_STEERING = frozenset(
    {"memory.md", "agents.md", "claude.md", "gemini.md", "makefile", "gnumakefile", "justfile"}
    | {"package.json", "setup.py", "conftest.py", "sitecustomize.py", "usercustomize.py"}
    | {"dockerfile"}
)
"""Files that programs run, or give to a model, without being told to; in lower case."""


class Place(Struct, frozen=True):
    """A path as the model named it: where it leads with all links followed, how it is shown, and
    if it leads out.
    """

    path: Path
    shown: str
    outside: bool = False


class Workspace:
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
        """Return the place of a path. Raises ChatLoopError for a protected or impossible one."""
        if not given.strip() or "\0" in given or len(given) > 4096:
            raise ChatLoopError("This is no path.", "Paths are relative to the working directory.")
        try:
            path = (self.root / Path(given).expanduser()).resolve()
        except (RuntimeError, OSError) as error:  # a home that is not known; links in a circle
            raise ChatLoopError(f"The path {given} leads nowhere.") from error
        if self.protects(path):
            raise ChatLoopError(f"{given} belongs to chat-loop itself: tools do not touch it.")
        if path != self.root and self.root not in path.parents:
            return Place(path, str(path), outside=True)
        return Place(path, path.relative_to(self.root).as_posix())

    def protects(self, path: Path) -> bool:
        """Tell if a path, with all links followed, is chat-loop's own."""
        return any(path == kept or kept in path.parents for kept in self._protected)

    def question(self, place: Place, change: str = "") -> str:
        """Return what the user is asked about a call that makes a change, or only reads.

        A line before it says where “always” does not hold. Reading inside needs no question.
        """
        if place.outside:
            question = f"{OUTSIDE} {self.root}:\n{change or f'read {place.path}'}"
            self._asked = question, place.path
            return question
        parts = Path(place.shown.lower()).parts
        hidden = any(part.startswith(".") for part in parts)
        if change and (hidden or place.shown.endswith(".pth") or _STEERING & {*parts[-1:]}):
            return f"{POWERFUL}:\n{change}"
        return change

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


def text_at(place: Place) -> str:
    """Return a file's text, line ends as they are. Raises ChatLoopError when it has none."""
    try:
        with opened(place.path) as (file, status):
            if status.st_size > LARGEST:
                size = size_text(status.st_size)
                raise ChatLoopError(f"{place.shown} is too large to be read: {size}.")
            text = file.read(LARGEST + 1).decode()
    except OSError as error:
        raise refusal(place, error) from error
    except UnicodeDecodeError as error:
        raise ChatLoopError(f"{place.shown} is no text in UTF-8.") from error
    if "\0" in text:
        raise ChatLoopError(f"{place.shown} is a binary file.")
    return text


def is_folder(path: Path) -> bool:
    """Tell if there is a folder; False for a path that the system refuses to look at."""
    try:
        return path.is_dir()
    except OSError:
        return False


def refusal(place: Place, error: OSError) -> ChatLoopError:
    """Return the reason why the system refused a file, for the model."""
    if is_folder(place.path):
        return ChatLoopError(f"{place.shown} is a folder.")
    match error:
        case FileNotFoundError():
            return ChatLoopError(f"There is no file {place.shown}.")
        case PermissionError():
            return ChatLoopError(f"{place.shown} may not be opened.")
    return ChatLoopError(f"{place.shown}: {os_reason(error)}.")
