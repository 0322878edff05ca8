"""Markup within a line: bold, italic, struck, code, links. What nothing closes on its line is shown
as it was typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from chat_loop.display.markdown.theme import BOLD, ITALIC, STRUCK, UNDERLINED, Theme

FARTHEST = 400
"""Characters between the sign that opens something and the one that closes it, at most."""
DEEPEST = 6
SPECIAL = re.compile(r"[\n`*_~\[\\!<]")
"""What may be markup; a text without it is shown as it is."""

_TAG = re.compile(
    r"<(?:[A-Za-z][A-Za-z0-9+.-]+:[^\s<>]*|/?[A-Za-z][\w-]*(?:\s+[\w:-]+\s*=[^<>]*)?\s*/?)>"
)
"""An address in angle brackets, or a tag of HTML: what stands in it is no markup."""
_MAY_BE_TAG = re.compile(
    r"</?(?:[A-Za-z](?:[^\s<>]*|[\w-]*\s+(?:[\w:-]*|[\w:-]+\s*(?:=[^<>]*)?)))?\Z"
)
_RUNS = re.compile(r"\\.|`+|\*+|_+|~+")
_ESCAPED = "\\`*_~#|"
"""What a backslash makes text of; before others it stays, since formulas are full of them."""
_STYLES = {"**": BOLD, "__": BOLD, "*": ITALIC, "_": ITALIC, "~~": STRUCK}
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


class Span(Struct, frozen=True):
    """Text and the numbers of its SGR sequence, none for plain text. `whole`: it is never cut."""

    text: str
    style: str
    whole: bool = False


class _Found(Struct, frozen=True):
    """Something that is closed: where it ends, and what it shows."""

    end: int
    spans: tuple[Span, ...]


_WAIT = "wait"
"""More text may decide it."""


def inline(
    text: str, theme: Theme, *, complete: bool, before: str = "", style: str = "", depth: int = 0
) -> tuple[list[Span], int]:
    """Return the spans that can be shown of the rest of a line, and how many characters of `text`
    they take.

    `complete`: the line ends with `text`; then all of it is shown. `before` is the character that
    stands before it.
    """
    spans: list[Span] = []
    at = done = 0
    while match := SPECIAL.search(text, at):
        at = match.start()
        found = _construct(
            text, at, before if at == 0 else text[at - 1], theme, complete, style, depth
        )
        if found is _WAIT:
            break
        if isinstance(found, _Found):
            if at > done:
                spans.append(Span(text[done:at], style))
            spans += found.spans
            at = done = found.end
        else:
            at = _past(text, at)
    else:
        at = len(text)
    if at > done:
        spans.append(Span(text[done:at], style))
    return spans, at


def _past(text: str, at: int) -> int:
    """Behind the sign at `at`, and behind all of its kind that follow: a run opens something whole
    or not at all.
    """
    sign = text[at]
    end = at + 1
    while sign in "`*_~" and end < len(text) and text[end] == sign:
        end += 1
    return end


def _construct(
    text: str, at: int, before: str, theme: Theme, complete: bool, style: str, depth: int
) -> _Found | str | None:
    """Read what begins at `at`: something closed, nothing (None), or `_WAIT`."""
    sign = text[at]
    farthest = at + FARTHEST
    window = text[:farthest] if len(text) > farthest else text
    open_ended = not complete and len(text) <= farthest
    if sign == "\\":
        if at + 1 == len(text):
            return None if complete else _WAIT
        return (
            _Found(at + 2, (Span(text[at + 1], style),))
            if text[at + 1] in _ESCAPED
            else _other_escape(text, at, style)
        )
    if sign == "`" and before != sign:
        return _code(window, at, theme, open_ended, style)
    if before == sign:
        return None  # what is left of a longer run
    if sign == "<":
        return _tag(window, at, open_ended, style)
    if sign in "![":
        return _link(window, at, theme, open_ended, style, depth)
    return _emphasis(window, at, before, theme, open_ended, style, depth)


def _other_escape(text: str, at: int, style: str) -> _Found | None:
    """A backslash that stays keeps a bracket from opening a link: `\\[` begins a formula."""
    return _Found(at + 2, (Span(text[at : at + 2], style),)) if text[at + 1] == "[" else None


def _code(window: str, at: int, theme: Theme, open_ended: bool, style: str) -> _Found | str | None:
    end = _past(window, at)
    if end == len(window):
        return _WAIT if open_ended else None
    close = _closing_ticks(window, end, end - at, open_ended)
    if close < 0:
        return _WAIT if open_ended else None
    content = window[end:close]
    if content[0] == content[-1] == " " and content.strip(" "):
        content = content[1:-1]
    return _Found(close + end - at, (Span(content, _joined(style, theme.code), True),))


def _closing_ticks(window: str, start: int, length: int, open_ended: bool) -> int:
    """Where a run of so many backticks begins at or after `start`; -1 when there is none, or none
    yet for certain.
    """
    at = window.find("`" * length, start)
    while at >= 0:
        end = _past(window, at)
        if end == len(window) and open_ended:
            return -1
        if end - at == length:
            return at
        at = window.find("`" * length, end)
    return -1


def _tag(window: str, at: int, open_ended: bool, style: str) -> _Found | str | None:
    match = _TAG.match(window, at)
    if match:
        return _Found(match.end(), (Span(match.group(), style, True),))
    return _WAIT if open_ended and _MAY_BE_TAG.match(window, at) else None


def _link(
    window: str, at: int, theme: Theme, open_ended: bool, style: str, depth: int
) -> _Found | str | None:
    begin = at + (window[at] == "!")
    undecided = _WAIT if open_ended else None
    if begin == len(window):
        return undecided
    if window[begin] != "[":
        return None
    if window.startswith("[![", at):
        return _badge(window, at, theme, open_ended, style, depth)
    close = window.find("]", begin)
    if close < 0 or close + 1 == len(window):
        return undecided
    if window[close + 1] != "(" or "[" in window[begin + 1 : close] or close == begin + 1:
        return None
    end = _closing_bracket(window, close + 2)
    if end < 0:
        return undecided
    label, address = window[begin + 1 : close], window[close + 2 : end]
    if not address.strip():
        return None
    if label == address:
        return _Found(end + 1, (Span(address, _joined(style, UNDERLINED), True),))
    shown = _inner(label, theme, _joined(style, UNDERLINED), depth)
    return _Found(
        end + 1,
        (*shown, Span(" ", style), Span(f"({address})", _joined(style, theme.address), True)),
    )


def _badge(
    window: str, at: int, theme: Theme, open_ended: bool, style: str, depth: int
) -> _Found | str | None:
    """Read a picture that is a link; the picture's own address is not shown."""
    picture = _link(window, at + 1, theme, open_ended, _joined(style, UNDERLINED), depth)
    if not isinstance(picture, _Found):
        return picture
    undecided = _WAIT if open_ended else None
    if picture.end + 1 >= len(window):
        return undecided
    if window[picture.end : picture.end + 2] != "](":
        return None
    end = _closing_bracket(window, picture.end + 2)
    if end < 0:
        return undecided
    address = Span(f"({window[picture.end + 2 : end]})", _joined(style, theme.address), True)
    return _Found(end + 1, (*(picture.spans[:-2] or picture.spans), Span(" ", style), address))


