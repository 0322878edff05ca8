"""The content of a transcript as values; docs/format.md says what each means in the file."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from itertools import count, takewhile
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec import Struct, ValidationError, convert, field
from msgspec.structs import replace

from chat_loop.values import Compaction, StopReason, Usage

IMAGES = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}
"""The kinds of images that models take, and the suffixes of their files."""
IMAGE_FOLDER = "attachments"
MINOR = 2  # the minor version of the file format that this program writes
ALL = sys.maxsize  # the last query of a session that belongs to a conversation as a whole
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # the time of records without one
ID_PATTERN = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}")
REF_PATTERN = re.compile(r"[0-9]{1,6}\.[0-9]{1,9}")  # `2.14`: query 14 of a chain's second session
DIGEST_PATTERN = re.compile("[0-9a-f]{16}")
TAG_PATTERN = re.compile(r"[\w][\w./+-]{0,39}")

REMOVED = "[removed by the user]"
"""Replaces a text that the user removed for good (`sessions redact`)."""
PURGED_PARENT = "**Background Context:** [The session before this one was removed by the user.]"
"""The restored block of a session whose parent the user removed for good (`sessions purge`)."""

MOST_MODELS = 20
"""The most models of a session whose usage is told for each of its queries."""

SealReason = Literal["exit", "compact", "resume", "clear"]
SummarySource = Literal["model", "extracted", "none"]
"""The author of the summary block: a model, code that extracts it from the text, or nobody yet."""
State = Literal["sealed", "unsealed", "plain", "damaged", "empty", "foreign"]
"""Ended properly; open or crashed; of another program; damaged; without bytes; no transcript."""


def free_ids(identity: str) -> Iterator[str]:
    """Yield an id and, in case it is taken, the ids to try next: `a`, `a_2`, `a_3` and so on."""
    yield identity
    for number in count(2):
        suffix = f"_{number}"
        yield identity[: 64 - len(suffix)] + suffix


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
    """An answer of the model, complete or not. Number 0 is the acknowledgment."""

    text: str
    stop: StopReason = "end"
    seconds: float | None = None
    usage: Usage | None = None
    failed: bool = False


class UndoEntry(QueryEntry, frozen=True, kw_only=True):
    """A query that does not count, or counts again. It is `number` of this session or, if that is
    0, the one that `ref` names in the chain. A merge can give two queries one reference: `session`
    says which is meant.
    """

    ref: str = ""
    session: str = ""

    @property
    def key(self) -> tuple[str, int]:
        """The id of its session, empty for this one, and the number of the query."""
        number = self.ref.partition(".")[2]
        if self.number or not number:
            return "", self.number
        return self.session, int(number)


class Undo(UndoEntry, frozen=True):
    """A query that no longer counts, with its replies. The words stay in the file."""


class Redo(UndoEntry, frozen=True):
    """A query that counts again after an `Undo`."""


class Call(QueryEntry, frozen=True, kw_only=True):
    """A tool call of the model. `arguments` is JSON as the model wrote it."""

    id: str
    name: str
    arguments: str


class Result(QueryEntry, frozen=True, kw_only=True):
    """The result of the call with the same `id`. The model got `given` tokens of it (None: all).
    `not_kept` bytes at its end are not in the file: they were more than a session keeps.
    """

    id: str
    text: str
    failed: bool = False
    seconds: float | None = None
    given: int | None = None
    not_kept: int = 0


class Opaque(QueryEntry, frozen=True, kw_only=True):
    """What a service sent with a step and wants back, such as signed reasoning, as JSON. Only this
    model at this endpoint gets it back.
    """

    text: str
    model: str = ""
    endpoint: str = ""


class LeftOut(QueryEntry, frozen=True, kw_only=True, tag="left-out"):
    """A file that was not sent with the query: its name, and the reason as a word."""

    text: str
    reason: str = ""


class Change(QueryEntry, frozen=True, kw_only=True):
    """A file that a tool wrote: its path, and the digests of its text after and before, if any."""

    text: str
    written: str
    replaced: str = ""


class ArchiveContext(QueryEntry, frozen=True, kw_only=True, tag="recall"):
    """Passages of the archive that the program sent with the query; the user did not say them."""

    text: str


class Attachment(QueryEntry, frozen=True, kw_only=True):
    """A file that the user sent with the query: its text, or an image in its own file."""

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
        """The path of an image from the sessions folder; empty without a valid digest."""
        if self.is_image and re.fullmatch("[0-9a-f]{64}", self.sha256):
            return f"{IMAGE_FOLDER}/{self.sha256}.{IMAGES[self.media]}"
        return ""


class Note(Entry, frozen=True, kw_only=True):
    """A record of a time and a text."""

    text: str


class Pin(Note, frozen=True):
    """Text that every later summary block of the chain carries unchanged."""


class Unpin(Note, frozen=True):
    """A pin, of its parent or its own, that the session no longer carries."""


class Name(Note, frozen=True):
    """A name for the session; an empty text removes it."""


class Tag(Note, frozen=True):
    """A tag for the session."""


class Untag(Note, frozen=True):
    """A tag that was removed."""


class Setting(Note, frozen=True):
    """A setting that the session and its children keep, `NAME: VALUE`. No VALUE removes it."""


class ModelChange(Note, frozen=True, kw_only=True, tag="switch"):
    """The model, as `provider:model`, and its endpoint, which answer from here on."""

    endpoint: str = ""


class AgentChange(Note, frozen=True, tag="agent"):
    """The agent, by its name or file, that answers from here on."""


class Aside(Note, frozen=True):
    """A question beside the conversation, which no later request contains."""


class AsideReply(Entry, frozen=True, kw_only=True, tag="aside-reply"):
    """The answer to the question beside the conversation that stands before it."""

    text: str
    stop: StopReason = "end"
    seconds: float | None = None
    usage: Usage | None = None
    failed: bool = False


ShortenedPart = Literal["result", "query", "reply", "steps"]
"""What was shortened: the result of a call, the words of the user with their files, those of the
model, or the steps up to the one with a call, which are left out.
"""


class ExchangePart(NamedTuple):
    """A part of an exchange in a chain: its session, the number of its query, and what it is."""

    session: str
    number: str
    part: ShortenedPart
    call: str = ""


class Shortened(Entry, frozen=True, kw_only=True):
    """A part of exchange `ref` that is sent in `tokens` tokens from here on. `session` is its
    session, `call` the id of the call if the part is a result or steps.
    """

    ref: str = ""
    session: str = ""
    call: str = ""
    part: ShortenedPart = "result"
    tokens: int = 0

    @property
    def sent_part(self) -> ExchangePart:
        return ExchangePart(self.session, self.ref.partition(".")[2], self.part, self.call)


def place_of_ref(ref: str) -> tuple[int, int]:
    """Return a reference like `2.14` as (session, query), for sorting. An empty one sorts first."""
    depth, _, number = ref.partition(".")
    if not number:
        return 0, 0
    return int(depth), int(number)


class Covered(Entry, frozen=True, kw_only=True):
    """A summary block whose words are in the context again, so that it is not sent. Exchange `last`
    of `session` is the last one that it covers.
    """

    block: str
    last_ref: str = ""
    session: str = ""


class Restoration(Entry, frozen=True, kw_only=True):
    """The context that the session got from its parent: a summary block's inner text, and the words
    from `verbatim_from` to `until`. No block covers the words from `unsummarized_from` on yet. The
    second parent of a merge is `merged`, up to `merged_until`.
    """

    parent_created: datetime
    queries: int
    tokens: int
    block: str
    grandparent: str = ""
    depth: int = 2
    verbatim_from: str = field(default="", name="since")
    unsummarized_from: str = field(default="", name="fresh")
    until: str = ""
    merged: str = ""
    merged_until: str = ""


class Summary(Struct, frozen=True, kw_only=True):
    """The summary block: the model's narrative and, from `pinned` on, lists that code maintains."""

    background: str = "Initial session."
    topics: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()
    key_facts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


