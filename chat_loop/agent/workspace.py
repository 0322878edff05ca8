"""The file tools: free inside the working directory, elsewhere after approval."""

from __future__ import annotations

import difflib
import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import Path

from msgspec import Struct

from chat_loop.agent.isolation import in_thread
from chat_loop.agent.tools import OUTSIDE_PREFIX, SENSITIVE_PREFIX, PreparedCall
from chat_loop.errors import ChatLoopError, os_reason
from chat_loop.sessions.files import open_regular
from chat_loop.wording import plural, size_text

MAX_FILE_BYTES = 10_000_000
MAX_LISTED = 1_000
MAX_VISITED = 50_000
MAX_MATCHES = 200
MAX_SEARCHED = 200_000_000
"""Characters of files that one search reads."""
MAX_LINE = 300
MAX_COMPARED = 2_000
"""Lines; longer changes show only the new text."""
CONTEXT_LINES = 3
SKIPPED_FOLDERS = frozenset({".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__"})
"""Folders that are not listed or searched unless named explicitly."""
_SENSITIVE_FILES = frozenset(
    {"memory.md", "agents.md", "claude.md", "gemini.md", "makefile", "gnumakefile", "justfile"}
    | {"package.json", "setup.py", "conftest.py", "sitecustomize.py", "usercustomize.py"}
    | {"dockerfile"}
)
"""Files that programs run, or give to a model, by themselves; in lower case."""


class Place(Struct, frozen=True):
    """A file that the model named: its path with all links resolved, and its display path."""

    path: Path
    display_path: str
    outside: bool = False


