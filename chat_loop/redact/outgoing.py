"""The rule for secrets in texts that are about to reach a model: what is asked, and what is sent
when nobody can be asked (pure).
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from chat_loop.redact import Redactor, find_secrets
from chat_loop.redact.key_places import key_place

Answer = Literal["send", "marks", "no"]
"""Send the text as it is, or with marks in place of the secrets, or leave it out."""


class TextSource(Struct, frozen=True):
    """Where a text comes from: its name for people, the `paths` that led to it, and its identity in
    this run, which is its name unless `key` is given.
    """

    name: str
    paths: tuple[str, ...] = ()
    key: str = ""

    @property
    def identity(self) -> str:
        return self.key or self.name


class Outgoing(Struct, frozen=True):
    """A text on its way to a model. `marked` has marks in place of the `secrets`, whose `kinds` are
    those of `find_secrets`. `place` is the well-known place of keys of its source, if any.
    """

    source: TextSource
    text: str
    marked: str
    secrets: frozenset[str] = frozenset()
    kinds: tuple[str, ...] = ()
    place: str = ""

    @property
    def is_free(self) -> bool:
        """True if nothing has to be asked: no secret was found, and the place is none of keys."""
        return not self.place and self.text == self.marked


class Consent(Struct, frozen=True):
    """An answer about one source, and the secrets that it had then."""

    answer: Answer
    secrets: frozenset[str] = frozenset()


def judge(text: str, source: TextSource) -> Outgoing:
    """Find the secrets in a text, and judge the paths of its source. Marks keep line numbers."""
    place = ""
    for path in source.paths:
        place = place or key_place(path)
    found = find_secrets(text)
    if not found:
        return Outgoing(source, text, text, place=place)
    secrets = frozenset(text[secret.start : secret.end] for secret in found)
    kinds = tuple(dict.fromkeys(secret.kind for secret in found))
    marked = Redactor(keeps_lines=True)(text)
    return Outgoing(source, text, marked, secrets, kinds, place)


def decide(outgoing: Outgoing, consent: Consent | None, *, can_ask: bool) -> Answer | None:
    """Return what happens to a text, or None if the user must be asked.

    An earlier consent to send covers no secret that the source did not have at that time. An empty
    text is no reason to ask. If nobody can be asked, marks replace the secrets, and what comes from
    a place of keys is left out.
    """
    if outgoing.is_free:
        return "send"
    if consent is not None and (consent.answer != "send" or outgoing.secrets <= consent.secrets):
        return consent.answer
    if can_ask:
        return None if outgoing.text else "send"
    return "no" if outgoing.place else "marks"
