"""Redact secrets from text that leaves the transcript: for a summary, a log, an index, an export.

A value is a secret if it is one of the program's own keys (`keys_from`), if it or the header around
it has a known shape, or if a name beside it says so, as in `password = …`. Looking random is not
enough: hashes and ids do, too. The rules are in `patterns.toml`; every pattern takes linear time.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

_FILLER = "\ufdd0"  # for the marks of an earlier redaction: a noncharacter
_JUDGED = 128  # characters of a value that are judged; the rest of the run is treated like them
_URL_SAFE = str.maketrans("+/", "-_")  # the alphabet of base64 in addresses
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
)
_own_keys: list[Callable[[], frozenset[str]]] = []


class Secret(NamedTuple):
    """A secret in a text: its first index, the index after it, and its kind."""

    start: int
    end: int
    kind: str


class Redactor:
    """Redacts one document: equal secrets become equal marks, `[REDACTED:kind:number]`. With
    `keeps_lines`, a mark is followed by the newlines of its secret.
    """

    def __init__(self, *marked: str, keeps_lines: bool = False) -> None:
        self._keeps_lines = keeps_lines
        self._numbers: dict[str, int] = {}
        self._last = 0
        for text in marked:
            self._count(text)

    def __call__(self, text: str) -> str:
        self._count(text)
        for _ in range(8):  # removing one may uncover another
            secrets = find_secrets(text)
            if not secrets:
                break
            parts = []
            done = 0
            for start, end, kind in secrets:
                number = self._numbers.setdefault(text[start:end], self._last + 1)
                self._last = max(self._last, number)
                parts += [text[done:start], f"[REDACTED:{kind}:{number}]"]
                if self._keeps_lines:
                    parts.append("\n" * text.count("\n", start, end))
                done = end
            text = "".join(parts) + text[done:]
        return text

    def _count(self, text: str) -> None:
        if "[REDACTED:" not in text:
            return
        for mark in _compiled("mark").finditer(text):
            if mark[1].isdecimal() and int(mark[1]) < 100_000:
                self._last = max(self._last, int(mark[1]))


def redact_text(text: str) -> str:
    """Return a text, redacted as a separate document, with a mark replacing each secret."""
    return Redactor()(text)


def is_clean(text: str) -> bool:
    """Return True for a text without secrets and without the marks of an earlier redaction."""
    return "[REDACTED:" not in text and not find_secrets(text)


def keys_from(source: Callable[[], Iterable[str]]) -> None:
    """Redact the keys that the program uses, which `source` returns, except plain words."""

    def is_plain(key: str) -> bool:
        return len(key) < 12 or (key.isalpha() and (key.isupper() or key[1:].islower()))

    def forms() -> Iterator[str]:
        """Yield each key, and the part of its base64 form that depends only on the key, for each
        offset in a group of three bytes: encoded text may contain more before and after the key.
        """
        for key in source():
            if not is_plain(key):
                yield key
                for ahead in range(3):
                    data = key.encode("utf-8", "replace")
                    packed = base64.b64encode(bytes(ahead) + data).decode()
                    packed = packed[(0, 2, 3)[ahead] : (ahead + len(data)) * 8 // 6]
                    yield from (packed, packed.translate(_URL_SAFE))

    _own_keys[:] = [cache(lambda: frozenset(forms()))]


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets in a text, in order and without overlaps. Marks are not secrets."""
    secrets = _find(text)
    if _INVISIBLE.search(text):  # as in a key that was copied from a page
        seen = [at for at, sign in enumerate(text) if not _INVISIBLE.match(sign)]
        for start, end, kind in _find(_INVISIBLE.sub("", text)):
            secrets.append(Secret(seen[start], seen[end - 1] + 1, kind))
    merged: list[Secret] = []
    for secret in sorted(secrets, key=lambda secret: (secret.start, -secret.end)):
        if merged and secret.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, secret.end))
        else:
            merged.append(secret)
    return merged


