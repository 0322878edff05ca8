"""Runs of the program in a folder with a project, in a home that also contains the user's data."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support import fork_server


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
