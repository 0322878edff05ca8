"""Verification (pure): what a model's narrative claims to the letter must occur in what it was made
from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from chat_loop.context.exact import SCALES, Value, figure, figures, find, normalize
from chat_loop.context.ledger import REFERENCE
from chat_loop.sessions.records import Summary
from chat_loop.text import sentences

_QUOTED = re.compile(r"[\"“„«](.{3,400})[\"”“»][.!?]?")
_FIGURES = re.compile(r"\d(?:[\d.,'’ \u00a0\u202f]{0,30}\d)?")
_SCALE = re.compile(r"[ \u00a0\u202f]?([^\W\d_]{1,10})\.?")
_INSIDE_BEFORE = re.compile(r"[^\W_]\Z|\d[.,:]\Z")
_INSIDE_BEHIND = re.compile(r"[^\W_]|[.,:]\d")
"""A character that continues a number or word."""
_AROUND = 40
"""Characters before and behind a figure in which its unit or month stands."""
_PLACES = 40
"""Occurrences of one figure that are looked at."""
_LETTERS = frozenset(
    {"url", "email", "path", "id", "version", "address", "phone", "code", "identifier"}
)
"""Kinds that are compared by their characters alone."""
_TERM = re.compile(r"[A-ZÀ-ÖØ-Þ]\w{1,60}")
_INSIDE = re.compile(r"(?<=[^\W\d_] )[^\W\d_]{2,60}")
_NOUNS = 0.15
"""The share of words inside sentences that have capitals in a text whose nouns are written so."""
_OPENING = " \"'`“„«*_([-–—"
_OWN_COUNTS = 12
"""Up to here a number without a unit may be the narrator's own count: "3 recipes"."""
_NUMBER_WORDS = {
    word: str(number)
    for number, words in enumerate(
        (
            "two zwei deux dos due dois twee",
            "three drei trois tres tre três drie",
            "four vier quatre cuatro quattro quatro",
            "five fünf cinq cinco cinque vijf",
            "six sechs seis sei zes",
            "seven sieben sept siete sette sete zeven",
            "eight acht huit ocho otto oito",
            "nine neun neuf nueve nove negen",
            "ten zehn dix diez dieci dez tien",
            "eleven elf onze once undici",
            "twelve zwölf douze doce dodici doze twaalf",
        ),
        2,
    )
    for word in words.split()
}


def verified(narrative: Summary, source: str) -> tuple[Summary, tuple[str, ...]]:
    """Return the narrative without what it invented, and what was taken out of it, in order.

    A bullet, or a sentence of the background, goes when it holds an exact value that never occurs
    in `source` (numbers with units, dates, paths, ids, addresses, versions) or quotes what nobody
    said; a decision also when it holds a name or term that does not occur there. References are no
    values.
    """
    known = _Source(source)
    refused: list[str] = []

    def kept(lines: tuple[str, ...], *, strictly: bool = False) -> tuple[str, ...]:
        good = tuple(
            line
            for line in lines
            if known.supports(line) and not (strictly and known.lacks_a_term(line))
        )
        refused.extend(line for line in lines if line not in good)
        return good

    background = [sentence.text for sentence in sentences(narrative.background)]
    good = kept(tuple(background))
    checked = replace(
        narrative,
        background=narrative.background if len(good) == len(background) else " ".join(good),
        topics=kept(narrative.topics),
        decisions=kept(narrative.decisions, strictly=True),
        pending=kept(narrative.pending),
    )
    return checked, tuple(refused)


