"""Judging one sentence (pure): is it a decision, a rule, a rejection, a task, a fact, or only talk;
and how heavy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from chat_loop.facts import grammar
from chat_loop.facts.reading import Reading
from chat_loop.facts.words import LIMITS, NEGATIONS
from chat_loop.text import Role

Kind = Literal["decision", "rule", "rejected", "task", "done", "fact"]
Speaker = Literal["user", "reply"]
LEAST_CARRIED = 4
"""The weight of a parent's line in which no cue is recognised any more."""

_ASKS = re.compile(r"(?:\?|？)[\"'”’)\]»*_]{0,3}\Z|\A[¿]")
_KINDS: Mapping[str, Kind] = {
    "decision": "decision",
    "rule": "rule",
    "rejected": "rejected",
    "task": "task",
    "done": "done",
}
"""What a label such as "Decision:" makes of its sentence."""
_DECIDING = frozenset({"decision", "choice", "swap"})


def asks(sentence: str) -> bool:
    """Whether a sentence is a question."""
    return _ASKS.search(sentence) is not None


def leans(reading: Reading) -> bool:
    """Whether a sentence says nothing without the one before it: "It is at 5432.", "Tuesdays at
    6.", "Because ...".
    """
    words = reading.words
    if not words:
        return False
    first, second = words[0], words[1] if len(words) > 1 else ""
    if first in grammar.PRONOUNS.get(reading.language, ()):
        return second not in grammar.EXPLETIVES.get(first, ())
    if first in grammar.PERHAPS.get(reading.language, ()) and second in grammar.VERBS:
        return True
    if (
        "reason" in reading.cues
        and len(words) < 30
        and (first in grammar.REASONS or second in grammar.REASONS)
    ):
        return True
    return not reading.about and len(words) <= 6 and bool(reading.values) and not reading.label


def answers(reading: Reading) -> bool:
    """Whether a sentence can only be the answer to a question: "Platform 9.", "For this dough 30
    minutes.".
    """
    short = len(reading.words) <= 6 and len(reading.about) <= 1 and bool(reading.values)
    return short and grammar.VERBS.isdisjoint(reading.words) and not reading.label


def vague_update(reading: Reading) -> bool:
    """Whether a sentence corrects a value without naming what it is the value of: "make it 45
    instead".
    """
    return (
        bool(reading.measured)
        and "update" in reading.cues
        and len(reading.words) <= 14
        and not reading.about
    )


def same_measure(old: Mapping[str, frozenset[str]], new: Mapping[str, frozenset[str]]) -> bool:
    """Whether some value of the new sentence can replace one of the old: the same kind, or a bare
    number.
    """
    for kind, values in new.items():
        if kind in old and values != old[kind]:
            return True
    amounts = [kind for kind in old if kind not in ("when", "time", "path", "url", "id")]
    return set(new) == {"number"} and bool(amounts)


def verdict(
    reading: Reading, role: Role, speaker: Speaker, pasted: bool
) -> tuple[Kind, int] | None:
    """The sentence's kind and weight, or None when it is nothing to keep."""
    if role == "heading" or len(reading.text) < 4:
        return None
    if role == "command":
        return ("fact", 4 if speaker == "user" else 3)
    worth = reading.exactness
    if pasted or role in ("row", "quoted"):
        return (
            ("fact", 1 if role != "quoted" and worth < 2 else 2)
            if worth and not asks(reading.text)
            else None
        )
    if speaker == "user":
        return _of_user(reading, worth)
    return _of_reply(reading, worth, role)


def _of_user(reading: Reading, worth: int) -> tuple[Kind, int] | None:
    cues = reading.cues
    noted = reading.label == "note" or "note" in cues
    if asks(reading.text):
        return _in_question(reading, worth, noted)
    if "maybe" in cues and not reading.label:
        return None
    if "ask" in cues and not reading.label and not noted and not cues & {"update", "rule", "ever"}:
        return ("fact", 3) if (worth >= 2 and len(reading.values) > 1) or worth == 3 else None
    kind = _kind(reading)
    enough = 1 if kind == "done" else 2
    if kind is not None and (
        (reading.about and len(reading.stems) >= enough) or worth or reading.label
    ):
        heavy = {"rule": 9, "decision": 8, "rejected": 8, "task": 7, "done": 3 + worth, "fact": 5}[
            kind
        ]
        heavy += ("reason" in cues) + noted + bool(reading.label)
        if kind == "decision" and not reading.label and not cues & _DECIDING:
            heavy -= 3
        if kind == "task" and not {"task"} & (cues | {reading.label}):
            heavy -= 0 if worth > 1 else 2
        return (kind, min(12, heavy))
    if not worth and not (noted and len(reading.about) > 1):
        return _without_values(reading)
    if worth == 1 and not reading.measured:
        belongs = noted or (grammar.OURS & frozenset(reading.words) and len(reading.about) > 1)
        return _of_person(reading, 6) or (("fact", 4 if noted else 3) if belongs else None)
    weight = (
        4
        + worth
        + (2 if noted or reading.label else 0)
        + ("update" in cues)
        - reading.text.endswith("!")
    )
    return ("fact", min(12, weight))


