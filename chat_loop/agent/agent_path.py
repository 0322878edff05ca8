"""An agent's file as it lies on the disk: which file a path means, and its bytes."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from chat_loop.errors import AgentError, os_reason
from chat_loop.sessions.files import opened

LARGEST = 256 * 1024
"""Bytes of a file that is read at all."""
PYTHON = ".py"
SUFFIXES = (PYTHON, ".md", ".yaml", ".yml")
"""What an agent's file ends in; in a folder they are looked for in this order."""
FORMS = (
    "An agent's file ends in .py, .md or .yaml, or is agent.py, agent.md or agent.yaml in a folder."
)


def file_of(path: Path) -> Path:
    """The agent's file that `path` means, absolute and without symbolic links: itself, or the one
    in this folder.

    Raises AgentError.
    """
    try:
        real = Path(os.path.realpath(path.expanduser(), strict=True))
        if real.is_dir():
            inside = next(
                (file for suffix in SUFFIXES if (file := real / f"agent{suffix}").exists()), None
            )
            if inside is None:
                raise AgentError(f"There is no agent in the folder {path}.", FORMS)
            real = Path(os.path.realpath(inside, strict=True))
    except (OSError, ValueError, RuntimeError) as error:
        raise _unreadable(path, error) from error
    if real.suffix.lower() not in SUFFIXES:
        raise AgentError(f"{path} is no agent.", FORMS)
    return real


def bytes_of(path: Path, most: int = LARGEST) -> bytes:
    """What the file holds. Raises AgentError when it cannot be read or is larger than `most`
    bytes.
    """
    try:
        with opened(path) as (file, status):
            data = b"" if status.st_size > most else file.read(most + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if status.st_size > most or len(data) > most:
        raise AgentError(f"The agent {path} is larger than {most // 1024} KB.")
    return data


def text_of(path: Path, data: bytes) -> str:
    """The file's bytes as text. Raises AgentError when they are none."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise AgentError(f"The agent {path} is not UTF-8.", "Save it as UTF-8.") from error
    if "\0" in text:
        raise AgentError(f"The agent {path} is no text file.")
    return text.replace("\r\n", "\n")


def default_name(path: Path) -> str:
    """What an agent is called whose file does not say: after the file, or after the folder of an
    `agent.py`.
    """
    name = path.parent.name if path.stem == "agent" and path.parent.name else path.stem
    return named(name.replace("_", " ")) or "Agent"


def named(name: str) -> str:
    """A name on one line, as far as it can be shown, of at most 60 characters."""
    flat = " ".join("".join(sign if sign.isprintable() else " " for sign in name[:400]).split())
    return flat[:60].rstrip()


def _unreadable(path: Path, error: Exception) -> AgentError:
    number = getattr(error, "errno", None)
    if number == errno.ELOOP or isinstance(error, RuntimeError):
        return AgentError(f"The agent {path} is a symbolic link that leads back to itself.")
    if number in (errno.ENOENT, errno.ENOTDIR):
        return AgentError(
            f"There is no agent {path}.", "chat-loop agents lists those that have a name."
        )
    if isinstance(error, OSError) and number is not None:
        return AgentError(f"The agent {path} cannot be read: {os_reason(error)}.")
    return AgentError(f"The agent {path} cannot be read: it is not a regular file.")
