"""The records of a session as HTML: an article per exchange, and what stands between as notes and
folds.
"""

from __future__ import annotations

from calendar import month_abbr
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from chat_loop.export.markup import code, plain, prose
from chat_loop.sessions import summary_block
from chat_loop.sessions.records import (
    Attachment,
    Call,
    Entry,
    Name,
    Pin,
    Query,
    Recall,
    Reply,
    Restoration,
    Result,
    Seal,
    Session,
    Summary,
    Switch,
    Tag,
    Undo,
    Unpin,
    Untag,
)
from chat_loop.sessions.writer import NOTES
from chat_loop.values import Compaction, Usage
from chat_loop.wording import (
    STOPS,
    compaction_text,
    counts_text,
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
    """The id of a session on the page, or of its query: `s2`, `s2q14`; the query counted, whatever
    its number says.
    """
    return f"s{depth}q{query}" if query else f"s{depth}"


def day(at: datetime) -> str:
    """`22 Nov 2026`."""
    return f"{at.day} {month_abbr[at.month]} {at.year}"


def moment(at: datetime, shown: str = "") -> str:
    """A time element that shows the time of day, or what is given."""
    return f'<time datetime="{at.isoformat()}">{shown or f"{at:%H:%M:%S}"}</time>'


def entries_shown(
    session: Session, depth: int, image: Callable[[Attachment], str]
) -> Iterator[str]:
    """The session's entries in their order. A result is shown in the fold of its call.

    `image` gives an attached image in base64, or an empty text when it is not to be shown.
    """
    results = {
        (entry.number, entry.id): entry for entry in session.entries if isinstance(entry, Result)
    }
    calls = {
        (entry.number, entry.id): entry for entry in session.entries if isinstance(entry, Call)
    }
    agent = session.header.agent
    count = 0
    for entry in session.entries:
        match entry:
            case Query():
                yield "</article>\n" if count else ""
                count += 1
                yield f'<article class="exchange" id="{anchor(depth, count)}">\n'
                yield _query(entry, depth, count)
            case Reply():
                yield _reply(entry, agent)
            case Call():
                key = entry.number, entry.id
                mine = calls[key] is entry
                yield _use(entry, results.get(key) if mine else None)
            case Result() if (entry.number, entry.id) in calls and results[
                entry.number, entry.id
            ] is entry:
                continue
            case Attachment():
                yield _attachment(entry, image(entry) if entry.is_image else "")
            case _:
                yield _between(entry, session)
    yield "</article>\n" if count else ""


def seal_shown(seal: Seal) -> Iterator[str]:
    """The audit of the compaction and the summary block."""
    if seal.compaction is not None:
        yield _audit(seal.compaction)
    costs = _costs(seal.seconds, seal.usage)
    title = f"<b>{_SOURCES[seal.source]}</b> {costs}"
    if seal.summary is not None:
        yield fold(title, summary_shown(seal.summary))
    else:
        yield f'<p class="note">{title}</p>\n'


def summary_shown(summary: Summary) -> str:
    """A summary block: its background, and each list that holds something."""
    parts = [prose(summary.background)] if summary.background.strip() else []
    names = dict.fromkeys([*_LISTS, *summary.__struct_fields__])
    for name in names:
        items = getattr(summary, name)
        if name != "background" and items:
            shown = [items] if isinstance(items, str) else items
            listed = "".join(f"<li>{prose(item)}</li>\n" for item in shown)
            parts.append(f"<h4>{_LISTS.get(name, named(name))}</h4>\n<ul>\n{listed}</ul>\n")
    return _said("".join(parts))


def fold(title: str, inner: str, kind: str = "") -> str:
    """What a reader sees when asking for it; both are HTML."""
    return f'<details class="fold{kind}"><summary>{title}</summary>\n<div>{inner}</div></details>\n'


def facts(pairs: Sequence[tuple[str, str]]) -> str:
    """Names and values that are text."""
    return (
        "<dl>\n"
        + "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>\n" for name, value in pairs)
        + "</dl>\n"
    )


def fields_of(record: Any) -> list[tuple[str, str]]:
    """Every simple field of a record that holds something, under its own name."""
    found = []
    for name, value in asdict(record).items():
        if value not in (None, "", (), False) and not isinstance(value, Struct):
            found.append((named(name), _value(value)))
    return found


def _value(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, tuple):
        return ", ".join(map(_value, value))
    if isinstance(value, bool):
        return "yes"
    return f"{value:,}" if isinstance(value, int) else str(value)


def named(name: str) -> str:
    """A field's name for people: `agent_path` as `Agent path`."""
    return name.replace("_", " ").capitalize()


