"""Exact values (pure): finds the parts of a text that must be carried letter for letter, such as
numbers with units, paths, ids, dates and names.

A value is recognized by its shape, in any language; `exact.toml` defines the shapes and the units.
The search takes linear time: one pass finds signs of a value, and bounded patterns read it there.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

import msgspec

ValueKind = Literal[
    "url", "email", "path", "id", "date", "time", "quantity", "number", "version", "address",
    "phone", "quote", "code", "identifier", "name",
]  # fmt: skip


class ExactValue(msgspec.Struct, frozen=True):
    """One exact value and its position in the text. `unit` is a quantity's unit, abbreviated."""

    text: str
    kind: ValueKind
    start: int
    end: int
    unit: str = ""


_DATA: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("exact.toml").read_text("utf-8")
)
UNITS = {word: unit for unit, words in _DATA["units"].items() for word in words.split()}
_MONEY = frozenset("eur usd gbp chf jpy cny krw inr sek nok dkk pln czk brl cad aud rub".split())  # noqa: SIM905 - a list would take 20 lines
_ALSO_WORDS = frozenset(("in", "an", "el", "t", "bar", "won"))
"""Units that are also words. If a space or hyphen precedes one, no space may follow it."""

_TRIGGER = re.compile(
    r"[0-9@/\\_`\"„“«‘「#½¼¾=.:(A-Z-](?:(?<=[0-9@/\\_`\"„“«‘「#½¼¾=])|(?<=[^\W_][.:])(?=[^\W_])"
    r"|(?<=[a-zß-ÿ][A-Z])|(?<=-)(?<!\S-)(?=-?[a-z])|(?<=\w\()(?=\)))"
)
"""A sign that the surrounding word may be an exact value. Other words are skipped."""


@cache
def _shapes() -> re.Pattern[str]:
    """Compile the shapes on first use, because it takes 20 ms."""
    whole = "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _DATA["shapes"].items())
    whole = re.sub("@([a-z]+)@", lambda match: _DATA["parts"][match[1]], whole)
    return re.compile(rf"(?<![0-9A-Za-z_À-ɏ])(?:{whole})", re.VERBOSE)


_PLAIN_SLASH = re.compile(r"[^\W\d_]+(?:/[^\W\d_]+){1,2}")
_AFTER = re.compile(
    r"[ \u00a0\u202f-]?(°[ ]?[CFcf](?!\w)|(?:[%‰°€$£¥₩₹₽万億円元日月年]"
    r"|[^\W\d_]{1,20}[²³2]?)(?:/[^\W\d_]{1,8})?)\.?"
)
_BEFORE = re.compile(r"([^\W\d_][\w$]{0,12})\.?[ \u00a0]\Z")
_ALPHANUMERIC = re.compile(r"(?=\w{0,39}[^\W\d_])\w{2,40}(?:-\w{1,20}){0,4}")
_FIRST = "[A-ZÀ-ÖØ-ÞŁŚŻŹĆ]"
_REST = r"[\w'’-]{1,40}"
_NAME = re.compile(  # it begins with a set of letters, so that the search skips all others
    rf"{_FIRST}(?<![.!?:\n•*\#>|(«„“\"]\ .)(?<![\w@/.].)(?<!\A.){_REST}"
    rf"(?:(?:\.?\ |\ (?:van|von|de|da|del|dos|di|zu)\ (?:der\ |la\ )?){_FIRST}{_REST}){{1,3}}",
    re.VERBOSE,
)


def find(text: str) -> list[ExactValue]:
    """Return the exact values in `text`, in order and without overlaps."""
    values: list[ExactValue] = []
    position = 0
    while (trigger := _TRIGGER.search(text, position)) is not None:
        start = trigger.start()
        lowest = max(position, start - 120)  # a longer word is not read whole
        while start > lowest and not text[start - 1].isspace():
            start -= 1
        match = _shapes().search(text, start)
        if match is None:
            break
        value = _value(text, match, position)
        if value is not None:
            values.append(value)
            position = value.end
        elif match.lastgroup == "number":
            position = match.end()
        else:
            position = match.start() + 1
    whole: list[ExactValue] = []
    end = 0
    for value in values:
        whole += _names(text, end, value.start)
        whole.append(value)
        end = value.end
    return whole + _names(text, end, len(text))


def may_have_values(text: str) -> bool:
    """Return False if a text certainly contains no exact value. This is faster than `find`."""
    return _TRIGGER.search(text) is not None or _NAME.search(text) is not None


def _names(text: str, start: int, end: int) -> list[ExactValue]:
    """Return the names in the text from `start` to `end`, between other values."""
    names = _NAME.finditer(text, start, end)
    return [ExactValue(match.group(), "name", *match.span()) for match in names]


