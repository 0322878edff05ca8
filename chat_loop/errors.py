"""The errors that the user sees, each as one sentence with a hint on what to do."""

from __future__ import annotations

import errno
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from chat_loop.values import Usage

TRIED_AGAIN = ": it is tried again with every message. The conversation is in memory."
"""The end of a hint during a chat."""
_MISPLACED = (errno.ENOENT, errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ELOOP)
"""The errors of a path on which something else is in the way."""


class FolderError(OSError):
    """A folder of the program's own that is a link or no folder; `filename` is the folder."""


def os_reason(error: OSError) -> str:
    """Return the system's reason as the rest of a sentence, such as `no space left on device`."""
    reason = (error.strerror or str(error)).lower()
    if isinstance(error, FolderError):  # the sentence is about a file in it
        return f"{error.filename} {reason}"
    return reason


class ChatLoopError(Exception):
    """A failure that the user sees: what happened, and a hint of what to do, if any."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class NoWorkingFolder(ChatLoopError):
    """The working directory was removed."""

    def __init__(self) -> None:
        super().__init__("The working folder no longer exists.", "Start again in another one.")


class InternalError(ChatLoopError):
    """An error that the program did not expect: a bug. Its cause is the original error."""


class ContextFull(ChatLoopError):
    """The next request does not fit the model's window, and was not sent."""


class UsageError(ChatLoopError):
    """A command or command line that cannot be understood."""


class ConfigError(ChatLoopError):
    """A config file that is missing, unreadable, or contains an unknown key or a wrong type."""


class SessionError(ChatLoopError):
    """A session that cannot be used as asked."""


class SessionNotFound(SessionError):
    """No session has this number, id or name."""


class Undecided(SessionError):
    """A decision is missing, and there is nobody to ask."""


class Locked(ChatLoopError):
    """Another process is using it."""


class SessionLocked(SessionError, Locked):
    """The session is open in another process."""


class SaveError(SessionError):
    """The transcript could not be written: the disk is full, read-only, or forbids it."""


class SealError(SaveError):
    """The end of a transcript could not be written. All words are on disk."""


class StoreUnavailable(SessionError):
    """The object store of the sessions cannot be used."""


class StalePlan(ChatLoopError):
    """A planned continuation of a conversation that has gone on since."""


class OutputError(ChatLoopError):
    """Standard output cannot be written to."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"Standard output cannot be written: {os_reason(error)}.")


class AgentError(ChatLoopError):
    """An agent that cannot be found, understood, trusted or loaded."""


class ModelError(ChatLoopError):
    """An embedded model that cannot be installed, found or loaded."""


DENIED = "Not run: "
"""How the result of a call begins that was not allowed."""


class ToolDenied(ChatLoopError):
    """A tool was not run because the user did not allow it."""


class ProviderError(ChatLoopError):
    """A model call that failed. If `retryable`, it may succeed after `retry_after` seconds. If
    `adapted`, the next attempt leaves out the part that was refused. `kind` is what a service's
    refusal means, or empty.
    """

    retryable = False
    adapted = False
    kind = ""

    def __init__(self, message: str, hint: str = "", *, retry_after: float | None = None) -> None:
        super().__init__(message, hint)
        self.retry_after = retry_after


class RetryableError(ProviderError):
    """A model call that may succeed later."""

    retryable = True


class EmptyReply(ProviderError):
    """A reply without a word and without a call that can be made. It took the tokens of `usage`, if
    known. `called` is the tool that the model called although it was to answer.
    """

    def __init__(
        self, usage: Usage | None = None, *, only_thoughts: bool = False, called: str = ""
    ) -> None:
        message = "The model returned an empty reply."
        hint = "Send the message again, or take another model."
        if called:
            message = f"The model only called {called}, where it was to answer."
            hint = "/tools lists what it is offered, and why it may be nothing."
        elif only_thoughts:
            message = "The model returned only reasoning, and no answer."
        super().__init__(message, hint)
        self.usage = usage


class SpendingLimit(ProviderError):
    """The request would cost more than the user allowed."""


class NoProvider(ProviderError):
    """There is nothing to talk to: no key, no server, no embedded model."""


class AuthenticationFailed(ProviderError):
    """The key is missing, wrong, or not allowed to do this."""


class ModelNotFound(ProviderError):
    """The provider does not know the model."""


class RequestRejected(ProviderError):
    """The server understood the request and refused it."""


class ContextTooLong(ProviderError):
    """The request does not fit the window, which has `window` tokens if the server says so."""

    window: int | None = None


class RateLimited(RetryableError):
    """Too many requests or tokens."""


class Overloaded(RetryableError):
    """The server failed or is overloaded."""


class ConnectionFailed(RetryableError):
    """The server was not reached: no network, refused, TLS."""


class StreamBroken(RetryableError):
    """The connection ended in the middle of a reply."""


class TimedOut(RetryableError):
    """Nothing arrived for too long."""


class IndexUnavailable(ChatLoopError):
    """The index cannot be used; everything except searching works without it. `is_damaged` means
    that its file must be rebuilt, `was_replaced` that its file was replaced or removed.
    """

    def __init__(
        self, message: str, *, is_damaged: bool = False, was_replaced: bool = False
    ) -> None:
        super().__init__(message)
        self.is_damaged = is_damaged
        self.was_replaced = was_replaced


def save_error(path: Path, error: OSError) -> SaveError:
    """Return the error of a transcript, with the system's reason and a remedy."""
    hint = remedy(error).removesuffix(".") + TRIED_AGAIN
    return SaveError(f"Not saved: {path}: {os_reason(error)}.", hint)


def remedy(error: OSError) -> str:
    """Return a sentence that says what to do about a file that cannot be written."""
    is_misplaced = error.errno in _MISPLACED
    if is_misplaced:
        return "Check that folder."
    return "Free some space or fix the permissions."


def os_failure(error: OSError) -> ChatLoopError:
    """Return an error of the operating system as one that the user sees."""
    if error.filename is None and isinstance(error, FileNotFoundError):
        # every other missing file has a name
        return NoWorkingFolder()
    if isinstance(error, FolderError):
        return ChatLoopError(f"{os_reason(error)}.", "Remove it, or put a folder in its place.")
    return ChatLoopError(f"{error.filename or 'A file'} cannot be used: {os_reason(error)}.")


def install_hint(extra: str) -> str:
    """Return the command that adds an extra to this installation, by pip, pipx or uv."""
    import json  # both would delay the prompt
    from importlib import metadata, util

    try:
        text = metadata.distribution("chat-loop").read_text("direct_url.json")
        origin = dict(json.loads(text or "{}"))
    except (metadata.PackageNotFoundError, TypeError, ValueError):
        origin = {}
    scheme = "git+" if "vcs_info" in origin else ""
    source = ""
    if "url" in origin:
        source = f" @ {scheme}{origin['url']}"
    prefix = sys.prefix.replace("\\", "/")
    command = "uv pip install"
    if util.find_spec("pip"):
        command = "pip install"
    if "/pipx/" in prefix or "/uv/tools/" in prefix:
        command = f"{'pipx' if '/pipx/' in prefix else 'uv tool'} install --force"
    return f"{command} 'chat-loop[{extra}]{source}'"
