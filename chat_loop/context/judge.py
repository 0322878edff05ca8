"""Judging one sentence (pure): is it a decision, a rule, a rejection, a task, a fact, or only talk; and how heavy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from chat_loop.context.lexicon import lexicon
from chat_loop.context.reading import Reading
from chat_loop.context.sentences import Role
from chat_loop.context.words import NEGATIONS

Kind = Literal["decision", "rule", "rejected", "task", "done", "fact"]
Speaker = Literal["user", "reply"]
LEAST_CARRIED = 4
"""The weight of a parent's line in which no cue is recognised any more."""

_ASKS = re.compile(r"(?:\?|？)[\"'”’)\]»*_]{0,3}\Z|\A[¿]")
_ASKING = lexicon(
    """
    what which who whom whose when where why how is are was were do does did can could would will should shall may
    has have am wer wen wem wie wo wann warum wieso welche welcher welches ist sind kann kannst könnte könntest soll
    sollte hast habt haben gibt darf que quoi qui quand où comment pourquoi quel quelle est faut peux pouvez as avez
    qué quién cuándo dónde cómo cuál es puedes podrías hay tienes che cosa chi dove come quale quanto puoi potresti
    hai o qual quem onde quando podes pode tem wat waar wanneer waarom hoe welke kun kan kunt zou heb
    """
)
"""Words that open a question; behind a statement and a comma they ask only for an opinion on it."""
_PRONOUNS: Mapping[str, frozenset[str]] = {
    "en": lexicon("it it's they they're he he's she she's that's both there"),
    "de": lexicon("es er dort dabei dafür davon darin damit danach beide"),
    "fr": lexicon("il elle ils elles ça cela c"),
    "es": lexicon("eso esto está es son cuesta sale ella él ellos allí queda cierra abre"),
    "it": lexicon("è costa sta lui lei loro sono lì apre chiude"),
    "pt": lexicon("é está custa isso isto ele ela eles fica são abre fecha"),
    "nl": lexicon("hij zij ze daar beide"),
}
_PERHAPS: Mapping[str, frozenset[str]] = {
    "en": lexicon("this that these those"),
    "de": lexicon("das die der sie dies"),
    "nl": lexicon("het dat die dit deze"),
}
"""Words that are a pronoun before a verb and an article before a noun."""
_VERBS = lexicon(
    """
    is was are were has had have will would should can means needs costs takes goes runs includes must gets ist sind
    war waren hat haben hatte kostet läuft liegt muss müssen soll sollen wird werden kann können gilt heißt steht
    dauert kommt kommen geht bleibt fährt beginnt zijn heeft hebben kost loopt ligt moet moeten wordt worden duurt
    komt gaat blijft staat begint gelden
    """
)
_EXPLETIVE = lexicon("faut y s a gibt tut ist sind")
_OURS = lexicon(
    """
    i we my our mine ours me us i'm i've i'll we're we've we'll ich wir mein meine meinen meinem meiner unser unsere
    unseren unserem unserer mir mich uns je j nous mon ma mes notre nos moi mi mis nuestro nuestra nuestros nuestras
    nosotros yo io noi mio mia miei mie nostro nostra nostri meu minha meus minhas nosso nossa nossos nós eu ik wij
    mijn ons onze mij
    """
)
_YOURS = lexicon(
    """
    you your you're you've you'll dein deine deinen deinem deiner ihr ihre ihren ihrem ihrer du dir dich sie ihnen tu
    ton ta tes vous votre vos te tus usted su sus tuo tua tuoi tue lei suo sua você teu seu je jij jouw u uw
    """
)


_WE = lexicon(
    """
    we we're we've we'll us our wir uns unser unsere unseren nous on notre nos nosotros nuestro nuestra noi nostro
    nostra nós nosso nossa wij ons onze
    """
)
_BUT = lexicon("but though aber jedoch mais pero ma però mas maar")
_POLITE = lexicon("please bitte svp plaît favor favore alstublieft alsjeblieft surtout")
_SPEAKER = lexicon("i ich je yo io eu ik it that this das es ça c eso isso het dat cannot")
"""Who opens a sentence that forbids nothing: "I cannot find it", "that can't be"."""
_WHY = lexicon("because weil denn parce car porque perché poiché siccome pois omdat want")
_MODALS = lexicon(
    """
    must may can can't cannot should shall mustn't shouldn't muss müssen darf dürfen soll sollen kann können doit
    doivent peut peuvent faut debe deben puede pueden deve devono può possono devem pode podem moet moeten mag mogen
    kan kunnen
    """
)
_PERSONAL = lexicon(
    """
    i i'm i've i'd he she it they it's he's she's my your his her their that this there ich er sie es mein meine dein
    deine seine ihre das je j il elle ils elles mon ma mes ton ta son sa ses c ça yo él ella ellos mi tu su eso io
    lui lei loro mio mia suo sua eu ele ela eles meu minha seu isso ik hij zij ze mijn zijn haar dat het
    """
)
_BEFORE_A_SUBJECT = lexicon(
    """
    and but so well oh ah yes no und aber ja nein et mais oui y pero sí e ma sì mas sim en maar nee
    """
)
_KINDS: Mapping[str, Kind] = {
    "decision": "decision",
    "rule": "rule",
    "rejected": "rejected",
    "task": "task",
    "done": "done",
}


def asks(sentence: str) -> bool:
    """Whether a sentence is a question."""
    return _ASKS.search(sentence) is not None