def _said(html: str) -> str:
    return f'<div class="said" dir="auto">{html}</div>\n'


def _costs(seconds: float | None, usage: Usage | None, *more: str) -> str:
    parts = [f"{seconds:.1f} s"] if seconds is not None else []
    parts += [tokens_text(usage).replace(" (", " tokens (", 1)] if usage else []
    parts += more
    return f'<span class="soft">{escape(" · ".join(parts))}</span>' if parts else ""


def _query(entry: Query, depth: int, count: int) -> str:
    place = (
        f'<a class="ref" href="#{anchor(depth, count)}" aria-label="Link to this '
        f'query">{depth}.{entry.number}</a>'
    )
    who = f'<div class="who"><b>You</b> {moment(entry.at)} {place}</div>\n'
    return f'<div class="query">{who}{_said(prose(entry.text, breaks=True))}</div>\n'


def _reply(entry: Reply, agent: str) -> str:
    who = f'<div class="who"><b dir="auto">{escape(agent)}</b> {moment(entry.at)}</div>\n'
    ended = (STOPS[entry.stop],) if entry.stop in STOPS else ()
    costs = _costs(entry.seconds, entry.usage, *ended)
    cost = f'<p class="cost">{costs}</p>\n' if costs else ""
    return f'<div class="reply">{who}{_said(prose(entry.text))}{cost}</div>\n'


def _use(call: Call, result: Result | None) -> str:
    inner = code(call.arguments, "json") + (_given(result) if result else "<p>No result.</p>\n")
    failed = result is not None and result.failed
    title = f"<b>Tool: {escape(call.name)}</b> {moment(call.at)}"
    title += ' <span class="soft">it failed</span>' if failed else ""
    return fold(title, inner, " failed" if failed else "")


def _attachment(entry: Attachment, data: str) -> str:
    size = f"{entry.width}×{entry.height}" if entry.is_image else file_size_text(entry.size)
    title = f'<b>Attached: {escape(entry.name)}</b> <span class="soft">{size}</span>'
    if data:
        source = f"data:{entry.media};base64,{data}"
        shown = (
            f'<img src="{source}" alt="{escape(entry.name)}" width="{entry.width}" '
            f'height="{entry.height}">'
        )
        return f'<figure class="attached">{shown}<figcaption>{title}</figcaption></figure>\n'
    if entry.is_image:
        return (
            f'<div class="note"><p class="label">{title} The image is not in this page.</p></div>\n'
        )
    return fold(title, code(entry.text, entry.name.rpartition(".")[2] if "." in entry.name else ""))


def _given(result: Result) -> str:
    return (
        f"<h4>{'It failed' if result.failed else 'Its result'}</h4>\n{code(result.text)}"
        + _costs(result.seconds, None)
    )


def _between(entry: Entry, session: Session) -> str:
    """Whatever is neither said nor a tool's; a kind of entry that is not known here is shown field
    by field.
    """
    match entry:
        case Pin() | Unpin() | Name() | Tag() | Untag() | Switch():
            label = NOTES[type(entry)][1].strip("*:")
            return (
                '<div class="note"><p '
                f'class="label">{label}</p>{_said(prose(entry.text, breaks=True))}</div>\n'
            )
        case Result():
            return fold("<b>Result of a tool</b>", _given(entry))
        case Recall():
            return fold("<b>Found in the archive</b>", _said(prose(entry.text)))
        case Restoration():
            return _restoration(entry, session)
        case Undo():
            return f'<div class="note"><p class="label">Undo: query {entry.number}</p></div>\n'
        case _:
            return (
                '<div class="note"><p '
                f'class="label">{named(type(entry).__name__)}</p>{facts(fields_of(entry))}</div>\n'
            )


def _restoration(entry: Restoration, session: Session) -> str:
    counts = f"{session.header.parent} ({counts_text(entry.queries, entry.tokens)})"
    carried = f", with the words from {entry.since} on" if entry.since else ""
    carried += f", forked at {entry.until}" if entry.until else ""
    carried += f", merged with {entry.merged}" if entry.merged else ""
    found = summary_block.parse(entry.block)
    inner = summary_shown(found) if found != Summary(background="") else plain(entry.block)
    title = f'<b>Restored context</b> <span class="soft">from {escape(counts + carried)}</span>'
    return fold(title, inner)


def _audit(compaction: Compaction) -> str:
    title = f"<b>Compacted {escape(compaction.first)} to {escape(compaction.last)}</b> "
    title += f'<span class="soft">{escape(compaction_text(compaction))}</span>'
    pairs = [(name, value) for name, value in fields_of(compaction) if name != "Cost"]
    return fold(title, facts([*pairs, ("Cost", dollars_text(compaction.cost))]))
