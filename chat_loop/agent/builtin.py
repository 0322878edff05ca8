"""The built-in tools. Only reading in the working directory needs no approval. What read tools
return carries the secrets that were found in each file, for the rule in `redact/outgoing.py`.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Sequence
from difflib import unified_diff
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from chat_loop.agent import automatic, no_links, shell, tools
from chat_loop.agent.isolation import in_thread
from chat_loop.agent.secret_gate import SecretGate
from chat_loop.agent.tools import Arguments, Output, PreparedCall, Tool
from chat_loop.errors import ChatLoopError, ConfigError, Locked, os_reason
from chat_loop.memory import ProjectMemory, bullet, fact_of
from chat_loop.redact import redact_text
from chat_loop.redact.key_places import key_place
from chat_loop.redact.outgoing import Outgoing, TextSource, judge
from chat_loop.sessions.files import read_text, walk_files
from chat_loop.sessions.images import ImageStore, ImageUnavailable
from chat_loop.sessions.records import IMAGE_FOLDER, Change
from chat_loop.values import FileChange, ToolSpec, plural, sha256

MAX_FILE_BYTES = 10_000_000
MAX_COPY = 1_000_000  # characters; a longer replaced text is not kept
MAX_LISTED = 1_000
MAX_VISITED = 50_000
MAX_MATCHES = 200
MAX_LINE = 300
MAX_COMPARED = 2_000  # lines of a file; a minimal diff of longer files takes too long
SPECS = {
    spec.name: spec
    for spec in msgspec.json.decode(
        Path(__file__).with_name("builtin.json").read_bytes(), type=tuple[ToolSpec, ...]
    )
}
"""The tools by name, as models see them."""
FILE_CHANGES = ("write_file", "edit_file")


def builtin_tools(
    names: Sequence[str],
    root: Path,
    *,
    protected: Sequence[Path] = (),
    seconds: float = 60.0,
    memory: ProjectMemory | None = None,
    copies: ImageStore | None = None,
) -> tuple[Tool, ...]:
    """Return the tools with these names for the files below `root`, except `protected` ones.
    `seconds` limits commands. `copies` keeps the texts that tools replace. Raises ConfigError.
    """
    for name in names:
        if name not in SPECS:
            raise ConfigError(f"No tool named {name}.", f"The tools are: {', '.join(SPECS)}.")
    workspace = Workspace(root, protected, copies)
    others = {
        "run_command": lambda: _command_tool(workspace.root, seconds),
        "remember": lambda: _memory_tool(memory),
    }
    unique = dict.fromkeys(names)
    return tuple(others[n]() if n in others else _file_tool(n, workspace) for n in unique)


def _file_tool(name: str, workspace: Workspace) -> Tool:
    prepare = partial(workspace.prepare, name)
    scope = "files outside this folder"
    if name in FILE_CHANGES:
        scope = ""

    async def run(arguments: Arguments) -> str:
        """Run a call without a question: marks replace secrets."""
        output = await prepare(arguments).run()
        if isinstance(output, str):
            return output
        released = await SecretGate().release(output)
        return "\n".join(sent.text for sent in released if sent.text)

    # what was read has its own sources; a sentence about a call comes from none of its arguments
    source = TextSource(f"the result of {name}")
    return Tool(SPECS[name], run, prepare, approval_scope=scope, source=lambda _: source)


def _command_tool(root: Path, seconds: float) -> Tool:
    environment = shell.clean_environment(os.environ)

    async def run(arguments: Arguments) -> str:
        asked = min(arguments.get("seconds", 0), shell.MAX_SECONDS)
        limit = asked if asked > 0 else seconds
        return await shell.run_command(arguments["command"], root, environment, limit)

    def question(arguments: Arguments) -> str:
        command = arguments["command"]
        first, *rest = command.split("\n")
        lines = [f"In {root}:", f"  $ {first}"]
        lines += [f"  > {line}" if line else "  >" for line in rest]
        words = re.sub(r"['\"\\]", "", command).replace(".venv/", "")  # a usual prefix of programs
        for word in dict.fromkeys(re.split(r"[\s;|&<>()$`={},:]+", words)):
            if used_by := automatic.users_of(word.removeprefix("./")):
                lines.insert(0, f"{tools.COMMAND_PREFIX} (used by {used_by}):")
                break
        return "\n".join(lines)

    def source(arguments: Arguments) -> TextSource:
        return shell.source_of(arguments["command"])

    longest = shell.MAX_SECONDS + 2 * shell.TERM_SECONDS
    return Tool(SPECS["run_command"], run, question, seconds=longest, source=source)


def _memory_tool(book: ProjectMemory | None) -> Tool:
    """Return the tool that saves a fact as /remember does. “Always” covers only the same fact."""

    def prepare(arguments: Arguments) -> PreparedCall:
        fact = redact_text(fact_of(arguments["fact"]))
        if book is None or not fact:
            raise ChatLoopError("The fact is empty, or memory is off.")
        path = book.target(project=arguments.get("project", False))

        async def run() -> str:
            return (await in_thread(lambda: book.save(path, fact))).text("remember")

        question = f"Save in {book.location.display_path(path)}:\n{bullet(fact)}"
        return PreparedCall(f"{tools.SENSITIVE_PREFIX}:\n{question}", run)

    async def call(arguments: Arguments) -> str:
        return str(await prepare(arguments).run())

    saved = TextSource("the result of remember")
    return Tool(SPECS["remember"], call, prepare, source=lambda _: saved)


class WorkspaceFile(Struct, frozen=True):
    """A file that the model named: its path with all links resolved, its display path, and the path
    with its links.
    """

    path: Path
    display_path: str
    outside: bool = False
    named: str = ""

    @property
    def is_key_place(self) -> bool:
        """True if the file is in a well-known place of keys."""
        return bool(key_place(self.named) or key_place(str(self.path)))

    @property
    def source(self) -> TextSource:
        """The file as the source of a text."""
        return TextSource(self.display_path, (self.named, str(self.path)), str(self.path))

    def read(self) -> str:
        """Return the text of the file with its line endings. Raises ChatLoopError."""
        try:
            return read_text(self.path, MAX_FILE_BYTES)
        except ChatLoopError as error:
            raise ChatLoopError(f"{self.display_path}: {error}.") from error

    def write(self, text: str | None) -> None:
        """Write the file, or remove it if None. Replacing is atomic, and no link is followed.
        Raises ChatLoopError.
        """
        try:
            if text is None:
                no_links.remove(self.path)
            elif os.path.lexists(self.path):
                no_links.replace(self.path, text.encode())
            else:
                no_links.create(self.path, text.encode())
        except OSError as error:
            raise ChatLoopError(f"{self.display_path}: {os_reason(error)}.") from error

    def change(self, before: str | None, after: str, copies: ImageStore | None) -> FileChange:
        """Write `after`, and keep the text `before`, if there was one. Raises ChatLoopError."""
        replaced = ""
        if before is not None:
            replaced = sha256(before.encode())
        if before is not None and copies is not None and len(before) <= MAX_COPY:
            with contextlib.suppress(OSError, Locked):  # a restore reports that it is missing
                copies.keep(f"{IMAGE_FOLDER}/{replaced}.txt", before.encode())
        self.write(after)
        return FileChange(self.display_path, sha256(after.encode()), replaced)

    @property
    def digest(self) -> str:
        """The digest of the file's text, or "" if there is no file."""
        try:
            if os.path.lexists(self.path):
                return sha256(self.read().encode())
            return ""
        except ChatLoopError:
            return "unreadable"


