"""Streamed markdown: the output is the same however the text is cut, and no word is lost."""

from __future__ import annotations

import io
import re
from itertools import pairwise
from pathlib import Path

import pyte
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from chat_loop.display.display_manager import DisplayManager
from chat_loop.display.markdown.code import CodeColors
from chat_loop.display.markdown.theme import THEMES
from chat_loop.events import Event, ReplyEnded, TextDelta, ToolCalled, Warned
from chat_loop.export.markup import prose
from chat_loop.values import ToolCall
from tests.support.rendered import SGR, cut, painter, plain, sent
from tests.support.screens import Terminal

ENDED = ReplyEnded(number=1, stop="end", usage=None, seconds=1.0)
_PIECES = (
    *("# ", "## ", "- ", "* ", "  - ", "1. ", "10) ", "- [ ] ", "- [x] ", "> ", "> > ", "---"),
    *("```", "```python", "~~~", "| a | b |", "|---|:-:|", "| 1 | **x** |", "|"),
    *("**", "*", "***", "_", "__", "~~", "`", "``", "[", "](http://a.b/c_(d))", "!", "\\"),
    *("\n", "\n\n", "\n", " ", "  ", "    ", "\t", "word", "snake_case", "漢字", "🙂", "é"),
    *("def f(x): # y", '"""', "x" * 90, "a b " * 130, "===", "1", ".", "(", ")"),
    *("<br>", "/*", "*/"),
)
MARKDOWN = st.lists(st.sampled_from(_PIECES), max_size=40).map("".join)


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)


def screen(text: str, columns: int = 40, rows: int = 10) -> list[str]:
    """The lines that the terminal shows in the end, after those that have scrolled away."""
    shown = pyte.HistoryScreen(columns, rows, history=10_000, ratio=1)
    pyte.Stream(shown).feed(text.replace("\n", "\r\n"))
    above = ["".join(line[column].data for column in range(columns)) for line in shown.history.top]
    return [*above, *shown.display]


@given(
    MARKDOWN,
    st.lists(st.integers(1, 30), min_size=1, max_size=8),
    st.sampled_from([None, 1, 9, 20, 80]),
)
def test_how_a_text_is_cut_changes_nothing(
    text: str, sizes: list[int], columns: int | None
) -> None:
    wraps = columns is not None
    assert sent(cut(text, sizes), columns or 80, wraps=wraps) == sent(
        [text], columns or 80, wraps=wraps
    )


@example("[`]`]()", 1)
@example("[`] x`](y)", 1)
@given(st.text(st.sampled_from("ab *_`~[]()\\"), max_size=30), st.integers(1, 3))
def test_markup_within_a_line_is_read_the_same_in_pieces(text: str, size: int) -> None:
    text = f"# {text}"  # the attributes of a heading are seen on blanks too
    assert sent(cut(text, [size])) == sent([text])


@given(MARKDOWN, st.booleans())
def test_no_line_ends_in_blanks_and_no_empty_line_is_last(text: str, wraps: bool) -> None:
    shown = SGR.sub("", sent([text], 30, wraps=wraps))
    assert not re.search(r" (\n|$)", shown)
    assert not shown.endswith("\n")


@given(MARKDOWN)
def test_no_word_is_lost(text: str) -> None:
    made = painter()
    shown = SGR.sub("", made.feed(text) + made.finish()).replace("☑", "x")
    words = re.findall(r"[^\W_]+", text)
    assert sorted("".join(words)) == sorted("".join(re.findall(r"[^\W_]+", shown))) or "|" in text


PROSE = st.lists(
    st.sampled_from(
        (
            *("a", "word", "**bold words", "x**", "`code`", "12"),
            *("漢字。かな", "🙂", "é", "internationalization"),
        )
    ),
    min_size=1,
    max_size=60,
).map(" ".join)


@given(
    st.sampled_from(["", "- ", "   - ", "10. ", "> ", "> > ", "- [ ] ", "## "]),
    PROSE,
    st.integers(12, 90),
)
def test_prose_is_broken_between_words(begin: str, text: str, columns: int) -> None:
    lines = SGR.sub("", sent([begin + text], columns, wraps=True)).split("\n")
    whole = plain(begin + text)
    bars = "│ " * begin.count(">")
    words = [line.removeprefix(bars).strip(" ") for line in lines]
    assert "".join("".join(words).split(" ")) == "".join(
        whole.removeprefix(bars).split(" ")
    )  # nothing is lost or added
    longest = max(map(cell_len, text.split(" ")))
    for line, after in pairwise(lines):
        assert after.startswith(bars)
        assert cell_len(line) < columns or longest > columns // 2 - 1
        first = re.match(r"[^ \u3000-\u9fff]*", after.removeprefix(bars).lstrip(" "))
        assert first
        if longest <= 8:  # each line has as many words as fit
            assert cell_len(line) + 1 + max(2, cell_len(first[0])) > columns - 1


