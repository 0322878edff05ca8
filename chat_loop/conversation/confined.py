"""Processes that read hostile files: they can neither block the chat nor fill the memory."""

from __future__ import annotations

import contextlib
import resource
import subprocess
import sys

MAX_MEMORY = 1 << 30


def run(module: str, data: bytes, seconds: float) -> bytes:
    """Return what a module of this package writes when `data` is its standard input.

    Raises SubprocessError if it fails, or takes longer than `seconds`.
    """
    command = [sys.executable, "-P", "-m", module]
    child = subprocess.run(command, input=data, capture_output=True, timeout=seconds, check=True)
    return child.stdout


def confine(seconds: int) -> None:
    """Limit the memory of this process, and its time to `seconds` of a processor."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    with contextlib.suppress(ValueError, OSError):  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
