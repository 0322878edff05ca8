"""The program run in the process of the tests: ten times as fast as one of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chat_loop import cli


def run(
    home: Path, *arguments: str, stdin: bytes = b"", keys: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a command with a clean environment and its home in `home`; there is no terminal."""
    environment = {"CHAT_LOOP_HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    environment |= {"TZ": "UTC", **(keys or {})}
    out, err = io.BytesIO(), io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ.keys() - environment.keys():
            patch.delenv(name)
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
        streams = [io.TextIOWrapper(data, "utf-8", newline="") for data in (out, err)]
        patch.setattr(sys, "stdout", streams[0])
        patch.setattr(sys, "stderr", streams[1])
        time.tzset()
        try:
            code = cli.main(arguments)
            for stream in streams:
                stream.flush()
            return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())
        finally:
            patch.undo()
            time.tzset()