class ChangedFile(Struct, frozen=True):
    """A file that tools changed, its old text (None: it was new), and why it cannot be restored."""

    file: WorkspaceFile
    digest: str
    before: str | None
    problem: str

    def restore(self) -> None:
        """Put the old text back, or remove a new file. Raises ChatLoopError."""
        if self.file.digest != self.digest:
            raise ChatLoopError(f"{self.file.display_path} stays: it has changed since.")
        self.file.write(self.before)


def changed_files(changes: Sequence[Change], root: Path, copies: ImageStore) -> list[ChangedFile]:
    """Return the files that differ from their state before all these changes."""
    files = []
    for name in dict.fromkeys(change.text for change in changes):
        left = [change for change in changes if change.text == name]
        file = WorkspaceFile(root / name, name)
        first = left[0].replaced
        if (state := file.digest) == first:
            continue
        digest = state
        before = None
        problem = ""
        # the digests lead back from the current text, unless another program changed the file
        while step := next((change for change in reversed(left) if change.written == state), None):
            left.remove(step)
            state = step.replaced
        if left:
            problem = "it has changed since"
        elif state:
            try:
                before = copies.data(f"{IMAGE_FOLDER}/{state}.txt").decode()
            except (ImageUnavailable, UnicodeDecodeError):
                problem = "there is no copy of its old text"
        files.append(ChangedFile(file, digest, before, problem))
    return files


