"""Marks (pure): the message from which each line of a summary comes, and the summaries that have
lines of each message.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from chat_loop.context.ledger import LedgerLine, items
from chat_loop.sessions.records import Session


class _Texts(Struct, frozen=True, dict=True):
    """The messages of a session, with single blanks: those of the user and those of the model,
    which include the results of tools, each after the number of its query.
    """

    session: Session

    @cached_property
    def user(self) -> list[tuple[int, str]]:
        found = []
        for each in self.session.exchanges:
            found.append((each.number, _flat(each.query.text)))
        return found

    @cached_property
    def reply(self) -> list[tuple[int, str]]:
        found = []
        for each in self.session.exchanges:
            texts = [use.result.text for use in each.uses if use.result is not None]
            if each.reply is not None:
                texts.append(each.reply.text)
            found.append((each.number, _flat("\n".join(texts))))
        return found


class ChainMarks:
    """The marks of a chain, whose sessions are given with their numbers, oldest first."""

    def __init__(self, numbered: Sequence[tuple[int, Session]]) -> None:
        self._texts = {number: _Texts(session) for number, session in numbered}
        self._sources: dict[LedgerLine, str] = {}
        kept: defaultdict[str, dict[int, None]] = defaultdict(dict)
        for number, session in numbered:
            if session.seal is None or session.seal.summary is None:
                continue
            for line in items(session.seal.summary):
                if source := self.source(line):
                    kept[source][number] = None
        self.summaries: Mapping[str, Sequence[int]] = {ref: [*found] for ref, found in kept.items()}
        """The numbers of the sessions whose summaries have lines of a message, by its reference."""

    def source(self, line: LedgerLine) -> str:
        """Return the reference of the message that says a line, or an empty text."""
        if line not in self._sources:
            self._sources[line] = self._find(line)
        return self._sources[line]

    def _find(self, line: LedgerLine) -> str:
        texts = self._texts.get(line.session)
        if texts is None:
            return ""
        spoken = texts.reply
        forms = [line.text, line.text.partition(": ")[2]]  # of a result, after what was asked for
        if line.speaker == "user":
            spoken = texts.user
            forms = forms[:1]
        for form in filter(None, forms):
            for number, text in spoken:
                if form in text:
                    return f"{line.session}.{number}"
        return ""


def _flat(text: str) -> str:
    return " ".join(text.split())
