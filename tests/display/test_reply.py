"""A reply is drawn a limited length at a time, however long and however fast it is."""

from __future__ import annotations

import asyncio
import re

import pytest

from chat_loop.display import reply as reply_module
from chat_loop.display.markdown.markdown_stream import LARGEST_CODE, LARGEST_TEXT, MarkdownStream
from chat_loop.display.markdown.theme import theme_of
from chat_loop.display.reply import LARGEST_BACKLOG, FoldedText, ReplyText

STYLES = re.compile(r"\x1b\[[0-9;]*m")
PIECE = 10_000


class Measured(MarkdownStream):
    """Notes the lengths of what it reads again."""

    def __init__(self) -> None:
        super().__init__(theme_of("auto"), lambda: 80, wraps=True)
        self.lengths: list[int] = []

    def _advance(self, *, ended: bool) -> str:
        self.lengths.append(len(self._source))
        return super()._advance(ended=ended)


def rendered(text: str) -> tuple[str, int]:
    """Return the output for a text without its styles, and the most that was read at once."""
    stream = Measured()
    sent = [stream.feed(text[at : at + PIECE]) for at in range(0, len(text), PIECE)]
    sent.append(stream.finish())
    return STYLES.sub("", "".join(sent)), max(stream.lengths)


@pytest.mark.slow
@pytest.mark.parametrize("line", ["{} ", "{}\n", "> {}\n", "| {} | |\n", "*a {}\n", "- {}\n"])
def test_a_block_of_any_length_is_read_in_parts_and_loses_no_word(line: str) -> None:
    numbers = [str(number) for number in range(100_000, 105_000)]
    text = "| a | b |\n|---|---|\n" if line.startswith("|") else ""
    text += "".join(line.format(number) for number in numbers)

    shown, most = rendered(text)

    assert re.findall(r"\b\d{6}\b", shown) == numbers
    assert most <= LARGEST_TEXT + 2 * PIECE


@pytest.mark.slow
def test_long_code_is_one_block_with_all_its_lines() -> None:
    lines = [f"line = {number}  # {number}" for number in range(8_000)]
    text = "Look:\n\n```python\n" + "\n".join(lines) + "\n```\n\nThat is *all*."

    shown, most = rendered(text)

    assert shown == "\n".join(["Look:", "", "─── python", *lines, "───", "", "That is all."])
    assert most <= LARGEST_CODE + 2 * PIECE


class Drawn:
    """A reply on a terminal, with the lengths of its drawings."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.lengths: list[int] = []
        self.changed = asyncio.Event()
        drawn = self

        class Counted(FoldedText):
            def feed(self, text: str) -> str:
                drawn.lengths.append(len(text))
                return text

        self.reply = ReplyText(self._write, Counted(is_dim=False))

    def _write(self, text: str) -> None:
        self.written.append(text)
        self.changed.set()

    async def change(self) -> None:
        """Wait until more is written."""
        self.changed.clear()
        await self.changed.wait()

    @property
    def text(self) -> str:
        return "".join(self.written)


def test_what_comes_too_fast_is_drawn_in_parts_and_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reply_module, "LAST_DRAW_SECONDS", 1e9)
    drawn = Drawn()
    text = "".join(f"{number} \r\n" for number in range(LARGEST_BACKLOG // 10))

    async def run() -> None:
        drawn.reply.feed(text)
        await drawn.change()
        drawn.reply.finish()

    asyncio.run(run())
    assert drawn.text == text.replace("\r\n", "\n")
    assert max(drawn.lengths) <= 16_000


def test_what_would_take_too_long_is_counted_and_not_drawn() -> None:
    drawn = Drawn()

    async def run() -> None:
        drawn.reply.feed("a" * LARGEST_BACKLOG)
        drawn.reply.feed("b")
        drawn.reply.feed("c" * 1_000_000)
        while "[…" not in drawn.text:
            await drawn.change()
        drawn.reply.feed("d")
        drawn.reply.finish()

    asyncio.run(run())
    note = "\n[… 1.0 MB came too fast to be shown; the session has them …]\n"
    assert drawn.text == "a" * LARGEST_BACKLOG + "b" + note + "d"


@pytest.mark.parametrize("is_stopped", [False, True])
def test_at_its_end_a_reply_is_drawn_while_others_get_turns(is_stopped: bool) -> None:
    drawn = Drawn()
    text = "".join(f"{number} " for number in range(60_000))

    async def run() -> None:
        drawn.reply.feed(text)
        settling = asyncio.ensure_future(drawn.reply.settle())
        await drawn.change()
        if is_stopped:
            settling.cancel()
        await asyncio.wait({settling})
        drawn.reply.finish()

    asyncio.run(run())
    assert text.startswith(drawn.text)
    assert (len(drawn.text) < 30_000) if is_stopped else (drawn.text == text)
    assert max(drawn.lengths) <= 16_000
