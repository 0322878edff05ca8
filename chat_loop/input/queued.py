"""The messages that wait until the chat has done its work."""

from __future__ import annotations

from msgspec import Struct


class TypedEntry(Struct):
    """An entry: its text as it was in the line, and the unfolded pastes in it."""

    text: str
    pastes: list[str]


class Queued:
    """The waiting messages, in their order.

    One of them may be in the line, where the user edits it; those behind it wait for it. While they
    are held, none is sent.
    """

    def __init__(self) -> None:
        self.is_held = False
        self._entries: list[TypedEntry] = []
        self._index: int | None = None
        """Where the message that is in the line goes back; None if none is there."""

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def texts(self) -> list[str]:
        """The texts of the messages that are not in the line."""
        return [entry.text for entry in self._entries]

    @property
    def is_edited(self) -> bool:
        """True while one of the messages is in the line."""
        return self._index is not None

    def add(self, entry: TypedEntry) -> None:
        """Add a message at the end, or put the edited one back in its place."""
        index = len(self._entries) if self._index is None else self._index
        self._entries.insert(index, entry)
        self._index = None

    def hold(self, *entries: TypedEntry) -> None:
        """Send none of what waits now. `entries` come before the messages that wait already."""
        self._entries[:0] = entries
        if self._index is not None:
            self._index += len(entries)
        self.is_held = bool(self._entries) or self.is_edited

    def next(self) -> TypedEntry | None:
        """Remove and return the message whose turn it is, if there is one."""
        if self.is_held or self._index == 0 or not self._entries:
            return None
        if self._index is not None:
            self._index -= 1
        return self._entries.pop(0)

    def first(self) -> TypedEntry:
        """Take the first message for the line."""
        self._index = 0
        return self._entries.pop(0)

    def before(self, line: TypedEntry) -> TypedEntry:
        """Take the last message for the line, or the one before that which is there as `line`."""
        if self._index is None:
            index = len(self._entries)
        elif self._index == 0:
            return line
        else:
            index = self._index
            self._return(line)
        self._index = index - 1
        return self._entries.pop(index - 1)

    def after(self, line: TypedEntry) -> TypedEntry:
        """Put `line` back, and take the message behind it for the line; an empty one at the end."""
        index = self._index or 0
        self._return(line)
        next_index = index + bool(line.text)
        if next_index == len(self._entries):
            return TypedEntry("", [])
        self._index = next_index
        return self._entries.pop(next_index)

    def drop(self) -> None:
        """Forget the message that is in the line."""
        self._index = None

    def _return(self, line: TypedEntry) -> None:
        """Put a message back, unless the user has deleted its text."""
        if line.text:
            self.add(line)
        self._index = None
