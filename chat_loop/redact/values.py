"""What a value beside a secret's name looks like: a secret, or a placeholder, code, a word, a text
for people.
"""

from __future__ import annotations

import re
from typing import Literal

Span = tuple[int, int, str]
"""Where a secret stands, from and to, and its kind."""

Way = Literal["quoted", "tight", "alone", "apart", "loose", "said"]
"""How a value stands by its name, roughly from the surest on: `x = "…"`; `X=…`; `X: …` and nothing
more in the line; `x "…"`, `f(x, "…")`; other bare words, such as `x = …`; "the x is …".
"""

FILLER = "\ufdd0"
"""Stands for the marks of an earlier redaction: a noncharacter, which no value takes."""

_WORD = re.compile(r"(?:[A-Za-z]?[a-z]{1,22}|[A-Z]{1,23})\d{0,3}|\d+(?:[A-Za-z]{1,2}\d{0,2})?")
_HUMPED = re.compile(r"[A-Z]{0,4}[a-z]+(?:[A-Z]{1,4}[a-z]+){0,9}[A-Z]{0,4}\d{0,2}")
_LETTERS = re.compile(r"[A-Za-z]{1,40}(?:\d{1,2}[a-z]{0,12})?|\d+")
_UNUSUAL = re.compile(r"[^\w\s./:,-]")
_SIGNS = re.compile(r"[^A-Za-z0-9]+")
_SPECIAL = re.compile(r"[!@#$%^&*+=?~§]")
_CODE = re.compile(
    r"[A-Za-z_$][\w$]{1,60}(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]{0,60}){0,9}[(\[][\w\s.,=&:*'\"()\[\]@/+%-]*"
    r"|[A-Za-z_$][\w$]{0,60}(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]{0,60}){1,9}[!?]?"
    r"|(?:\.{0,2}|~)/[\w./-]*|[a-z]:\\[\w\\.-]*|[a-z]+://[\w./-]*"
)
_PATTERN = re.compile(r"\(?\[\^|\\[wdsSW]|\(\?[:P]|\.[*+]\??\)|a-z")
_NAMED = re.compile(
    r"passw|passphrase|token|secret|wort\b|contrase|(?<![a-z])(?:keys?|pwd|pass|auth|cred|credentials?|user|username|login"
    r"|config|settings?|values?|env|params?|args?)(?![a-z])"
)
_TECHNICAL = re.compile(
    r"(?:base|sha|md|aes|rsa|utf|int|uint|float|windows|win|python|argon|blake|bcrypt|scrypt|pbkdf|oauth|http|ed|secp|hs"
    r"|rs|es|[hvx])[-_]?\d{1,5}[a-z]{0,3}(?:[-_.][\w.-]*)?"
)
_STANDIN = re.compile(
    r"<.*>?|%\w+%|\[.*\]|\(.*\)[?*+]?|\$[A-Za-z_][\w:.]*|@\w+@?|[&*][a-z]\w*|\{[\w\s.:!'\"()\[\]-]*\}"
    r"|%\(?\w*\)?[sdr]"
)
_TEMPLATE = re.compile(r"\$\{|\$\(|\{\{|#\{.*\}\Z|\{[\w.]*\}\Z|%\(\w*\)[sdr]\Z")
_UNMADE = re.compile(r"[\s\\\[\]{}|<>\"'`]")
_MASKED = re.compile(r"\*{3}|•{3}|●{3}|\.{3}|…|x{5}|X{5}")
_MEANT = re.compile(
    r"your|example|placeholder|change[-_ ]?me|dummy|redacted|insert|replace|\bmy[-_ "
    r"]|\bsome[-_ ]|here\b|todo"
)
_INTERFACE = re.compile(
    r"\b(?:must|enter|please|invalid|required?|wrong|incorrect|forgot|short|reset|least|match|change|new|confirm|the|is|"
    r"not|for|to|of|with|bitte|eingeben|oder|und|votre|le|la|su|el|type|show|hide|strong|weak|min|max|characters?)\b"
)
_WORDS = """
none null nil true false undefined string str text bytes int bool boolean number object required optional empty unset
unknown missing invalid hidden masked value default input field type prompt stdin self this other char varchar any yes
no on off auto function async await const return incorrect expired wrong correct plain basic plaintext hash hashed
encrypted focus hover disabled enabled readonly submit float uuid list dict array file path env pass password passwd
passwort kennwort secret username user forgotten vergessen geheim siehe unbekannt oublié
"""
_BENIGN = frozenset(_WORDS.split())


