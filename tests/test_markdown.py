"""Markdown of replies on a terminal: however it is cut, the same comes out, and no word of it is lost."""

from __future__ import annotations

import re

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat_loop.display.manager import DisplayManager
from chat_loop.display.markdown.painter import Painter
from chat_loop.display.markdown.theme import NAMES, theme_of
from chat_loop.events import Event, ReplyEnded, TextDelta, ToolCalled, Warned
from chat_loop.values import ToolCall
from tests.screens import Terminal

ENDED = ReplyEnded(number=1, stop="end", usage=None, seconds=1.0)
SGR = re.compile(r"\x1b\[[0-9;]*m")
_PIECES = (
    *(
        "# ",
        "## ",
        "- ",
        "* ",
        "  - ",
        "1. ",
        "10) ",
        "- [ ] ",
        "- [x] ",
        "> ",
        "> > ",
        "```",
        "```python",
        "~~~",
        "---",
    ),
    *(
        "| a | b |",
        "|---|:-:|",
        "| 1 | **x** |",
        "|",
        "**",
        "*",
        "***",
        "_",
        "__",
        "~~",
        "`",
        "``",
        "[",
        "](http://a.b/c_(d))",
    ),
    *(
        "!",
        "\\",
        "\n",
        "\n\n",
        "\n",
        " ",
        "  ",
        "    ",
        "\t",
        "word",
        "snake_case",
        "漢字",
        "🙂",
        "é",
        "def f(x): # y",
        '"""',
    ),
    *("x" * 90, "a b " * 130, "===", "1", ".", "(", ")", "<br>", "/*", "*/"),
)
MARKDOWN = st.lists(st.sampled_from(_PIECES), max_size=40).map("".join)


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)


def painter(columns: int = 80, *, theme: str = "auto", colour: bool = True, symbols: bool = True) -> Painter:
    return Painter(theme_of(theme, colour=colour, has_symbols=symbols), lambda: columns)


def sent(pieces: list[str], columns: int = 80) -> str:
    """What the terminal is sent for a text in pieces."""
    made = painter(columns)
    return "".join([*map(made.feed, pieces), made.finish()])


def plain(text: str, columns: int = 80) -> str:
    return SGR.sub("", sent([text], columns))


def cut(text: str, sizes: list[int]) -> list[str]:
    """`text` in pieces of so many characters, in turn."""
    pieces, at, turn = [], 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        pieces.append(text[at : at + size])
        at, turn = at + size, turn + 1
    return pieces


def screen(text: str, columns: int = 40, rows: int = 10) -> list[str]:
    """All that stands on the terminal in the end, with what has scrolled away."""
    shown = pyte.HistoryScreen(columns, rows, history=10_000, ratio=1)
    pyte.Stream(shown).feed(text.replace("\n", "\r\n"))
    above = ["".join(line[column].data for column in range(columns)) for line in shown.history.top]
    return [*above, *shown.display]


@given(MARKDOWN, st.lists(st.integers(1, 30), min_size=1, max_size=8))
def test_how_a_text_is_cut_changes_nothing(text: str, sizes: list[int]) -> None:
    assert sent(cut(text, sizes)) == sent([text])


@settings(max_examples=40, deadline=None)  # the emulated screen is slow
@given(MARKDOWN)
def test_character_by_character_the_screen_is_the_same(text: str) -> None:
    assert screen(sent(list(text))) == screen(sent([text]))


@given(MARKDOWN)
def test_no_line_ends_in_blanks_and_no_empty_line_is_last(text: str) -> None:
    shown = plain(text)
    assert not re.search(r" (\n|$)", shown)
    assert not shown.endswith("\n")


@given(MARKDOWN)
def test_no_word_is_lost(text: str) -> None:
    made = painter(symbols=False)
    shown = SGR.sub("", made.feed(text) + made.finish())
    words = re.findall(r"[^\W_]+", text)
    assert sorted("".join(words)) == sorted("".join(re.findall(r"[^\W_]+", shown))) or "|" in text


