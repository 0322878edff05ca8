"""Questions as they are drawn: the act above its question, whatever it holds and wherever it is."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chat_loop.characters import exact
from chat_loop.display.questions import (
    EDGE_ROWS,
    OFFERS,
    Question,
    act_lines,
    choice_of,
    draw,
    parts_of,
    question_text,
)
from chat_loop.display.sanitizer import cells
from tests.support.strategies import texts

CHOICES = ("yes", "no", "always", "project", "view")
acts = st.lists(
    st.one_of(texts, st.text(), st.just("word " * 900), st.just("漢\n" * 50)), max_size=3
)
sizes = st.tuples(st.integers(2, 120), st.integers(1, 50))


def question(*act: str) -> Question:
    return Question("Run?", CHOICES, act, "this exact call")


@example(["In /home:", "touch x; echo " + "harmless " * 500], (20, 24))
@given(acts, sizes)
def test_an_act_has_its_ends_above_the_question_or_fits(
    act: list[str], size: tuple[int, int]
) -> None:
    width, height = size
    asked = question(*act)
    drawn = draw(asked, width, height)
    rows = [row for row, _ in drawn.rows]
    assert all(cells(row) <= width for row in rows)
    whole = "".join("".join(rows).split()) + "".join(drawn.prompt.split())
    assert whole.endswith("".join(question_text(asked, is_long=drawn.is_long).split()))
    if drawn.is_long:
        for part in act:
            shown = exact(part)
            assert shown[: min(width // 2, len(shown))].split("\n")[0] in "\n".join(rows)
    else:
        assert sum(cells(line) for line, _ in act_lines(asked)) <= width * height


LONG = "touch PWNED; echo start " + "harmless words " * 200 + "; true END"


@pytest.mark.parametrize("width", [79, 39, 19])
def test_the_rows_between_are_counted(width: int) -> None:
    drawn = draw(question("In /root:", LONG), width, 24)
    rows = [row for row, _ in drawn.rows]
    count = -(-len(LONG) // width)
    assert rows[0] == "In /root:"
    assert "".join(rows[1:4]) == LONG[: 3 * width]
    assert rows[4] == f"… {count - 2 * EDGE_ROWS:,} rows …"
    assert "".join(rows[5:8]) == LONG[(count - 3) * width :]
    assert "[v]iew" in " ".join([*rows[8:], drawn.prompt])
    assert len(rows) + 1 <= 24


def test_an_act_is_long_where_it_does_not_fit_with_its_question() -> None:
    lines = "\n".join(map(str, range(20)))
    assert not draw(question(lines), 80, 22).is_long
    assert draw(question(lines), 80, 21).is_long
    assert draw(question(lines), 30, 22).is_long, "the question takes more rows"
    assert not draw(question(lines), 0, 0).is_long, "without a screen everything is printed"
    assert draw(Question("Move it?"), 79, 2).is_long is False, "a question without an act"


def test_wide_characters_take_two_columns() -> None:
    rows = [row for row, _ in draw(question("漢字" * 100), 21, 20).rows]
    assert rows[:3] == ["漢字" * 5] * 3
    assert rows[3] == "… 14 rows …"


def test_a_command_of_200_kilobytes_is_drawn() -> None:
    drawn = draw(question("é" * 200_000), 79, 24)
    assert ("… 2,526 rows …", "dim") in drawn.rows


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("In /root:\n  $ ls\n  > cd:", ("In /root:", "  $ ls\n  > cd:")),
        (
            "The command names a file:\nIn /root:\nx:\ny:",
            ("The command names a file:", "In /root:", "x:\ny:"),
        ),
        (
            "Change a:\n--- a\n+++ a\n@@ -1 +1 @@\n-x\n+x",
            ("Change a:\n--- a\n+++ a", "@@ -1 +1 @@\n-x\n+x"),
        ),
        ("diff", ("diff",)),
        ("do it:", ("do it:",)),
    ],
)
def test_headings_are_parts_of_their_own(text: str, parts: tuple[str, ...]) -> None:
    assert parts_of(text) == parts
    assert "\n".join(parts) == text


def test_lines_that_differ_in_what_cannot_be_seen_look_different() -> None:
    act = parts_of("Change a:\n--- a\n+++ a\n@@ -1,2 +1,2 @@\n-pin = 1\n+pin\u200b = 1\n-x\n+x ")
    assert [*act_lines(question(*act))][3:] == [
        ("@@ -1,2 +1,2 @@", "cyan"),
        ("-pin = 1", "red"),
        ("+pin<U+200B> = 1", "green"),
        ("-x", "red"),
        ("+x<1 space>", "green"),
    ]


def test_the_words_of_questions() -> None:
    assert question_text(question("x"), is_long=True) == (
        "Run? [y]es [n]o [a]lways, always in this [p]roject, [v]iew (this exact call) "
    )
    assert question_text(Question("Move “a\u200b\nb” to the trash?")) == (
        "Move “a<U+200B>␊b” to the trash? [y]es [n]o "
    )
    letters = {
        choice_of(Question("", tuple(OFFERS)), offer.partition("[")[2][0])
        for offer in OFFERS.values()
    }
    assert letters == {*OFFERS}
    assert choice_of(question(), " YES ") == "yes"
    assert choice_of(question(), "") == ""
    assert choice_of(question(), "yes please") is None
    assert choice_of(Question(""), "a") is None