def test_further_lines_stand_below_the_first() -> None:
    text = (
        "- one two three four five\n  1. six seven eight nine ten\n> > twelve thirteen "
        "fourteen\n\nand the end of it"
    )
    assert SGR.sub("", sent([text], 20, wraps=True)).split("\n") == [
        "• one two three",
        "  four five",
        "  1. six seven",
        "     eight nine ten",
        "│ │ twelve thirteen",
        "│ │ fourteen",
        "",
        "and the end of it",
    ]


def test_code_and_tables_are_not_broken_between_words() -> None:
    text = (
        "```\none two three four five six\n```\n| a b c d e f g h |\n|---|\n| one two three four |"
    )
    assert sent([text], 20, wraps=True) == sent([text], 20)


def test_a_long_word_is_left_to_the_terminal() -> None:
    address = f"https://example.com/{'path/' * 20}"
    link = f"https://example.com/{'path/' * 9}"
    pieces = [f"Read [the page]({link}).", " So."]
    assert SGR.sub("", sent(pieces, 80, wraps=True)) == f"Read the page\n({link}). So."
    assert sent([f"See {address} for it."], 80, wraps=True) == f"See {address} for it."
    assert (
        sent([f"{'word ' * 14}{address} for it."], 80, wraps=True)
        == f"{('word ' * 14)}{address} for it."
    )


def test_the_first_line_begins_behind_the_name() -> None:
    text = SGR.sub("", shown([TextDelta("word " * 30), ENDED], agent="The name of the agent"))
    assert text.split("\n")[0] == f"The name of the agent: {('word ' * 11).strip()}"
    left = SGR.sub("", shown([TextDelta("word " * 30), ENDED], wraps=False))
    assert left.split("\n")[0] == f"Sally: {('word ' * 30).strip()}"


GOLDEN = Path(__file__).parents[2] / "golden"
REPLY = (GOLDEN / "screens/reply-markdown.txt").read_text("utf-8")
SHOWN = (GOLDEN / "screens/reply.txt").read_text("utf-8")


def test_what_a_reply_looks_like() -> None:
    assert plain(REPLY) == SHOWN


def shown(events: list[Event], **more: object) -> str:
    out = Terminal()
    display = DisplayManager(out, **{"agent": "Sally", **more})  # type: ignore[arg-type]
    for event in events:
        display.show(event)
    return out.getvalue()


def test_a_block_begins_below_the_name_and_text_behind_it() -> None:
    assert (
        SGR.sub("", shown([TextDelta("\n\n# A"), TextDelta("\nb"), ENDED]))
        == "Sally:\nA\nb\nTime: 1.0s\n\n"
    )
    assert (
        SGR.sub("", shown([TextDelta("A\n"), TextDelta("- b\n\n"), ENDED]))
        == "Sally: A\n• b\nTime: 1.0s\n\n"
    )


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
    assert SGR.sub("", shown(events)) == (
        "Sally: a **bo\n🔧 look\nSally: | x\n⚠️  Late.\n`c\nTime: 1.0s\n\n"
    )