def _closing_bracket(window: str, at: int) -> int:
    """Where the bracket closes that stands open; an address may hold closed ones. -1: nowhere."""
    inside = 0
    for index in range(at, len(window)):
        if window[index] == "(":
            inside += 1
        elif window[index] == ")":
            if not inside:
                return index
            inside -= 1
    return -1


def _emphasis(
    window: str, at: int, before: str, theme: Theme, open_ended: bool, style: str, depth: int
) -> _Found | str | None:
    end = _past(window, at)
    if end == len(window):
        return _WAIT if open_ended else None
    run = window[at:end]
    if len(run) > 3 or (run[0] == "~" and len(run) != 2) or not _opens(run, before, window[end]):
        return None
    sign = run if len(run) < 3 else run[:2]
    close = _closer(window, at + len(sign), sign, open_ended)
    if close is None:
        return _WAIT if open_ended else None
    if close <= end:
        return None
    return _Found(
        close + len(sign),
        tuple(_inner(window[at + len(sign) : close], theme, _joined(style, _STYLES[sign]), depth)),
    )


def _inner(text: str, theme: Theme, style: str, depth: int) -> list[Span]:
    if depth >= DEEPEST:
        return [Span(text, style)]
    return inline(text, theme, complete=True, style=style, depth=depth + 1)[0]


def _opens(run: str, before: str, after: str) -> bool:
    if after.isspace():
        return False
    if run[0] == "_":
        return not before.isalnum() and before != "_"
    if len(run) == 1:
        return not (before.isalnum() and before.isascii())
    return after not in _PUNCTUATION or not before.isalnum()


def _closes(run: str, before: str, after: str) -> bool:
    if before.isspace():
        return False
    if run[0] == "_":
        return not after.isalnum()
    if len(run) == 1:
        return not (after.isalnum() and after.isascii())
    return before not in _PUNCTUATION or not (after.isalnum() and after.isascii())


def _closer(window: str, start: int, sign: str, open_ended: bool) -> int | None:
    """Where `sign` closes what it opened before `start`; None when it does not, or not yet for
    certain.
    """
    nested = window[start : start + 1] == sign[0] and len(sign) == 2
    for run in _runs(window, start + nested, open_ended):
        begin, end = run
        length = end - begin
        if window[begin] != sign[0] or (end == len(window) and open_ended):
            continue
        after = window[end] if end < len(window) else " "
        before = window[begin - 1]
        if length == len(sign) and not (nested and length == 1):
            if _closes(sign, before, after):
                return begin
        elif length == 3 and sign[0] != "~":
            if _closes(sign, before, after):
                return begin + (3 - len(sign) if nested else 0)
        elif length + len(sign) == 3:  # the other kind, within this one
            if not nested and not after.isspace():
                nested = True
            elif nested and not before.isspace():
                nested = False
    return None


def _runs(window: str, start: int, open_ended: bool) -> Iterator[tuple[int, int]]:
    """The runs of signs from `start` on that stand neither in code nor behind a backslash."""
    at = start
    while match := _RUNS.search(window, at):
        at = match.end()
        if match.group()[0] == "`":
            length = match.end() - match.start()
            close = _closing_ticks(window, at, length, open_ended)
            if close >= 0:
                at = close + length
            elif open_ended:
                return
        elif match.group()[0] != "\\":
            yield match.span()


def _joined(*styles: str) -> str:
    return ";".join(filter(None, styles))