def _find(text: str) -> list[Secret]:
    """Return the secrets in a text as they are found: they may overlap."""
    if "[REDACTED:" in text:
        text = _compiled("mark").sub(lambda mark: _FILLER * len(mark[0]), text)
    lowered = text.replace("\u0130", "i").lower()  # the only character that lowers to two
    secrets: list[Secret] = []
    for keys in _own_keys:
        for key in filter(text.__contains__, keys()):
            for match in re.finditer(re.escape(key), text):
                secrets.append(Secret(*match.span(), "key"))
    tokens = text if _LONG_WORD.search(text) else ""
    for anchored, source in zip(_rules(), (tokens, text, lowered), strict=True):
        for rule in dict.fromkeys(rule for anchor, rule in anchored if anchor in source):
            for match in re.finditer(rule.pattern, source):
                start, end = match.span(match.lastindex or 0)
                value = text[start:end].rstrip(".")
                if rule.is_secret(value):
                    secrets.append(Secret(start, start + len(value), rule.kind))
    return [*secrets, *_named(text, lowered)]


@cache
def _data() -> dict[str, Any]:
    data = Path(__file__).with_name("patterns.toml").read_bytes()
    return msgspec.toml.decode(data, type=dict[str, Any])


@cache
def _compiled(name: str) -> re.Pattern[str]:
    """Return a pattern of `patterns.toml`, with the patterns that it names."""
    whole = "".join(_data()["patterns"][name])
    return re.compile(re.sub("@([a-z-]+)@", lambda match: _compiled(match[1]).pattern, whole))


def _full(name: str, text: str) -> bool:
    return _compiled(name).fullmatch(text) is not None


def _has(name: str, text: str) -> bool:
    return _compiled(name).search(text) is not None


class _SecretRule(NamedTuple):
    """A kind of secret, its pattern, and the judge of a value. The value is the last group of the
    pattern or, if there is no group, the whole match.
    """

    kind: str
    pattern: str
    is_secret: Callable[[str], bool]


_Anchored = list[tuple[str, _SecretRule]]
"""Texts, each with a rule. Every match of a rule's pattern contains one of the rule's texts."""
_LONG_WORD = re.compile(r"\S{20}")  # every token is such a word, with its prefix
_FOLDED = ("authorization", "cookie", "password")  # the kinds whose patterns are in lower case


@cache
def _rules() -> tuple[_Anchored, _Anchored, _Anchored]:
    """Read the rules for tokens, for other values with a known shape, and for such values in lower
    case. Each pattern is compiled when it is needed.
    """
    data = _data()
    tokens: _Anchored = []
    others: tuple[_Anchored, _Anchored] = ([], [])
    for kind, sign, least, listed in data["tokens"]["rows"]:
        prefixes = tuple(listed.split())
        before = ""
        if listed == "sk-":  # not disk-, task-
            before = r"(?:(?<![^\W_])|(?<=\\[nrt]))"
        prefix = "|".join(map(re.escape, prefixes))
        pattern = rf"{before}((?:{prefix}){data['signs'][sign]}{{{least},}}+)"
        rule = _SecretRule(kind, pattern, partial(_is_issued, prefixes))
        tokens += ((anchor, rule) for anchor in prefixes)
    for row in data["rules"]:
        rule = _SecretRule(row["kind"], row["pattern"], _JUDGES[row["judge"]])
        others[rule.kind in _FOLDED].extend((anchor, rule) for anchor in row["anchors"].split())
    return tokens, *others


def _is_issued(prefixes: tuple[str, ...], value: str) -> bool:
    """Return True for a token that a service issued, False for words and placeholders."""
    prefix = max((start for start in prefixes if value.startswith(start)), key=len)
    rest = value.removeprefix(prefix)
    if len(set(rest)) < 6 or _is_placeholder(rest):
        return False
    return prefix in ("AKIA", "ASIA") or not _is_wordy(rest, humped=False)


