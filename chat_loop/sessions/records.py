"""The content of a transcript as values: a header, entries in their order, and a seal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from chat_loop.values import Compaction, StopReason, Usage

IMAGES: Mapping[str, str] = MappingProxyType(
    {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}
)
"""The kinds of images that models take, and the suffixes of their files."""
IMAGE_FOLDER = "attachments"
"""The folder with the images of a sessions folder."""
_DIGEST = re.compile("[0-9a-f]{64}")


class Entry(Struct, frozen=True, kw_only=True, tag_field="kind", tag=str.lower):
    """A record between the header and the seal. Its tag names it in JSON."""

    at: datetime


class QueryEntry(Entry, frozen=True, kw_only=True):
    """A record that belongs to query `number`, counted from 1 in each session."""

    number: int


class Query(QueryEntry, frozen=True, kw_only=True):
    """A message of the user."""

    text: str


class Reply(QueryEntry, frozen=True, kw_only=True):
    """An answer of the model, complete or not. Number 0 is the acknowledgment.

    `failed`: the request was refused or never answered. The query and all that belongs to it are
    not sent again.
    """

    text: str
    stop: StopReason = "end"
    seconds: float | None = None
    usage: Usage | None = None
    failed: bool = False


class Undo(QueryEntry, frozen=True, kw_only=True):
    """The query and what was answered count as not said; the words stay in the file."""


class Call(QueryEntry, frozen=True, kw_only=True):
    """A tool call of the model. `arguments` is JSON as the model wrote it."""

    id: str
    name: str
    arguments: str


class Result(QueryEntry, frozen=True, kw_only=True):
    """The result of the call with the same `id`."""

    id: str
    text: str
    failed: bool = False
    seconds: float | None = None


class ArchiveContext(QueryEntry, frozen=True, kw_only=True, tag="recall"):
    """Passages of the archive that the program sent with the query; the user did not say them."""

    text: str


class Attachment(QueryEntry, frozen=True, kw_only=True):
    """A file that the user gave with the query, as it was then. `name` is the path as it was typed.

    `size` is in bytes, `sha256` the file's digest in hexadecimal. `text` is that of a text file; an
    image is kept as a file of its own, and `width` and `height` are in pixels.
    """

    name: str
    media: str
    size: int
    sha256: str
    text: str = ""
    width: int = 0
    height: int = 0

    @property
    def is_image(self) -> bool:
        return self.media in IMAGES

    @property
    def file(self) -> str:
        """The path of an image from the sessions folder; empty for other files, and for a digest
        that is none.
        """
        if not self.is_image or not _DIGEST.fullmatch(self.sha256):
            return ""
        return f"{IMAGE_FOLDER}/{self.sha256}.{IMAGES[self.media]}"


class Note(Entry, frozen=True, kw_only=True):
    """A record of a time and a text."""

    text: str


class Pin(Note, frozen=True):
    """Text that every later summary block of the chain carries unchanged."""


class Unpin(Note, frozen=True):
    """A pin, its parent's or its own, that the session no longer carries."""


class Name(Note, frozen=True):
    """A name for the session; an empty text takes the name away."""


class Tag(Note, frozen=True):
    """A tag for the session."""


class Untag(Note, frozen=True):
    """A tag that was taken off."""


class ModelChange(Note, frozen=True, tag="switch"):
    """The model, as `provider:model`, that answers from here on."""


class Restoration(Entry, frozen=True, kw_only=True):
    """The context that the session got from its parent. `block` is the inner text of a summary
    block of the chain.

    The words from the reference `verbatim_from` on, up to the parent's end, are given as they were
    said, those before it only as the block. Of these words the ones from `unsummarized_from` on are
    in no summary block yet. Empty: none.

    A session that forks ends its parent's words at the reference `until`. One that merges has a
    second parent, with the id `merged`.
    """

    parent_created: datetime
    queries: int
    tokens: int
    block: str
    grandparent: str = ""
    depth: int = 2
    """The place of this session in its chain."""
    verbatim_from: str = field(default="", name="since")
    unsummarized_from: str = field(default="", name="fresh")
    until: str = ""
    merged: str = ""


ENTRIES: Mapping[str, type[Entry]] = {
    str(kind.__struct_config__.tag): kind
    for kind in (
        *(Query, Reply, Undo, Call, Result, ArchiveContext, Attachment),
        *(Pin, Unpin, Name, Tag, Untag, ModelChange, Restoration),
    )
}
"""The kinds of entries by their names in JSON."""

MINOR = 1
"""The minor version of the file format that this program writes."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""The time of what has none."""
ID_PATTERN = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}")
REF_PATTERN = re.compile(r"[0-9]{1,6}\.[0-9]{1,9}")
"""A place in a chain, `2.14`: query 14 of its second session."""

TAG_PATTERN = re.compile(r"[\w][\w./+-]{0,39}")

SealReason = Literal["exit", "compact", "resume", "clear"]
SummarySource = Literal["model", "extracted", "none"]
"""The maker of the summary block: a model; code, from the words themselves; nobody yet."""


class Summary(Struct, frozen=True, kw_only=True):
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


