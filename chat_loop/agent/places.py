"""Where the file tools may go: the working directory freely, elsewhere after asking, chat-loop's own files never."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from chat_loop.errors import ChatLoopError
from chat_loop.frozen import dataclass

OUTSIDE = "Outside of the working directory"
"""How the question begins for a file that is not below it; what is allowed so is allowed once."""


@dataclass(frozen=True)
class Place:
    """A path as the model named it: where it leads with all links followed, how it is shown, whether it leads out."""

    path: Path
    shown: str
    outside: bool


class Grounds:
    """`root` is the working directory; `protected` are files and folders that no tool touches."""

    def __init__(self, root: Path, protected: Sequence[Path] = ()) -> None:
        self.root = root.resolve()
        self._protected = tuple(path.resolve() for path in protected)
        self._asked: set[Path] = set()

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
        return Place(path, str(path) if outside else path.relative_to(self.root).as_posix(), outside)

    def protects(self, path: Path) -> bool:
        """Whether a path, with all links followed, is chat-loop's own."""
        return any(path == kept or kept in path.parents for kept in self._protected)

    def about(self, place: Place, text: str = "", *, inside: str = "") -> str:
        """What the user is asked about a call: `text` for a place outside, which is remembered, else `inside`."""
        if not place.outside:
            return inside
        self._asked.add(place.path)
        return f"{OUTSIDE} {self.root}:\n{text or inside}"

    def entered(self, given: str) -> Place:
        """The place of a call that runs. Raises ChatLoopError for one that leads out and was not asked about."""
        place = self.place(given)
        if place.outside and place.path not in self._asked:
            raise ChatLoopError(f"{given} has come to lead out of the working directory.", "Call the tool again.")
        self._asked.discard(place.path)
        return place


def sentence(shown: str, error: OSError) -> ChatLoopError:
    """What the system says of a file, for the model."""
    match error:
        case FileNotFoundError():
            return ChatLoopError(f"There is no file {shown}.")
        case IsADirectoryError():
            return ChatLoopError(f"{shown} is a folder.")
        case PermissionError():
            return ChatLoopError(f"{shown} may not be opened.")
    return ChatLoopError(f"{shown}: {error.strerror or error}.")