def leans(reading: Reading) -> bool:
    """Whether a sentence says nothing without the one before it: "It is at 5432.", "Tuesdays at 6.", "Because ..."."""
    words = reading.words
    if not words:
        return False
    first, second = words[0], words[1] if len(words) > 1 else ""
    if first in _PRONOUNS.get(reading.language, ()):
        return not (first in ("il", "es") and second in _EXPLETIVE and (first == "il" or second in ("gibt", "tut")))
    if first in _PERHAPS.get(reading.language, ()) and second in _VERBS:
        return True
    if "reason" in reading.cues and len(words) < 30 and (first in _REASONS or second in _REASONS):
        return True
    return len(reading.about) < 2 and len(words) <= 6 and bool(reading.values) and not reading.label


_REASONS = lexicon(
    """
    because since otherwise weil denn sonst deshalb parce car sinon porque ya perché altrimenti pois senão omdat want
    anders reason grund
    """
)


def vague_update(reading: Reading) -> bool:
    """Whether a sentence corrects a value without naming what it is the value of: "make it 45 instead"."""
    return bool(reading.measured) and "update" in reading.cues and len(reading.words) <= 14 and _unnamed(reading)


def _unnamed(reading: Reading) -> bool:
    return len(reading.about) == 0


def same_measure(old: Mapping[str, frozenset[str]], new: Mapping[str, frozenset[str]]) -> bool:
    """Whether some value of the new sentence can replace one of the old: the same kind, or a bare number."""
    for kind, values in new.items():
        if kind in old and values != old[kind]:
            return True
    amounts = [kind for kind in old if kind not in ("when", "time", "path", "url", "id")]
    return set(new) == {"number"} and bool(amounts)


def verdict(reading: Reading, role: Role, speaker: Speaker, pasted: bool) -> tuple[Kind, int] | None:
    """The sentence's kind and weight, or None when it is nothing to keep."""
    if role == "heading" or len(reading.text) < 4:
        return None
    if role == "command":
        return ("fact", 4 if speaker == "user" else 3)
    worth = reading.exactness
    if pasted or role in ("row", "quoted"):
        return ("fact", 1 if role != "quoted" and worth < 2 else 2) if worth and not asks(reading.text) else None
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
    if kind is not None and ((reading.about and len(reading.stems) > 1) or worth or reading.label):
        heavy = {"rule": 9, "decision": 8, "rejected": 8, "task": 7, "done": 3 + worth, "fact": 5}[kind]
        heavy += ("reason" in cues) + noted + bool(reading.label)
        if kind == "task" and not {"task"} & (cues | {reading.label}):
            heavy -= 0 if worth > 1 else 2
        return (kind, min(12, heavy))
    if not worth and not (noted and len(reading.about) > 1):
        return _without_values(reading)
    if worth == 1 and not reading.measured:
        return _of_person(reading, 6) or (("fact", 4) if noted else None)
    weight = 4 + worth + (2 if noted or reading.label else 0) + ("update" in cues) - reading.text.endswith("!")
    return ("fact", min(12, weight))


def _in_question(reading: Reading, worth: int, noted: bool) -> tuple[Kind, int] | None:
    if worth and (noted or "update" in reading.cues) and "maybe" not in reading.cues:
        return ("fact", 6)
    before, comma, _ = reading.text.partition(", ")
    opening = reading.words[0] if reading.words else ""
    stated = comma and opening not in _ASKING and any(value.end <= len(before) for value in reading.values)
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
    if "rejected" in cues or ("excess" in cues and words & (_BUT | _WE)):
        return "rejected"
    if "task" in cues and ("hedge" not in cues or reading.values):
        return "task"
    if ruled:
        return "rule"
    if "duty" in cues and not cues & {"done", "hedge"}:
        return "task"
    chosen = "reason" in cues and ("choice" in cues or (words & _WHY and words & _WE))
    if chosen or ("swap" in cues and not reading.measured):
        return "decision"
    return "done" if "done" in cues else None


def _forbids(reading: Reading, words: frozenset[str]) -> bool:
    """Whether a negation goes with a modal verb or a "please", of something other than what "I" can do."""
    if not words & NEGATIONS or not reading.about or frozenset(reading.words[:2]) & _SPEAKER:
        return False
    return bool(words & _POLITE) or (bool(words & _MODALS) and len(reading.about) > 1)


def _commands(reading: Reading) -> bool:
    """Whether "never" or "always" is said as a rule, and not of oneself or of somebody."""
    words = frozenset(reading.words)
    opening = next((word for word in reading.words if word not in _BEFORE_A_SUBJECT), "")
    return opening not in _PERSONAL or bool(words & (_WE | _MODALS))


def _without_values(reading: Reading) -> tuple[Kind, int] | None:
    """A sentence without anything exact: only health and what belongs to a person is worth a line."""
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
    ours = bool((_OURS | _YOURS) & set(reading.words))
    kind = _kind(reading)
    hedged = "hedge" in cues
    if kind in ("decision", "rejected", "task") and not hedged and len(reading.about) > 1:
        told = ours or worth or bool(reading.label)
        return (kind, (5 if told else 3) + ("reason" in cues) - (role == "item") + bool(reading.label))
    if not worth:
        return None
    if worth == 1 and not reading.measured:
        return _of_person(reading, 4)
    if hedged and worth < 3:
        return None
    return ("fact", max(1, 1 + worth + ours - hedged - (role == "item")))