class Answering(Struct, frozen=True):
    """The model that answers in a session, as `provider:model`, and the address at which it is
    asked. Each is empty if the file does not say so.
    """

    model: str
    endpoint: str


class Header(Struct, frozen=True, kw_only=True):
    """The facts of a session. The user chooses its `name`, the program its `title`."""

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
    project: str = ""  # the working directory in which it began
    git_branch: str = ""  # the branch that was checked out there
    git_commit: str = ""
    settings: str = ""  # a JSON object of texts
    endpoint: str = ""  # the address at which the model was asked
    tools: str = ""  # the names of the tools that were offered, separated by a comma and a space
    effort: str = ""  # how much the model was asked to think, in the words of its service
    sampling: str = ""  # a JSON object of parameters such as `temperature`
    mode: str = ""  # `print`: so far, the conversation only consists of `-p` runs; empty: a chat
    minor: int = MINOR


class Seal(Struct, frozen=True, kw_only=True):
    """The end of a session, with the usage and the seconds of the summary call. `digest` is that of
    the summary block as the program wrote it; `edited` is true when the block is another one now.
    """

    at: datetime
    reason: SealReason = "exit"
    source: SummarySource = "none"
    summary: Summary | None = None
    usage: Usage | None = None
    seconds: float | None = None
    covers: int | None = None  # the last query that the summary block covers; None: all of them
    remade: bool = False  # true if a person had the summary made again
    compaction: Compaction | None = None
    digest: str = ""
    edited: bool = False


