"""The tools that come with the program: they look at files and change them, and run commands. The
user is shown each change whole, as a diff, before it is made.
"""

from __future__ import annotations

import difflib
import inspect
import os
import stat
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from chat_loop.agent import commands
from chat_loop.agent.isolation import in_thread
from chat_loop.agent.tools import Tool, spec_of
from chat_loop.agent.workspace import Place, Workspace, is_folder, refusal, text_at
from chat_loop.errors import ChatLoopError, ConfigError
from chat_loop.wording import counted

MOST_LISTED = 1_000
MOST_VISITED = 50_000
MOST_FOUND = 200
MOST_SEARCHED = 200_000_000
"""Characters of files that one search reads."""
LONGEST_LINE = 300
SKIPPED = frozenset({".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__"})
"""Folders that are not listed or searched unless they are named themselves."""
LONGEST_COMPARED = 2_000
"""Lines; of longer files the new text is shown, and how many lines it replaces."""
AROUND = 3
"""Lines that a diff shows before and after a change."""

_PATH = ("string", "Relative to the working directory.")
_FOLDER = ("string", "The folder, relative to the working directory.", ".")
_SPOT = "The text that is replaced, with enough around it that it stands in the file once."
_ARGUMENTS: dict[str, dict[str, tuple[Any, ...]]] = {
    "read_file": {
        "path": _PATH,
        "first": ("integer", "The first line, from 1.", 1),
        "last": ("integer", "The last line; 0 reads to the end.", 0),
    },
    "list_files": {
        "pattern": ("string", 'Such as "*.py", looked for in every folder, or "src/*.py".', "*"),
        "path": _FOLDER,
    },
    "search_files": {
        "text": ("string", "What is looked for, as it stands; no regular expression."),
        "pattern": ("string", 'Only in such files, for example "*.py".', "*"),
        "path": _FOLDER,
        "ignore_case": ("boolean", "Find capital letters for small ones, and small ones.", False),
    },
    "write_file": {
        "path": ("string", "Relative to the working directory. Folders are made."),
        "text": ("string", "All that the file is to hold."),
    },
    "edit_file": {
        "path": _PATH,
        "old": ("string", _SPOT),
        "new": ("string", "What stands there afterwards."),
    },
    "run_command": {
        "command": ("string", "As it is typed."),
        "seconds": ("integer", "The longest it may take, at most 600; 0: as usual.", 0),
    },
}
"""The arguments of each tool: type, description, and the default if any. The docstring of a tool is
what the model is told it does.
"""
NAMES = tuple(_ARGUMENTS)


def builtin_tools(
    names: Sequence[str], root: Path, *, protected: Sequence[Path] = (), seconds: float = 60.0
) -> tuple[Tool, ...]:
    """Return the tools of these names, for the files below `root`; none touches the `protected`.

    `seconds` is the longest that a command may take when the model does not say. Raises ConfigError
    for a name that is none of theirs.
    """
    for name in names:
        if name not in NAMES:
            raise ConfigError(f"There is no tool {name}.", f"The tools are: {', '.join(NAMES)}.")
    if "run_command" in names and os.name == "nt":
        raise ConfigError("run_command does not run on Windows.", "Leave it out of the tools.")
    files = FileTools(Workspace(root, protected))
    return tuple(_tool(name, files, seconds) for name in dict.fromkeys(names))


def _tool(name: str, files: FileTools, seconds: float) -> Tool:
    workspace = files.workspace
    function: Callable[..., Any] = getattr(files, name, commands.run_command)
    spec = spec_of(name, inspect.getdoc(function) or "", _ARGUMENTS[name])
    if name == "run_command":
        environment = commands.clean_environment(os.environ)

        async def run_command(given: Mapping[str, Any]) -> str:
            asked = min(given.get("seconds", 0), commands.MOST_SECONDS)
            limit = asked if asked > 0 else seconds
            return await commands.run_command(given["command"], workspace.root, environment, limit)

        def asks_to_run(given: Mapping[str, object]) -> str:
            return commands.question(workspace.root, given)

        longest = commands.MOST_SECONDS + 2 * commands.TERM_SECONDS
        return Tool(spec, run_command, asks_to_run, seconds=longest)

    async def run(given: Mapping[str, object]) -> str:
        return (await in_thread(lambda: function(**given))).text(name)

    def asks_to_read(given: Mapping[str, object]) -> str:
        return workspace.question(workspace.place(str(given.get("path", "."))))

    changing = {"write_file": files.change_by_writing, "edit_file": files.change_by_editing}
    asks = changing.get(name, asks_to_read)
    about = "" if name in changing else "files outside of the working directory"
    return Tool(spec, run, asks, workspace.allow, about, stops=False)


