"""A sentence as it is compared with others (pure), and whether one says that a task is done."""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from chat_loop.facts.judge import Kind, Speaker
from chat_loop.facts.reading import Reading, shared
from chat_loop.facts.words import stem


class Statement(Struct, frozen=True):
    """What is compared. `own`: the sentence without the one it leans on; `may_replace`: False for
    pasted text.
    """

    reading: Reading
    own: Reading
    kind: Kind
    speaker: Speaker
    ref: str
    may_replace: bool = True
    corrects: int | None = None
    """Position of the statement that it is known to correct ("make it 45 instead")."""


def closes(new: Statement, old: Statement) -> bool:
    """Whether a task is done now: the user (or, for a task of its own, the model) says so in much
    the same words.
    """
    if old.kind != "task" or new.kind == "task" or "done" not in new.own.cues | {new.own.label}:
        return False
    if "task" in new.own.cues or (new.speaker == "reply" and old.speaker == "user"):
        return False
    wanted, done = _things(old.reading), _things(new.reading)
    common, left, right = shared(wanted, done)
    if common < 1 or (common == 1 and len(wanted) > 2):
        return False
    verb_only = len(left) == 1 and left[0] in (wanted[0], wanted[-1]) and common >= 2
    return not left or not right or verb_only


def _things(reading: Reading) -> tuple[str, ...]:
    """What a sentence about a task is about, without the words for doing it."""
    return tuple(word for word in reading.about if word not in _doing())


@cache
def _doing() -> frozenset[str]:
    return frozenset(map(stem, _DOING.split()))


_DOING = """
    pay paid send sent book booked call called order ordered buy bought fix fixed write written wrote sign signed
    submit submitted cancel cancelled renew renewed return returned finish finished file mail post bezahlen bezahlt
    überweisen anrufen angerufen schicken geschickt buchen gebucht bestellen bestellt kaufen gekauft schreiben
    kündigen gekündigt abholen abgeholt payer payé envoyer envoyé réserver réservé appeler appelé acheter pagar
    pagado pagué enviar enviado reservar llamar comprar pagare pagato inviare inviato prenotare chiamare comprare
    pago betalen betaald sturen verstuurd boeken geboekt bellen gebeld kopen gekocht done erledigt erledigen
"""