def _is_card(value: str) -> bool:
    """Return True for digits whose last one is the check digit of the others (Luhn)."""
    digits = [int(sign) for sign in reversed(value) if sign.isdigit()]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])  # the sum of its digits
    return len(set(digits)) > 1 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _is_credential(value: str) -> bool:
    value = value[:_JUDGED]
    return not (_is_placeholder(value) or _is_code(value) or _is_wordy(value))


_JUDGES: dict[str, Callable[[str], bool]] = {
    "any": bool,
    "jwt": lambda value: 12 <= value.find(".") <= len(value) - 10,
    "card": _is_card,
    "credential": _is_credential,
    "chosen": lambda value: len(value) > 2 and _is_meant(value),
    "mixed": lambda value: _is_mixed(value) and _is_meant(value),
}


_Joint = Literal["quoted", "tight", "loose"]
"""The ways in which a value is joined to its name, surest first: `x = "…"`; `X=…`, or `X: …` alone
on its line; anything else, such as `f(x, "…")`, `x = …` and "the x is …".
"""
_PARTS_OF_WORDS = ("pass", "pwd", "mdp", "clave", "sig", "senha", "jeton")
_OPENERS = {")": "(", "]": "[", "}": "{", ">": "<", "`": "`"}


def _named(text: str, lowered: str) -> Iterator[Secret]:
    """Yield the secrets beside their names. Most values there are code or placeholders, so each is
    judged. The judgment depends on whether people or machines make it, and on its joint.
    """
    done = 0
    for match in _compiled("named").finditer(lowered):
        if match.start() < done or not _names_a_secret(text, lowered, match):
            continue
        joint = _joint(lowered, match)
        if match["quote"]:
            start, end = match.span("quoted")
        else:
            start, end = _bare(text, lowered, match)
        kind = "token"
        is_secret = _is_token
        if _full("name-of-password", match[0]):
            kind = "password"
            is_secret = _is_password
        if joint and start < end and is_secret(text[start:end], joint):
            if end - start >= _JUDGED and not match["quote"]:
                rest = _compiled("bare-run").match(lowered, end)
                if rest:
                    end = rest.end()
            done = end
            yield Secret(start, end, kind)


def _names_a_secret(text: str, lowered: str, match: re.Match[str]) -> bool:
    """Return True when a word or a part of one names a secret, as in `dbPass`, not `compass`."""
    at = match.start()
    word = match[0]
    before = text[at - 1 : at]
    owner = lowered[max(0, at - 14) : at].rstrip("-_ .")
    if word in _PARTS_OF_WORDS:
        hump = text[at].isupper() and before.islower()
        return hump or not before.isalpha() or owner.endswith(("db", "user", "root"))
    if word == "key" or word.startswith("schl"):
        capitals = before in ("_", "-") and text[at : at + 3].isupper()
        return capitals or _has("owner-of-secret-key", owner)
    if word == "token":
        return not _has("owner-of-public-token", owner)
    return word != "secret" or before != ":"


def _bare(text: str, lowered: str, match: re.Match[str]) -> tuple[int, int]:
    """Return the start and end of a value without quotes, or of a long one's first characters."""
    start, end = match.span("bare")
    cut = text.find("&", start, end)
    if cut >= 0 and _has("in-url", lowered[max(0, match.start() - 40) : match.start()]):
        end = cut
    if end - start >= _JUDGED:
        return start, end
    while start < end:  # drop the sentence's punctuation, and brackets that close around it
        opener = _OPENERS.get(text[end - 1])
        if text[end - 1] not in ".,;:”“»’" and (not opener or opener in text[start:end]):
            break
        end -= 1
    if end - start > 4 and text[start : start + 2] == text[end - 2 : end] in ("**", "__"):
        start = start + 2
        end = end - 2
    return start, end


