"""Words for searching (pure): how text is folded and cut into words, what a query asks for, which
words are related.

Everything here is bounded: a query of any length gives at most `MOST_TERMS` terms.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from math import ceil

from msgspec import Struct

MOST_TERMS = 32
_ENDS = 4_000
"""Characters at a query's beginning and at its end that are looked at: what is asked stands
there.
"""
_MOST_PARTS = 8

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
"""Scripts that are written without blanks: every character is a word there, and every two
neighbours are a term.
"""

_WORD = re.compile(f"[{_UNSPACED}]|[^\\W_{_UNSPACED}]+")
_TOKEN = re.compile(f"[{_UNSPACED}]+|[^\\s\"'`´’“”„«»‹›(){{}}<>|\\[\\]{_UNSPACED}]{{1,200}}")
_UNSPACED_ONE = re.compile(f"[{_UNSPACED}]")
_EDGES = re.compile(r"\A[\W_]+|[\W_]+\Z")
_DIGIT = re.compile(r"\d")
_JOINED = re.compile(r"\w[/_@\\.:]{1,3}\w")
_HYPHENATED = re.compile(f"[^\\W_{_UNSPACED}]+(?:-[^\\W_{_UNSPACED}]+){{1,3}}")
_GRAMMAR = re.compile("[\u3040-\u309f的了吗呢吧我你他她它们是在有和就都也很不这那哪什么怎为个]+")
"""Hiragana and the commonest Chinese particles: they part the words that are searched for."""
_MARKS = re.compile("[\u0300-\u036f]+")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

_EUROPEAN = """s es e en er n em ern ens ed d ing ung ungen t te ten st est et ts a o as os i ee ees ez ent ant ar ado
    ada ados adas ido ida ir ion ions cion ciones tion tions ment ments x aux heit keit lich ly re ra ie y ies elle
    mente а я ы и у ю е о ои ом ов ам ах ами ть ет ит ют ят ешь ишь л ла ли ло ия ии ию"""
_ENDINGS = tuple(sorted(_EUROPEAN.split(), key=lambda ending: (-len(ending), ending)))
_SHORT_ENDINGS = frozenset(("s", "e", "es", "en", "er"))
_PARTICIPLE = re.compile(
    r"(ab|an|auf|aus|bei|ein|fest|her|hin|los|mit|nach|um|vor|weg|zu|)ge(?=.{3,24}(?:t|en)\Z)"
)


def fold(text: str) -> str:
    """Small letters without accents; what cannot be stored becomes a blank."""
    if text.isascii():
        return text.lower().replace("\x00", " ")
    return _UNSTORABLE.sub(" ", _MARKS.sub("", unicodedata.normalize("NFKD", text.casefold())))


def words(text: str) -> list[str]:
    """The words of a text in order; one that is hyphenated comes a second time, in one piece, at
    the end.
    """
    folded = fold(text)
    found = _WORD.findall(folded)
    if "-" in folded:
        found += [whole.replace("-", "") for whole in _HYPHENATED.findall(folded)]
    return found


def phrase(token: str) -> list[str]:
    """The words of an id or a word as they stand one after the other in a sentence."""
    return _WORD.findall(fold(token))


def ids(text: str) -> list[str]:
    """The ids, numbers, paths and addresses of a text, folded: what is searched for as it
    stands.
    """
    return [token for token in _tokens(text) if _is_exact(token)]


class Term(Struct, frozen=True):
    """One thing that a query asks for: `words` that stand one after the other; `text` is the same
    as it was written.

    `exact`: an id, a number, a path; whoever has it comes first. `plain`: one word, which may have
    other forms. `of`: the id that it is a part of; it is looked for where nobody has the whole.
    """

    text: str
    words: tuple[str, ...]
    exact: bool = False
    of: str = ""

    @property
    def plain(self) -> bool:
        return not self.exact and self.text == self.words[0]


def terms(text: str) -> tuple[Term, ...]:
    """What a query asks for, each once: at most MOST_TERMS, half from its beginning and half from
    its end.
    """
    if len(text) > 2 * _ENDS:
        text = f"{text[:_ENDS]} {text[-_ENDS:]}"
    every = [term for token in _tokens(text) for term in _terms_of(token)]
    alone = {term.words for term in every if not term.of}
    parts = {term.words: term for term in every if term.of and term.words not in alone}
    found = tuple(
        dict.fromkeys(term for term in every if not term.of or parts.get(term.words) == term)
    )
    return (
        found
        if len(found) <= MOST_TERMS
        else (*found[: MOST_TERMS // 2], *found[-MOST_TERMS // 2 :])
    )


def without_common(found: tuple[Term, ...], common: Collection[str]) -> tuple[Term, ...]:
    """Those of the terms that are neither single letters nor words in `common` (folded)."""
    return tuple(
        term
        for term in found
        if not term.plain or not (term.text in common or _is_letter(term.text))
    )


def _is_letter(text: str) -> bool:
    return len(text) == 1 and text.isalpha() and _UNSPACED_ONE.match(text) is None


def _tokens(text: str) -> list[str]:
    return [token for found in _TOKEN.findall(fold(text)) if (token := _EDGES.sub("", found))]


def _is_exact(token: str) -> bool:
    if _DIGIT.search(token):
        return len(token) > 2 or not token.isdigit()
    return len(token) > 3 and _JOINED.search(token) is not None


def _terms_of(token: str) -> list[Term]:
    parts = tuple(_WORD.findall(token))
    if _UNSPACED_ONE.match(token):
        contents = [content for content in _GRAMMAR.split(token) if content] or [token]
        pairs = (
            content[at : at + 2] if len(content) > 1 else content
            for content in contents
            for at in range(max(1, len(content) - 1))
        )
        return [Term(pair, tuple(pair)) for pair in pairs]
    if not parts or not _is_exact(token):
        joined = "".join(parts)
        whole = (joined,) if len(parts) > 1 and joined == token.replace("-", "") else ()
        return [Term(part, (part,)) for part in (*whole, *parts)]
    several = parts if 1 < len(parts) <= _MOST_PARTS else ()
    telling = (part for part in several if part.isalpha() and len(part) > 2)
    return [Term(token, parts, exact=True), *(Term(part, (part,), of=token) for part in telling)]


def without_parts(asked: Iterable[Term], there: Collection[str]) -> list[Term]:
    """Leave out the words of ids that are `there` themselves: `key` for `s3.key`."""
    return [term for term in asked if not term.of or term.of not in there]


def stem(word: str) -> str:
    """A word without the commonest endings of European languages; at least 3 characters stay,
    mostly 4.
    """
    if len(word) > 3 and not word[-1].isdigit():
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= (
                3 if ending in _SHORT_ENDINGS else 4
            ):
                return word[: -len(ending)]
    return word


def forms(word: str) -> tuple[str, ...]:
    """A word and, for a German participle, the verb in it: `eingeschult` -> `einschult`."""
    return (word, _PARTICIPLE.sub(r"\1", word, count=1)) if _PARTICIPLE.match(word) else (word,)


def root(word: str) -> str:
    """What the other forms and the compounds of a word have in common with it."""
    short = stem(word)
    return short[: max(4, ceil(0.65 * len(short)))]


def pieces(word: str) -> set[str]:
    """The beginnings and the ends of a word that could be parts of a compound."""
    return {piece for at in range(4, min(len(word), 40) - 2) for piece in (word[:at], word[-at:])}


def related(one: str, other: str) -> float:
    """How surely two words mean the same, 0 to 1: forms of one word, parts of a compound, a long
    common beginning.
    """
    if one == other:
        return 1.0
    short, long = sorted((one, other), key=len)
    base = stem(short)
    if base == stem(long):
        return 0.9
    found = 0.0
    inside = len(base) >= 4 and len(long) - len(base) >= 3 and len(short) >= 0.45 * len(long)
    if inside and (long.startswith(base) or long.endswith(short) or stem(long).endswith(base)):
        found = 0.6 if len(base) >= 5 else 0.4
    shared = max(4, ceil(0.65 * len(long)))
    return max(found, 0.5) if one[:shared] == other[:shared] else found
