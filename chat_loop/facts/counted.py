"""Numbers as exact values (pure): a number with the currency, month, label, scale or unit that
stands beside it.
"""

from __future__ import annotations

import re

from chat_loop.facts.canon import Value
from chat_loop.facts.lexicon import lexicon
from chat_loop.facts.units import MONTHS, SCALES, UNITS
from chat_loop.facts.words import generic, stem, stopwords

NUMBER = (
    r"\d{1,3}(?:[.,'’\u00a0\u202f\u2009 ]\d{3}){1,5}(?!\d)(?:[.,]\d{1,2}(?!\d))?"
    r"|\d{1,2}[ ]?[½¼¾⅓⅔]|[½¼¾⅓⅔]|\d{1,18}(?:[.,]\d{1,6})?"
)

_AFTER = re.compile(
    r"[ \u00a0\u202f-]?(°[ ]?[CFcf](?!\w)"
    r"|(?:[%‰°€$£¥₩₹₽]|[万億円元日月年人個本回階分秒]|[^\W\d_]{1,20}[²³2]?)(?:/[^\W\d_]{1,8})?)\.?"
)
_BEFORE = re.compile(r"([^\W\d_][\w$'’-]{0,40})\.?[ \u00a0]\Z")
_YEAR = re.compile(r"\.?,?[ ](?:del? )?((?:19|20)\d\d)(?!\d)")
_MONTH = re.compile(r"[ \u00a0](?:(?:of|de|di) |d')?([^\W\d_]{3,10})")
_ORDINAL = re.compile(r"(?:\.(?=[ ])|(?:st|nd|rd|th|er|ère|ème|º|ª|te|ten|e)(?!\w))?")
_ALPHANUMERIC = re.compile(r"(?=\w{0,39}[^\W\d_])\w{3,40}(?:-\w{1,20}){0,4}")
_STREET = re.compile(
    r"(?: [A-Z][\w'’-]{1,30}){1,3}?"
    r" (?:Street|Road|Avenue|Lane|Drive|Court|Square|Way|Close|Crescent|St|Rd|Ave|Blvd)(?!\w)"
)
_HOURS = lexicon("at um alle às las om")
"""Words before a bare number that make it a time of day."""
_LABELS = lexicon(
    """
    platform gate room floor track line terminal zone apartment flat no number nr page chapter port seat row bus tram
    gleis zimmer stock raum linie nummer seite haus tor regal voie quai chambre salle étage ligne numéro andén vía
    puerta habitación planta línea binario stanza camera piano linea cais porta quarto sala andar linha spoor perron
    kamer verdieping lijn step level class grade size error code pin exit ext extension shelf box drawer bay dock
    issue ticket pr
    """
)
"""Words whose number is a name rather than an amount."""
_AMBIGUOUS = lexicon("in an a el ora m")
"""Units that are also words; they must end a clause or be glued to their number."""


def counted(text: str, start: int, end: int, floor: int) -> Value | None:
    """The value around the number at `start`..`end`; what stands before `floor` is taken. None: not
    exact enough.
    """
    number = text[start:end].rstrip(" -–—/×x")
    end = start + len(number)
    before = _BEFORE.search(text, max(floor, start - 43), start)
    label = before.group(1) if before else ""
    low = label.lower()
    ordinal = _ORDINAL.match(text, end)
    stop = ordinal.end() if ordinal else end
    if (
        before is not None
        and low in MONTHS
        and label[0].isupper()
        and len(number) in (1, 2, 4)
        and number.isdigit()
    ):
        stop = end if text[end:stop] == "." or len(number) == 4 else stop
        return Value(
            text[before.start() : (stop := _with_year(text, stop))], "date", before.start(), stop
        )
    month = _MONTH.match(text, stop)
    if month is not None and month.group(1).lower() in MONTHS and len(number) <= 7:
        stop = _with_year(text, month.end())
        return Value(text[start:stop], "date", start, stop)
    if stop > end and text[end] != ".":
        return Value(text[start:stop], "day", start, stop)
    unit, stop = _unit(text, end)
    if end < len(text) and (text[end].isalpha() or text[end] == "_") and stop == end:
        code = _ALPHANUMERIC.match(text, start)
        return None if code is None else Value(code.group(), "id", start, code.end())
    currency = next(
        (sign for sign in "€$£¥" if sign in number), low if low in UNITS and len(low) == 3 else ""
    )
    if currency and UNITS[currency][1] == "money" and (currency in number or low == currency):
        start = start if currency in number or before is None else before.start()
        return Value(text[start:stop], "quantity", start, stop, UNITS[currency][0])
    if unit or stop > end:
        return Value(text[start:stop], "quantity" if unit else "number", start, stop, unit)
    if before is not None and (low in _LABELS or (label.isupper() and 1 < len(label) <= 4)):
        return Value(text[before.start() : end], "id", before.start(), end)
    return _bare(text, start, end, label, before.start() if before else start)


def _bare(text: str, start: int, end: int, label: str, before: int) -> Value | None:
    """A number without a unit: with the noun it counts, with the name it belongs to, or alone."""
    number = text[start:end]
    low = label.lower()
    street = _STREET.match(text, end)
    if street is not None and number.isdigit():
        return Value(text[start : street.end()], "id", start, street.end())
    noun = _AFTER.match(text, end)
    word = noun.group(1).lower() if noun else ""
    counts = len(word) > 2 and word not in stopwords() and stem(word) not in generic()
    if noun is not None and counts and text[end] in " \u00a0" and len(number) < 4:
        return Value(text[start : noun.end(1)], "quantity", start, noun.end(1), word)
    if low in _HOURS and number.isdigit() and int(number) <= 24:
        return Value(number, "time", start, end)
    if len(number) < 2:
        named = label[:1].isupper() and low not in stopwords() and before > 0
        return Value(text[before:end], "id", before, end) if named else None
    return Value(number, "number", start, end)


def _with_year(text: str, stop: int) -> int:
    year = _YEAR.match(text, stop)
    return year.end() if year else stop


def _unit(text: str, end: int) -> tuple[str, int]:
    """The short name of the unit behind a number and where it ends; a scale such as "Mio." may
    stand between.
    """
    stop = end
    for _ in range(2):
        match = _AFTER.match(text, stop)
        if match is None:
            break
        word = match.group(1).lower().replace(" ", "")
        if (
            stop == end
            and word in SCALES
            and (word not in UNITS or text[match.end() :].lstrip()[:1] in tuple("€$£"))
        ):
            stop = match.end() if len(word) < 4 else match.end(1)
            continue
        base, _, per = word.partition("/")
        if word in UNITS and not _only_a_word(text, stop, match):
            return UNITS[word][0], match.end(1)
        if per and base in UNITS:
            return UNITS[base][0], match.end(1)
        break
    return "", stop


def _only_a_word(text: str, stop: int, match: re.Match[str]) -> bool:
    word = match.group(1)
    if word.lower() not in _AMBIGUOUS or text[stop : stop + 1] not in (" ", "-"):
        return False
    following = text[match.end() : match.end() + 1]
    return word not in ("m",) and not (not following or following in ".,;:)!?")