REPLY = """\
# Title with `code`

Some **bold**, *italic*, ***both***, ~~gone~~, snake_case, 2 * 3 * 4, f(**kw), [docs](https://x.y/a_(b)) and a[1].
- one
  - two
    * three
- [ ] to do
- [x] done
1. first
   ```python
   def f(x):
       return "a"  # **no**

   ```

> quoted
> > twice

| a | b | n |
|---|:-:|--:|
| 漢字 | **two** | 1 |
| x | y | 100 |
---
| no table
`open
"""
SHOWN = """\
Title with code

Some bold, italic, both, gone, snake_case, 2 * 3 * 4, f(**kw), docs (https://x.y/a_(b)) and a[1].
• one
  ◦ two
    ▪ three
☐ to do
☑ done
1. first
─── python
def f(x):
    return "a"  # **no**

───

│ quoted
│ │ twice

a    │  b  │   n
─────┼─────┼────
漢字 │ two │   1
x    │  y  │ 100
────────────────────────────────────────
| no table
`open"""


def test_what_a_reply_looks_like() -> None:
    assert plain(REPLY) == SHOWN


def shown(events: list[Event], **more: object) -> str:
    out = Terminal()
    display = DisplayManager(out, agent="Sally", **more)  # type: ignore[arg-type]
    for event in events:
        display.show(event)
    return out.getvalue()


def test_a_block_begins_below_the_name_and_text_behind_it() -> None:
    assert SGR.sub("", shown([TextDelta("\n\n# A"), TextDelta("\nb"), ENDED])) == "Sally:\nA\nb\nTime: 1.0s\n\n"
    assert SGR.sub("", shown([TextDelta("A\n"), TextDelta("- b\n\n"), ENDED])) == "Sally: A\n• b\nTime: 1.0s\n\n"


def test_what_is_held_back_is_shown_before_anything_else() -> None:
    call = ToolCall(id="1", name="look", arguments="{}")
    events: list[Event] = [
        TextDelta("a **bo"),
        ToolCalled(call),
        TextDelta("| x"),
        Warned("Late."),
        TextDelta("`c"),
        ENDED,
    ]
    assert SGR.sub("", shown(events)) == ("Sally: a **bo\n🔧 look\nSally: | x\n⚠️  Late.\n`c\nTime: 1.0s\n\n")


def test_dots_stand_for_the_rows_that_wait_until_the_table_takes_their_place() -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n"
    waiting = shown(list(map(TextDelta, cut(table, [1]))))
    assert waiting == "\x1b[1;36mSally:\x1b[0m\n...."
    assert screen(shown([*map(TextDelta, cut(table, [1])), ENDED]))[:5] == [
        f"{line:40}" for line in ("Sally:", "a │ b", "──┼──", "1 │ 2", "3 │ 4")
    ]


@settings(max_examples=40, deadline=None)
@given(MARKDOWN)
def test_the_dots_leave_nothing_behind(text: str) -> None:
    made = painter(40)
    pieces = []
    for sign in text:
        pieces.append(made.feed(sign) or made.progress())
    assert screen("".join([*pieces, made.finish()])) == screen(sent([text], 40))


def test_attributes_end_where_a_reply_is_interrupted() -> None:
    text = shown([TextDelta("# Half a head"), ENDED])
    assert "Half a head\x1b[0m\n" in text


def test_markdown_can_be_switched_off() -> None:
    assert "**a**" in shown([TextDelta("**a**"), ENDED], markdown=False)


def test_a_dumb_terminal_gets_the_text_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert shown([TextDelta("# **a**\n"), ENDED]) == "Sally: # **a**\n\nTime: 1.0s\n\n"


def test_without_colours_there_are_attributes_only() -> None:
    for numbers in re.findall(r"\x1b\[([0-9;]*)m", "".join(sent_in(REPLY, "auto", colour=False))):
        assert set(numbers.split(";")) <= {"0", "1", "2", "3", "4", "9"}


@pytest.mark.parametrize("theme", NAMES)
def test_every_theme_shows_the_same_text(theme: str) -> None:
    assert SGR.sub("", sent_in(REPLY, theme)) == SHOWN


def sent_in(text: str, theme: str, *, colour: bool = True) -> str:
    made = painter(theme=theme, colour=colour)
    return made.feed(text) + made.finish()