class Use(Struct, frozen=True):
    """A tool call and, when one came, its result."""

    call: Call
    result: Result | None = None


class Step(Struct, frozen=True):
    """One answer of the model on the way to its reply: a text, the tool calls that followed it, and
    what the service wants back.
    """

    reply: Reply | None = None
    uses: tuple[Use, ...] = ()
    opaque: tuple[Opaque, ...] = ()


class Exchange(Struct, frozen=True):
    """A query, its files and its reply; a reply with tool calls joins the texts of its steps."""

    query: Query
    reply: Reply | None = None
    depth: int = 1
    uses: tuple[Use, ...] = ()
    attached: tuple[Attachment, ...] = ()
    steps: tuple[Step, ...] = ()
    session: str = ""  # the id of the session in which it was said
    recalled: str = ""  # the passages of the archive that were sent with the query
    left_out: tuple[str, ...] = ()  # the names of files that the query names and that were not sent

    @property
    def number(self) -> int:
        """The number of its query in its session."""
        return self.query.number

    @property
    def ref(self) -> str:
        """Its place in the chain: `2.14`, query 14 of the second session."""
        return f"{self.depth}.{self.number}"

    @property
    def key(self) -> tuple[str, int]:
        """Its session and the number of its query: the same in each session that carries it."""
        return self.session, self.number

    @property
    def failed(self) -> bool:
        """True when the query was refused or never answered: it is not sent again."""
        return self.reply is not None and self.reply.failed


class Totals(Struct, frozen=True, kw_only=True):
    """The accounting of a session; the acknowledgment counts as restoration."""

    queries: int = 0
    session: Usage = field(default_factory=Usage)
    restoration: Usage = field(default_factory=Usage)

    @property
    def combined(self) -> int:
        return self.session.total + self.restoration.total


class RunningTotals(Struct, frozen=True, array_like=True):
    """What a session had consumed before the query after `number`, where another session may have
    left it. The fields are those of SessionRow.
    """

    number: int
    queries: int
    tokens: int
    said: int
    spent: tuple[tuple[str, Usage], ...] | None


