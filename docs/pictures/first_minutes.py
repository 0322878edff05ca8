"""The recording of the first minutes in the documentation. `python -m docs.pictures.first_minutes`
records the real program in asciinema's format and makes an animated picture of the recording.

`--picture` only makes the picture of the existing recording.
"""

from __future__ import annotations

import codecs
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pyte
from pyte.screens import Char

from docs.pictures.svg import HEIGHT, MARGIN, WIDTH, Screen, document, lines_of, runs
from tests.support.pty_chat import PtyChat

DOCS = Path(__file__).parents[1]
CAST, PICTURE = DOCS / "first-minutes.cast", DOCS / "first-minutes.svg"
COLS, ROWS = 80, 24
KEY_SECONDS, START_SECONDS, READ_SECONDS, END_SECONDS = 0.06, 0.8, 3.2, 4.0
FRAME_SECONDS = 0.25
"""The shortest time between two frames of the picture."""
LABEL = "A terminal in which chat-loop tour walks through a conversation, a compaction and a resume"
Event = tuple[float, str]
"""The time of an output, in seconds, and the text that was printed."""


class Recorder(PtyChat):
    """A program in a pseudo-terminal that records its output with the time."""

    events: list[tuple[float, bytes]]

    def _read(self) -> bool:
        before = len(self.raw)
        more = super()._read()
        if len(self.raw) > before:
            self.events.append((time.monotonic(), bytes(self.raw[before:])))
        return more

    def watch(self, seconds: float) -> None:
        """Read the output for `seconds`."""
        deadline = time.monotonic() + seconds
        while self._wait(deadline) and self._read():
            pass

    def type(self, text: str) -> None:
        for letter in text:
            self.send(letter)
            self.watch(KEY_SECONDS)


def record(steps: int) -> list[Event]:
    """Walk through the tour at the pace of somebody who reads it."""
    with tempfile.TemporaryDirectory() as home:
        scripts = Path(sys.executable).parent
        env = {"PATH": f"{scripts}:/usr/bin:/bin", "HOME": home, "PS1": "$ ", "LANG": "C.UTF-8"}
        with Recorder(["/bin/sh"], env=env, rows=ROWS, cols=COLS, cwd=Path(home)) as shell:
            shell.events = []
            shell.wait_for("$ ")
            shell.watch(START_SECONDS)
            shell.type("chat-loop tour")
            shell.line("")
            for number in range(1, steps + 1):
                shell.wait_for(f"{number}/{steps} · ")
                shell.wait_for("Enter runs this line")
                shell.watch(READ_SECONDS)
                shell.send("\r")
            shell.wait_for("chat-loop providers")
            shell.watch(END_SECONDS)
            decoder = codecs.getincrementaldecoder("utf-8")("replace")
            began = shell.events[0][0]
            return [(round(at - began, 3), decoder.decode(data)) for at, data in shell.events]


def write_cast(events: list[Event]) -> None:
    header = {"version": 2, "width": COLS, "height": ROWS, "title": "chat-loop tour"}
    rows = [header, *([at, "o", text] for at, text in events)]
    CAST.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")


def read_cast() -> list[Event]:
    _, *rows = map(json.loads, CAST.read_text("utf-8").splitlines())
    return [(at, text) for at, _, text in rows]


def frames(events: list[Event]) -> Iterator[tuple[float, list[list[Char]], tuple[int, int]]]:
    """Yield the beginning of each frame, its lines, and the position of the cursor."""
    screen = Screen(COLS, ROWS)
    stream, since = pyte.Stream(screen), -FRAME_SECONDS
    for (at, text), (then, _) in pairwise([*events, (events[-1][0] + END_SECONDS, "")]):
        stream.feed(text)
        if then - since >= FRAME_SECONDS or then - at >= FRAME_SECONDS:
            yield at, lines_of(screen), (screen.cursor.x, screen.cursor.y)
            since = at


def film(events: list[Event]) -> str:
    """Return the picture: its frames are stacked, and an animation shows each at its time."""
    known: dict[str, int] = {}
    parts, starts = [], []
    for at, lines, (column, row) in frames(events):
        starts.append(at)
        top = MARGIN + (len(starts) - 1) * (ROWS * HEIGHT + 2 * MARGIN)
        for number, line in enumerate(lines):
            if drawn := "".join(runs(line, 0)):
                name = known.setdefault(drawn, len(known))
                parts.append(f'<use href="#l{name}" y="{top + number * HEIGHT:.0f}"/>')
        x, y = MARGIN + column * WIDTH, top + row * HEIGHT
        parts.append(f'<rect class="c" x="{x:.1f}" y="{y:.0f}"/>')
    step, whole = ROWS * HEIGHT + 2 * MARGIN, events[-1][0] + END_SECONDS
    moves = "".join(
        f"{at / whole:.3%}{{transform:translateY({-number * step:.0f}px)}}"
        for number, at in enumerate(starts)
    )
    style = (
        f".c{{width:{WIDTH}px;height:{HEIGHT}px;fill:#888;opacity:.6}}"
        f"@keyframes film{{{moves}}}"
        f".film{{animation:film {whole:.1f}s steps(1,end) infinite}}"
        "@media (prefers-reduced-motion){.film{animation:none;"
        f"transform:translateY({(1 - len(starts)) * step:.0f}px)}}}}"
    )
    defs = "".join(f'<g id="l{name}">{drawn}</g>\n' for drawn, name in known.items())
    defs = f'<defs><g font-family="inherit">\n{defs}</g></defs>\n'
    return document(COLS, ROWS, LABEL, ['<g class="film">', *parts, "</g>"], style=style, defs=defs)


def main() -> None:
    """Write the recording (unless `--picture` is given) and the picture into `docs/`."""
    if "--picture" not in sys.argv:
        write_cast(record(10))
    PICTURE.write_text(film(read_cast()), "utf-8")


if __name__ == "__main__":
    main()
