"""The environment of a program that a test starts."""

from __future__ import annotations

from pathlib import Path


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return a small environment with `home` as the program's home and as the user's."""
    return {
        "CHAT_LOOP_HOME": str(home),
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        **more,
    }
