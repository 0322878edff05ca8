"""A project with a memory, in a home that also has the user's own data, and runs of the program."""

from __future__ import annotations

import subprocess
from pathlib import Path

from chat_loop.memory import MemoryLocation
from tests.support import fork_server


def place(folder: Path, max_tokens: int = 1500) -> MemoryLocation:
    """Make a trusted project in `folder`/project, in a home that also has the user's own data."""
    (folder / "project").mkdir(exist_ok=True)
    return MemoryLocation(
        directory=folder / "project",
        home=folder,
        data=folder / "data",
        max_tokens=max_tokens,
        trusts=True,
    )


def environment(folder: Path) -> dict[str, str]:
    return {
        "CHAT_LOOP_HOME": str(folder / "data"),
        "HOME": str(folder),
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run the program in `folder`/project; make this folder if needed."""
    (folder / "project").mkdir(exist_ok=True)
    command = ["--model", "scripted:echo", *arguments]
    return fork_server.run(command, environment(folder), cwd=folder / "project")
