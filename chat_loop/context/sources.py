"""Sources (pure): finds the lines of tool results from which a reply took its exact values.

A reply often gives a value without saying what it belongs to: "It is 5150." The line in the result
says that, together with the call: `config.yaml: port: 5150`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from itertools import islice

from chat_loop.context.exact import figures
from chat_loop.library.terms import by_script, pairs
from chat_loop.providers.replies import arguments_of
from chat_loop.sessions.records import Exchange, Use

LOOKED_AT = 60_000  # characters of a result, from its beginning
SHORTEST = 3  # characters of a value: a shorter one is in many lines by chance
LONGEST = 200  # characters of a line
LONGEST_ARGUMENT = 80  # characters
PLACES = 20  # of a value in a result; those after them are not compared
KNOWN = 0.5
"""A sentence says itself what its value belongs to if it has this share of the line's words, of
which only those of the query count, if there are any, or a name like `MAX_SIZE` in it.
"""
STEM = 5  # characters of a word, in which its inflected forms do not differ
_STEM = re.compile(rf"([^\W\d_]{{1,{STEM}}})[^\W\d_]*")


def stems(text: str) -> frozenset[str]:
    """Return the beginnings of the words in a text, in which inflected forms do not differ. In
    scripts without blanks, two neighbors count as a word.
    """
    parts = by_script(text.casefold())
    found: set[str] = set()
    for part in parts[::2]:
        found.update(_STEM.findall(part))
    for run in parts[1::2]:
        found.update(pairs(run))
    return frozenset(found)


def source_lines(exchange: Exchange, sentence: str, values: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines of an exchange's results with the `values` of a sentence of its reply, each
    after what its call asked for. Values of the query are not from a result. A line is left out if
    the sentence says itself what the value belongs to.
    """
    query = exchange.query.text
    asked = stems(query)
    for value in values:
        if value in query:
            continue
        known = stems(sentence.replace(value, " "))
        line = _best_line(exchange.uses, value, known | asked)
        words = stems(line)
        telling = (words & asked) or words
        if len(telling & known) < KNOWN * len(telling) and not _is_named(value, values, line):
            yield line


def _is_named(value: str, values: tuple[str, ...], line: str) -> bool:
    """Return True if the line has two values of the sentence, of which one is a name."""
    others = (other for other in values if other != value and other in line)
    return any(stems(f"{value} {other}") for other in others)


def _best_line(uses: tuple[Use, ...], value: str, words: Set[str]) -> str:
    """Return the line with a value that has the most of `words`, the first of several. If no line
    has any, return one only if it is the only one.
    """
    found: list[str] = []
    for use in uses:
        found += _lines_with(use, value)
    if not found:
        return ""
    best = max(found, key=lambda line: len(stems(line) & words))
    if len(found) > 1 and stems(best).isdisjoint(words):
        return ""
    return best


def _lines_with(use: Use, value: str) -> Iterator[str]:
    """Yield the lines of a result that contain a value, or its number if the unit differs."""
    if use.result is None:
        return
    text = use.result.text[:LOOKED_AT]
    for form in (value.strip("`\"'*"), *figures(value)):
        if len(form) < SHORTEST or form not in text:
            continue
        whole = rf"(?<![^\W_])(?<!\d[.,:]){re.escape(form)}(?![^\W_]|[.,:]\d)"
        for place in islice(re.finditer(whole, text), PLACES):
            start = text.rfind("\n", 0, place.start()) + 1
            end = text.find("\n", place.end())
            if end < 0:
                end = len(text)
            line = " ".join(text[start:end].split())
            if len(line) <= LONGEST:
                yield _with_origin(use, line)
        return


def _with_origin(use: Use, line: str) -> str:
    """Return a line after the first argument of its call, or after the tool if that is long or if
    the line has it anyway.
    """
    first = _first_argument(use)
    if not first or first in line:
        first = use.call.name
    return f"{first}: {line}"


def call_text(use: Use) -> str:
    """Return the tool of a call, and its first argument if that is short."""
    return f"{use.call.name} {_first_argument(use)}"


def _first_argument(use: Use) -> str:
    """Return the first text among the arguments of a call. It is empty if there is none, or if it
    is long.
    """
    arguments = arguments_of(use.call.arguments) or {}
    for value in arguments.values():
        if isinstance(value, str) and value.strip():
            first = " ".join(value.split())
            return first if len(first) <= LONGEST_ARGUMENT else ""
    return ""