class Workspace:
    """The files below `root`. Each tool is the method of its name, which prepares a call; none
    touches the `protected` files and folders.
    """

    def __init__(self, root: Path, protected: Sequence[Path] = ()) -> None:
        self.root = root.resolve()
        self._protected = tuple(path.resolve() for path in protected)
        self._write_lock = threading.Lock()

    def place(self, path: str) -> Place:
        """Return the place of a path. Raises ChatLoopError for a protected or impossible one."""
        if not path.strip() or "\0" in path or len(path) > 4096:
            raise ChatLoopError("This is no path.", "Paths are relative to the working directory.")
        try:
            real = (self.root / Path(path).expanduser()).resolve()
        except (RuntimeError, OSError) as error:  # an unknown home, links in a circle
            raise ChatLoopError(f"The path {path} leads nowhere.") from error
        if self._protects(real):
            raise ChatLoopError(f"{path} belongs to chat-loop itself: tools do not touch it.")
        if real != self.root and self.root not in real.parents:
            return Place(real, str(real), outside=True)
        return Place(real, real.relative_to(self.root).as_posix())

    def _protects(self, path: Path) -> bool:
        return any(path == own or own in path.parents for own in self._protected)

    def _prepare(
        self, path: str, place: Place, act: Callable[[], str], change: str = ""
    ) -> PreparedCall:
        """Return the question about a change or a read, and the action, which refuses to run once
        the path leads elsewhere.
        """

        def run_if_unchanged() -> str:
            if self.place(path) != place:
                raise ChatLoopError(f"{path} now leads elsewhere.", "Call the tool again.")
            return act()

        async def run() -> str:
            return (await in_thread(run_if_unchanged)).text("The call")

        question = change
        *_, name = parts = Path(place.display_path.lower()).parts or (".",)
        hidden = any(part.startswith(".") for part in parts)
        if change and (hidden or name.endswith(".pth") or name in _SENSITIVE_FILES):
            question = f"{SENSITIVE_PREFIX}:\n{change}"
        if place.outside:
            question = f"{OUTSIDE_PREFIX} {self.root}:\n{change or f'read {place.path}'}"
        return PreparedCall(question, run)

    def read_file(self, path: str, first: int = 1, last: int = 0) -> PreparedCall:
        """Reads a text file, whole or from line `first` to line `last`."""
        place = self.place(path)

        def act() -> str:
            text = read_text(place).replace("\r\n", "\n")
            lines = text.split("\n")
            total = len(lines) - (not lines[-1])
            if first <= 1 and (last <= 0 or last >= total):
                return text
            if first > total:
                raise ChatLoopError(f"{place.display_path} has {plural(total, 'line')}.")
            start, end = max(first, 1), min(last, total) if last > 0 else total
            part = "\n".join(lines[start - 1 : end])
            return f"{part}\n[lines {start} to {end} of {total}]"

        return self._prepare(path, place, act)

    def list_files(self, pattern: str = "*", path: str = ".") -> PreparedCall:
        """Lists the files of a folder and of the folders in it."""
        folder = self.place(path)

        def act() -> str:
            found: list[str] = []
            cut: list[str] = []
            for place in self._files(folder, pattern):
                if place is None or len(found) == MAX_LISTED:
                    more = f"there are more than these {plural(len(found), 'file')}"
                    cut.append(f"[cut: {more}; a narrower pattern finds them]")
                    break
                found.append(place.display_path)
            return "\n".join([*sorted(found), *cut])

        return self._prepare(path, folder, act)

    def search_files(
        self, text: str, pattern: str = "*", path: str = ".", ignore_case: bool = False
    ) -> PreparedCall:
        """Finds the lines that hold a text, in the files of a folder and of the folders in it:
        path:line: text.
        """
        folder = self.place(path)
        wanted = text.lower() if ignore_case else text
        if not wanted or "\n" in wanted:
            raise ChatLoopError("The text must be a part of one line.")

        def act() -> str:
            matches: list[str] = []
            characters = 0
            for place in self._files(folder, pattern):
                if place is None or characters > MAX_SEARCHED:
                    matches.append("[cut: more files than can be searched; narrow the pattern]")
                    break
                try:
                    whole = read_text(place)
                except ChatLoopError:  # binary, too large, or gone
                    continue
                characters += len(whole)
                for number, line in enumerate(whole.split("\n"), 1):
                    if wanted not in (line.lower() if ignore_case else line):
                        continue
                    if len(matches) == MAX_MATCHES:
                        return "\n".join([*matches, f"[cut: the first {MAX_MATCHES} lines]"])
                    matches.append(f"{place.display_path}:{number}: {line.strip()[:MAX_LINE]}")
            return "\n".join(matches)

        return self._prepare(path, folder, act)

    def _files(self, folder: Place, pattern: str) -> Iterator[Place | None]:
        """Yield the files below a folder that match; None at last when there are too many."""
        if len(pattern) > MAX_LINE:
            raise ChatLoopError("The pattern is too long.")
        if not folder.path.is_dir():
            raise ChatLoopError(f"{folder.display_path} is no folder.")
        visited = 0
        for directory, folders, files in os.walk(folder.path):
            parent = Path(directory)
            own = {name for name in (*folders, *files) if self._protects(parent / name)}
            folders[:] = sorted(set(folders) - SKIPPED_FOLDERS - own)
            for name in sorted(set(files) - own):
                visited += 1
                if visited > MAX_VISITED:
                    yield None
                    return
                file = parent / name
                inner = file.relative_to(folder.path).as_posix()
                matched = inner if "/" in pattern else name
                patterns = (pattern, pattern.replace("**/", ""))
                if any(fnmatchcase(matched, one) for one in patterns) and not file.is_symlink():
                    yield Place(
                        file,
                        inner if folder.display_path == "." else f"{folder.display_path}/{inner}",
                    )

    def write_file(self, path: str, text: str) -> PreparedCall:
        """Writes a text file: a new one, or in the place of what it holds now. Small changes are
        for edit_file.
        """
        place = self.place(path)
        before = read_text(place) if os.path.lexists(place.path) else None
        new = _match_line_ends(before, text)

        def act() -> str:
            with self._write_lock:
                current = read_text(place) if os.path.lexists(place.path) else None
                if current != before:
                    raise ChatLoopError(
                        f"{place.display_path} has changed since the user was asked.",
                        "Read it again.",
                    )
                _replace(place, new.encode())
            return f"Wrote {place.display_path}: {plural(len(_lines(text)), 'line')}."

        if before is not None:
            if new == before:
                raise ChatLoopError(f"{place.display_path} holds exactly this already.")
            return self._prepare(path, place, act, _change(place, before, new))
        lines = [f"New file {place.display_path}:", "--- /dev/null", f"+++ {place.display_path}"]
        lines += _diff_lines("+", new)
        return self._prepare(path, place, act, "\n".join(lines))

    def edit_file(self, path: str, old: str, new: str) -> PreparedCall:
        """Replaces a text in a file, exactly as it stands there and only there, by another one."""
        place = self.place(path)
        if old == new:
            raise ChatLoopError("The old text and the new one are the same.")

        def edit_text() -> tuple[str, str, int]:
            """Return the text of the file, the new one, and where they begin to differ."""
            whole = read_text(place)
            text = whole.replace("\r\n", "\n") if _has_crlf(whole) else whole
            start = text.find(old) if old else -1
            if start < 0:
                raise ChatLoopError(
                    f"The old text does not stand in {place.display_path}.",
                    "It must be exactly as in the file.",
                )
            if text.find(old, start + 1) >= 0:
                raise ChatLoopError(
                    f"The old text stands in {place.display_path} more than once.",
                    "Give more of what is around it.",
                )
            return whole, text[:start] + new + text[start + len(old) :], start

        def act() -> str:
            with self._write_lock:
                before, after, start = edit_text()
                _replace(place, _match_line_ends(before, after).encode())
            return f"Edited {place.display_path} at line {after.count(chr(10), 0, start) + 1}."

        before, after, _ = edit_text()
        change = _change(place, before, _match_line_ends(before, after))
        return self._prepare(path, place, act, change)