class Header(Struct, frozen=True, kw_only=True):
    """The facts of a session. `id` and `parent` match ID_PATTERN (`parent` may be empty), tags
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
    minor: int = MINOR
    """The minor version of the file format: how its page is laid out."""


class Seal(Struct, frozen=True, kw_only=True):
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


class Use(Struct, frozen=True):
    """A tool call and, when one came, its result."""

    call: Call
    result: Result | None = None


class Exchange(Struct, frozen=True):
    """A query with its files and, when one came, its reply: the texts of all its steps joined, its
    tools apart.
    """

    query: Query
    reply: Reply | None = None
    depth: int = 1
    """The place of its session in the chain, from 1 on."""
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


class Totals(Struct, frozen=True, kw_only=True):
    """Accounting of a session: the restoration's tokens are counted apart, and not as a query."""

    queries: int = 0
    session: Usage = field(default_factory=Usage)
    restoration: Usage = field(default_factory=Usage)

    @property
    def combined(self) -> int:
        return self.session.total + self.restoration.total


class Session(Struct, frozen=True, kw_only=True, dict=True):
    """One transcript as a value."""

    header: Header
    entries: tuple[Entry, ...] = ()
    seal: Seal | None = None
    counted: Totals | None = None
    """The totals, where only a part of the entries was read."""

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        entries, depth = self.active_entries, self.depth
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
    def active_entries(self) -> tuple[Entry, ...]:
        """The entries without those of undone queries."""
        undone = {entry.number for entry in self.entries if isinstance(entry, Undo)}
        if not undone:
            return self.entries
        return tuple(
            entry
            for entry in self.entries
            if not isinstance(entry, QueryEntry) or entry.number not in undone
        )

    @property
    def sent(self) -> tuple[Entry, ...]:
        """The active entries without those of failed queries: what the model is sent again."""
        active = self.active_entries
        failed = {entry.number for entry in active if isinstance(entry, Reply) and entry.failed}
        if not failed:
            return active
        return tuple(
            entry
            for entry in active
            if not isinstance(entry, QueryEntry) or entry.number not in failed
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
        before = (entry for entry in entries[:end] if not isinstance(entry, Name | Tag | Untag))
        header = replace(self.header, name=self.name, tags=self.tags)
        return replace(self, header=header, entries=(*before, *undone), seal=None)

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
        """The usage of each model by its reference, without that of the summary."""
        found: dict[str, Usage] = {}
        model = self.header.model
        for entry in self.entries:
            if isinstance(entry, ModelChange):
                model = entry.text
            elif isinstance(entry, Reply) and entry.usage is not None:
                found[model] = found.get(model, Usage()) + entry.usage
        return found

    @property
    def depth(self) -> int:
        """The place of the session in its chain as the restoration tells it; 1 without one."""
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
        """The texts that were pinned in this session and not unpinned again."""
        return pinned_after((), self.entries)

    @property
    def answered(self) -> bool:
        """True when the model has answered at least one query."""
        return any(isinstance(entry, Reply) and answers(entry) for entry in self.entries)

    @property
    def totals(self) -> Totals:
        if self.counted is not None:
            return self.counted
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
    """Return the pins that hold after `entries`, each once, those of `before` first."""
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


State = Literal["sealed", "unsealed", "plain", "damaged", "empty", "foreign"]
"""Ended properly; open or crashed; another program's format; unreadable in part; no bytes; no
transcript.
"""


class Branch(Struct, frozen=True):
    """A branch begins after the query with the reference `at` (empty: unknown) with the words
    `words`.
    """

    at: str
    words: str


class SessionRow(Struct, frozen=True, kw_only=True):
    """`queries` and `tokens` are None when only the whole file could tell.

    In a listing of conversations the row is that of the newest session, and the numbers are those
    of its whole chain. `updated` is the date of its last record, whatever the file's own times are;
    None: it has none that can be true.
    """

    id: str
    path: Path
    state: State
    updated: datetime | None = None
    created: datetime | None = None
    agent: str = ""
    project: str = ""
    """The working directory in which it began."""
    parent: str = ""
    merged: str = ""
    """The id of its second parent."""
    queries: int | None = None
    tokens: int | None = None
    name: str = ""
    """The name that the user gave, else the title, else the first query's first line."""
    tags: tuple[str, ...] = ()
    depth: int = 1
    compacted: bool = False
    """True when it ended because its context was compacted."""
    until: str = ""
    """The reference of its parent's last query that it goes on from; empty: it goes on from all of
    its parent.
    """
    words: str = ""
    """The first line of its own first query."""
    mode: str = ""
    """`print`: it was only held with `-p`."""
    answered: bool = True
    """False when no reply ever came."""
    spent: tuple[tuple[str, Usage], ...] | None = None
    """The tokens of each model by its reference; None when only the whole file could tell."""
    compactions: int = 0
    """The number of compactions of the chain."""
    folded: int = 0
    """The number of older sessions of its chain behind it in a listing of conversations."""
    shared: int = 0
    """The number of queries of its chain that belong to other conversations as well."""
    branch: Branch | None = None
    """The place where its chain leaves that of another conversation."""
    behind: str = ""
    """The id of the conversation's newest session, where it is listed below that."""
    current: bool = False
    """It is the conversation that is open here."""