class Workspace:
    """The files below `root`, except `protected` ones. A file tool is the method of its name."""

    def __init__(
        self, root: Path, protected: Sequence[Path] = (), copies: ImageStore | None = None
    ) -> None:
        self.root = root.resolve()
        self._copies = copies
        self._protected = tuple(path.resolve() for path in protected)
        self._write_lock = threading.Lock()

    def resolve(self, path: str) -> WorkspaceFile:
        """Return the file of a path. Raises ChatLoopError for a protected or invalid path."""
        if not path.strip() or "\0" in path or len(path) > 4096:
            hint = "Paths are relative to the working directory."
            raise ChatLoopError("This is not a path.", hint)
        try:
            real = (self.root / Path(path).expanduser()).resolve()
        except (RuntimeError, OSError) as error:  # an unknown home, or circular links
            raise ChatLoopError(f"The path {path} cannot be resolved.") from error
        if self._protects(real):
            raise ChatLoopError(f"{path} belongs to chat-loop itself; tools cannot use it.")
        if not real.is_relative_to(self.root):
            return WorkspaceFile(real, str(real), outside=True, named=path)
        return WorkspaceFile(real, real.relative_to(self.root).as_posix(), named=path)

    def _protects(self, path: Path) -> bool:
        # a file system may ignore case
        folded = Path(str(path).casefold())
        return any(folded.is_relative_to(str(own).casefold()) for own in self._protected)

    def prepare(self, name: str, arguments: Arguments) -> PreparedCall:
        """Return the question about a call, and the action. Raises ChatLoopError."""
        others = dict(arguments)
        path = others.pop("path", ".")
        file = self.resolve(path)
        act: Callable[[], Output] = partial(getattr(self, name), file, **others)
        diff = question = ""
        changes: list[FileChange] = []
        if name in FILE_CHANGES:
            diff, act = self._prepare_change(name, file, others, changes)
            used_by = automatic.users_of_folder(self.root)
            used_by = used_by or automatic.users_of_change(path, file.path, self.root)
            reason = f"{tools.SENSITIVE_PREFIX} (used by {used_by}):"
            question = f"{reason}\n{diff}" if used_by else diff
        if file.outside:
            question = f"{tools.OUTSIDE_PREFIX} {self.root}:\n{diff or f'read {file.path}'}"

        def run_if_unchanged() -> Output:
            if self.resolve(path) != file:
                raise ChatLoopError(f"{path} now points elsewhere.", "Call the tool again.")
            return act()

        async def run() -> Output:
            outcome = await in_thread(run_if_unchanged)
            output = outcome.value("The call")
            if isinstance(output, tuple):
                return output
            return str(output)

        return PreparedCall(question, run, changes)

    def _prepare_change(
        self, name: str, file: WorkspaceFile, arguments: Arguments, changes: list[FileChange]
    ) -> tuple[str, Callable[[], str]]:
        """Return the diff of a change, and the function that makes it and adds it to `changes`."""

        def compute() -> tuple[str | None, str, str]:
            """Return the file's text, its new text, and the result."""
            is_new = name == "write_file" and not os.path.lexists(file.path)
            before = None if is_new else file.read()
            old = before or ""
            if uses_crlf := _uses_crlf(old):
                old = old.replace("\r\n", "\n")
            new, result = getattr(self, name)(file, old, **arguments)
            if uses_crlf:
                new = new.replace("\r\n", "\n").replace("\n", "\r\n")
            if new == before:
                raise ChatLoopError(f"{file.display_path} already has exactly this content.")
            return before, new, result

        before, new, _ = compute()
        path = file.display_path
        title, source = ("New file", "/dev/null") if before is None else ("Change", path)
        diff = "\n".join([f"{title} {path}:", *diff_lines(source, path, before or "", new)])

        def act() -> str:
            with self._write_lock:
                current, new, result = compute()  # other edits may have come before this one
                if name == "write_file" and current != before:
                    changed = f"{file.display_path} has changed since the user was asked."
                    raise ChatLoopError(changed, "Read it again.")
                changes.append(file.change(current, new, self._copies))
            return result

        return diff, act

    def read_file(self, file: WorkspaceFile, first: int = 1, last: int = 0) -> tuple[Outgoing]:
        """Return the text of a file, whole or from line `first` to line `last`. The whole file is
        judged: a part of a key alone has not the shape of one.
        """
        whole = judge(file.read().replace("\r\n", "\n"), file.source)
        text = _part(whole.text, first, last, file.display_path)
        marked = _part(whole.marked, first, last, file.display_path)
        return (replace(whole, text=text, marked=marked),)

    def list_files(self, folder: WorkspaceFile, pattern: str = "*") -> tuple[Outgoing]:
        """Return the names of the files in a folder and its subfolders."""
        files, is_cut = self._files(folder, pattern)
        lines = sorted(file.display_path for file in files[:MAX_LISTED])
        if is_cut or len(files) > MAX_LISTED:
            more = f"there are more than these {plural(len(lines), 'file')}"
            lines.append(f"[cut: {more}; a narrower pattern finds them]")
        return (judge("\n".join(lines), folder.source),)

    def search_files(
        self, folder: WorkspaceFile, text: str, pattern: str = "*", ignore_case: bool = False
    ) -> tuple[Outgoing, ...]:
        """Return the lines that contain a text, as `path:line: text`, for each file with some, and
        for each in a place of keys. Lines with marks are those that still contain the text: a model
        cannot find out a secret by searching for it.
        """
        needle = text.lower() if ignore_case else text
        if not needle or "\n" in needle:
            raise ChatLoopError("The text must be part of one line.")

        def matches(text: str, name: str) -> list[str]:
            return _lines_with(needle, text, name, ignore_case)

        found: list[Outgoing] = []
        count = 0
        files, is_cut = self._files(folder, pattern)
        for file in files:
            try:
                content = file.read()
            except ChatLoopError:  # binary, too large, or gone
                continue
            lines = matches(content, file.display_path)
            if not (lines or file.is_key_place):
                continue
            room = MAX_MATCHES - count
            if lines and not room:
                return (*found, _note(f"[cut: the first {MAX_MATCHES} lines]"))
            whole = judge(content, file.source)
            marked = matches(whole.marked, file.display_path)
            sent = replace(whole, text="\n".join(lines[:room]), marked="\n".join(marked[:room]))
            found.append(sent)
            count += len(lines[:room])
            if lines[room:]:
                return (*found, _note(f"[cut: the first {MAX_MATCHES} lines]"))
        if is_cut:
            found.append(_note("[cut: more files than can be searched; narrow the pattern]"))
        return tuple(found)

    def _files(self, folder: WorkspaceFile, pattern: str) -> tuple[list[WorkspaceFile], bool]:
        """Return the matching files below a folder, and True if there are too many to visit."""
        if len(pattern) > MAX_LINE:
            raise ChatLoopError("The pattern is too long.")
        if not folder.path.is_dir():
            raise ChatLoopError(f"{folder.display_path} is not a folder.")
        prefix = f"{folder.display_path}/"
        if folder.display_path == ".":
            prefix = ""
        patterns = {pattern, pattern.replace("**/", "")}
        files: list[WorkspaceFile] = []
        for visited, file in enumerate(walk_files(folder.path, self._protects)):
            if visited == MAX_VISITED:
                return files, True
            inner = file.relative_to(folder.path).as_posix()
            matched = inner if "/" in pattern else file.name
            if any(fnmatchcase(matched, name_pattern) for name_pattern in patterns):
                files.append(
                    WorkspaceFile(file, f"{prefix}{inner}", named=f"{folder.named}/{inner}")
                )
        return files, False

    def write_file(self, file: WorkspaceFile, _: str, text: str) -> tuple[str, str]:
        """Return the new text of a file, and the result."""
        count = len(text.split("\n")) - (not text or text.endswith("\n"))
        return text, f"Wrote {file.display_path}: {plural(count, 'line')}."

    def edit_file(self, file: WorkspaceFile, text: str, old: str, new: str) -> tuple[str, str]:
        """Replace a text that occurs exactly once in the text of a file."""
        start = text.find(old) if old else -1
        if start < 0:
            problem = f"The old text is not in {file.display_path}."
            raise ChatLoopError(problem, "It must match the file exactly.")
        if text.find(old, start + 1) >= 0:
            problem = f"The old text occurs more than once in {file.display_path}."
            raise ChatLoopError(problem, "Include more of the text around it.")
        line = text.count("\n", 0, start) + 1
        edited = text[:start] + new + text[start + len(old) :]
        return edited, f"Edited {file.display_path} at line {line}."


