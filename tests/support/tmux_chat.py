"""A program in tmux: the screen that a person sees, and keys as a person types them."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.mcp_descriptions import until


class TmuxChat:
    """A separate tmux server with one window, in which `argv` runs with exactly `env`."""

    def __init__(
        self, folder: Path, argv: Sequence[str], env: Mapping[str, str], *, cols: int, rows: int
    ) -> None:
        settings = folder / "tmux.conf"
        settings.write_text("set -g status off\nset -g escape-time 0\n")
        self._server = ("tmux", "-u", "-S", str(folder / "tmux"), "-f", str(settings))
        variables = [
            f"{name}={value}" for name, value in ({"TERM": "screen-256color"} | {**env}).items()
        ]
        size = ("-x", str(cols), "-y", str(rows))
        self._tmux("new-session", "-d", *size, "env", "-i", *variables, *argv)

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            [*self._server, *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The server has ended by itself if the program has.
        subprocess.run([*self._server, "kill-server"], capture_output=True, check=False)

    def send(self, text: str) -> None:
        """Type `text` unchanged; a carriage return is Enter."""
        for part in re.split(r"(\r)", text):
            if part:
                self._tmux("send-keys", *(("Enter",) if part == "\r" else ("-l", part)))

    def resize(self, rows: int, cols: int) -> None:
        """Give the window another size; tmux wraps what is drawn, and tells the program later."""
        self._tmux("resize-window", "-x", str(cols), "-y", str(rows))

    def screen(self) -> list[str]:
        """Return the visible lines, without trailing blanks."""
        return [line.rstrip() for line in self._tmux("capture-pane", "-p").split("\n")]

    def text(self) -> str:
        """Return the lines that have scrolled off the top and the visible ones."""
        return self._tmux("capture-pane", "-p", "-S", "-")

    def wait_for(self, what: str | re.Pattern[str]) -> None:
        """Wait until the screen contains `what`."""
        pattern = re.compile(re.escape(what)) if isinstance(what, str) else what
        asyncio.run(until(lambda: pattern.search("\n".join(self.screen())) is not None))
