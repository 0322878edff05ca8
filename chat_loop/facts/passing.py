"""What is said of a moment (pure): a walk, the weather, a film. Few of its numbers will be asked
for again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from chat_loop.facts.lexicon import lexicon
from chat_loop.facts.reading import Reading

_LASTING = frozenset(
    {"url", "email", "path", "id", "version", "address", "phone", "code", "identifier"}
)
"""Kinds of values that name a thing for good."""
_PAST: Mapping[str, frozenset[str]] = {
    "en": lexicon(
        "was were had did got went came saw took bought met ran said told lent felt found "
        "slept left made ate drank"
        " heard spent lost won began forgot sang swam wrote drove flew rode sat stood"
    ),
    "de": lexicon(
        "war waren hatte hatten kam kamen ging gingen gab sah sahen las fand lief saß stand schlief"
    ),
    "fr": lexicon("ai avons suis étais était étaient avait avaient avions fut"),
    "es": lexicon("fui fue fueron estuve estuvo hice hizo tuve tuvo vi vimos dijo"),
    "it": lexicon("ho abbiamo era erano avevo avevamo stavo stavamo fu c'era"),
    "pt": lexicon("fui foi foram estive esteve tive teve vi vimos estava estavam"),
    "nl": lexicon("was waren had hadden kwam ging zag las vond liep zat"),
}
_ENDINGS: Mapping[str, re.Pattern[str]] = {
    "en": re.compile(r"[a-z]{2,20}ed"),
    "es": re.compile(r"[a-zñáéíóú]{2,20}(?:é|ó|aron|ieron|aba|aban|ábamos|íamos)"),
    "pt": re.compile(r"[a-zãõçáéíóú]{2,20}(?:ei|ou|aram|eram|ava|avam|ámos)"),
}
_NO_PAST = lexicon("need feed speed seed indeed café qué aquí también sou vou")
_PERFECT = re.compile(r"(?:ge|ver|be|er|ent|zer)[a-zäöüß]{3,20}(?:t|en)")
_HAVE = lexicon("habe hab haben hat bin")
_PRESENT = lexicon(
    """
    is are am it's i'm we're they're he's she's has have needs need must should shall will won't can can't cannot may
    costs cost runs run lives live starts start takes take weighs stands keeps comes goes works belongs holds allows
    uses expires ist sind muss müssen soll sollen darf dürfen kann können wird werden kostet beträgt läuft liegt heißt
    gilt steht beginnt braucht est sont doit doivent faut coûte commence marche tourne habite vaut es está son están
    tiene tienen hay debe deben cuesta empieza funciona vale vive è sono deve devono costa parte funziona serve scade
    é são tem têm custa começa zijn moet moeten mag kost begint loopt staat
    """
)
_THEMES = lexicon(
    """
    rain raining rained rainy snow snowed hail hailed sunny cloudy storm sunset weather film movie quiz novel podcast
    documentary jazz regen regnet geregnet schnee hagel gehagelt sonne wetter wetter-app gewitter krimi quiz roman
    podcast pluie pleut neige grêlé météo soleil orage film série roman lluvia llueve nieve granizó tormenta película
    novela concurso pioggia piove neve grandinato sole meteo romanzo chuva chove filme novela regen regent zon weer
    """
)
_SHOWN = lexicon(
    "example.org example.com typical typically typischerweise theoretisch theoretically "
    "muster montrer mostrare mostrar"
    " exemple ejemplo esempio exemplo voorbeeld hypothetically"
)
_CONDITION = lexicon("if should wenn falls sollte si se cuando quando als indien")
_WOULD = lexicon(
    "would i'd could might würde würdest würden könntest könnte pourrais pourriez serait "
    "serais podrías sería potresti"
    " sarebbe poderia seria zou kunt"
)
_VAGUE = lexicon(
    "rarely usually generally probably often sometimes selten meist meistens allgemein "
    "wahrscheinlich oft manchmal"
    " rarement souvent généralement probablement normalmente raramente probabilmente spesso "
    "zelden vaak meestal"
)


def in_passing(reading: Reading) -> bool:
    """Whether a sentence tells an episode, a scene or an example rather than how something is or
    has to be.
    """
    words = frozenset(reading.words)
    if reading.label or "note" in reading.cues or "update" in reading.cues:
        return False
    if words & _SHOWN:
        return True
    if any(value.kind in _LASTING for value in reading.values):
        return False
    return bool(words & _THEMES) or (_is_past(reading, words) and not words & _PRESENT)


def only_advice(reading: Reading) -> bool:
    """Whether a reply's sentence says what would hold in some case, or as a rule of thumb."""
    if any(value.kind in _LASTING for value in reading.values):
        return False
    words = frozenset(reading.words)
    if frozenset(reading.words[:6]) & _CONDITION or words & _VAGUE:
        return True
    return not reading.measured and bool(words & _WOULD)


def _is_past(reading: Reading, words: frozenset[str]) -> bool:
    language = reading.language
    if words & _PAST.get(language, frozenset()):
        return True
    if language == "de":
        return bool(words & _HAVE) and any(_PERFECT.fullmatch(word) for word in words)
    ending = _ENDINGS.get(language)
    return ending is not None and any(
        ending.fullmatch(word) and word not in _NO_PAST for word in words
    )
