"""What a transcript holds, as values: a header, entries in the order they happened, and a seal."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field, replace
from datetime import datetime
from functools import cached_property
from typing import Literal

from chat_loop.frozen import dataclass
from chat_loop.sessions.entries import (
    OF_QUERY,
    Attachment,
    Call,
    Entry,
    Name,
    Pin,
    Query,
    Reply,
    Restoration,
    Result,
    Switch,
    Tag,
    Undo,
    Unpin,
    Untag,
)
from chat_loop.values import Compaction, Usage

ID_PATTERN = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}")
REF_PATTERN = re.compile(r"[0-9]{1,6}\.[0-9]{1,9}")
"""A place in a chain, `2.14`: query 14 of its second session."""

TAG_PATTERN = re.compile(r"[\w][\w./+-]{0,39}")

SealReason = Literal["exit", "compact", "resume", "clear"]
SummarySource = Literal["model", "extracted", "none"]
"""Who made the summary block: a model; code, from the words themselves; nobody yet."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The summary block. The first four fields are the model's narrative, the others code keeps
    word for word.
    """

    background: str = "Initial session."
    topics: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    key_facts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Header:
    """Who talks, where and when. `id` and `parent` match ID_PATTERN (`parent` may be empty), tags
    TAG_PATTERN.

    `name` is the user's, `title` was made by the program.
    """

    id: str
    created: datetime
    agent: str
    agent_path: str = ""
    model: str = ""
    parent: str = ""
    parent_path: str = ""
    name: str = ""
    title: str = ""
    tags: tuple[str, ...] = ()
    project: str = ""
    """The working directory in which the session began."""
    mode: str = ""
    """`print`: the conversation was only held with `-p` so far; empty: in a chat."""


@dataclass(frozen=True, kw_only=True)
class Seal:
    """The end of a session. `usage` and `seconds` are those of the summary call."""

    at: datetime
    reason: SealReason
    source: SummarySource = "none"
    summary: Summary | None = None
    usage: Usage | None = None
    seconds: float | None = None
    covers: int | None = None
    """The last query that the summary block covers; None when that is all of them."""
    compaction: Compaction | None = None


@dataclass(frozen=True)
class Use:
    """A tool call and, when one came, its result."""

    call: Call
    result: Result | None = None


@dataclass(frozen=True)
class Exchange:
    """A query with its files and, when one came, its reply: the texts of all its steps joined, its
    tools apart.
    """

    query: Query
    reply: Reply | None = None
    depth: int = 1
    """Which session of the chain it belongs to, the first being 1."""
    uses: tuple[Use, ...] = ()
    attached: tuple[Attachment, ...] = ()

    @property
    def ref(self) -> str:
        """Its place in the chain as summaries and the archive name it: `2.14`, query 14 of the
        second session.
        """
        return f"{self.depth}.{self.query.number}"

    @property
    def failed(self) -> bool:
        """True when the query was refused or never answered: it stays in the file and is not sent
        again.
        """
        return self.reply is not None and self.reply.failed


@dataclass(frozen=True, kw_only=True)
class Totals:
    """Accounting of a session: the restoration's tokens are counted apart, and not as a query."""

    queries: int = 0
    session: Usage = field(default_factory=Usage)
    restoration: Usage = field(default_factory=Usage)

    @property
    def combined(self) -> int:
        return self.session.total + self.restoration.total


