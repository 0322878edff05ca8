"""Exact values (pure): what in a text must be carried to the letter, such as numbers with units,
paths, ids and names.

Everything is found in linear time: bounded patterns for the shapes, and for a number a look at the
words beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from chat_loop.facts import names
from chat_loop.facts.canon import Kind, Value, normal
from chat_loop.facts.counted import NUMBER, counted
from chat_loop.facts.lexicon import lexicon
from chat_loop.facts.words import language, tokens

__all__ = ["Kind", "Value", "find", "normal", "values"]

_TRIGGER = re.compile(
    r"[0-9@/\\_`\"„“«‘「#½¼¾=.:(A-Z-](?:(?<=[0-9@/\\_`\"„“«‘「#½¼¾=])|(?<=[^\W_][.:])(?=[^\W_])|(?<=[a-zß-ÿ][A-Z])"
    r"|(?<=-)(?<!\S-)(?=-?[a-z])|(?<=\w\()(?=\)))"
)
"""A sign that the word around it may be an exact value; all other words are passed over. One
leading class is fast.
"""
_LONGEST_WORD = 120

_SEGMENT = r"[\w.@+~%-]{1,120}"
_LINE = r"(?::\d{1,7}(?:-\d{1,7})?)?"
_SHAPES = rf"""(?<![0-9A-Za-z_À-ɏ])(?:
  (?P<code>`[^`\n]{{1,200}}`)
| (?P<quote>"[^"\n]{{1,120}}"|„[^“”"\n]{{1,120}}[“”"]|“[^”\n]{{1,120}}”|«[^»\n]{{1,120}}»
    |‘[^’\n]{{1,120}}’(?!\w)|「[^」\n]{{1,120}}」)
| (?P<url>(?:[A-Za-z][A-Za-z0-9+.-]{{1,15}}://|www\.|mailto:|(?:sftp|ssh|scp|rsync|s3|git):(?=[\w/]))
    [^\s<>"'`|“”«»„]{{1,1000}})
| (?P<email>[\w.+-]{{1,64}}@[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{1,6}}(?::[\w/.~-]{{1,200}})?)
| (?P<id>[0-9a-fA-F]{{8}}-(?:[0-9a-fA-F]{{4}}-){{3}}[0-9a-fA-F]{{12}}(?!\w)
    |(?:sha\d{{1,3}}:|0x)?(?=[0-9a-f]{{0,63}}[a-f])(?=[a-f]{{0,63}}\d)[0-9a-f]{{7,64}}(?!\w)
    |0x[0-9a-fA-F]{{1,32}}(?!\w)
    |(?:[0-9A-Fa-f]{{2}}:){{5}}[0-9A-Fa-f]{{2}}(?!\w)
    |[A-Z]{{2}}\d{{2}}(?:[ ]?[0-9A-Z]{{4}}){{2,7}}(?:[ ]?[0-9A-Z]{{1,3}})?(?!\w)
    |(?=[A-Z0-9-]{{0,50}}\d)[A-Z][A-Z0-9]{{0,9}}(?:-[A-Z0-9]{{1,12}}){{1,5}}(?!\w)
    |\#[0-9A-Za-z]{{0,9}}\d[0-9A-Za-z]{{0,9}}(?!\w))
| (?P<date>\d{{4}}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{{1,6}})?)?(?:Z|[+-]\d\d:?\d\d)?)?(?!\w)
    |\d{{1,2}}\.[ ]?\d{{1,2}}\.(?:[ ]?(?:\d{{4}}|\d{{2}})(?![\d:.]))?(?!\d)
    |\d{{1,2}}/\d{{1,2}}/(?:\d{{4}}|\d{{2}})(?!\d)|\d{{4}}/\d\d/\d\d(?!\d)
    |\d{{1,2}}-\d{{1,2}}-\d{{4}}(?!\d)|\d{{4}}年\d{{1,2}}月(?:\d{{1,2}}日)?|\d{{1,2}}月\d{{1,2}}日)
