"""The records of a session as HTML: an article for each exchange, and notes and folds between."""

from __future__ import annotations

from calendar import month_abbr
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from html import escape

from msgspec import Struct
from msgspec.structs import asdict

from chat_loop.export.markup import code, plain, prose
from chat_loop.sessions import summary_block
from chat_loop.sessions.marker import KINDS
from chat_loop.sessions.records import (
    ArchiveContext,
    Attachment,
    Call,
    Entry,
    Note,
    Query,
    Reply,
    Restoration,
    Result,
    Seal,
    Session,
    Summary,
    Undo,
)
from chat_loop.sessions.writer import restored_text
from chat_loop.values import Compaction, Usage
from chat_loop.wording import (
    STOPS,
    compaction_text,
    dollars_text,
    file_size_text,
    tokens_text,
)

_LISTS: Mapping[str, str] = {
    "topics": "Topics discussed",
    "decisions": "Decisions made",
    "pending": "Pending",
    "pinned": "Pinned",
    "key_facts": "Key facts",
    "files": "Files touched",
    "tools": "Tools used",
}
_SOURCES = {
    "model": "Summary",
    "extracted": "Summary, extracted without a model",
    "none": "No summary",
}


def anchor(depth: int, query: int = 0) -> str:
    """Return the id of a session on the page, or of its query by its place: `s2`, `s2q14`."""
    return f"s{depth}q{query}" if query else f"s{depth}"


def day(at: datetime) -> str:
    """Return a date as `22 Nov 2026`."""
    return f"{at.day} {month_abbr[at.month]} {at.year}"


def moment(at: datetime, shown: str = "") -> str:
    """Return a time element that shows the time of day, or `shown`."""
    return f'<time datetime="{at.isoformat()}">{shown or f"{at:%H:%M:%S}"}</time>'


def fold(title: str, inner: str, kind: str = "") -> str:
    """Return a fold, which a reader opens. Both texts are HTML."""
    return f'<details class="fold{kind}"><summary>{title}</summary>\n<div>{inner}</div></details>\n'