def test_the_rows_of_a_table_that_may_still_change_are_drawn_below() -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n"
    made = painter(40)
    assert "".join(made.feed(sign) for sign in f"Rows:\n\n{table}") == "Rows:"
    assert SGR.sub("", made.unsettled()) == "\n\na │ b\n──┼──\n1 │ 2\n3 │ 4"
    assert SGR.sub("", made.feed("| long | 5 |\n")) == ""
    assert "long │ 5" in made.unsettled()
    assert SGR.sub("", made.finish()).endswith("\nlong │ 5")
    assert made.unsettled() == ""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Some **bold** and `co", "Some bold and"),
        ("a[1] and b[i] are x <y, 2 < 3, f(**kw", "a[1] and b[i] are x <y, 2 < 3, f("),
        ("x <y and so on", "x"),
        ("a[1] and b[i] are 2 < 3, so", "a[1] and b[i] are 2 < 3, so"),
        ("wow! see [the docs](http://a.b/c", "wow! see"),
        ("wow! see [the docs](http://a.b/c) and", "wow! see the docs (http://a.b/c) and"),
        ("![a picture", ""),
    ],
)
def test_what_is_certain_is_sent(text: str, shown: str) -> None:
    made = painter()
    assert SGR.sub("", "".join(map(made.feed, text))) == shown


def test_a_paragraph_that_waits_for_the_end_of_its_markup_is_drawn_below() -> None:
    made = painter(40)
    words = "and so on " * 30
    assert made.feed("Some *stray sign ") + made.feed(words) == "Some"
    assert SGR.sub("", made.unsettled()).endswith("*stray sign " + words.rstrip())
    assert SGR.sub("", made.feed("to the end.*\n\nNext.")).startswith(" stray sign and so on")
    assert made.unsettled() == ""


@given(MARKDOWN, st.integers(5, 50), st.booleans())
def test_showing_unsettled_text_changes_nothing(text: str, size: int, wraps: bool) -> None:
    made = painter(40, wraps=wraps)
    pieces = []
    for start in range(0, len(text), size):
        pieces.append(made.feed(text[start : start + size]))
        made.unsettled()
    assert "".join([*pieces, made.finish()]) == sent([text], 40, wraps=wraps)


@given(
    st.lists(
        st.sampled_from(
            [*_PIECES, "\x1b[2J", "\x1b]8;;http://a\x07", "\r", "\x9b", "\u202e", "\x7f"]
        ),
        max_size=20,
    )
)
def test_of_hostile_text_nothing_is_obeyed(pieces: list[str]) -> None:
    text = shown([*map(TextDelta, pieces), ENDED]).replace("\r\x1b[K", "")
    assert set(re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", SGR.sub("", text))) == set()


def test_attributes_end_where_a_reply_is_interrupted() -> None:
    text = shown([TextDelta("# Half a head"), ENDED])
    assert "Half a head\x1b[0m\n" in text


def test_a_reply_that_is_there_whole_looks_as_if_it_had_streamed() -> None:
    out = Terminal()
    DisplayManager(out, wraps=False).reply(f"{REPLY}\x1b")
    assert SGR.sub("", out.getvalue()) == f"{SHOWN}\n␛\n"
    pipe = io.StringIO()
    DisplayManager(pipe).reply("# **a**\x1b")
    assert pipe.getvalue() == "# **a**␛\n"


def test_markdown_can_be_switched_off() -> None:
    assert "**a**" in shown([TextDelta("**a**"), ENDED], markdown=False)


def test_a_dumb_terminal_gets_the_text_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert shown([TextDelta("# **a**\n"), ENDED]) == "Sally: # **a**\n\nTime: 1.0s\n\n"


def test_without_colors_there_are_attributes_only() -> None:
    shown = "".join(sent_in(REPLY, "auto", color=False))
    attributes = {
        number for found in re.findall(r"\x1b\[([0-9;]*)m", shown) for number in found.split(";")
    }
    assert {"0", "1"} <= attributes <= {"0", "1", "2", "3", "4", "9"}


@pytest.mark.parametrize("theme", THEMES)
def test_every_theme_shows_the_same_text(theme: str) -> None:
    assert SGR.sub("", sent_in(REPLY, theme)) == SHOWN


def sent_in(text: str, theme: str, *, color: bool = True) -> str:
    made = painter(theme=theme, color=color)
    return made.feed(text) + made.finish()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\n\n\n\nb  \n\n", "a\n\nb"),
        ("#no\n####### no\n## yes", "#no\n####### no\nyes"),
        ("+ a\n-b\n- - x\n\n1.x\n12) y", "• a\n  -b\n• ◦ x\n\n1.x\n12) y"),
        ("**a", "**a"),
        (
            "** a **, 2*3*4, a_b_c, __x__, _x_y_, `` a`b ``, ````",
            "** a **, 2*3*4, a_b_c, __x__, x_y, a`b, ````",
        ),
        ("\\*a\\* \\[x] \\(y \\\\", "*a* [x] \\(y \\\\"),
        ("**a `**` b** *a **b** c* ***x***", "a ** b a b c x"),
        ("这是**重点**内容", "这是重点内容"),
        (
            "![p](a.png) [x]() [] [a] (b) <https://a.b/c_d_e> https://a.b/*",
            "p (a.png) x [] [a] (b) https://a.b/c_d_e https://a.b/*",
        ),
        ("[https://a.b](https://a.b) [a [b](c)", "https://a.b [a b (c)"),
        ("> a\n> ```\n> # b\nc", "│ a\n│ ───\n│ # b\n│ ───\nc"),
        ("~~~\n```\n~~~\n``` a ``` b", "───\n```\n───\na b"),
        ("```\n\n\n  a\n", "───\n\n\n  a\n───"),
        ("```\na", "───\na\n───"),
        ("| a\nb", "| a\nb"),
        ("| a |\n|---|\n| 1 | 2 \\| 3 | 4 |\n| |\n", "a\n─────────────\n1 | 2 | 3 | 4"),
    ],
)
def test_how_markup_is_read(text: str, shown: str | None) -> None:
    assert plain(text) == (shown or text)