class Session(Struct, frozen=True, kw_only=True, dict=True):
    """One transcript as a value."""

    header: Header
    entries: tuple[Entry, ...] = ()
    seal: Seal | None = None
    partial_totals: Totals | None = None  # the totals, if only a part of the entries was read

    def with_entry(self, entry: Entry) -> Session:
        """Return the session with another entry, without recomputing its facts and exchanges."""
        facts = replace(self._facts)
        facts.notes = facts.notes.copy()
        facts.usage_of_models = facts.usage_of_models.copy()
        facts.undone = facts.undone.copy()
        facts.failed = facts.failed.copy()
        facts.standing = facts.standing.copy()
        facts.changed = facts.changed.copy()
        facts.shortened = facts.shortened.copy()
        if isinstance(entry, Query):
            facts.settled = self.exchanges
            facts.settled_entries = len(self.entries)
        facts.add(entry)
        later = replace(self, entries=(*self.entries, entry))
        vars(later)["_facts"] = facts
        return later

    @cached_property
    def _facts(self) -> _SessionFacts:
        facts = _SessionFacts(model=self.header.model, endpoint=self.header.endpoint)
        for entry in self.entries:
            facts.add(entry)
        return facts

    @cached_property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The queries that were not undone, each with the records that belong to it."""
        facts = self._facts
        records: dict[int, list[QueryEntry]] = {}
        queries = []
        for entry in self.entries[facts.settled_entries :]:
            if isinstance(entry, QueryEntry) and entry.number not in facts.undone:
                records.setdefault(entry.number, []).append(entry)
                if isinstance(entry, Query):
                    queries.append(entry)
        exchanges = list(facts.settled)
        for query in queries:
            of_query = records[query.number]
            exchanges.append(_exchange(query, of_query, self.depth, self.header.id))
        return tuple(exchanges)

    @property
    def queries(self) -> Iterator[Query]:
        """The queries that were not undone, without the records that belong to them."""
        undone = self._facts.undone
        for entry in self.entries:
            if isinstance(entry, Query) and entry.number not in undone:
                yield entry

    def exchange(self, number: int) -> Exchange | None:
        """Return the exchange of a query, even of one that was undone, or None."""
        records = [
            entry
            for entry in self.entries
            if isinstance(entry, QueryEntry) and entry.number == number
        ]
        query = next((entry for entry in records if isinstance(entry, Query)), None)
        if query is None:
            return None
        return _exchange(query, records, self.depth, self.header.id)

    @property
    def standing(self) -> Mapping[tuple[str, int], UndoEntry]:
        """What is undone and brought back of the sessions before this one, by the id of the session
        and the number of the query.
        """
        return self._facts.standing

    @property
    def changed(self) -> Mapping[tuple[str, int], UndoEntry]:
        """The same, without what was so when this session began."""
        return self._facts.changed

    def as_continued(self, last: int, standing: Mapping[tuple[str, int], UndoEntry]) -> Session:
        """Return the session up to query `last`, as a descendant with these records goes on from
        it.
        """
        undone = set[int]()
        redone = set[int]()
        for (of, number), entry in standing.items():
            if of != self.header.id:
                continue
            if isinstance(entry, Redo):
                redone.add(number)
            else:
                undone.add(number)
        if not (undone or redone):
            return self.up_to(last)
        end = max(last, *redone, 0)
        beyond = {query.number for query in self.queries if last < query.number <= end}
        undone |= beyond - redone
        session = self.up_to(end)
        changes: list[Entry] = [Undo(at=EPOCH, number=number) for number in sorted(undone)]
        changes += [Redo(at=EPOCH, number=number) for number in sorted(redone)]
        return replace(session, entries=(*session.entries, *changes))

    @cached_property
    def sent_entries(self) -> tuple[Entry, ...]:
        """The entries that are sent to the model again: without undone and failed queries."""
        left_out = self._facts.undone | self._facts.failed
        if not left_out:
            return self.entries
        return tuple(
            entry for entry in self.entries if getattr(entry, "number", None) not in left_out
        )

    def up_to(self, number: int) -> Session:
        """Return the session up to query `number`, unsealed, with its present name and tags."""
        if all(exchange.number <= number for exchange in self.exchanges):
            return self
        entries: list[Entry] = []
        is_beyond = False
        for entry in self.entries:
            if isinstance(entry, Query) and entry.number > number:
                is_beyond = True
            if not is_beyond:
                if not isinstance(entry, Name | Tag | Untag | Setting):
                    entries.append(entry)
            elif isinstance(entry, UndoEntry) and entry.number <= number:
                entries.append(entry)
        return replace(self, header=self.present_header, entries=tuple(entries), seal=None)

    @property
    def id(self) -> str:
        return self.header.id

    @property
    def present_header(self) -> Header:
        """The header with the present name, tags and settings."""
        settings = ""
        if kept := self.settings:
            settings = json.dumps(kept, ensure_ascii=False)
        return replace(self.header, name=self.name, tags=self.tags, settings=settings)

    @property
    def _notes(self) -> Sequence[Note]:
        """The notes that count beside the header: none if the session is sealed."""
        return self._facts.notes if self.seal is None else ()

    @property
    def name(self) -> str:
        """The user's name for it, from a sealed session's header or a live one's entries."""
        names = [note.text for note in self._notes if isinstance(note, Name)]
        return names[-1] if names else self.header.name

    @property
    def tags(self) -> tuple[str, ...]:
        """Its tags, each once, in the order in which they were added."""
        return remaining(self.header.tags, self._notes, Tag, Untag)

    @property
    def settings(self) -> dict[str, str]:
        """The settings that it keeps, by name."""
        values: dict[str, str] = {}
        with suppress(ValueError, RecursionError, ValidationError):
            values = convert(json.loads(self.header.settings), dict[str, str])
        for note in self._notes:
            if isinstance(note, Setting):
                name, _, values[name] = note.text.partition(": ")
        return {name: value for name, value in values.items() if value}

    @property
    def shortened(self) -> Mapping[ExchangePart, int]:
        """The tokens in which parts of exchanges are sent, if not in full."""
        return self._facts.shortened

    def metadata_notes(
        self, at: datetime, name: str | None = None, tags: Sequence[str] | None = None
    ) -> list[Note]:
        """Return the entries that give it this name and exactly these tags; None keeps them."""
        notes: list[Note] = []
        if name is not None and name != self.name:
            notes.append(Name(at=at, text=name))
        if tags is None:
            return notes
        notes += [Tag(at=at, text=tag) for tag in tags if tag not in self.tags]
        return notes + [Untag(at=at, text=tag) for tag in self.tags if tag not in tags]

    @property
    def pins(self) -> tuple[str, ...]:
        """The texts that were pinned in this session and not unpinned again."""
        return remaining((), self._facts.notes, Pin, Unpin)

    @property
    def usage_of_models(self) -> dict[str, Usage]:
        """The usage of each model by its reference, without that of the summary."""
        return self._facts.usage_of_models

    @property
    def answering(self) -> Answering:
        """The model that answered last, or is to answer next, and its endpoint."""
        return Answering(self._facts.model, self._facts.endpoint)

    @property
    def depth(self) -> int:
        """The place of the session in its chain, from its restoration; 1 without one."""
        return self.restoration.depth if self.restoration is not None else 1

    @property
    def restoration(self) -> Restoration | None:
        return self._facts.restoration

    @property
    def block(self) -> str:
        """The summary block that it begins with; empty if it has none."""
        return self.restoration.block if self.restoration is not None else ""

    @property
    def until(self) -> str:
        """The reference at which it leaves its parent; empty if it goes on from the end."""
        return self.restoration.until if self.restoration is not None else ""

    @property
    def covered(self) -> Covered | None:
        """The newest block whose words are back in the context, unless one of them was undone."""
        return self._facts.covered

    @property
    def acknowledgment(self) -> Reply | None:
        return self._facts.acknowledgment

    @property
    def is_bare(self) -> bool:
        """True for a child in which nothing was recorded but the answer to what it got."""
        got = self.restoration
        if got is None or got.until or got.merged or not self.entries:
            return False
        last = self.entries[-1]
        return last is got or (isinstance(last, Reply) and last.number == 0)

    @property
    def answered(self) -> bool:
        """True when something came in reply to at least one query."""
        return self._facts.answered

    def running_totals(self, tokens_of: Callable[[Exchange], int]) -> list[RunningTotals]:
        """Return the totals before each query but the first, in the order of the file. `tokens_of`
        returns the size of an exchange's words.
        """
        sizes = {exchange.number: tokens_of(exchange) for exchange in self.exchanges}
        has_many_models = len(self.usage_of_models) > MOST_MODELS
        facts = _SessionFacts(model=self.header.model, endpoint=self.header.endpoint)
        found: list[RunningTotals] = []
        number = 0
        words = 0
        for entry in self.entries:
            if isinstance(entry, Query):
                if number:
                    tokens = facts.usage.total + facts.restoration_usage.total
                    spent = None
                    if not has_many_models:
                        spent = tuple(facts.usage_of_models.items())
                    found.append(RunningTotals(number, facts.queries, tokens, words, spent))
                number = entry.number
                words += sizes.get(number, 0)
            facts.add(entry)
        return found

    @property
    def totals(self) -> Totals:
        facts = self._facts
        return self.partial_totals or Totals(
            queries=facts.queries, session=facts.usage, restoration=facts.restoration_usage
        )