def read_text(place: Place) -> str:
    """Return the text of a file with its original line ends. Raises ChatLoopError."""
    try:
        with open_regular(place.path) as (file, status):
            if status.st_size > MAX_FILE_BYTES:
                size = size_text(status.st_size)
                raise ChatLoopError(f"{place.display_path} is too large to be read: {size}.")
            text = file.read(MAX_FILE_BYTES + 1).decode()
    except OSError as error:
        raise ChatLoopError(f"{place.display_path}: {os_reason(error)}.") from error
    except UnicodeDecodeError as error:
        raise ChatLoopError(f"{place.display_path} is no text in UTF-8.") from error
    if "\0" in text:
        raise ChatLoopError(f"{place.display_path} is a binary file.")
    return text


def _replace(place: Place, data: bytes) -> None:
    """Replace a file in one step; its mode stays. Raises ChatLoopError."""
    path = place.path
    temporary = path.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        mode = stat.S_IMODE(path.stat().st_mode) if os.path.lexists(path) else None
        if mode is not None and not (mode & 0o222 and os.access(path, os.W_OK)):
            raise ChatLoopError(f"{place.display_path} is write-protected.")
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if mode is not None:
                temporary.chmod(mode)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise ChatLoopError(f"{place.display_path}: {os_reason(error)}.") from error


def _has_crlf(text: str) -> bool:
    """Return True when all lines end in CRLF."""
    ends = text.count("\n")
    return ends > 0 and text.count("\r\n") == ends


def _match_line_ends(old: str | None, new: str) -> str:
    crlf = old is not None and _has_crlf(old) and "\r" not in new
    return new.replace("\n", "\r\n") if crlf else new


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _diff_lines(mark: str, text: str) -> list[str]:
    """Return the lines of a text in diff format, with visible carriage returns."""
    end = ["\\ No newline at end of file"] if text and not text.endswith("\n") else []
    return [f"{mark}{line}".replace("\r", "␍") for line in _lines(text)] + end


def _change(place: Place, old: str, new: str) -> str:
    if _has_crlf(old) and _has_crlf(new):
        old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    head = [
        f"Change {place.display_path}:",
        f"--- {place.display_path}",
        f"+++ {place.display_path}",
    ]
    return "\n".join([*head, *hunks(old, new)])


def hunks(old: str, new: str) -> list[str]:
    """Return the hunks of a diff; for a large change the new lines, since comparing takes long."""
    before, after = _diff_lines("", old), _diff_lines("", new)
    common = _common_lines(before, after)
    tail = _common_lines(before[common:][::-1], after[common:][::-1])
    tail = max(0, tail - CONTEXT_LINES)
    head = max(0, common - CONTEXT_LINES)
    before, after = before[head : len(before) - tail], after[head : len(after) - tail]
    if max(len(before), len(after)) > MAX_COMPARED:
        replaced = f"{len(before):,} lines are replaced by these {len(after):,}"
        return [f"@@ line {head + 1}: {replaced} @@", *(f"+{line}" for line in after)]
    lines = list(difflib.unified_diff(before, after, n=CONTEXT_LINES, lineterm=""))[2:]
    for number, line in enumerate(lines):
        if line.startswith("@@ -"):
            first = int(line.removeprefix("@@ -").split()[0].partition(",")[0])
            lines[number] = f"@@ line {head + max(first, 1)} @@"
    return lines


def _common_lines(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of equal lines at the beginning."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
