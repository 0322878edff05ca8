"""Exact values in one form (pure), so that "1 200 €" and "EUR 1,200", "3 pm" and "15:00" can be
compared.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from chat_loop.facts.units import MONTHS, SCALES, UNITS

Kind = Literal[
    "url", "email", "path", "id", "date", "day", "time", "quantity", "number", "version", "address", "phone",
    "quote", "code", "identifier", "name",
]  # fmt: skip


class Value(Struct, frozen=True):
    """One exact value, whole, and where it stands. `unit`: what a quantity counts, in the short
    form of `units`.
    """

    text: str
    kind: Kind
    start: int
    end: int
    unit: str = ""


_TIME = re.compile(
    r"(\d{1,2})(?:[:.h時시] ?(\d{2})?)?(?::(\d{2}))? ?(?:分|분)? ?(a\.?m\.?|p\.?m\.?|uhr|h)?"
)
_ISO = re.compile(r"(\d{4})[-/年](\d{1,2})[-/月](\d{1,2})日?")
_DOTTED = re.compile(r"(\d{1,2})[./-] ?(\d{1,2})[./-]? ?(\d{4}|\d{2})?")
_DAY_MONTH = re.compile(
    r"(\d{1,2})(?:\.|st|nd|rd|th|er|º|°|te|ten)? ?(?:of |de |di |d')?([^\W\d_]{3,10})\.?,?(?: "
    r"(?:de |del )?(\d{4}))?"
)
_MONTH_DAY = re.compile(r"([^\W\d_]{3,10})\.? (\d{1,2})(?:st|nd|rd|th)?,?(?: (\d{4}))?")
_FIGURES = re.compile(r"\d(?:[\d.,'’ ]{0,30}\d)?")
_PHONE = re.compile(r"(?:\+|\(|0\d)[\d ()./-]{6,30}")
_GROUPS = re.compile(r"\d{1,3}(?:[.,]\d{3}){1,6}")
_NUMBER_UNIT = re.compile(r"([^\d\s-]{0,4}) ?([-−]?\d(?:[\d.,'’ ]{0,30}\d)?) ?-?([^\d]{0,40})")


@lru_cache(maxsize=4096)
def normal(value: str) -> str:
    """One spelling for an exact value: small letters, no blanks, figures without separators, short
    units.

    Dates become `03-14` or `2026-03-14`, times `15:40`, quantities `1200eur`; anything else keeps
    its letters.
    """
    text = " ".join(unicodedata.normalize("NFKC", value.strip("\"'`„“”«»‘’ ")).casefold().split())
    if not any(c.isdigit() for c in text):
        return text.replace(" ", "")
    if date := _date(text):
        return date
    if _PHONE.fullmatch(text):
        return "".join(c for c in text if c.isdigit() or c == "+")
    return _time(text) or _quantity(text) or text.replace(" ", "")


def _date(text: str) -> str:
    if match := _ISO.fullmatch(text):
        return _dated(match.group(3), int(match.group(2)), match.group(1))
    if match := _DAY_MONTH.fullmatch(text):
        return _dated(match.group(1), MONTHS.get(match.group(2), 0), match.group(3))
    if match := _MONTH_DAY.fullmatch(text):
        return _dated(match.group(2), MONTHS.get(match.group(1), 0), match.group(3))
    if (match := _DOTTED.fullmatch(text)) and (text.count(".") == 2 or match.group(3)):
        return _dated(match.group(1), int(match.group(2)), match.group(3))
    return ""


def _dated(day: str, month: int, year: str | None) -> str:
    if not 1 <= month <= 12:
        return ""
    full = f"20{year}-" if year and len(year) == 2 else f"{year}-" if year else ""
    return f"{full}{month:02}-{int(day):02}"


def _time(text: str) -> str:
    match = _TIME.fullmatch(text)
    if (
        match is None
        or not (match.group(2) or match.group(4))
        or ("." in text[:3] and not match.group(4))
    ):
        return ""
    hour = int(match.group(1))
    half = (match.group(4) or "")[:1]
    if half == "h" and not match.group(2) and ":" not in text:
        return ""
    if half == "p" and hour < 12:
        hour += 12
    elif half == "a" and hour == 12:
        hour = 0
    return f"{hour:02}:{match.group(2) or '00'}" + (f":{match.group(3)}" if match.group(3) else "")


def _quantity(text: str) -> str:
    match = _NUMBER_UNIT.fullmatch(text)
    if match is None:
        return ""
    before, digits, after = match.groups()
    words = after.replace(".", " ").split()
    if (before and UNITS.get(before, ("", ""))[1] != "money") or (
        digits.count(".") > 1 and not _GROUPS.fullmatch(digits.split(",")[0])
    ):
        return ""
    number = figure(digits)
    if words and words[0] in SCALES and (len(words) > 1 or words[0] not in UNITS):
        number = f"{float(number) * SCALES[words.pop(0)]:.2f}".rstrip("0").rstrip(".")
    base, slash, per = (" ".join(words) or before).partition("/")
    if f"{base}/{per}" in UNITS:
        return number + UNITS[f"{base}/{per}"][0]
    return number + _short(base) + slash + _short(per)


def _short(unit: str) -> str:
    return UNITS[unit][0] if unit in UNITS else unit.replace(" ", "")


def figure(text: str) -> str:
    """A number's figures with "." before the decimals and nothing between thousands: `1.200,50` is
    `1200.5`.
    """
    text = text.replace("−", "-").replace("’", "").replace("'", "").replace(" ", "")
    if _GROUPS.fullmatch(text) and not text.startswith("0"):
        return text.replace(".", "").replace(",", "")
    last = max(text.rfind("."), text.rfind(","))
    if last < 0:
        return text
    whole = text[:last].replace(".", "").replace(",", "")
    return f"{whole}.{text[last + 1 :]}".rstrip("0").rstrip(".")


def figures(text: str) -> list[str]:
    """Every number in `text`, in the form of `figure`."""
    return [figure(match) for match in _FIGURES.findall(text)]
