"""A clipboard for programs in tests: a fake `xclip`, which takes the contents from a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

XCLIP = """
for kind; do :; done
if [ "$kind" = TARGETS ]; then
  ls "$CLIPBOARD" | tr : /
else
  cat "$CLIPBOARD/$(echo "$kind" | tr / :)"
fi
"""
"""The program, as a shell script: its last argument is a kind of contents."""


class Clipboard:
    """A clipboard below `folder`; with its `environment` a program finds it."""

    def __init__(self, folder: Path) -> None:
        self._contents = folder / "clipboard"
        self._programs = folder / "programs"
        self._contents.mkdir()
        self._programs.mkdir()
        self.install("xclip", XCLIP)
        self.environment = {
            "PATH": f"{self._programs}:/usr/bin:/bin",
            "CLIPBOARD": str(self._contents),
            "DISPLAY": ":7",
        }

    def install(self, name: str, script: str) -> None:
        """Install a program, or replace one: a shell script."""
        path = self._programs / name
        path.write_text(f"#!/bin/sh\n{script}")
        path.chmod(0o755)

    def put(self, contents: Mapping[str, bytes]) -> None:
        """Fill the clipboard anew, by the kinds of contents."""
        for path in self._contents.iterdir():
            path.unlink()
        for kind, data in contents.items():
            (self._contents / kind.replace("/", ":")).write_bytes(data)