def _value(text: str, match: re.Match[str], floor: int) -> ExactValue | None:
    """Return the match without trailing punctuation, or None if it is too vague."""
    start, end = match.span()
    kind: ValueKind = match.lastgroup  # type: ignore[assignment]
    if kind == "number":
        return _number(text, start, end, floor)
    if kind in ("code", "quote"):
        inside = text[start + 1 : end - 1]
        if not inside.strip() or inside.count(" ") >= 12:
            return None
        return ExactValue(text[start:end], kind, start, end)
    if kind not in ("time", "date", "phone"):
        while end > start + 1 and text[end - 1] in ".,;:!?…)]}>*'’":
            if text[end - 1] == ")" and text.count("(", start, end) >= text.count(")", start, end):
                break  # it belongs to the value: `f()`, `wiki/A_(b)`
            end -= 1
    whole = text[start:end]
    vague = (kind == "path" and not _is_path(whole)) or (kind == "id" and whole.isdigit())
    if vague or len(whole) < 2:
        return None
    return ExactValue(whole, kind, start, end)


def _is_path(whole: str) -> bool:
    """Return False for "and/or", "km/h", "e.g" and two sentences without a space in between."""
    if "/" not in whole and "\\" not in whole:
        name, _, last = whole.partition(":")[0].rpartition(".")
        if len(name) == 1 or name.isdigit():
            return False
        return not (name.isalpha() and last.istitle())
    if whole[0] in "/~." or "\\" in whole:
        return any(c.isalnum() for c in whole)
    return _PLAIN_SLASH.fullmatch(whole) is None


def _number(text: str, start: int, end: int, floor: int) -> ExactValue | None:
    """Return the number at `start`..`end`, including an adjacent currency or unit."""
    number = text[start:end].rstrip(" -–—/×x")
    end = start + len(number)
    before = _BEFORE.search(text, max(floor, start - 16), start)
    label = ""
    if before is not None:
        label = before[1]
    unit, stop = _unit(text, end)
    if stop == end and end < len(text) and (text[end].isalpha() or text[end] == "_"):
        code = _ALPHANUMERIC.match(text, start)
        if code is None:
            return None
        return ExactValue(code.group(), "id", start, code.end())
    sign = next((sign for sign in "€$£¥" if sign in number), label.lower())
    if UNITS.get(sign) in _MONEY and (sign in number or len(label) == 3):
        if before is not None and sign not in number:
            start = before.start()
        return ExactValue(text[start:stop], "quantity", start, stop, UNITS[sign])
    if unit:
        return ExactValue(text[start:stop], "quantity", start, stop, unit)
    if before is not None and label.isupper() and 1 < len(label) <= 4:
        return ExactValue(text[before.start() : end], "id", before.start(), end)
    return ExactValue(number, "number", start, end)


def _unit(text: str, end: int) -> tuple[str, int]:
    """Return the unit that follows a number, and its end. The unit is empty if there is none."""
    match = _AFTER.match(text, end)
    if match is None:
        return "", end
    word = match[1].lower().replace(" ", "")
    unit = UNITS.get(word) or UNITS.get(word.partition("/")[0], "")
    is_word = word in _ALSO_WORDS and text[match.end(1) : match.end(1) + 1] == " "
    if not unit or (is_word and text[end] in " -"):
        return "", end
    return unit, match.end(1)


_FIGURES = re.compile(r"\d(?:[\d.,'’ ]{0,30}\d)?")
_PHONE = re.compile(r"(?:\+|\(|0\d)[\d ()./-]{6,30}")
_GROUPS = re.compile(r"\d{1,3}(?:[.,]\d{3}){1,6}")
_NUMBER_UNIT = re.compile(r"([^\d\s-]{0,4}) ?([-−]?\d(?:[\d.,'’ ]{0,30}\d)?) ?-?([^\d]{0,40})")


@lru_cache(maxsize=4096)
def normalize(value: str) -> str:
    """Return a uniform spelling of an exact value: `1200eur` for both "1 200 €" and "EUR 1,200"."""
    text = " ".join(unicodedata.normalize("NFKC", value.strip("\"'`„“”«»‘’ ")).casefold().split())
    if _PHONE.fullmatch(text):
        return "".join(sign for sign in text if sign.isdigit() or sign == "+")
    match = _NUMBER_UNIT.fullmatch(text)
    if match is None:
        return text.replace(" ", "")
    before, digits, after = match.groups()
    is_version = digits.count(".") > 1 and not _GROUPS.fullmatch(digits.split(",")[0])
    if is_version or (before and UNITS.get(before) not in _MONEY):
        return text.replace(" ", "")
    unit = " ".join(after.replace(".", " ").split()) or before
    parts = [unit]
    if unit not in UNITS:
        parts = unit.split("/", 1)
    return figure(digits) + "/".join(UNITS.get(part, part.replace(" ", "")) for part in parts)


def figure(text: str) -> str:
    """Return a number with "." as its decimal point and without thousands separators."""
    text = text.replace("−", "-").replace("’", "").replace("'", "").replace(" ", "")
    if _GROUPS.fullmatch(text) and not text.startswith("0"):
        return text.replace(".", "").replace(",", "")
    last = max(text.rfind("."), text.rfind(","))
    if last < 0:
        return text
    whole = text[:last].replace(".", "").replace(",", "")
    return f"{whole}.{text[last + 1 :]}".rstrip("0").rstrip(".")


def figures(text: str) -> list[str]:
    """Return every number in `text`, in the format of `figure`."""
    return [figure(match) for match in _FIGURES.findall(text)]