@dataclass(frozen=True, kw_only=True)
class Session:
    """One transcript as a value."""

    header: Header
    entries: tuple[Entry, ...] = ()
    seal: Seal | None = None

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        entries, depth = self.standing, self.depth
        replies: dict[int, Reply] = {}
        calls: dict[int, list[Call]] = {}
        results: dict[tuple[int, str], Result] = {}
        attached: dict[int, list[Attachment]] = {}
        for entry in entries:
            if isinstance(entry, Reply):
                before = replies.get(entry.number)
                replies[entry.number] = entry if before is None else _joined(before, entry)
            elif isinstance(entry, Call):
                calls.setdefault(entry.number, []).append(entry)
            elif isinstance(entry, Result):
                results[entry.number, entry.id] = entry
            elif isinstance(entry, Attachment):
                attached.setdefault(entry.number, []).append(entry)
        return tuple(
            Exchange(
                entry,
                replies.get(entry.number),
                depth,
                tuple(
                    Use(call, results.get((call.number, call.id)))
                    for call in calls.get(entry.number, ())
                ),
                tuple(attached.get(entry.number, ())),
            )
            for entry in entries
            if isinstance(entry, Query)
        )

    @property
    def standing(self) -> tuple[Entry, ...]:
        """The entries without those of undone queries."""
        undone = {entry.number for entry in self.entries if isinstance(entry, Undo)}
        if not undone:
            return self.entries
        return tuple(
            entry
            for entry in self.entries
            if not isinstance(entry, OF_QUERY) or entry.number not in undone
        )

    @property
    def sent(self) -> tuple[Entry, ...]:
        """The standing entries without those of failed queries: what the model is sent again."""
        standing = self.standing
        failed = {entry.number for entry in standing if isinstance(entry, Reply) and entry.failed}
        if not failed:
            return standing
        return tuple(
            entry
            for entry in standing
            if not isinstance(entry, OF_QUERY) or entry.number not in failed
        )

    @property
    def numbers(self) -> str:
        """`it has 1 to 7`: its queries' numbers, for who asks for one that is not there."""
        found = [exchange.query.number for exchange in self.exchanges]
        if len(found) < 2:
            return f"it has {found[0]} only" if found else "nothing was said in it"
        return f"it has {min(found)} to {max(found)}"

    def until(self, number: int) -> Session:
        """The session as it was before a query after `number` was asked, called and tagged as it is
        now.

        Its seal, which covers later words, is left out as well.
        """
        if all(exchange.query.number <= number for exchange in self.exchanges):
            return self
        entries = self.entries
        later = (
            at
            for at, entry in enumerate(entries)
            if isinstance(entry, Query) and entry.number > number
        )
        end = next(later, len(entries))
        undone = (
            entry for entry in entries[end:] if isinstance(entry, Undo) and entry.number <= number
        )
        standing = (entry for entry in entries[:end] if not isinstance(entry, Name | Tag | Untag))
        header = replace(self.header, name=self.name, tags=self.tags)
        return replace(self, header=header, entries=(*standing, *undone), seal=None)

    @property
    def name(self) -> str:
        """The name that the user gave it. The header of a sealed session tells it, a live one's
        entries.
        """
        if self.seal is not None:
            return self.header.name
        return next(
            (entry.text for entry in reversed(self.entries) if isinstance(entry, Name)),
            self.header.name,
        )

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags, each once, in the order in which they came."""
        tags = dict.fromkeys(self.header.tags)
        for entry in self.entries if self.seal is None else ():
            if isinstance(entry, Tag):
                tags.setdefault(entry.text)
            elif isinstance(entry, Untag):
                tags.pop(entry.text, None)
        return tuple(tags)

    @property
    def usage_of_models(self) -> dict[str, Usage]:
        """What each model has taken and given, by its reference; the summary apart."""
        found: dict[str, Usage] = {}
        model = self.header.model
        for entry in self.entries:
            if isinstance(entry, Switch):
                model = entry.text
            elif isinstance(entry, Reply) and entry.usage is not None:
                found[model] = found.get(model, Usage()) + entry.usage
        return found

    @property
    def depth(self) -> int:
        """Which session of its chain it is, as far as it was told; 1 without a parent."""
        restoration = self.restoration
        return restoration.depth if restoration is not None else 1

    @cached_property
    def restoration(self) -> Restoration | None:
        """Asked for with every exchange's depth: a session without one is looked through only
        once.
        """
        return next((entry for entry in self.entries if isinstance(entry, Restoration)), None)

    @property
    def acknowledgment(self) -> Reply | None:
        return next(
            (entry for entry in self.entries if isinstance(entry, Reply) and entry.number == 0),
            None,
        )

    @property
    def pins(self) -> tuple[str, ...]:
        """What was pinned in this session and not unpinned again."""
        return pinned_after((), self.entries)

    @property
    def answered(self) -> bool:
        """True when the model has answered at least one query."""
        return any(isinstance(entry, Reply) and answers(entry) for entry in self.entries)

    @property
    def totals(self) -> Totals:
        session = restoration = Usage()
        queries = 0
        for entry in self.entries:
            if isinstance(entry, Query):
                queries += 1
            elif isinstance(entry, Reply) and entry.usage is not None:
                if entry.number:
                    session += entry.usage
                else:
                    restoration += entry.usage
        return Totals(queries=queries, session=session, restoration=restoration)


def answers(reply: Reply) -> bool:
    """Return True for the reply to a query of which something came."""
    return reply.number > 0 and (
        bool(reply.text.strip()) or reply.stop not in ("error", "interrupted")
    )


def pinned_after(before: tuple[str, ...], entries: Iterable[Entry]) -> tuple[str, ...]:
    """The pins that stand after `entries`, each once, those of `before` first."""
    pins = dict.fromkeys(before)
    for entry in entries:
        if isinstance(entry, Pin):
            pins.setdefault(entry.text)
        elif isinstance(entry, Unpin):
            pins.pop(entry.text, None)
    return tuple(pins)


def _joined(step: Reply, following: Reply) -> Reply:
    """Two steps of one reply, between which tools were used, as one."""
    seconds = (
        None
        if step.seconds is None or following.seconds is None
        else step.seconds + following.seconds
    )
    usage = following.usage if step.usage is None else step.usage + (following.usage or Usage())
    text = "\n\n".join(filter(None, (step.text, following.text)))
    return replace(following, at=step.at, text=text, seconds=seconds, usage=usage)