class _Source:
    """A text in which values are looked up; it is read once, and closely only around the figures
    that are asked for.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._nouns_have_capitals = _has_capital_nouns(text[:20_000])
        self._flat = _plain(text)
        self._letters = "".join(self._flat.split())
        self._places: dict[str, list[int]] = {}
        for match in _FIGURES.finditer(text):
            names = {figure(match.group()), *map(figure, match.group().split())}
            scale = _SCALE.match(text, match.end())
            if scale is not None and scale.group(1).lower() in SCALES:
                names.add(figures(normalize(match.group() + scale.group()))[0])
            for name in names:
                self._places.setdefault(name.lstrip("0") or "0", []).append(match.start())
        self._spelled = {
            _NUMBER_WORDS[word] for word in set(self._flat.split()) & _NUMBER_WORDS.keys()
        }

    def supports(self, line: str) -> bool:
        """Tell whether everything exact in a line of the narrative stands in the text."""
        bare = REFERENCE.sub("", line).strip()
        quoted = _QUOTED.fullmatch(bare)
        if quoted is not None:
            return _plain(quoted.group(1)) in self._flat
        return self._stands(bare) or all(self._holds(value) for value in find(bare))

    def lacks_a_term(self, line: str) -> bool:
        """Tell whether a line names somebody or something that the text does not name, as far as
        capitals show.

        Other forms of a word count as the word. Where all nouns have capitals, as in German, only
        those tell that are written as no noun is.
        """
        bare = REFERENCE.sub("", line)
        for match in _TERM.finditer(bare):
            word = match.group()
            opens = (
                not bare[: match.start()].strip(_OPENING)
                or bare[: match.start()].rstrip(_OPENING)[-1:] in ".!?:"
            )
            odd = any(sign.isupper() or sign.isdigit() for sign in word[1:])
            if (odd or not (opens or self._nouns_have_capitals)) and not self._begins_a_word(
                word.casefold()
            ):
                return True
        return False

    def _begins_a_word(self, word: str) -> bool:
        """Tell whether some word of the text begins as this one does, but for its ending."""
        least = word if len(word) < 5 or not word.isalpha() else word[: max(4, len(word) - 3)]
        return re.search(rf"(?<![^\W_]){re.escape(least)}", self._flat) is not None

    def _holds(self, value: Value) -> bool:
        if value.kind in _LETTERS:
            bare = value.text.strip("`\"'")
            spaced = (value.kind == "phone" or " " in bare) and normalize(
                value.text
            ) in self._letters
            return (
                not _characteristic(value)
                or spaced
                or self._stands(bare)
                or self._stands(f"v{bare}")
            )
        if value.kind not in ("quantity", "number", "date", "time"):
            return True
        wanted = figures(value.text)
        own_count = value.kind == "number" and all(map(_small, wanted))
        if own_count or not wanted or self._stands(value.text):
            return True
        near = (one for figure_ in _alternatives(value, wanted) for one in self._near(figure_))
        return any(_means(one, value) for one in near) or set(wanted) <= self._spelled

    def _stands(self, text: str) -> bool:
        """Tell whether the text stands in the source, and not inside another number or word."""
        wanted = _plain(text)
        at = -1
        for _ in range(_PLACES if wanted else 0):
            at = self._flat.find(wanted, at + 1)
            if at < 0:
                return False
            before, behind = (
                self._flat[max(0, at - 2) : at],
                self._flat[at + len(wanted) : at + len(wanted) + 2],
            )
            if not (_INSIDE_BEFORE.search(before) or _INSIDE_BEHIND.match(behind)):
                return True
        return False

    def _near(self, number: str) -> Iterator[Value]:
        """Yield the exact values around the places where a figure stands."""
        for place in self._places.get(number.lstrip("0") or "0", ())[:_PLACES]:
            yield from find(self._text[max(0, place - _AROUND) : place + _AROUND])


def _means(near: Value, value: Value) -> bool:
    """Tell whether a value of the source is the one that is asked for, perhaps said otherwise."""
    said, asked = normalize(near.text), normalize(value.text)
    if said == asked:
        return True
    if value.kind == "date" and near.kind == "date":
        return said.endswith(asked) or asked.endswith(said)
    counts = near.kind in ("number", "quantity", "id")
    return (
        counts and "number" in (near.kind, value.kind) and figures(near.text) == figures(value.text)
    )


def _has_capital_nouns(text: str) -> bool:
    """Tell whether so many words inside sentences have capitals that nouns are written so."""
    inside = _INSIDE.findall(text)
    capitals = sum(1 for word in inside if word[0].isupper())
    return capitals > _NOUNS * len(inside)


def _plain(text: str) -> str:
    return " ".join(text.casefold().replace("’", "'").split())


def _characteristic(value: Value) -> bool:
    """Tell whether a value written as code is more than a word: `npm run build`, not `fast`."""
    return not value.text.strip("`").isalpha()


def _small(number: str) -> bool:
    return number.isdigit() and int(number) <= _OWN_COUNTS


def _alternatives(value: Value, wanted: list[str]) -> list[str]:
    """Return the figures by which a value may be found: 15:00 also as 3, 2 million as 2000000."""
    numbers = [wanted[0]] if wanted else []
    canonical = normalize(value.text)
    if value.kind == "time" and canonical[:2].isdigit():
        hour = int(canonical[:2])
        numbers += [str(hour), str((hour + 12) % 24)]
    elif value.kind == "date":
        numbers += [str(int(part)) for part in canonical.split("-") if part.isdigit()]
    else:
        numbers += figures(canonical)[:1]
    return list(dict.fromkeys(numbers))