class FileTools:
    """The tools for files, each a method of its name."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._lock = threading.Lock()
        self._shown: dict[Path, bytes] = {}
        """What stood in the files when the user was asked about overwriting them."""

    def read_file(self, path: str, first: int = 1, last: int = 0) -> str:
        """Reads a text file, whole or from line `first` to line `last`."""
        place = self.workspace.entered(path)
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
        """Lists the files of a folder and of the folders in it."""
        found: list[str] = []
        for place in self._files(path, pattern):
            if place is None or len(found) == MOST_LISTED:
                more = f"there are more than these {counted(len(found), 'file')}"
                return "\n".join([*sorted(found), f"[cut: {more}; a narrower pattern finds them]"])
            found.append(place.shown)
        return "\n".join(sorted(found))

    def search_files(
        self, text: str, pattern: str = "*", path: str = ".", ignore_case: bool = False
    ) -> str:
        """Finds the lines that hold a text, in the files of a folder and of the folders in it:
        path:line: text.
        """
        wanted = text.lower() if ignore_case else text
        if not wanted or "\n" in wanted:
            raise ChatLoopError("The text must be a part of one line.")
        found: list[str] = []
        read = 0
        for place in self._files(path, pattern):
            if place is None or read > MOST_SEARCHED:
                more = "[cut: more files than can be searched; a narrower pattern helps]"
                return "\n".join([*found, more])
            try:
                whole = text_at(place)
            except ChatLoopError:  # binary, too large, or gone
                continue
            read += len(whole)
            for number, line in enumerate(whole.split("\n"), 1):
                if wanted in (line.lower() if ignore_case else line):
                    if len(found) == MOST_FOUND:
                        return "\n".join([*found, f"[cut: the first {MOST_FOUND} lines]"])
                    found.append(f"{place.shown}:{number}: {line.strip()[:LONGEST_LINE]}")
        return "\n".join(found)

    def _files(self, path: str, pattern: str) -> Iterator[Place | None]:
        """Yield the files below a folder that match; None at last when there are too many."""
        if len(pattern) > LONGEST_LINE:
            raise ChatLoopError("The pattern is too long.")
        folder = self.workspace.entered(path)
        if not is_folder(folder.path):
            raise ChatLoopError(f"{folder.shown} is no folder.")
        visited = 0
        waiting = [folder.path]
        while waiting:
            try:
                with os.scandir(waiting.pop(0)) as scan:
                    entries = sorted(islice(scan, MOST_VISITED + 1), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in entries:
                visited += 1
                if visited > MOST_VISITED:
                    yield None
                    return
                file = Path(entry.path)
                if self.workspace.protects(file):
                    continue
                if entry.is_dir(follow_symlinks=False) and entry.name not in SKIPPED:
                    waiting.append(file)
                inner = file.relative_to(folder.path).as_posix()
                if entry.is_file(follow_symlinks=False) and _matches(inner, pattern):
                    yield Place(file, inner if folder.shown == "." else f"{folder.shown}/{inner}")

    def write_file(self, path: str, text: str) -> str:
        """Writes a text file: a new one, or in the place of what it holds now. Small changes are
        for edit_file.
        """
        place = self.workspace.entered(path)
        with self._lock:
            old = _standing(place)
            if self._shown.pop(place.path, None) != _digest(old):
                raise ChatLoopError(
                    f"{place.shown} has changed since the user was asked.", "Read it again."
                )
            _put(place, _like(old, text))
        return f"Wrote {place.shown}: {counted(len(_lines(text)), 'line')}."

    def change_by_writing(self, given: Mapping[str, object]) -> str:
        """Return the question: a new file whole, or what changes in one that is there."""
        place, new = self.workspace.place(str(given["path"])), str(given["text"])
        old = _standing(place)
        self._shown[place.path] = _digest(old)
        if old is None:
            lines = [f"New file {place.shown}:", "--- /dev/null", f"+++ {place.shown}"]
            return self.workspace.question(place, "\n".join([*lines, *_marked("+", new)]))
        new = _like(old, new).decode()
        if new == old:
            raise ChatLoopError(f"{place.shown} holds exactly this already.")
        if _has_crlf(old) and _has_crlf(new):
            old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
        return self._change_question(place, old, new)

    def edit_file(self, path: str, old: str, new: str) -> str:
        """Replaces a text in a file, exactly as it stands there and only there, by another one."""
        place = self.workspace.entered(path)
        with self._lock:
            whole = text_at(place)
            text, at = _found(place, whole, old)
            _put(place, _like(whole, text[:at] + new + text[at + len(old) :]))
        return f"Edited {place.shown} at line {text.count(chr(10), 0, at) + 1}."

    def change_by_editing(self, given: Mapping[str, object]) -> str:
        """Return the question: what changes, with the lines around it."""
        old, new = str(given["old"]), str(given["new"])
        place = self.workspace.place(str(given["path"]))
        if old == new:
            raise ChatLoopError("The old text and the new one are the same.")
        text, at = _found(place, text_at(place), old)
        return self._change_question(place, text, text[:at] + new + text[at + len(old) :])

    def _change_question(self, place: Place, old: str, new: str) -> str:
        shown = place.shown
        lines = [f"Change {shown}:", f"--- {shown}", f"+++ {shown}", *_hunks(old, new)]
        return self.workspace.question(place, "\n".join(lines))


def _matches(path: str, pattern: str) -> bool:
    name = path if "/" in pattern else path.rpartition("/")[2]
    return fnmatchcase(name, pattern) or fnmatchcase(name, pattern.replace("**/", ""))


def _standing(place: Place) -> str | None:
    """Return what a file holds now; None when there is none."""
    return text_at(place) if os.path.lexists(place.path) else None


def _digest(text: str | None) -> bytes:
    return b"" if text is None else sha256(text.encode()).digest()


def _found(place: Place, whole: str, old: str) -> tuple[str, int]:
    """Return a text with its line ends as the model knows them, and where `old` stands, once."""
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
    """Tell if all lines end in CRLF."""
    ends = text.count("\n")
    return ends > 0 and text.count("\r\n") == ends


def _like(old: str | None, new: str) -> bytes:
    """Return the new text with the line ends of the old one."""
    if old is not None and _has_crlf(old) and "\r" not in new:
        new = new.replace("\n", "\r\n")
    return new.encode()


def _put(place: Place, data: bytes) -> None:
    """Write a file so that the old one or the new one is there, whole; its mode stays. Raises
    ChatLoopError.
    """
    path = place.path
    temporary = path.with_name(f".{os.urandom(8).hex()}.tmp")
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        mode = stat.S_IMODE(path.stat().st_mode) if os.path.lexists(path) else None
        if mode is not None and not (mode & 0o222 and os.access(path, os.W_OK)):
            raise ChatLoopError(f"{place.shown} is write-protected.")
        path.parent.mkdir(parents=True, exist_ok=True)
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
        raise refusal(place, error) from error


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _marked(mark: str, text: str) -> Iterator[str]:
    """Yield the lines of a text as a diff has them; carriage returns are shown, since they are all
    that some changes are.
    """
    for line in _lines(text):
        yield f"{mark}{line}".replace("\r", "␍")
    if text and not text.endswith("\n"):
        yield "\\ No newline at end of file"


def _hunks(old: str, new: str) -> list[str]:
    """Return what changes as a diff; where much changes all of it, since comparing takes long."""
    before, after = list(_marked("", old)), list(_marked("", new))
    same = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))
    )
    ends = zip(reversed(before[same:]), reversed(after[same:]), strict=False)
    tail = max(0, sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], ends)) - AROUND)
    head = max(0, same - AROUND)
    before, after = before[head : len(before) - tail], after[head : len(after) - tail]
    if max(len(before), len(after)) > LONGEST_COMPARED:
        replaced = f"{len(before):,} lines are replaced by these {len(after):,}"
        return [f"@@ line {head + 1}: {replaced} @@", *(f"+{line}" for line in after)]
    hunks = list(difflib.unified_diff(before, after, n=AROUND, lineterm=""))[2:]
    for number, line in enumerate(hunks):
        if line.startswith("@@ -"):
            first = int(line.removeprefix("@@ -").split()[0].partition(",")[0])
            hunks[number] = f"@@ line {head + max(first, 1)} @@"
    return hunks
