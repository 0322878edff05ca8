"""The session browser on this terminal: `python -m tests.support.browser_program COUNT [WORDS]`.

COUNT is the number of made-up sessions.

The program prints what the user chose and did, and the terminal's settings before and after. The
text of the rows is hostile, wide and long. SHELF_FAILS names a method of the shelf that fails.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from chat_loop.browser.app import browse
from chat_loop.display.preview import Preview, preview_of
from chat_loop.errors import SessionError
from chat_loop.input.editor import open_file
from chat_loop.sessions.records import Header, Query, Reply, Seal, Session, SessionRow, Summary

NOW = datetime(2026, 11, 22, 15, 4, tzinfo=UTC)
NAMES = (
    "How do I sort a list of dicts by two keys?",
    "漢字の並べ替えについて教えてください、できるだけ詳しくお願いします。",
    "\x1b]0;owned\x07\x1b[2J\x1b[31mred \u202eright to left\nsecond line\r\x9b1m",
    "very long " * 50,
    "👩‍👩‍👧‍👦 family ❤️ and 👍🏽 thumbs e\u0301\u0300\u0302",
    "Deploy the blue cluster to eu-west-1",
)


def row(number: int) -> SessionRow:
    """The session at index `number`, the newest first. Every fifth is the last of a chain."""
    return SessionRow(
        id=f"sally_{number:06d}",
        folder=Path("/nowhere"),
        state="damaged" if number % 100 == 99 else "sealed",
        updated=NOW - timedelta(hours=7 * number),
        agent=("Sally", "Research Assistant", "漢字\x1b[1m")[number % 3],
        queries=3 * number + 1,
        tokens=1234 * number + 500,
        said=1234 * number + 500,
        name=f"{NAMES[number % len(NAMES)]}" if number % 7 else f"Session {number} of all",
        depth=4 if number % 5 == 0 else 1,
        parent=f"older_{number:06d}_3" if number % 5 == 0 else "",
        folded=3 if number % 5 == 0 else 0,
        tags=("python", "wo\x1b[rk") if number % 4 == 0 else (),
    )


def session(shown: SessionRow) -> Session:
    """Return a session for the preview of any row."""
    said = [
        f"Question {number} of {shown.id}: and what about \x1b[2J ties in the second key?"
        for number in range(1, 12)
    ]
    used = shown.updated or NOW
    answer = (
        "Sort by the second key first, then by the first: the sort is stable, so ties keep "
        "their order. " * 3
    )
    return Session(
        header=Header(
            id=shown.id, created=used, agent=shown.agent, model="test-model", parent=shown.parent
        ),
        entries=tuple(
            entry
            for number, text in enumerate(said, 1)
            for entry in (
                Query(number=number, at=used, text=text),
                Reply(number=number, at=used, text=answer),
            )
        ),
        seal=Seal(
            at=used,
            reason="exit",
            source="model",
            summary=Summary(
                topics=("Sorting by two keys [1]", "\x1b]0;owned\x07 titles of windows [2]"),
                decisions=("The database sorts, not Python [1]",),
                pending=("Measure it with the real data [3]",),
            ),
        ),
    )


class MadeShelf:
    """A shelf of `count` made-up sessions; `done` records the changes to them."""

    def __init__(self, count: int) -> None:
        self._rows = [row(number) for number in range(count)]
        self._fails = os.environ.get("SHELF_FAILS", "")
        self.done: list[str] = []

    def rows(self) -> Sequence[SessionRow]:
        return list(self._rows)

    def preview(self, row: SessionRow) -> Preview:
        return preview_of(
            session(row), ("It was edited.",) if f"edited {row.id}" in self.done else ()
        )

    def trash(self, row: SessionRow) -> str:
        self._fail("trash")
        self._rows = [known for known in self._rows if known.id != row.id]
        self.done.append(f"trashed {row.id}")
        return f"Moved {row.id} to the trash."

    async def edit(self, row: SessionRow) -> None:
        self._fail("edit")
        await open_file(Path(row.id))
        self.done.append(f"edited {row.id}")

    def _fail(self, what: str) -> None:
        if what == self._fails == "trash":
            raise SessionError("The disk is full.", "Make room.")
        if what and what == self._fails:
            raise RuntimeError(f"{what} broke")


def tell(*words: str) -> None:
    """Write one line."""
    os.write(1, f"{' '.join(words)}\n".encode())


def settings() -> str:
    """The terminal's settings, as stty prints them."""
    return subprocess.run(
        ["stty", "-g"], stdin=0, capture_output=True, text=True, check=True
    ).stdout.strip()


async def main(count: int, words: str) -> None:
    shelf = MadeShelf(count)
    before = settings()
    tell("pid", str(os.getpid()))
    try:
        chosen = await browse(shelf, now=NOW, words=words)
        tell("chosen:", chosen.id if chosen is not None else "none")
    except RuntimeError as error:
        tell("broke:", str(error))
    except asyncio.CancelledError:
        tell("cancelled")
        raise
    finally:
        tell("done:", ", ".join(shelf.done) or "nothing")
        tell("settings:", "as before" if settings() == before else f"{before} became {settings()}")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), " ".join(sys.argv[2:])))