def test_a_table_that_is_too_wide_has_a_line_for_each_value() -> None:
    text = "| Name | What |\n|---|---|\n| one | some words |\n| two | |\n| three | x |\n"
    assert plain(text, 15) == "Name: one\nWhat: some words\n\nName: two\n\nName: three\nWhat: x"


def test_a_value_on_a_line_of_its_own_is_broken_between_words() -> None:
    text = "| Name | What |\n|---|---|\n| one | some words, and more of them |\n"
    assert (
        SGR.sub("", sent([text], 15, wraps=True))
        == "Name: one\nWhat: some\n  words, and\n  more of them"
    )
    made = painter(15, wraps=True)
    pieces = [made.feed(sign) for sign in f"A long\n{text}"]
    assert screen("".join([*pieces, made.finish()]), 15) == screen(
        sent([f"A long\n{text}"], 15, wraps=True), 15
    )


def test_the_rows_of_a_long_table_come_one_by_one() -> None:
    made = painter()
    rows = ["| n |\n", "|--:|\n", *(f"| {number} |\n" for number in range(20))]
    shown = [SGR.sub("", made.feed(row)) for row in rows]
    assert [bool(piece) for piece in shown] == [False] * 11 + [True] * 11
    assert shown[11].split("\n")[:4] == ["n", "─", "0", "1"]
    assert shown[12:14] == ["\n10", "\n11"]


@pytest.mark.parametrize(
    ("language", "line", "kinds"),
    [
        (
            "python",
            'def f(x): return "#" + 1.5  # "n"',
            ["def", "f", "return", '"#"', "1.5", '# "n"'],
        ),
        ("PY", "'it\\'s' isnt", ["'it\\'s'"]),
        ("sql", "SELECT a FROM t -- x", ["SELECT", "FROM", "-- x"]),
        ("sh", "echo $# a#b # c", ["echo", "# c"]),
        ("json", '{"a": true}', ['"a"', "true"]),
        ("diff", "+ a", ["+ a"]),
        ("", "if a", []),
        ("brainfuck", "if a", []),
    ],
)
def test_what_is_colored_in_a_line_of_code(language: str, line: str, kinds: list[str]) -> None:
    pieces = list(CodeColors(language).line(line))
    assert "".join(text for text, _ in pieces) == line
    assert [text for text, kind in pieces if kind] == kinds


def test_what_goes_over_lines_is_colored_as_one() -> None:
    colors = CodeColors("c")
    lines = ["a /* b", "", "int */ int", "/* x */ y"]
    assert [[piece for piece in colors.line(line) if piece[1]] for line in lines] == [
        [("/* b", "comment")],
        [],
        [("int */", "comment"), ("int", "keyword")],
        [("/* x */", "comment")],
    ]


@given(
    st.sampled_from(["python", "c", "go", "html", "lua", "sh"]),
    st.lists(st.text(st.sampled_from("a\"'`/*#-<!>[]\\ 1"))),
)
def test_colors_lose_nothing_of_the_code(language: str, lines: list[str]) -> None:
    colors = CodeColors(language)
    assert ["".join(text for text, _ in colors.line(line)) for line in lines] == lines


@pytest.mark.parametrize("end", ["-", " - ", "-\n"])
@pytest.mark.parametrize("quote", ["", "> "])
def test_an_item_that_a_stop_cut_off_makes_no_heading(end: str, quote: str) -> None:
    text = f"{quote}These are left:\n{quote}{end}"
    assert sent([*text]) == sent([f"{quote}These are left:"])
    assert prose(text) == prose(f"{quote}These are left:")
    assert "<h" in prose("Title\n---"), "a line of several dashes is an underline"
