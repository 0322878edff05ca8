"""The one place that asks before secrets reach a model, and the words of that question."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from msgspec import Struct

from chat_loop.characters import one_line
from chat_loop.redact.outgoing import Answer, Consent, Outgoing, TextSource, decide, judge
from chat_loop.values import LeftOutText, plural

MAX_NAME = 200
MAX_NAMED = 8  # sources that a note for the model names
JUDGED_AT_ONCE = 20_000  # characters; finding the secrets of a longer text would delay keys
PATHS_AT_ONCE = 100
MARKED = "What looks like a key or a password is not sent: marks replace it in"
PLACE = "a well-known place of keys"

Reason = Literal["", "refused", "place"]
"""Why a text is left out: the user refused, or its source is a place of keys and nobody is there to
ask. Empty: it is sent.
"""
Ask = Callable[[str], Awaitable[Answer | None]]
"""Shows what would be sent, and asks. Returns None if there is no answer, which means no."""
Tell = Callable[[str, str], object]
"""Shows a sentence and a hint."""


class Released(Struct, frozen=True):
    """What is sent in place of a text: it, or its marked form, or nothing because of `left_out`."""

    text: str
    left_out: Reason = ""


class SecretGate:
    """Lets texts through to a model. Without `ask` nobody can be asked, and `tell` says what is not
    sent. It remembers the answers of this run, and what was said.
    """

    def __init__(self, ask: Ask | None = None, tell: Tell | None = None) -> None:
        self._ask = ask
        self._tell = tell
        self._consents: dict[str, Consent] = {}
        self._told = set[str]()

    def asks(self, texts: Sequence[Outgoing]) -> bool:
        """Return True if the user must be asked about some of the texts."""
        return any(self._decide(outgoing) is None for outgoing in texts)

    async def release(self, texts: Sequence[Outgoing], *, by_user: bool = False) -> list[Released]:
        """Return what is sent in place of each text. Ask at most once, about all of them together.

        A source of a tool is asked about once. If the user has just named the sources (`by_user`),
        only an earlier consent to send counts.
        """
        open_texts = []
        for outgoing in texts:
            if self._decide(outgoing, by_user=by_user) is None:
                open_texts.append(outgoing)
        given: Answer | None = None
        if open_texts and self._ask is not None:
            given = await self._ask(question_about(open_texts))
        asked = {outgoing.source.identity for outgoing in open_texts}
        released = []
        for outgoing in texts:
            identity = outgoing.source.identity
            if identity in asked:
                answer = given or "no"
            else:
                answer = self._decide(outgoing, by_user=by_user) or "no"
            released.append(self._released(outgoing, answer))
        if given is not None:
            for outgoing in open_texts:
                self._remember(outgoing, given, by_user=by_user)
        return released

    def _decide(self, outgoing: Outgoing, *, by_user: bool = False) -> Answer | None:
        consent = self._consents.get(outgoing.source.identity)
        if by_user and consent is not None and consent.answer != "send":
            consent = None
        return decide(outgoing, consent, can_ask=self._ask is not None)

    def _remember(self, outgoing: Outgoing, answer: Answer, *, by_user: bool) -> None:
        """Keep an answer. One against a wish that the user had is none about later calls."""
        if by_user and answer == "no":
            return
        identity = outgoing.source.identity
        secrets = outgoing.secrets
        if (before := self._consents.get(identity)) is not None:
            secrets |= before.secrets
        self._consents[identity] = Consent(answer, secrets)

    def _released(self, outgoing: Outgoing, answer: Answer) -> Released:
        if answer == "send":
            return Released(outgoing.text)
        name = one_line(outgoing.source.name, MAX_NAME)
        if answer == "marks":
            self._say(f"{MARKED} {name}.")
            return Released(outgoing.marked)
        if self._ask is not None:
            return Released("", "refused")
        if outgoing.text:
            hint = "A chat on a terminal asks about it."
            self._say(f"{name} is not sent: {_place(outgoing)}, and there is nobody to ask.", hint)
        return Released("", "place")

    def _say(self, text: str, hint: str = "") -> None:
        """Say once what nobody was asked about."""
        if self._ask is None and self._tell is not None and text not in self._told:
            self._told.add(text)
            self._tell(text, hint)


def question_about(texts: Sequence[Outgoing]) -> str:
    """Return what stands above the question: a line for each source, with the reasons."""
    lines = ["This would go to the model:"]
    for outgoing in texts:
        reasons = []
        if outgoing.place:
            reasons = [_place(outgoing)]
        if outgoing.secrets:
            kinds = ", ".join(outgoing.kinds)
            count = plural(len(outgoing.secrets), "text")
            reasons.append(f"{count} that may be secret ({kinds})")
        lines.append(f"  {one_line(outgoing.source.name, MAX_NAME)}: {' · '.join(reasons)}")
    if any(outgoing.place for outgoing in texts):
        lines.append("Marks replace only what is recognized.")
    return "\n".join(dict.fromkeys(lines))


def left_out_note(left_out: Sequence[LeftOutText]) -> str:
    """Return a line for the model that names what it does not get, or an empty text."""
    if not left_out:
        return ""
    names = ", ".join(one.text for one in left_out[:MAX_NAMED])
    if more := len(left_out[MAX_NAMED:]):
        names += f" and {more} more"
    why = "the user did not allow it"
    if all(one.reason == "place" for one in left_out):
        why = f"{PLACE}, and there is nobody to ask"
    return f"[Left out: {names}. Reason: {why}. Go on without it.]"


async def judged(text: str, source: TextSource) -> Outgoing:
    """Return a text as it is judged. A long one, or one of many paths, is read in a thread."""
    if len(text) <= JUDGED_AT_ONCE and len(source.paths) <= PATHS_AT_ONCE:
        return judge(text, source)
    return await asyncio.to_thread(judge, text, source)


def _place(outgoing: Outgoing) -> str:
    return f"{PLACE} ({outgoing.place})"
