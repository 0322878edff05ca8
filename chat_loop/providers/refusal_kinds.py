"""Tell what kind of refusal a service sent, by words that stand near each other or near numbers.

Services write the same refusal in hundreds of ways, and send it with many statuses. Each rule
therefore looks for a subject (a key, a context, an image) near what is said of it (expired, too
long, not supported). The words of the innermost message count first, then the names of errors
around it, and last the status.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from chat_loop.providers.upstream import ErrorDetails

Kind = Literal[
    "key",  # missing, wrong, expired, or without the right
    "policy",  # a country, an organization, a data policy or terms forbid it
    "billing",
    "model",  # it or the path is unknown, or not for this account
    "too_long",  # in tokens
    "too_large",  # in bytes, pixels or characters
    "rate",
    "too_large_for_rate",  # this one request is larger than the rate allows
    "parameter",
    "tool",
    "role",
    "content",  # an image, a file, a part
    "overload",
    "failure",
    "timeout",
    "filter",  # of the words
    "output",  # more tokens were asked for than a reply can have
    "order",  # of messages, calls and results
    "other",
]
MAX_WORDS = 3_000  # characters that are judged


class _Near(Struct, frozen=True):
    """One of `words` and one of `by`, in either order, at most `within` characters apart."""

    words: tuple[str, ...]
    by: tuple[str, ...]
    within: int = 60

    def patterns(self) -> Iterator[str]:
        words = f"(?:{'|'.join(self.words)})"
        by = f"(?:{'|'.join(self.by)})"
        between = f".{{0,{self.within}}}?"
        yield f"{words}{between}{by}"
        yield f"{by}{between}{words}"


class _KindRule(Struct, frozen=True):
    """A kind and the words that mean it, unless others stand there too."""

    kind: Kind
    any: tuple[str, ...] = ()
    near: tuple[_Near, ...] = ()
    unless: tuple[str, ...] = ()

    def patterns(self) -> Iterator[str]:
        yield from self.any
        for near in self.near:
            yield from near.patterns()


class _Words(Struct, frozen=True):
    """The content of `refusal_words.toml`."""

    groups: dict[str, tuple[str, ...]]
    rules: tuple[_KindRule, ...]


@cache
def _rules() -> list[tuple[Kind, re.Pattern[str], re.Pattern[str] | None]]:
    """Return each rule: its kind, what must be found, and what must not."""
    content = Path(__file__).with_name("refusal_words.toml").read_bytes()
    words = msgspec.toml.decode(content, type=_Words)

    def compiled(patterns: Iterable[str]) -> re.Pattern[str]:
        pattern = "|".join(patterns)
        for name, group in words.groups.items():
            pattern = pattern.replace(f"{{{name}}}", "|".join(group))
        return re.compile(pattern)

    rules = []
    for rule in words.rules:
        unless = compiled(rule.unless) if rule.unless else None
        rules.append((rule.kind, compiled(rule.patterns()), unless))
    return rules


_URL = re.compile(r"https?://\S+")
_CLASSES = re.compile(r"\b\w+(?:Error|Exception)\b")
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_POSSIBLE: Mapping[int, frozenset[Kind]] = {
    401: frozenset(("policy", "billing")),
    402: frozenset(),
    403: frozenset(("policy", "billing", "model", "filter", "rate")),
    413: frozenset(("too_long", "too_large", "too_large_for_rate")),
    451: frozenset(),
    429: frozenset(("billing", "too_large_for_rate", "rate", "overload")),
}
"""What the words can mean with a status that says much. Anything else is what the status means."""
_IMPOSSIBLE: frozenset[Kind] = frozenset(
    ("policy", "key", "parameter", "output", "filter", "other")
)
"""What they cannot mean if the service itself broke."""
_BY_STATUS: Mapping[int, Kind] = {
    401: "key",
    402: "billing",
    403: "key",
    404: "model",
    408: "timeout",
    409: "failure",
    413: "too_large",
    424: "failure",
    429: "rate",
    451: "policy",
    503: "overload",
    504: "timeout",
    524: "timeout",
    529: "overload",
}


def kind_of(status: int | None, details: ErrorDetails, *, states_wait: bool = False) -> Kind:
    """Return the kind of a refusal, whose `status` is None if it came inside a stream.
    `states_wait` means that the service says when to try again.
    """
    status = details.status or status or 0
    words = _CLASSES.sub(" ", details.message)
    around = _HUMPS.sub(" ", " ".join((*details.codes, *details.around))).replace("_", " ")
    for text in (words, around):
        is_named = text is around
        plain = " ".join(_URL.sub(" ", text).split())[:MAX_WORDS].lower().replace("’", "'")
        for kind in _kinds_in(plain, states_wait=states_wait):
            if _is_possible(kind, status, is_named=is_named):
                return kind
    general: Kind = "other" if 0 < status < 500 else "failure"
    return _BY_STATUS.get(status, general)


def _is_possible(kind: Kind, status: int, *, is_named: bool) -> bool:
    """Return True if a status allows this kind, which is in the words or only in a name."""
    if status in _POSSIBLE:
        return kind in _POSSIBLE[status]
    if kind == "failure" and status:  # many services name every error so
        return status >= 500 and not (is_named and status in _BY_STATUS)
    return status < 500 or kind not in _IMPOSSIBLE


def _kinds_in(text: str, *, states_wait: bool) -> Iterator[Kind]:
    """Yield what the words can mean, the most specific first."""
    limit, requested = (_number_after(word, text) for word in ("limit", "requested"))
    for kind, words, others in _rules():
        if not words.search(text) or (others and others.search(text)):
            continue
        if kind == "rate" and requested > limit > 0:
            yield "too_large_for_rate"
        if kind == "billing" and "quota" in text and states_wait:
            yield "rate"  # it is filled again by itself
        yield kind


def _number_after(word: str, text: str) -> int:
    found = re.search(rf"\b{word}:? ~?(\d[\d,]*)", text)
    if found:
        return int(found[1].replace(",", ""))
    return 0
