"""Verification (pure): what a model's narrative claims to the letter must occur in what it was made
from.
"""

from __future__ import annotations

import re

from msgspec.structs import replace

from chat_loop.context.exact import Value, figures, find, normalize
from chat_loop.context.ledger import REFERENCE
from chat_loop.sessions.records import Summary
from chat_loop.text import sentences

_QUOTED = re.compile(r"[\"“„«](.{3,400})[\"”“»][.!?]?")
_TERM = re.compile(r"[A-ZÀ-ÖØ-Þ]\w{1,60}")
_INSIDE = re.compile(r"(?<=[^\W\d_] )[^\W\d_]{2,60}")  # a word inside a sentence


def verify(narrative: Summary, source: str) -> tuple[Summary, tuple[str, ...]]:
    """Return the narrative without what it invented, and what was taken out of it, in order.

    A bullet, or a sentence of the background, goes when it holds an exact value that never occurs
    in `source` (numbers with units, dates, paths, ids, addresses, versions) or quotes what nobody
    said; a decision also when it holds a name or term that does not occur there. References are no
    values.
    """
    known = _Source(source)
    background = [sentence.text for sentence in sentences(narrative.background)]
    before = (*background, *narrative.topics, *narrative.decisions, *narrative.pending)
    good = dict.fromkeys(filter(known.supports, before))
    decisions = [one for one in narrative.decisions if one in good and known.names_all_of(one)]
    checked = replace(
        narrative,
        background=narrative.background
        if all(one in good for one in background)
        else " ".join(one for one in background if one in good),
        topics=tuple(one for one in narrative.topics if one in good),
        decisions=tuple(decisions),
        pending=tuple(one for one in narrative.pending if one in good),
    )
    kept = {*checked.topics, *checked.decisions, *checked.pending, *(good.keys() & {*background})}
    return checked, tuple(one for one in before if one not in kept)


class _Source:
    """A text in which values are looked up."""

    def __init__(self, text: str) -> None:
        self._flat = _flat(text)
        # so many words inside sentences have capitals that nouns are written so, as in German
        inside = _INSIDE.findall(text[:20_000])
        self._capital_nouns = sum(word[0].isupper() for word in inside) > 0.15 * len(inside)
        found = find(text)
        self._normals = {normalize(value.text) for value in found}
        self._days = {one[-5:] for one in self._normals}
        self._numbers = {tuple(figures(one.text)) for one in found if one.kind == "number"}
        self._counts = self._numbers | {
            tuple(figures(one.text)) for one in found if one.kind in ("quantity", "id")
        }

    def supports(self, line: str) -> bool:
        """Return True when everything exact in a line of the narrative stands in the text."""
        bare = REFERENCE.sub("", line).strip()
        quoted = _QUOTED.fullmatch(bare)
        if quoted is not None:
            return _flat(quoted[1]) in self._flat
        return self._stands(bare) or all(self._holds(value) for value in find(bare))

    def names_all_of(self, line: str) -> bool:
        """Return True when the text names whatever a line names, as far as capitals show."""
        bare = REFERENCE.sub("", line)
        for match in _TERM.finditer(bare):
            before = bare[: match.start()].rstrip(" \"'`“„«*_([-–—")
            opens = not before or before[-1] in ".!?:"
            odd = any(sign.isupper() or sign.isdigit() for sign in match[0][1:])
            if odd or not (opens or self._capital_nouns):
                word = match[0].casefold()
                if len(word) > 4 and word.isalpha():
                    word = word[: max(4, len(word) - 3)]
                if re.search(rf"(?<![^\W_]){re.escape(word)}", self._flat) is None:
                    return False
        return True

    def _holds(self, value: Value) -> bool:
        """Return True when a value stands in the text, perhaps in another spelling."""
        if value.kind in ("quote", "name"):
            return True
        bare, normal = value.text.strip("`\"'"), normalize(value.text)
        if normal in self._normals or any(map(self._stands, (value.text, bare, f"v{bare}"))):
            return True
        numbers = tuple(figures(value.text))
        match value.kind:
            case "date":  # one of the two may leave the year out
                return normal in self._days if len(normal) == 5 else normal[-5:] in self._normals
            case "number":  # the narrator's own count, as in "3 recipes", is small
                small = all(number.isdigit() and int(number) <= 12 for number in numbers)
                return small or numbers in self._counts
            case "quantity" | "time":
                return numbers in self._numbers
        return bare.isalpha()  # a word written as code: `fast`

    def _stands(self, text: str) -> bool:
        """Return True when a text stands in the source, not inside another number or word."""
        flat = _flat(text)
        if not flat or flat not in self._flat:
            return False
        alone = rf"(?<![^\W_])(?<!\d[.,:]){re.escape(flat)}(?![^\W_]|[.,:]\d)"
        return re.search(alone, self._flat) is not None


def _flat(text: str) -> str:
    return " ".join(text.casefold().replace("’", "'").split())
