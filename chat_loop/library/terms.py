"""Words for searching (pure): the words of a text, the terms of a query, and related words."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path

from msgspec import Struct

from chat_loop.text import sentences

MAX_TERMS = 32
QUESTION_MARK = "?"
VALUE_MARK = "#"
"""Marks at the beginning of the line of a sentence that is a question, or that contains a value."""
SAME = 0.9  # the certainty that two forms of one word mean the same
_FORM = 0.8
ALIKE = 0.65
_PART = 0.45
"""The least share of the longer word that two forms, two similar words, or a compound share."""
_ENDINGS = {
    *("", "s", "es", "e", "d", "ed", "ing", "ning", "ting", "y", "ies", "ied"),
    *("n", "en", "er", "ly"),
}
"""Endings by which the forms of one word differ after their common beginning."""
# the least and most letters of a word that is also found by its end
COMPOUND = 8
MAX_WORD = 40
_LONGER_ID = 0.6  # the certainty that an id means a shorter one with which it begins
_ENDS = 4_000  # characters that are read at the beginning and at the end of a long query

_UNSPACED = (
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+)"
)
"""Scripts without blanks: every character is a word, and every two neighbors are a term. The large
sets take milliseconds to compile, so `re` compiles them when a text first needs them.
"""
_WORD = re.compile(r"[^\W_]+")
_TOKEN = re.compile(r"[^\s\"'`´’“”„«»‹›(){}<>|\[\]]{1,200}")
_EDGES = re.compile(r"\A[\W_]+|[\W_]+\Z")
_JOINED = re.compile(r"\w[/_@\\.:]{1,3}\w")
_HYPHENATED = re.compile(r"[^\W_]+(?:-[^\W_]+){1,3}")
_GRAMMAR = "[\u3040-\u309f的了吗呢吧我你他她它们是在有和就都也很不这那哪什么怎为个]+"
"""Hiragana and the most common Chinese particles, which separate the words of a query."""
_MARKS = re.compile("[\u0300-\u036f]+")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_JOINT = re.compile(r"\w[^\w\s]\w|_")
WIDE = {mark: mark - 0x20 + 0xFF00 for mark in range(0x21, 0x7F) if not chr(mark).isalnum()}
"""ASCII marks as wide ones, at which FTS5's tokenizer does not split: an id stays one word."""
_VALUE = re.compile(r"[\d`/@_]")


class Term(Struct, frozen=True):
    """A term of a query. `exact` means an id, number or path. `of` is the id that it is part of."""

    text: str
    words: tuple[str, ...]
    exact: bool = False
    of: str = ""

    @property
    def plain(self) -> bool:
        """True for a single word, which may have other forms."""
        return not self.exact and self.text == self.words[0]


def fold(text: str) -> str:
    """Return text in lower case without accents. Characters that cannot be stored become blanks."""
    if text.isascii():
        return text.lower().replace("\x00", " ")
    return _UNSTORABLE.sub(" ", _MARKS.sub("", unicodedata.normalize("NFKD", text.casefold())))


def words(text: str) -> list[str]:
    """Return the words of a text, then long words reversed, ids of several words as one word, and
    hyphenated words joined. Reversed, `Verwaltung` is the beginning of `Hausverwaltung`.
    """
    folded = fold(text)
    result = _cut(folded)
    result += [word[::-1] for word in result if COMPOUND <= len(word) <= MAX_WORD]
    if len(result) > 1 and _JOINT.search(folded):
        result += [token.translate(WIDE) for token in _tokens(folded) if _is_exact(token)]
    if "-" in folded:
        for part in by_script(folded)[::2]:
            for whole in _HYPHENATED.findall(part):
                result.append(whole.replace("-", ""))
    return result


def lines(*texts: str) -> str:
    """Return the words of texts for the index, one line per sentence, with its marks in front."""
    result = []
    for text in texts:
        for line in sentences(text):
            marks = QUESTION_MARK * is_question(line.text) + VALUE_MARK * has_value(line.text)
            result.append(f"{marks} {' '.join(words(line.text))}")
    return "\n".join(result)


def has_value(sentence: str) -> bool:
    """Return True for a sentence with a digit or a sign of an exact value."""
    return _VALUE.search(sentence) is not None


def is_question(sentence: str) -> bool:
    """Return True for a question, and for a sentence that begins like a request."""
    if sentence.rstrip("\"'”»)*_ \n").endswith(("?", "？")):
        return True
    return not _word_list("requests").isdisjoint(_cut(fold(sentence[:40]))[:1])


