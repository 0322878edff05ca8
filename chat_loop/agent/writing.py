"""Tools that change files. The user is shown each change whole, as a diff, before it is made."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path

from chat_loop.agent.places import Grounds, Place, sentence
from chat_loop.agent.reading import text_at
from chat_loop.errors import ChatLoopError
from chat_loop.wording import counted

LONGEST_COMPARED = 2_000
"""Lines; of longer files the new text is shown, and how many lines it replaces."""
AROUND = 3
"""Lines that a diff shows before and after a change."""


class Writing:
    """The tools; each is described by its docstring."""

    def __init__(self, grounds: Grounds) -> None:
        self._grounds = grounds
        self._lock = threading.Lock()
        self._shown: dict[Path, bytes] = {}
        """What stood in the files when the user was asked about overwriting them."""

    def write_file(self, path: str, text: str) -> str:
        """Writes a text file: a new one, or in the place of what it holds now. Small changes are
        for edit_file.

        Args:
            path: Relative to the working directory. Folders are made.
            text: All that the file is to hold.
        """
        place = self._grounds.entered(path)
        with self._lock:
            old = _standing(place)
            if self._shown.pop(place.path, None) != _digest(old):
                raise ChatLoopError(
                    f"{place.shown} has changed since the user was asked.", "Read it again."
                )
            _put(place, _like(old, text))
        lines = _lines(text)
        return f"Wrote {place.shown}: {counted(len(lines), 'line')}."

    def edit_file(self, path: str, old: str, new: str) -> str:
        """Replaces a text in a file, exactly as it stands there and only there, by another one.

        Args:
            path: Relative to the working directory.
            old: The text that is replaced, with enough around it that it stands in the file once.
            new: What stands there afterwards.
        """
        place = self._grounds.entered(path)
        with self._lock:
            whole = text_at(place)
            text, at = _found(place, whole, old)
            _put(place, _like(whole, text[:at] + new + text[at + len(old) :]))
        return f"Edited {place.shown} at line {text.count(chr(10), 0, at) + 1}."

    def about_writing(self, given: Mapping[str, object]) -> str:
        """A new file whole, or what changes in one that is there."""
        place, new = self._grounds.place(str(given["path"])), str(given["text"])
        old = _standing(place)
        self._shown[place.path] = _digest(old)
        if old is None:
            head, lines = (
                f"New file {place.shown}:",
                ["--- /dev/null", f"+++ {place.shown}", *_marked("+", new)],
            )
        else:
            new = _like(old, new).decode()
            if new == old:
                raise ChatLoopError(f"{place.shown} holds exactly this already.")
            head, lines = f"Change {place.shown}:", _compared(place.shown, old, new)
        return self._grounds.about_changing(place, "\n".join([head, *lines]))

    def about_editing(self, given: Mapping[str, object]) -> str:
        """What changes, with the lines around it."""
        place, old, new = (
            self._grounds.place(str(given["path"])),
            str(given["old"]),
            str(given["new"]),
        )
        if old == new:
            raise ChatLoopError("The old text and the new one are the same.")
        text, at = _found(place, text_at(place), old)
        lines = _hunk(place.shown, text, at, len(old), new)
        return self._grounds.about_changing(place, "\n".join([f"Change {place.shown}:", *lines]))


def _standing(place: Place) -> str | None:
    """What a file holds now; None when there is none."""
    return text_at(place) if os.path.lexists(place.path) else None


def _digest(text: str | None) -> bytes:
    return b"" if text is None else sha256(text.encode()).digest()


def _found(place: Place, whole: str, old: str) -> tuple[str, int]:
    """A file's text with its line ends as the model knows them, and where the one occurrence of
    `old` begins.
    """
    text = whole.replace("\r\n", "\n") if _has_crlf(whole) else whole
    at = text.find(old) if old else -1
    if at < 0:
        raise ChatLoopError(
            f"The old text does not stand in {place.shown}.", "It must be exactly as in the file."
        )
    if text.find(old, at + 1) >= 0:
        raise ChatLoopError(
            f"The old text stands in {place.shown} more than once.",
            "Give more of what is around it.",
        )
    return text, at


def _has_crlf(text: str) -> bool:
    """Whether all lines end in CRLF."""
    ends = text.count("\n")
    return ends > 0 and text.count("\r\n") == ends


def _like(old: str | None, new: str) -> bytes:
    """The new text with the line ends of the old one."""
    if old is not None and _has_crlf(old) and "\r" not in new:
        new = new.replace("\n", "\r\n")
    return new.encode()


def _put(place: Place, data: bytes) -> None:
    """Write a file so that the old one or the new one is there, whole; its mode stays. Raises
    ChatLoopError.
    """
    path = place.path
    temporary = path.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        mode = None
        if os.path.lexists(path):
            mode = stat.S_IMODE(path.stat().st_mode)
            if not (mode & 0o222 and os.access(path, os.W_OK)):
                raise ChatLoopError(f"{place.shown} is write-protected.")
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = (
            os.O_CREAT
            | os.O_EXCL
            | os.O_WRONLY
            | getattr(os, "O_NOFOLLOW", 0)
            | getattr(os, "O_BINARY", 0)
        )
        try:
            with os.fdopen(os.open(temporary, flags, 0o666), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if mode is not None:
                temporary.chmod(mode)
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise sentence(place.shown, error) from error


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _marked(mark: str, text: str) -> Iterator[str]:
    """The lines of a text as a diff has them; carriage returns are shown, since they are all that
    some changes are.
    """
    for line in _lines(text):
        yield f"{mark}{line}".replace("\r", "␍")
    if text and not text.endswith("\n"):
        yield "\\ No newline at end of file"


def _compared(shown: str, old: str, new: str) -> list[str]:
    head = [f"--- {shown}", f"+++ {shown}"]
    if _has_crlf(old) and _has_crlf(new):
        old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    before, after = list(_marked("", old)), list(_marked("", new))
    if max(len(before), len(after)) <= LONGEST_COMPARED:
        return [*head, *list(unified_diff(before, after, n=AROUND, lineterm=""))[2:]]
    return [
        *head,
        f"@@ all {len(before):,} lines are replaced by these {len(after):,} @@",
        *_marked("+", new),
    ]


def _hunk(shown: str, text: str, at: int, length: int, new: str) -> list[str]:
    """The one change of an edit as a diff: whole lines, and some around them."""
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at + length)
    end = len(text) if end < 0 else end + 1
    if (
        length
        and text[at + length - 1] == "\n"
        and (new.endswith("\n") or (not new and at == start))
    ):
        end = at + length  # the lines after it stay as they are
    removed, added = text[start:end], text[start:at] + new + text[at + length : end]
    before = _lines(text[:start])
    after = _lines(text[end:])
    line = len(before) + 1
    return [
        f"--- {shown}",
        f"+++ {shown}",
        f"@@ line {line} @@",
        *(f" {shown_line}".replace("\r", "␍") for shown_line in before[-AROUND:]),
        *_marked("-", removed),
        *_marked("+", added),
        *(f" {shown_line}".replace("\r", "␍") for shown_line in after[:AROUND]),
    ]