def is_wordy(value: str, *, humped: bool = True) -> bool:
    """Whether it is made of words, numbers and signs alone, as an identifier or a path is; a made
    secret is not.

    `humped`: words written together, as in `getUserToken`, count as words too.
    """
    if len(set(_UNUSUAL.findall(value))) > 2:
        return False
    parts = _SIGNS.split(value)
    return all(not part or _WORD.fullmatch(part) or (humped and _is_humped(part)) for part in parts)


def _is_humped(part: str) -> bool:
    """Whether it is words written together, as `getUserToken2` is: few capitals, none at random."""
    capitals = sum(sign.isupper() for sign in part)
    return capitals <= max(2, len(part) // (3 if len(part) < 16 else 5)) and bool(
        _HUMPED.fullmatch(part)
    )


def is_placeholder(value: str) -> bool:
    """Whether it stands for a value that is not there: `<your-key>`, `${TOKEN}`, `xxxx`, `sk-...`,
    `changeme`.
    """
    if _MASKED.search(value) or "EXAMPLE" in value or not any(sign.isalnum() for sign in value):
        return True
    if _TEMPLATE.match(value) or len(set(value)) < 3:
        return True
    return bool(_STANDIN.fullmatch(value) or _MEANT.search(value.lower())) and is_wordy(value)


def is_code(value: str) -> bool:
    """Whether it is an expression, a pattern or a path: `get_password()`, `tokens[i]`, `self.key`,
    `/run/secrets`.
    """
    pattern = _PATTERN.search(value)
    if pattern:
        return pattern.start() == 0 or len(value) < 9
    return bool(_CODE.fullmatch(value)) and all(
        not part or _LETTERS.fullmatch(part) for part in _SIGNS.split(value)
    )


def is_prose(value: str) -> bool:
    """Whether it is a word about a secret, or a text that a person is to read, rather than one."""
    plain = value.lower().strip(".,;:!?'\"()[]{} ")
    if plain in _BENIGN or value != value.strip():
        return True
    if not any(sign.isdigit() for sign in plain) and _NAMED.search(plain):
        return True
    return " " in plain and bool(
        _INTERFACE.search(plain) or value[-1] in ".?:…" or plain.count(" ") > 7
    )


def is_mixed(value: str) -> bool:
    """Whether a bare word is more than a word: letters, and digits or signs among them."""
    if len(value) < 6 or not any(sign.isalpha() for sign in value):
        return False
    if not _SPECIAL.search(value) and not any(sign.isdigit() for sign in value) and is_wordy(value):
        return False
    return not _TECHNICAL.fullmatch(value.lower())


def is_chosen(value: str, way: Way) -> bool:
    """Whether it is a password, which may be a plain word where nothing but a value can stand."""
    if len(value) < 4 or is_placeholder(value) or is_prose(value):
        return False
    if way == "quoted":
        return True
    if way == "apart":
        return is_mixed(value)
    if is_code(value):
        return False
    if way == "tight" or (
        way == "alone" and len(value) >= 6 and value.isalpha() and value[1:].islower()
    ):
        return True
    if not is_mixed(value) or (is_wordy(value) and _NAMED.search(value.lower())):
        return False
    core = value.rstrip("!?")
    return (
        way != "said"
        or core.isalnum()
        or bool(_SPECIAL.search(core))
        or not is_wordy(core, humped=core.isalpha())
    )


def is_made(value: str, way: Way) -> bool:
    """Whether it is a token or a key, which machines make: long, and no words."""
    digits = any(sign.isdigit() for sign in value)
    humped = not digits or len(value) < 16
    if (
        len(value) < (8 if way in ("quoted", "tight") else 12)
        or _UNMADE.search(value)
        or is_wordy(value, humped=humped)
    ):
        return False
    if is_placeholder(value) or (way != "quoted" and is_code(value)):
        return False
    return any(sign.isalpha() for sign in value) and (
        digits or (len(value) >= 16 and way != "apart")
    )