def _part(text: str, first: int, last: int, name: str) -> str:
    """Return a text, or its lines from `first` to `last` (0: to its end) with a note that says so.
    Raises ChatLoopError if it has less lines.
    """
    lines = text.split("\n")
    total = len(lines) - (not lines[-1])
    if first <= 1 and (last <= 0 or last >= total):
        return text
    if first > total:
        raise ChatLoopError(f"{name} has {plural(total, 'line')}.")
    start = max(first, 1)
    end = min(last, total) if last > 0 else total
    part = "\n".join(lines[start - 1 : end])
    return f"{part}\n[lines {start} to {end} of {total}]"


def _lines_with(needle: str, text: str, name: str, ignore_case: bool) -> list[str]:
    """Return the lines of a file that contain a text, as `name:line: text`."""
    lines = []
    for number, line in enumerate(text.split("\n"), 1):
        searched = line.lower() if ignore_case else line
        if needle in searched:
            lines.append(f"{name}:{number}: {line.strip()[:MAX_LINE]}")
    return lines


def _note(text: str) -> Outgoing:
    """Return a sentence of the program for the model."""
    return Outgoing(TextSource("a note"), text, text)


def diff_lines(source: str, target: str, old: str, new: str) -> list[str]:
    """Return a unified diff, or for long texts all lines from the first to the last difference."""
    before = _lines(old)
    after = _lines(new)
    if max(len(before), len(after)) <= MAX_COMPARED:
        return list(unified_diff(before, after, source, target, lineterm=""))
    start = len(os.path.commonprefix([before, after]))  # noqa: RUF071 - of lists, not of paths
    before = before[start:]
    after = after[start:]
    end = len(os.path.commonprefix([before[::-1], after[::-1]]))  # noqa: RUF071 - the same
    before = before[: len(before) - end]
    after = after[: len(after) - end]
    hunk = f"@@ -{start + 1},{len(before)} +{start + 1},{len(after)} @@"
    removed = (f"-{line}" for line in before)
    added = (f"+{line}" for line in after)
    return [f"--- {source}", f"+++ {target}", hunk, *removed, *added]


def _lines(text: str) -> list[str]:
    """Return the lines of a text, without their carriage returns if all lines have one."""
    if _uses_crlf(text):
        text = text.replace("\r\n", "\n")
    lines = text.split("\n")
    if not lines[-1]:
        return lines[:-1]
    return [*lines, "\\ No newline at end of file"]


def _uses_crlf(text: str) -> bool:
    return 0 < text.count("\n") == text.count("\r\n")