class _SessionFacts(Struct):
    """The sums and states that result from the entries of a session."""

    model: str
    endpoint: str = ""
    notes: list[Note] = []
    undone: set[int] = set()
    standing: dict[tuple[str, int], UndoEntry] = {}
    changed: dict[tuple[str, int], UndoEntry] = {}
    failed: set[int] = set()
    queries: int = 0
    answered: bool = False
    usage: Usage = Usage()
    restoration_usage: Usage = Usage()
    usage_of_models: dict[str, Usage] = {}
    restoration: Restoration | None = None
    acknowledgment: Reply | None = None
    covered: Covered | None = None
    shortened: dict[ExchangePart, int] = {}
    settled: tuple[Exchange, ...] = ()  # the exchanges of the first `settled_entries` entries
    settled_entries: int = 0

    def add(self, entry: Entry) -> None:
        """Take the next entry into account."""
        match entry:
            case Query():
                self.queries += 1
            case Reply():
                self._add_reply(entry)
            case AsideReply(usage=usage) if usage is not None:
                self.usage += usage
                self._add_usage_of_model(usage)
            case UndoEntry():
                self._unsettle()
                self._uncover(entry)
                if entry.number == 0:
                    self.standing[entry.key] = entry
                    self.changed[entry.key] = entry
                elif isinstance(entry, Redo):
                    self.undone.discard(entry.number)
                else:
                    self.undone.add(entry.number)
            case Restoration():
                self._unsettle()
                self.changed.clear()  # what stands before it repeats what was so
                self.restoration = self.restoration or entry
            case Shortened() | Covered():
                self._add_to_context(entry)
            case Note():
                self._add_note(entry)

    def _add_note(self, note: Note) -> None:
        self.notes.append(note)
        if isinstance(note, ModelChange):
            self.model = note.text
            self.endpoint = note.endpoint

    def _add_reply(self, reply: Reply) -> None:
        if reply.number == 0:
            self.acknowledgment = self.acknowledgment or reply
        elif reply.text.strip() or reply.stop not in ("error", "interrupted"):
            self.answered = True
        if reply.failed:
            self.failed.add(reply.number)
        if reply.usage is not None:
            if reply.number:
                self.usage += reply.usage
            else:
                self.restoration_usage += reply.usage
            self._add_usage_of_model(reply.usage)

    def _add_usage_of_model(self, usage: Usage) -> None:
        total = self.usage_of_models.get(self.model, Usage())
        self.usage_of_models[self.model] = total + usage

    def _add_to_context(self, entry: Shortened | Covered) -> None:
        if isinstance(entry, Shortened):
            self.shortened[entry.sent_part] = entry.tokens
        elif entry.last_ref and entry.block != PURGED_PARENT:
            self.covered = entry

    def _uncover(self, change: UndoEntry) -> None:
        """Forget the covered block if an exchange that it covers was undone or came back."""
        if self.covered is None or not change.ref:
            return
        if place_of_ref(change.ref) <= place_of_ref(self.covered.last_ref):
            self.covered = None

    def _unsettle(self) -> None:
        """Have the exchanges made again from all entries."""
        self.settled = ()
        self.settled_entries = 0