def facts(pairs: Sequence[tuple[str, str]]) -> str:
    """Return a list of names and values, which are plain text."""
    items = (f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>\n" for name, value in pairs)
    return f"<dl>\n{''.join(items)}</dl>\n"


def fields_of(record: Struct) -> list[tuple[str, str]]:
    """Return every simple field of a record that holds something, under its own name."""
    return [
        (_for_people(name), _value_text(value))
        for name, value in asdict(record).items()
        if value not in (None, "", (), False) and not isinstance(value, Struct)
    ]


def entries_html(session: Session, depth: int, images: Mapping[str, str]) -> Iterator[str]:
    """Yield a session's entries in their order; a result is shown in the fold of its call.

    `images` holds the images to show, in base64 by `Attachment.file`.
    """
    entries = session.entries
    calls = {(one.number, one.id): one for one in entries if isinstance(one, Call)}
    results = {(one.number, one.id): one for one in entries if isinstance(one, Result)}
    count = 0
    for entry in entries:
        match entry:
            case Query():
                yield "</article>\n" if count else ""
                count += 1
                yield f'<article class="exchange" id="{anchor(depth, count)}">\n'
                yield _query(entry, depth, count)
            case Reply():
                yield _reply(entry, session.header.agent)
            case Call(number=number, id=identity):
                last = calls[number, identity] is entry
                yield _call(entry, results.get((number, identity)) if last else None)
            case Result(number=number, id=identity):
                if (number, identity) not in calls or results[number, identity] is not entry:
                    yield fold("<b>Result of a tool</b>", _result(entry))
            case Attachment():
                yield _attachment(entry, images.get(entry.file, ""))
            case _:
                yield _between(entry, session)
    yield "</article>\n" if count else ""


def seal_html(seal: Seal) -> Iterator[str]:
    """Yield the audit of the compaction and the summary block."""
    if seal.compaction is not None:
        yield _audit(seal.compaction)
    title = f"<b>{_SOURCES[seal.source]}</b> {_costs(seal.seconds, seal.usage)}"
    if seal.summary is not None:
        yield fold(title, _summary(seal.summary))
    else:
        yield f'<p class="note">{title}</p>\n'


def _query(entry: Query, depth: int, count: int) -> str:
    link = f'<a class="ref" href="#{anchor(depth, count)}" aria-label="Link to this query">'
    place = f"{link}{depth}.{entry.number}</a>"
    who = f'<div class="who"><b>You</b> {moment(entry.at)} {place}</div>\n'
    return f'<div class="query">{who}{_said(prose(entry.text, breaks=True))}</div>\n'


def _reply(entry: Reply, agent: str) -> str:
    who = f'<div class="who"><b dir="auto">{escape(agent)}</b> {moment(entry.at)}</div>\n'
    costs = _costs(entry.seconds, entry.usage, STOPS.get(entry.stop, ""))
    cost = f'<p class="cost">{costs}</p>\n' if costs else ""
    return f'<div class="reply">{who}{_said(prose(entry.text))}{cost}</div>\n'


def _call(call: Call, result: Result | None) -> str:
    inner = code(call.arguments, "json")
    title = f"<b>Tool: {escape(call.name)}</b> {moment(call.at)}"
    if result is None:
        return fold(title, f"{inner}<p>No result.</p>\n")
    title += ' <span class="soft">it failed</span>' if result.failed else ""
    return fold(title, inner + _result(result), " failed" if result.failed else "")


def _result(result: Result) -> str:
    heading = f"<h4>{'It failed' if result.failed else 'Its result'}</h4>\n"
    return heading + code(result.text) + _costs(result.seconds, None)


def _attachment(entry: Attachment, image: str) -> str:
    size = f"{entry.width}×{entry.height}" if entry.is_image else file_size_text(entry.size)
    title = f'<b>Attached: {escape(entry.name)}</b> <span class="soft">{size}</span>'
    if image:
        size = f'width="{entry.width}" height="{entry.height}"'
        source = f'src="data:{entry.media};base64,{image}"'
        shown = f'<img {source} alt="{escape(entry.name)}" {size}>'
        return f'<figure class="attached">{shown}<figcaption>{title}</figcaption></figure>\n'
    if entry.is_image:
        return _note(f"{title} The image is not in this page.", "")
    return fold(title, code(entry.text, entry.name.rpartition(".")[2] if "." in entry.name else ""))


def _between(entry: Entry, session: Session) -> str:
    match entry:
        case ArchiveContext():
            return fold("<b>Found in the archive</b>", _said(prose(entry.text)))
        case Restoration():
            return _restoration(entry, session)
        case Undo():
            return _note(f"Undo: query {entry.number}", "")
        case _:
            assert isinstance(entry, Note)
            label = next(kind.label for kind in KINDS.values() if kind.entry is type(entry))
            return _note(label.strip("*:"), _said(prose(entry.text, breaks=True)))


def _restoration(entry: Restoration, session: Session) -> str:
    source = restored_text(entry, session.header.parent, entry.merged)
    found = summary_block.parse(entry.block)
    inner = _summary(found) if found != Summary(background="") else plain(entry.block)
    title = f'<b>Restored context</b> <span class="soft">from {escape(source)}</span>'
    return fold(title, inner)


def _audit(compaction: Compaction) -> str:
    title = f"<b>Compacted {escape(compaction.first)} to {escape(compaction.last)}</b> "
    title += f'<span class="soft">{escape(compaction_text(compaction))}</span>'
    pairs = [(name, value) for name, value in fields_of(compaction) if name != "Cost"]
    return fold(title, facts([*pairs, ("Cost", dollars_text(compaction.cost))]))


def _summary(summary: Summary) -> str:
    parts = [prose(summary.background)] if summary.background.strip() else []
    for name, title in _LISTS.items():
        if items := getattr(summary, name):
            listed = "".join(f"<li>{prose(item)}</li>\n" for item in items)
            parts.append(f"<h4>{title}</h4>\n<ul>\n{listed}</ul>\n")
    return _said("".join(parts))


def _note(label: str, inner: str) -> str:
    return f'<div class="note"><p class="label">{label}</p>{inner}</div>\n'


def _said(html: str) -> str:
    return f'<div class="said" dir="auto">{html}</div>\n'


def _costs(seconds: float | None, usage: Usage | None, ended: str = "") -> str:
    parts = [f"{seconds:.1f} s"] if seconds is not None else []
    parts += [tokens_text(usage).replace(" (", " tokens (", 1)] if usage else []
    parts += [ended] if ended else []
    return f'<span class="soft">{escape(" · ".join(parts))}</span>' if parts else ""


def _for_people(name: str) -> str:
    """Return the name of a field as `Agent path`."""
    return name.replace("_", " ").capitalize()


def _value_text(value: object) -> str:
    match value:
        case datetime():
            return value.isoformat(" ")
        case tuple():
            return ", ".join(map(_value_text, value))
        case bool():
            return "yes"
        case int():
            return f"{value:,}"
        case _:
            return str(value)