| (?P<time>\d{{1,2}}:\d{{2}}(?::\d{{2}})?(?:[ ]?[-–][ ]?\d{{1,2}}:\d{{2}})?
        (?:[ ]?(?:[aApP]\.?[mM](?!\w)\.?|Uhr\b|h\b))?(?![\w:])
    |\d{{1,2}}[hH]\d{{2}}(?!\w)|\d{{1,2}}\.\d{{2}}[ ]?(?:Uhr\b|[aApP]\.?[mM](?!\w)\.?)
    |\d{{1,2}}(?:[ ]?[-–][ ]?\d{{1,2}})?[ ]?(?:[aApP]\.?[mM](?!\w)\.?|Uhr\b|o['’]clock)
    |\d{{1,2}}時(?:\d{{1,2}}分)?|\d{{1,2}}시(?:[ ]?\d{{1,2}}분)?)
| (?P<address>\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?:/\d{{1,2}}|:\d{{1,5}})?(?![\w.]{{0,20}}\w)
    |[0-9a-f]{{1,4}}(?:::?[0-9a-f]{{1,4}}){{2,7}}(?!\w)|[0-9a-f]{{2,4}}::[0-9a-f]{{1,4}}(?!\w)
    |(?:localhost|[a-z0-9-]{{1,63}}(?:\.[a-z0-9-]{{1,63}}){{1,6}}):\d{{2,5}}(?![\w/]))
| (?P<phone>\+\d{{1,3}}[ ./-]?(?:\(?\d{{1,5}}\)?[ ./-]?){{2,7}}\d{{2,8}}(?!\w)
    |\(0\d{{1,5}}\)[ ]?\d{{2,8}}(?:[ -]\d{{2,6}}){{0,4}}(?!\w)
    |0\d{{1,5}}[ /-]{{1,3}}\d{{2,8}}(?:[ -]\d{{2,6}}){{0,5}}(?!\w)|0\d(?:[ .]\d\d){{4}}(?!\w)
    |\(\d{{3}}\)[ ]?\d{{3}}[ -]\d{{4}}(?!\w)|\d{{3}}[-.]\d{{3}}[-.]\d{{4}}(?!\w)|\d{{3}}-\d{{4}}(?!\w)
    |\d{{3}}(?:[ ]\d{{2}}){{3}}(?!\w))
| (?P<version>[vV]\d{{1,5}}(?:\.\d{{1,5}}){{0,3}}(?:[-+][\w.]{{1,20}})?(?!\w)
    |\d{{1,5}}\.\d{{1,5}}\.\d{{1,5}}(?:\.\d{{1,5}})?(?:[-+][0-9A-Za-z.]{{1,30}}|[ab]\d{{1,3}}|rc\d{{1,3}})?(?!\w))
| (?P<path>[A-Za-z]:\\[^\s"<>|]{{1,300}}
    |(?:~|\.{{1,2}})?/(?:{_SEGMENT}/){{0,30}}(?:{_SEGMENT})?{_LINE}
    |(?=[\w.@+~%/-]{{0,200}}[^\W\d_]){_SEGMENT}(?:/{_SEGMENT}){{1,30}}/?{_LINE}
    |\.?[\w-]{{2,80}}(?:\.[\w-]{{1,40}}){{0,4}}\.[A-Za-z][a-z0-9]{{0,11}}{_LINE}(?!\w)
    |\.[a-z][\w-]{{2,40}}(?!\w)|[A-Z][a-z]{{2,20}}:\d{{1,6}})
| (?P<identifier>--?[a-z][\w-]{{0,60}}(?:=[^\s,;]{{1,200}})?(?!\w)
    |[A-Za-z_]\w{{0,100}}(?:\(\)|=[^\s,;=]{{1,200}})
    |_{{0,2}}[A-Za-z][A-Za-z0-9]{{0,60}}(?:_[A-Za-z0-9]{{1,60}}){{1,12}}_{{0,2}}(?!\w)
    |[a-z][a-z0-9]{{0,40}}(?:[A-Z][a-z0-9]{{0,40}}){{1,10}}(?!\w)
    |[A-Z](?=[A-Za-z0-9]{{0,39}}\d)[A-Za-z0-9]{{1,39}}(?!\w)
    |(?:[A-Z][a-z0-9]{{1,30}}){{2,8}}(?!\w))
| (?P<number>(?:(?:US|A|C)?[$€£¥][ ]?(?=\d)|[-−+±~≈](?=\d))?(?:{NUMBER})(?:[ ]?[-–—/×x][ ]?(?:{NUMBER})){{0,3}})
)"""


@cache
def _shapes() -> re.Pattern[str]:
    """Compiled when first needed, so that nothing of it delays the start."""
    return re.compile(_SHAPES, re.VERBOSE)


_KINDS: dict[str, Kind] = {
    "code": "code", "quote": "quote", "url": "url", "email": "email", "id": "id", "date": "date", "time": "time",
    "address": "address", "phone": "phone", "version": "version", "path": "path", "identifier": "identifier",
}  # fmt: skip
_TRAILING = ".,;:!?…)]}>*'’"
_PLAIN_SLASH = re.compile(r"[^\W\d_]+(?:/[^\W\d_]+){1,2}")
_JOINTS = lexicon(
    """
    and but the then so it i we you he she they this that und aber ich wir das der die
    """
)
"""Words that begin a sentence whose blank is missing: "done.then" is no file."""


def find(text: str, german: bool | None = None, words: Sequence[str] | None = None) -> list[Value]:
    """The exact values of `text` in the order they stand there, none inside another.

    `german`: whether nouns are written with a capital; None finds out. `words`: the text's tokens,
    when known.
    """
    if words is None:
        words = tokens(text)
    if german is None:
        german = language(words[:1000]) == "de"
    found: list[Value] = []
    position = taken = 0
    while (trigger := _TRIGGER.search(text, position)) is not None:
        start = trigger.start()
        lowest = max(taken, start - _LONGEST_WORD)
        while start > lowest and not text[start - 1].isspace():
            start -= 1
        match = _shapes().search(text, start)
        if match is None:
            break
        value = _value(text, match, taken)
        if value is None:
            position = taken = match.end() if match.lastgroup == "number" else match.start() + 1
        else:
            found.append(value)
            position = taken = value.end
    days = not names.DAYS.isdisjoint(words)
    if not found:
        return list(names.between(text, 0, len(text), german, days))
    return list(_merged(text, found, german, days))


def values(text: str) -> tuple[str, ...]:
    """The exact values of `text` as they are written, whole, in order."""
    return tuple(value.text for value in find(text))


def _value(text: str, match: re.Match[str], floor: int) -> Value | None:
    """What was matched, without the punctuation behind it, when it is exact enough to count."""
    start, end = match.span()
    kind = _KINDS.get(match.lastgroup or "")
    if kind is None:
        return counted(text, start, end, floor)
    if kind in ("code", "quote"):
        inside = text[start + 1 : end - 1]
        return (
            Value(text[start:end], kind, start, end)
            if inside.strip() and inside.count(" ") < 12
            else None
        )
    if kind not in ("time", "date", "phone"):
        while end > start + 1 and text[end - 1] in _TRAILING and not _opened(text, start, end):
            end -= 1
    whole = text[start:end]
    if (
        (kind == "path" and not _is_path(whole))
        or len(whole) < 2
        or (kind == "id" and whole.isdigit())
    ):
        return None
    return Value(whole, kind, start, end)


def _opened(text: str, start: int, end: int) -> bool:
    """Whether the bracket at the end belongs to the value: `f()`, `wiki/A_(b)`."""
    return text[end - 1] == ")" and text.count("(", start, end) >= text.count(")", start, end)


def _is_path(whole: str) -> bool:
    """Not "and/or", "km/h", "e.g" or two sentences without a blank between them."""
    if "/" not in whole and "\\" not in whole:
        name, _, last = whole.rpartition(".")
        return (
            last.partition(":")[0].lower() not in _JOINTS and len(name) != 1 and not name.isdigit()
        )
    if whole[0] in "/~." or "\\" in whole:
        return any(c.isalnum() for c in whole)
    return _PLAIN_SLASH.fullmatch(whole) is None


def _merged(text: str, found: list[Value], german: bool, days: bool) -> Iterator[Value]:
    """The values, with the days and proper names that stand between them."""
    position = 0
    for value in found:
        yield from names.between(text, position, value.start, german, days)
        yield value
        position = value.end
    yield from names.between(text, position, len(text), german, days)
