"""Texts with slots, and the sentences made from them. The texts are in `wordings/`, in a file for
each language of a profile.

A fact's text and question are lines of a block; a line that begins with a blank continues the
previous line:

    U text      said by the user            M text      said by the model
    + text      the same fact later, with a new value (type `update`)
    ? text      a question about it, in other words

    {name}          a word from the language's SLOTS; the same in text, update and question
    {name:a|b|c}    the same with its own words
    {=1#.~5}        characters: # 0-9, + 1-9, ^ 2-9, ~ 0-5, @ A-Z, ? a-z, % 0-9a-f, all others as they are
    *word*          a key word of the subject; one of them must be next to the value
    [phrase]        must be found whole: one value, or two to three anchors of a decision, rule, task or rejection
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Literal

FOLDER = Path(__file__).parent / "wordings"
Speaker = Literal["user", "model", "told", "used", "result"]
"""The last three are of a result: told by the reply, its value used by the reply, only there."""

KINDS = ("number", "path", "id", "url", "person", "decision", "rule", "task", "update", "rejected")
ANCHORED = frozenset({"decision", "rule", "task", "rejected"})
"""The types that are recognized by phrases instead of by a value and a key word."""
LANGUAGES = {
    "en": "english", "de": "german", "fr": "french", "es": "spanish", "it": "italian",
    "pt": "portuguese", "pl": "polish",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mix:
    """The languages of a profile, and the number of facts of each in a segment.

    One of `rotating` fills the rest of a segment; it changes from segment to segment.
    """

    fixed: dict[str, int]
    rotating: tuple[str, ...] = ()

    @property
    def codes(self) -> tuple[str, ...]:
        return (*self.fixed, *self.rotating)


PROFILES = {
    "seen": Mix({"en": 12, "de": 6}, ("fr", "es", "it")),
    "unseen": Mix({"en": 12, "de": 6}, ("fr", "es", "it")),
    "third": Mix({"pt": 12, "pl": 12}),
}

_SLOT = re.compile(r"\{([^{}]*)\}")
_CHARACTERS = {
    "#": "0123456789",
    "+": "123456789",
    "^": "23456789",
    "~": "012345",
    "@": "ABCDEFGHJKLMNPRSTUVWXYZ",
    "?": "abcdefghijkmnopqrstuvwxyz",
    "%": "0123456789abcdef",
}


@dataclass(frozen=True, slots=True)
class Sentence:
    """A text with its slots filled. `marked` contains the value or the anchors, `keys` the key
    words of the subject.
    """

    text: str
    marked: tuple[str, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """One way to state a fact. `name` is unique within the profile and the language."""

    name: str
    kind: str
    speaker: Speaker
    text: str
    question: str
    update: str = ""

    @property
    def subject(self) -> tuple[str, ...]:
        """The slots that distinguish two facts of this shape: those in the question."""
        return tuple(dict.fromkeys(slot.partition(":")[0] for slot in _SLOT.findall(self.question)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """Everything that can be said in one language of one profile."""

    code: str
    shapes: dict[str, tuple[Shape, ...]]
    slots: dict[str, tuple[str, ...]]
    labels: dict[str, tuple[str, ...]]
    leads: tuple[str, ...]
    openers: tuple[str, ...]
    talk: tuple[str, ...]
    ask: tuple[str, ...]
    reply: tuple[str, ...]
    decoys: tuple[str, ...]


@dataclass(slots=True)
class Filling:
    """The words chosen for one fact's slots; its text, update and question share them."""

    random: Random
    slots: dict[str, tuple[str, ...]]
    chosen: dict[str, str] = field(default_factory=dict)

    def fill(self, text: str) -> str:
        return _SLOT.sub(lambda match: self._word(match[1]), text)

    def sentence(self, text: str) -> Sentence:
        """Fill the slots and remove the marks."""
        plain: list[str] = []
        marked: list[str] = []
        keys: list[str] = []
        for piece in re.split(r"(\[[^\]]*\]|\*[^*]*\*)", self.fill(text)):
            inner = piece
            if piece.startswith("["):
                inner = piece[1:-1]
                marked.append(inner)
            elif piece.startswith("*"):
                inner = piece[1:-1]
                keys.append(inner)
            plain.append(inner)
        whole = "".join(plain)
        if not any(whole.startswith(value) for value in marked):
            whole = whole[:1].upper() + whole[1:]
        return Sentence(whole, tuple(marked), tuple(keys))

    def _word(self, slot: str) -> str:
        if slot.startswith("="):
            return "".join(
                self.random.choice(_CHARACTERS[sign]) if sign in _CHARACTERS else sign
                for sign in slot[1:]
            )
        name, _, words = slot.partition(":")
        if name not in self.chosen:
            self.chosen[name] = self.random.choice(words.split("|") if words else self.slots[name])
        return self.chosen[name]


@cache
def language(profile: str, code: str) -> Language:
    """Read one language of one profile."""
    texts = blocks(f"{profile}/{LANGUAGES[code]}")
    common = blocks(f"{profile}/common")
    return Language(
        code=code,
        shapes={kind: shapes(kind, texts[kind]) for kind in KINDS},
        slots=named(common["slots"], ",") | named(texts["slots"], ","),
        labels=named(texts["labels"], ","),
        leads=tuple(_lines(texts["leads"])),
        openers=tuple(_lines(texts["openers"])),
        talk=tuple(_lines(texts["talk"])),
        ask=tuple(_lines(texts["ask"])),
        reply=tuple(_lines(texts["reply"])),
        decoys=tuple(_lines(texts["decoys"])),
    )


@cache
def blocks(name: str) -> dict[str, str]:
    """Return the blocks of text in a file of `wordings/` by their names."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))


def shapes(kind: str, block: str) -> tuple[Shape, ...]:
    """Read a block of facts."""
    found: list[dict[str, str]] = []
    for line in _lines(block):
        sign, text = line[0], line[2:]
        if sign in "UM":
            found.append({"speaker": sign, "text": text, "question": "", "update": ""})
        else:
            found[-1]["update" if sign == "+" else "question"] = text
    return tuple(
        Shape(
            name=f"{kind}{number}",
            kind=kind,
            speaker="user" if shape["speaker"] == "U" else "model",
            text=shape["text"],
            question=shape["question"],
            update=shape["update"],
        )
        for number, shape in enumerate(found, 1)
    )


def _lines(block: str) -> list[str]:
    """Return the lines of a block; join a line that begins with a blank to the previous one."""
    lines: list[str] = []
    for line in block.split("\n"):
        if line.startswith(" ") and lines:
            lines[-1] += f" {line.strip()}"
        elif line.strip():
            lines.append(line.strip())
    return lines


def named(block: str, separator: str) -> dict[str, tuple[str, ...]]:
    """Read lines of the form `name: a, b, c`."""
    pairs = (line.partition(":") for line in _lines(block))
    return {
        name: tuple(word.strip() for word in words.split(separator)) for name, _, words in pairs
    }
