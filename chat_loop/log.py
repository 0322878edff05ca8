"""The log: tracebacks of errors that the program did not expect, in one small private file.

Such an error is a bug. The user gets one sentence, which names the file, and the file gets the
traceback without recognized secrets. Nothing else is logged.
"""

from __future__ import annotations

import platform
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from chat_loop import __version__
from chat_loop.characters import one_line
from chat_loop.config import find_paths
from chat_loop.errors import ChatLoopError, ConfigError, InternalError, os_failure
from chat_loop.redact import redact_text
from chat_loop.sessions.files import Files, read_part

MAX_BYTES = 1 << 20
"""The most bytes of the file. A new entry replaces the oldest lines."""
MAX_CHARACTERS = 64 << 10
"""The most characters of an entry. The middle of a longer traceback is left out."""
SHOWN_CHARACTERS = 300
MOST_REPORTED = 40
"""The most errors and sentences of a run that `report_once` returns, in case each differs."""


def user_log(*, saves: bool) -> Log:
    """Return the user's log, or if the program saves nothing, one that is not written."""
    try:
        return Log(find_paths().log if saves else None)
    except ConfigError:  # there is no home folder
        return Log(None)


class Log:
    """The log file at `path`. Without a path nothing is written."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._reported = set[str]()  # the errors and sentences that were reported

    @contextmanager
    def reporting(self, saved: Callable[[], str] = str) -> Iterator[None]:
        """Report an unexpected error in a context, and raise InternalError instead of it.

        `saved()` is a sentence that says where the conversation is. Errors of the program's own
        tree and of the system are expected, and pass unchanged.
        """
        try:
            yield
        except (ChatLoopError, OSError, MemoryError):
            raise
        except Exception as error:
            raise self.report(error, saved()) from error

    def report(self, error: BaseException, saved: str = "") -> InternalError:
        """Write the error's traceback. Return the error that the user sees. Raises nothing."""
        try:
            text = redact_text("".join(traceback.format_exception(error)))
            described = redact_text(_described(error))
        except Exception:  # noqa: BLE001 - what reports a bug must not fail of another
            text = ""
            described = type(error).__name__
        self._reported.add(_described(error))
        message = one_line(described, SHOWN_CHARACTERS).rstrip(".")
        hint = f"{saved} {self._write(text)}".strip()
        return InternalError(f"Something went wrong in chat-loop: {message}.", hint)

    def report_once(self, error: BaseException) -> ChatLoopError | None:
        """Return what the user is told about an error that nobody waits for, or None if the same
        error, or MOST_REPORTED others, were reported before. Only an unexpected error gets a
        traceback.
        """
        if isinstance(error, OSError):
            error = os_failure(error)
        if isinstance(error, ChatLoopError):
            told = error
        else:
            is_known = _described(error) in self._reported
            if is_known or len(self._reported) >= MOST_REPORTED:
                return None
            told = self.report(error, "The rest goes on.")
        if told.message in self._reported:
            return None
        self._reported.add(told.message)
        return told

    def _write(self, text: str) -> str:
        """Write an entry. Return a sentence that says where it is, or why there is none."""
        if self._path is None:
            return "Its traceback is not saved."
        if len(text) > MAX_CHARACTERS:
            half = MAX_CHARACTERS // 2
            text = f"{text[:half]}\n[…]\n{text[-half:]}"
        now = datetime.now().astimezone()
        python = f"Python {platform.python_version()}"
        entry = f"{now:%Y-%m-%d %H:%M:%S %z}, chat-loop {__version__}, {python}\n{text}\n"
        try:
            self._append(self._path, entry.encode("utf-8", "backslashreplace"))
        except OSError:
            return f"Its traceback is lost: {self._path} cannot be written."
        return f"The traceback is in {self._path}."

    def _append(self, path: Path, entry: bytes) -> None:
        """Add an entry at the end of the file. Raises OSError."""
        files = Files()
        files.make_directory(path.parent)
        try:
            before, _ = read_part(path)
        except FileNotFoundError:
            before = b""
        room = MAX_BYTES - len(entry)
        if len(before) > room:
            before = before[-room:].partition(b"\n")[2]  # the first line is incomplete
        files.replace(path, before + entry)


def _described(error: BaseException) -> str:
    """Return the type and the message of an error."""
    return "".join(traceback.format_exception_only(error))