def _joint(lowered: str, match: re.Match[str]) -> _Joint | None:
    """Return how a value is joined to its name; None when it belongs to something else."""
    before = lowered[max(0, match.start() - 110) : match.start()]
    if match["option"] and not _has("option", before + match[0]):
        return None
    prose = match["apart"] or match["said"]
    if match[0] in _PARTS_OF_WORDS and (prose or lowered.startswith(" :", match.end())):
        return None  # "if you pass `x`", "pass :class:`x`"
    if prose:
        return "loose"
    if match["quote"]:
        return "quoted"
    ends = match["colon"] and _compiled("line-end").match(lowered, match.end("bare"))
    tight = (ends and _has("label", before)) or match["tag"]
    if tight or (match["tight"] and not _has("in-call", before)):
        return "tight"
    return "loose"


def _is_wordy(value: str, *, humped: bool = True) -> bool:
    """Return True for words, numbers and signs, and for `wordsWrittenTogether` if `humped`."""
    if len(set(_compiled("odd-sign").findall(value))) > 2:
        return False
    for part in filter(None, _compiled("signs").split(value)):
        if not _full("word", part):
            share = 3 if len(part) < 16 else 5
            few = max(2, len(part) // share)  # random text has more capitals
            if not humped or sum(map(str.isupper, part)) > few or not _full("humped", part):
                return False
    return True


def _is_placeholder(value: str) -> bool:
    """Return True for a placeholder of a value: `<your-key>`, `${TOKEN}`, `xxxx`, `changeme`."""
    if _has("masked", value) or not any(map(str.isalnum, value)):
        return True
    if _compiled("template").match(value) or len(set(value)) < 3:
        return True
    return (_full("stand-in", value) or _has("meant", value.lower())) and _is_wordy(value)


def _is_code(value: str) -> bool:
    """Return True for an expression, a pattern or a path: `get_password()`, `/run/secrets`."""
    pattern = _compiled("regex").search(value)
    if pattern:
        return pattern.start() == 0 or len(value) < 9
    parts = _compiled("signs").split(value)
    return _full("code", value) and all(not part or _full("letters", part) for part in parts)


def _is_meant(value: str) -> bool:
    """Return False for a placeholder, a word about a secret, or a text for people to read."""
    plain = value.lower().strip(".,;:!?'\"()[]{} ")
    if plain in _data()["words"]["ordinary"].split() or value != value.strip():
        return False
    if not any(map(str.isdigit, plain)) and _has("secret-named", plain):
        return False
    ends = value[-1] in ".?:…" or plain.count(" ") > 7
    is_text = " " in plain and (ends or _has("interface", plain))
    return not (is_text or _is_placeholder(value))


def _is_mixed(value: str) -> bool:
    """Return True for letters with digits or signs among them, unless these are plain words."""
    if len(value) < 6 or not any(map(str.isalpha, value)):
        return False
    plain = not (any(map(str.isdigit, value)) or _has("special", value))
    return not (plain and _is_wordy(value)) and not _full("technical", value.lower())


def _is_password(value: str, joint: _Joint) -> bool:
    """Return True for a password. People choose it, so words count where only a value can be."""
    if len(value) < 4 or not _is_meant(value):
        return False
    if joint == "quoted" or _is_code(value):
        return joint == "quoted"
    named = _is_wordy(value) and _has("secret-named", value.lower())
    return joint == "tight" or (_is_mixed(value) and not named)


def _is_token(value: str, joint: _Joint) -> bool:
    """Return True for a token or a key. Machines make it, so it is long and has no words."""
    digits = any(map(str.isdigit, value))
    least = 12 if joint == "loose" else 8
    if len(value) < least or _has("never-in-tokens", value):
        return False
    if _is_wordy(value, humped=not digits or len(value) < 16) or _is_placeholder(value):
        return False
    if joint != "quoted" and _is_code(value):
        return False
    return any(map(str.isalpha, value)) and (digits or len(value) >= 16)