def _in_question(reading: Reading, worth: int, noted: bool) -> tuple[Kind, int] | None:
    told = noted and (worth or len(reading.about) > 1)
    if (told or (worth and "update" in reading.cues)) and "maybe" not in reading.cues:
        return ("fact", 6)
    before, comma, _ = reading.text.partition(", ")
    opening = reading.words[0] if reading.words else ""
    stated = (
        comma
        and opening not in grammar.ASKING
        and any(value.end <= len(before) for value in reading.values)
    )
    return ("fact", 4) if stated and worth >= 2 and "maybe" not in reading.cues else None


def _kind(reading: Reading) -> Kind | None:
    """What the cues make of a sentence; None when it is at most a fact."""
    cues, label = reading.cues, reading.label
    if label in _KINDS:
        return _KINDS[label]
    words = frozenset(reading.words)
    ruled = "rule" in cues or ("ever" in cues and _commands(reading)) or _forbids(reading, words)
    if "decision" in cues and ("rejected" not in cues or "reason" in cues):
        return "rule" if ruled and "reason" not in cues else "decision"
    if "rejected" in cues or ("excess" in cues and words & (grammar.BUT | grammar.WE)):
        return "rejected"
    if "task" in cues and ("hedge" not in cues or reading.values):
        return "task"
    if ruled:
        return "rule"
    if "duty" in cues and not cues & {"done", "hedge"}:
        return "task"
    chosen = "reason" in cues and ("choice" in cues or (words & grammar.WHY and words & grammar.WE))
    if chosen or ("swap" in cues and not reading.measured):
        return "decision"
    return "done" if "done" in cues else None


def _forbids(reading: Reading, words: frozenset[str]) -> bool:
    """Whether a negation or an "only" goes with a modal verb, with wanting, with a "please" or with
    what "we" do.

    What "I" cannot do and what "it" cannot be is no rule.
    """
    denied, limited = bool(words & NEGATIONS), bool(words & LIMITS)
    if not (denied or limited) or not reading.about:
        return False
    wanted = bool(words & grammar.WANTS) or ("will" in words and reading.language == "de")
    if len(reading.about) > 1 and wanted and "update" not in reading.cues:
        return True
    if frozenset(reading.words[:2]) & grammar.SPEAKER:
        return False
    if denied and words & grammar.POLITE:
        return True
    return len(reading.about) > 1 and (
        bool(words & grammar.MODALS) or (denied and _says_we(reading, words))
    )


def _says_we(reading: Reading, words: frozenset[str]) -> bool:
    """Whether the subject is "we", which Spanish, Italian and Portuguese put into the verb."""
    if reading.language in ("es", "pt", "it"):
        return any(word.endswith(("mos", "iamo")) for word in reading.words)
    return bool(words & grammar.WE)


def _commands(reading: Reading) -> bool:
    """Whether "never" or "always" is said as a rule, and not of oneself or of somebody."""
    words = frozenset(reading.words)
    opening = next((word for word in reading.words if word not in grammar.BEFORE_A_SUBJECT), "")
    return opening not in grammar.PERSONAL or bool(words & (grammar.WE | grammar.MODALS))


def _without_values(reading: Reading) -> tuple[Kind, int] | None:
    """A sentence without anything exact: only health and what belongs to a person is worth a
    line.
    """
    if "health" in reading.cues and len(reading.words) < 30:
        return ("fact", 7)
    return None


def _of_person(reading: Reading, weight: int) -> tuple[Kind, int] | None:
    names = [value.text for value in reading.values if value.kind == "name"]
    if not names:
        return None
    if "person" in reading.cues or "health" in reading.cues or any(" " in name for name in names):
        return ("fact", weight)
    return None


def _of_reply(reading: Reading, worth: int, role: Role) -> tuple[Kind, int] | None:
    cues = reading.cues
    if asks(reading.text) or "maybe" in cues or reading.text.endswith(":"):
        return None
    ours = bool((grammar.OURS | grammar.YOURS) & set(reading.words))
    kind = _kind(reading)
    hedged = "hedge" in cues
    if kind in ("decision", "rejected", "task") and not hedged and len(reading.about) > 1:
        told = ours or worth or bool(reading.label)
        return (
            kind,
            (5 if told else 3) + ("reason" in cues) - (role == "item") + bool(reading.label),
        )
    if (
        kind == "rule"
        and not worth
        and not hedged
        and grammar.WE & frozenset(reading.words)
        and len(reading.about) > 1
    ):
        return ("decision", 4)
    if not worth:
        return None
    if worth == 1 and not reading.measured:
        return _of_person(reading, 4)
    if hedged and worth < 3:
        return None
    return ("fact", max(1, 1 + worth + ours - hedged - (role == "item")))
