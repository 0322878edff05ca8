"""Tools that only look: a file's lines, the files of a folder, where a text stands in them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from chat_loop.agent.places import Grounds, Place, sentence
from chat_loop.errors import ChatLoopError
from chat_loop.sessions.files import opened
from chat_loop.wording import counted, size_text

LARGEST = 10_000_000
"""Bytes of a file that is read at all."""
MOST_LISTED = 1_000
MOST_VISITED = 50_000
MOST_FOUND = 200
MOST_SEARCHED = 200_000_000
"""Bytes of files that one search reads."""
LONGEST_LINE = 300
SKIPPED = frozenset({".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__"})
"""Folders that are not listed or searched unless they are named themselves."""


def text_at(place: Place) -> str:
    """The text of a file, line ends as they are. Raises ChatLoopError when there is none, or it is
    no text.
    """
    try:
        with opened(place.path) as (file, status):
            if status.st_size > LARGEST:
                raise ChatLoopError(
                    f"{place.shown} is too large to be read: {size_text(status.st_size)}."
                )
            data = file.read(LARGEST + 1)
    except OSError as error:
        if is_folder(place.path):
            raise ChatLoopError(f"{place.shown} is a folder.") from error
        raise sentence(place.shown, error) from error
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ChatLoopError(f"{place.shown} is no text in UTF-8.") from error
    if "\0" in text:
        raise ChatLoopError(f"{place.shown} is a binary file.")
    return text


def is_folder(path: Path) -> bool:
    """Whether there is a folder; False as well for a path that the system refuses to look at."""
    try:
        return path.is_dir()
    except OSError:
        return False


class Reading:
    """The tools; each is described by its docstring."""

    def __init__(self, grounds: Grounds) -> None:
        self._grounds = grounds

    def read_file(self, path: str, first: int = 1, last: int = 0) -> str:
        """Reads a text file, whole or from line `first` to line `last`.

        Args:
            path: Relative to the working directory.
            first: The first line, from 1.
            last: The last line; 0 reads to the end.
        """
        place = self._grounds.entered(path)
        text = text_at(place).replace("\r\n", "\n")
        lines = text.split("\n")
        total = len(lines) - (not lines[-1])
        if first <= 1 and (last <= 0 or last >= total):
            return text
        if first > total:
            raise ChatLoopError(f"{place.shown} has {counted(total, 'line')}.")
        first, last = max(first, 1), min(last, total) if last > 0 else total
        part = "\n".join(lines[first - 1 : last])
        return f"{part}\n[lines {first} to {last} of {total}]"

    def list_files(self, pattern: str = "*", path: str = ".") -> str:
        """Lists the files of a folder and of the folders in it.

        Args:
            pattern: Such as "*.py", which is looked for in every folder, or "src/*.py".
            path: The folder, relative to the working directory.
        """
        place = self._folder(path, pattern)
        found: list[str] = []
        cut = ""
        for file, shown in self._files(place, pattern):
            if file is None or len(found) == MOST_LISTED:
                cut = (
                    f"\n[cut: there are more than these {counted(len(found), 'file')}; a "
                    "narrower pattern finds them]"
                )
                break
            found.append(shown)
        return "\n".join(sorted(found)) + cut

    def search_files(
        self, text: str, pattern: str = "*", path: str = ".", ignore_case: bool = False
    ) -> str:
        """Finds the lines that hold a text, in the files of a folder and of the folders in it:
        path:line: text.

        Args:
            text: What is looked for, as it stands; no regular expression.
            pattern: Only in such files, for example "*.py".
            path: The folder, relative to the working directory.
            ignore_case: Find capital letters for small ones and the other way round.
        """
        place = self._folder(path, pattern)
        wanted = text.lower() if ignore_case else text
        if not wanted or "\n" in wanted:
            raise ChatLoopError("The text must be a part of one line.")
        found: list[str] = []
        read = 0
        for file, shown in self._files(place, pattern):
            if file is None or read > MOST_SEARCHED:
                return "\n".join(
                    [
                        *found,
                        "[cut: more files than can be searched; a narrower pattern helps]",
                    ]
                )
            try:
                whole = text_at(Place(file, shown, outside=False))
            except ChatLoopError:  # binary, too large, or gone
                continue
            read += len(whole)
            for number, line in enumerate(whole.split("\n"), 1):
                if wanted in (line.lower() if ignore_case else line):
                    if len(found) == MOST_FOUND:
                        return "\n".join([*found, f"[cut: the first {MOST_FOUND} lines]"])
                    found.append(f"{shown}:{number}: {line.strip()[:LONGEST_LINE]}")
        return "\n".join(found)

    def about(self, given: Mapping[str, object]) -> str:
        """What the user is asked: nothing, unless it leads out of the working directory."""
        place = self._grounds.place(str(given.get("path", ".")))
        return self._grounds.about_reading(place)

    def _folder(self, path: str, pattern: str) -> Place:
        if len(pattern) > LONGEST_LINE:
            raise ChatLoopError("The pattern is too long.")
        place = self._grounds.entered(path)
        if not is_folder(place.path):
            raise ChatLoopError(f"{place.shown} is no folder.")
        return place

    def _files(self, folder: Place, pattern: str) -> Iterator[tuple[Path | None, str]]:
        """The files that match, with how they are shown; None at last when there are too many to
        look through.
        """
        visited = 0
        waiting = [folder.path]
        while waiting:
            here = waiting.pop(0)
            try:
                with os.scandir(here) as scan:
                    entries = sorted(islice(scan, MOST_VISITED + 1), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in entries:
                visited += 1
                if visited > MOST_VISITED:
                    yield None, ""
                    return
                if self._grounds.protects(Path(entry.path)):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in SKIPPED:
                        waiting.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    inner = Path(entry.path).relative_to(folder.path).as_posix()
                    if _matches(inner, pattern):
                        yield (
                            Path(entry.path),
                            inner if folder.shown == "." else f"{folder.shown}/{inner}",
                        )


def _matches(path: str, pattern: str) -> bool:
    if "/" not in pattern:
        return fnmatchcase(path.rpartition("/")[2], pattern)
    return fnmatchcase(path, pattern) or fnmatchcase(path, pattern.replace("**/", ""))
