"""Questions: what a person is asked, and how the act that it is about is drawn above it (pure).

What is shown is what is judged: every character of an act and of a question is visible, and an act
that is longer than the screen shows its beginning and its end directly above the question.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, pairwise

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.characters import exact, exact_line
from chat_loop.display.sanitizer import cut_to, hard_rows, wrapped

Row = tuple[str, str]
"""A row of the screen, or a line of an act: its text and its style."""

OFFERS = {
    "yes": "[y]es",
    "no": "[n]o",
    "always": "[a]lways",
    "project": "always in this [p]roject",
    "marks": "send with [m]arks",
    "edit": "[e]dit",
    "view": "[v]iew",
    "wait": "[w]ait",
    "read": "[r]ead only",
    "branch": "[b]ranch",
}
"""The choices of all questions, as a question offers them. A user types the letter or the word."""
AGREEING = frozenset(("yes", "always", "project", "marks"))
"""The choices with which something happens."""
CONFIRMING = ("yes", "no", "view")
"""The choices of a question that only agrees to an act."""
SURE = "It is longer than the screen. Type the word yes to agree:"
NOT_SURE = "not sure"
EDGE_ROWS = 3
"""The rows that are shown of the beginning and of the end of a part of a long act."""
_HEADINGS = 2
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan", "\\": "dim"}


class Question(Struct, frozen=True):
    """A question and its `choices`. `act` has the parts of what would be done, in full, and `scope`
    says what “always” covers.
    """

    sentence: str
    choices: tuple[str, ...] = ("yes", "no")
    act: tuple[str, ...] = ()
    scope: str = ""


class Drawn(Struct, frozen=True):
    """A question on the screen: the rows above the answer, and the text before the answer.
    `is_long` is true when the act does not fit on the screen.
    """

    rows: tuple[Row, ...]
    prompt: str
    is_long: bool


def parts_of(text: str) -> tuple[str, ...]:
    """Return the text about a tool call in parts: its headings, and what would be done."""
    lines = text.split("\n")
    parts: list[str] = []
    while len(parts) < _HEADINGS and len(lines) > 1 and _is_heading(lines[0]):
        length = 1
        while length < 3 and lines[length:] and lines[length].startswith(("--- ", "+++ ")):
            length += 1
        parts.append("\n".join(lines[:length]))
        lines = lines[length:]
    if lines:
        return (*parts, "\n".join(lines))
    return tuple(parts)


def _is_heading(line: str) -> bool:
    return line.endswith(":") and not line.startswith((" ", "+", "-"))


def act_lines(question: Question) -> Iterator[Row]:
    """Yield all lines of the act, with everything visible that they contain."""
    for part in question.act:
        yield from _lines(part)


def _lines(part: str) -> Iterator[Row]:
    in_diff = False
    for number, line in enumerate(exact(part).split("\n")):
        in_diff = in_diff or line.startswith(("--- ", "@@ "))
        style = ""
        if in_diff:
            style = _DIFF_STYLES.get(line[:1], "")
        elif number == 0 and _is_heading(line):
            style = "bold"
        yield line, style


def question_text(question: Question, *, is_long: bool = False) -> str:
    """Return the question on one line, with the choices that it offers and a space at its end."""
    choices = [choice for choice in question.choices if is_long or choice != "view"]
    words = [exact_line(question.sentence)]
    offers = [OFFERS[choice] for choice in choices]
    for offer, following in pairwise((*offers, "")):
        if following and " " in offer + following:
            words.append(f"{offer},")
        else:
            words.append(offer)
    if question.scope:
        words.append(f"({exact_line(question.scope)})")
    return f"{' '.join(words)} "


@lru_cache(maxsize=4)
def draw(question: Question, width: int, height: int) -> Drawn:
    """Return the question for a screen of `width` columns and `height` rows. An act that fits is
    printed before the question, and has no rows here. A width of 0 means that there is no screen.
    """
    if not width:
        return Drawn((), question_text(question), is_long=False)
    parts = [_rows(part, width) for part in question.act]
    asked = _wrapped(question_text(question), width)
    is_long = bool(parts) and sum(map(len, parts)) + len(asked) >= height
    if not is_long:
        return Drawn(tuple((row, "") for row in asked[:-1]), asked[-1], is_long=False)
    asked = _wrapped(question_text(question, is_long=True), width)
    room = height - len(asked) - 1
    edge = EDGE_ROWS
    while edge > 1 and sum(len(_shortened(rows, edge, width)) for rows in parts) > room:
        edge -= 1
    shown = chain.from_iterable(_shortened(rows, edge, width) for rows in parts)
    return Drawn((*shown, *((row, "") for row in asked[:-1])), asked[-1], is_long=True)


def sure_question(question: Question) -> Question:
    """Return the question that follows an answer to a long act that is not the word “yes”."""
    return replace(question, sentence=SURE, choices=(), scope="")


def choice_of(question: Question, answer: str, *, is_long: bool = False) -> str | None:
    """Return the choice that an answer names by its word or letter, an empty text for an empty
    answer, and None for any other. If the act is long, a choice to do it is `not sure` unless it
    is the word “yes”.
    """
    choice = _named(question, answer)
    if is_long and choice in AGREEING and answer.strip().lower() != "yes":
        return NOT_SURE
    return choice


def _named(question: Question, answer: str) -> str | None:
    answer = answer.strip().lower()
    if not answer:
        return ""
    letters = {OFFERS[choice].partition("[")[2][0]: choice for choice in question.choices}
    if answer in question.choices:
        return answer
    return letters.get(answer)


def _rows(part: str, width: int) -> list[Row]:
    rows = []
    for line, style in _lines(part):
        rows += [(row, style) for row in hard_rows(line, width)]
    return rows


def _shortened(rows: list[Row], edge: int, width: int) -> list[Row]:
    """Return rows without those in the middle, which are counted."""
    between = len(rows) - 2 * edge
    if between <= 1:
        return rows
    return [*rows[:edge], (cut_to(f"… {between:,} rows …", width), "dim"), *rows[-edge:]]


def _wrapped(text: str, width: int) -> list[str]:
    """Return a question in rows, broken between words. The last one ends in a space."""
    lines = wrapped(text.rstrip(" "), width, 0).split("\n")
    rows = []
    for line in lines:
        for row in hard_rows(line, width):
            rows.append(row)
    return [*rows[:-1], f"{rows[-1]} "]