def terms(text: str) -> tuple[Term, ...]:
    """Return the terms of a query, each once. Of more than MAX_TERMS, return half from each end."""
    if len(text) > 2 * _ENDS:
        text = f"{text[:_ENDS]} {text[-_ENDS:]}"
    every: list[Term] = []
    for token in _tokens(fold(text)):
        every += _terms_of(token)
    alone = {term.words for term in every if not term.of}
    parts = {term.words: term for term in every if term.of and term.words not in alone}
    unique = tuple(
        dict.fromkeys(term for term in every if not term.of or parts.get(term.words) == term)
    )
    if len(unique) <= MAX_TERMS:
        return unique
    half = MAX_TERMS // 2
    return (*unique[:half], *unique[-half:])


def drop_common(asked: tuple[Term, ...]) -> tuple[Term, ...]:
    """Drop single letters and common words."""
    common = common_words(MAX_WORD)

    def tells(text: str) -> bool:
        is_letter = len(text) == 1 and text.isalpha() and not _is_unspaced(text)
        return not (is_letter or text in common)

    return tuple(term for term in asked if not term.plain or tells(term.text))


@cache
def common_words(length: int) -> frozenset[str]:
    """Return the beginnings of words that say nothing of what a text is about, folded."""
    common = _word_list("function_words") | _word_list("requests")
    return frozenset(word[:length] for word in common)


def related(term: Term, word: str) -> float:
    """Return the certainty, 0 to 1, that a word means a term: another form, a part, a longer id."""
    asked = term.words[0]
    if asked == word:
        return 1.0
    if term.exact:
        return _LONGER_ID if word.startswith(asked) else 0.0
    short = asked
    long = word
    if len(asked) > len(word):
        short = word
        long = asked
    few = len(short)
    many = len(long)
    shared = next((at for at, char in enumerate(short) if long[at] != char), few)
    if shared >= 3 and short[shared:] in _ENDINGS and long[shared:] in _ENDINGS:
        return SAME
    if few < 4:
        return 0.0
    if shared >= 4 and shared >= _FORM * many:
        return SAME
    is_part = few >= _PART * many and (shared == few or long.endswith(short))
    if is_part and few >= 5:
        return 0.6
    is_alike = shared >= 4 and shared >= ALIKE * many
    if is_alike:
        return 0.5
    return 0.4 if is_part else 0.0


@cache
def _word_list(name: str) -> frozenset[str]:
    """Return the folded words of a list: function words, or the first words of requests."""
    path = Path(__file__).parent / "data" / f"{name}.txt"
    return frozenset(words(path.read_text("utf-8")))


def _is_unspaced(text: str) -> bool:
    return not text.isascii() and re.match(_UNSPACED, text) is not None


def by_script(text: str) -> list[str]:
    """Split a text by script. Every second part is in scripts without blanks."""
    return [text] if text.isascii() else re.split(_UNSPACED, text)


def pairs(run: str) -> list[str]:
    """Return the terms of a run of characters in a script without blanks, without its grammar."""
    result: list[str] = []
    for part in re.split(_GRAMMAR, run):
        result += _neighbors(part)
    return result


def _neighbors(part: str) -> list[str]:
    """Return every two neighbors, or a single character."""
    return [part[at : at + 2] for at in range(len(part) - 1)] or [*part]


def _cut(folded: str) -> list[str]:
    """Return the words of a folded text."""
    result: list[str] = []
    for at, part in enumerate(by_script(folded)):
        result += part if at % 2 else _WORD.findall(part)
    return result


def _tokens(folded: str) -> list[str]:
    texts: list[str] = []
    for at, part in enumerate(by_script(folded)):
        texts += [part] if at % 2 else _TOKEN.findall(part)
    return [token for text in texts if (token := _EDGES.sub("", text))]


def _is_exact(token: str) -> bool:
    if any(map(str.isdecimal, token)):
        return len(token) > 2 or not token.isdigit()
    return len(token) > 3 and _JOINED.search(token) is not None


def _terms_of(token: str) -> list[Term]:
    parts = tuple(_cut(token))
    if _is_unspaced(token):
        return [Term(pair, tuple(pair)) for pair in pairs(token) or _neighbors(token)]
    if not parts or not _is_exact(token):
        joined = "".join(parts)
        if len(parts) > 1 and joined == token.replace("-", ""):
            parts = (joined, *parts)
        return [Term(part, (part,)) for part in parts]
    result = [Term(token, parts, exact=True)]
    if 1 < len(parts) <= 8:
        telling = (part for part in parts if part.isalpha() and len(part) > 2)
        result += [Term(part, (part,), of=token) for part in telling]
    return result