def remaining(
    before: tuple[str, ...], entries: Iterable[Entry], add: type[Note], remove: type[Note]
) -> tuple[str, ...]:
    """Return the texts of `before`, then those that notes add, each once, without removed ones."""
    texts = dict.fromkeys(before)
    for entry in entries:
        if isinstance(entry, add):
            texts.setdefault(entry.text)
        elif isinstance(entry, remove):
            texts.pop(entry.text, None)
    return tuple(texts)


def _exchange(query: Query, records: Sequence[QueryEntry], depth: int, session: str) -> Exchange:
    """Return the exchange of a query from the entries with its number."""
    steps = _steps(records)
    uses = tuple(use for step in steps for use in step.uses)
    attached = tuple(entry for entry in records if isinstance(entry, Attachment))
    replies = [entry for entry in records if isinstance(entry, Reply)]
    reply = join_replies(replies) if replies else None
    recalled = "\n\n".join(entry.text for entry in records if isinstance(entry, ArchiveContext))
    before = takewhile(lambda entry: not isinstance(entry, Reply | Call), records)
    left_out = tuple(entry.text for entry in before if isinstance(entry, LeftOut))
    return Exchange(query, reply, depth, uses, attached, steps, session, recalled, left_out)


def join_replies(replies: Sequence[Reply]) -> Reply:
    """Return the steps of a reply, between which tools were used, as one. There is at least one."""
    if len(replies) == 1:
        return replies[0]
    text = "\n\n".join(reply.text for reply in replies if reply.text)
    times = [reply.seconds for reply in replies if reply.seconds is not None]
    usages = [reply.usage for reply in replies if reply.usage is not None]
    seconds = sum(times) if len(times) == len(replies) else None
    usage = sum(usages, Usage()) if usages else None
    return replace(replies[-1], at=replies[0].at, text=text, seconds=seconds, usage=usage)


def _steps(records: Iterable[QueryEntry]) -> tuple[Step, ...]:
    """Return the steps of a reply from the entries of its query. A step begins with its text, or
    with a call after a result. A result belongs to the first call of the newest step that has its
    id and no result yet.
    """
    steps: list[_OpenStep] = []
    for entry in records:
        is_next = not steps or (isinstance(entry, Call) and steps[-1].is_answered)
        match entry:
            case Reply():
                steps.append(_OpenStep(reply=entry))
            case Call() | Opaque():
                if is_next:
                    steps.append(_OpenStep())
                steps[-1].add(entry)
            case Result():
                for step in reversed(steps):
                    if step.answer(entry):
                        break
    return tuple(step.close() for step in steps)


class _OpenStep(Struct):
    """A step to which entries are added."""

    reply: Reply | None = None
    calls: list[Call] = []
    results: dict[int, Result] = {}  # by the index of the call
    unanswered: dict[str, list[int]] = {}  # the indexes of calls by their id
    opaque: list[Opaque] = []

    @property
    def is_answered(self) -> bool:
        return bool(self.results)

    def add(self, entry: Call | Opaque) -> None:
        if isinstance(entry, Opaque):
            self.opaque.append(entry)
        else:
            self.unanswered.setdefault(entry.id, []).append(len(self.calls))
            self.calls.append(entry)

    def answer(self, result: Result) -> bool:
        """Give the result to its call; return False if this step has none."""
        indexes = self.unanswered.get(result.id)
        if not indexes:
            return False
        self.results[indexes.pop(0)] = result
        return True

    def close(self) -> Step:
        uses = [Use(call, self.results.get(index)) for index, call in enumerate(self.calls)]
        return Step(self.reply, tuple(uses), tuple(self.opaque))


class Branch(Struct, frozen=True):
    """A branch that begins after the reference `at` (empty: unknown) with the words `words`."""

    at: str
    words: str


class SessionRow(Struct, frozen=True, kw_only=True):
    """A line of a listing: a session or a whole conversation. None is known only to the file."""

    id: str
    folder: Path
    state: State
    updated: datetime | None = None  # the date of its last record
    created: datetime | None = None
    agent: str = ""
    project: str = ""
    git_branch: str = ""
    parent: str = ""
    merged: str = ""
    queries: int | None = None
    tokens: int | None = None  # of all its requests and replies, as the services counted them
    said: int | None = None  # the tokens of its messages and replies, each once
    name: str = ""  # the user's name for it, or the title, or the first line of the first query
    tags: tuple[str, ...] = ()
    depth: int = 1
    compacted: bool = False
    until: str = ""  # the reference of its parent's last query that it continues; empty: all
    merged_until: str = ""  # the same of the second parent
    words: str = ""
    mode: str = ""
    answered: bool = True  # false when no reply ever came
    bare: bool = False  # true for a child in which nothing was recorded but an acknowledgment
    spent: tuple[tuple[str, Usage], ...] | None = None
    compaction: str = ""  # the sizes of the compaction that ended it: `compacted 61K → 9.4K`
    compactions: int = 0
    folded: int = 0  # the number of older sessions in its chain
    branch: Branch | None = None  # the place where its chain leaves that of another conversation
    current: bool = False
    owner: str = ""  # the owner of someone else's session, in a team's library

    @property
    def path(self) -> Path:
        """The session's file."""
        return self.folder / f"{self.id}.md"
