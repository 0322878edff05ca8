r"""The file format, writing side: values -> markdown.

A session is written in the minor version that its header names, so that a file of an earlier one
stays of one piece when it is sealed or renamed.

A record is what stands between a `<!-- chat:KIND … -->` line and its `<!-- chat:end … -->` line.
Inside it, headings and labels are decoration for people; the parser takes off exactly the
decoration written here. `parse(render(session)) == session` for every Session whose ids and names
are values that markers hold (`marker.value`); `render` raises ValueError for any other.

Each record's text is made by one function here, so that a living session can be appended record by
record: `render(session) == head(header) + each entry + tail(seal)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from chat_loop.sessions import marker, summary_block
from chat_loop.sessions.escape import encode, encode_line
from chat_loop.sessions.records import (
    IMAGE_FOLDER,
    ArchiveContext,
    Attachment,
    Call,
    Entry,
    Header,
    ModelChange,
    Name,
    Note,
    Pin,
    Query,
    Reply,
    Restoration,
    Result,
    Seal,
    Session,
    Tag,
    Totals,
    Undo,
    Unpin,
    Untag,
)
from chat_loop.values import Compaction, Usage
from chat_loop.wording import STOPS, compaction_text, counts_text, dollars_text, tokens_text

YOU = "**You:**"
ATTACHED = "**Attached:**"
FIELDS = (
    "Session ID",
    "Date",
    "Agent",
    "Agent Path",
    "Model",
    "Project",
    "Resumed From",
    "Previous Session",
    "Name",
    "Title",
    "Tags",
)
"""The header's lines, in this order; after them come those of `accounting`."""
NOTES: dict[type[Note], tuple[str, str]] = {
    Pin: ("pin", "**Pinned:**"),
    Unpin: ("unpin", "**Unpinned:**"),
    Name: ("name", "**Named:**"),
    Tag: ("tag", "**Tagged:**"),
    Untag: ("untag", "**Untagged:**"),
    ModelChange: ("model", "**Model:**"),
}
"""The records that hold a time and a text: their kinds and labels."""
FOLD_LINES = 2
"""The number of lines in a fold before its text."""
_SOURCES = {
    "model": "Summary",
    "extracted": "Summary extracted without a model",
    "none": "No summary",
}


def accounting(totals: Totals) -> Iterator[tuple[str, str]]:
    """Yield the lines of the session's accounting as (label, value), for the header and for the
    screen.
    """
    yield "Total Queries", str(totals.queries)
    if totals.restoration.total:
        yield "Restoration Tokens", tokens_text(totals.restoration)
    yield "Session Tokens", tokens_text(totals.session)
    if totals.restoration.total:
        yield "Combined Total", f"{totals.combined:,}"


def restored_text(entry: Restoration, parent: str, merged: str) -> str:
    """Return where a session comes from, with its two parents named so: `ID (5 queries, 2.3K
    tokens; forked at 1.4), merged with ID2`.
    """
    parts = [counts_text(entry.queries, entry.tokens)]
    parts += [f"the words from {entry.verbatim_from} on"] if entry.verbatim_from else []
    parts += [f"forked at {entry.until}"] if entry.until else []
    return f"{parent} ({'; '.join(parts)}){f', merged with {merged}' if merged else ''}"


def label(agent: str) -> str:
    """Return the bold label before a reply. The parser compares it, so it is one line whatever the
    agent is called.
    """
    return f"**{encode_line(agent)}:**"


def head(header: Header, totals: Totals | None = None) -> str:
    """Return the header record, with the `totals` of a sealed session."""
    values = {
        "v": "1",
        "minor": str(header.minor or ""),
        "id": header.id,
        "created": header.created.isoformat(),
        "parent": header.parent,
        "mode": header.mode,
    }
    texts = (
        header.id,
        header.created.isoformat(),
        header.agent,
        header.agent_path,
        header.model,
        header.project,
        header.parent,
        header.parent_path,
        header.name,
        header.title,
        ", ".join(header.tags),
    )
    title = f"{marker.write('session', values)}\n# {encode_line(header.agent)} Conversation\n\n"
    fields = zip(FIELDS, texts, strict=True)
    lines = [f"**{name}:** {encode_line(value)}" for name, value in fields if value]
    lines += [f"**{name}:** {value}" for name, value in accounting(totals)] if totals else []
    return title + ("\n\n" if header.minor else "\n").join(lines) + _end()


def entry_text(entry: Entry, header: Header, folder: str = IMAGE_FOLDER) -> str:
    """Return the text of an entry as it is appended; links to images lead into `folder`."""
    match entry:
        case Query():
            return _query(entry)
        case Reply():
            return _reply(entry, header.agent)
        case Undo():
            text = f"*Undone: what was said with query {entry.number}.*"
            return _record("undo", entry, text)
        case Call():
            values = {"id": entry.id, "name": entry.name}
            return _record("call", entry, _fold(f"Tool: {entry.name}", entry.arguments), values)
        case Result():
            return _result(entry)
        case ArchiveContext():
            return _record("recall", entry, _fold("Found in the archive", entry.text))
        case Attachment():
            return _attachment(entry, folder)
        case Restoration():
            return _restoration(entry, header)
        case _:
            assert isinstance(entry, Note)
            return note(entry)


def note(entry: Note) -> str:
    """Return the text of a note, the same in every session."""
    kind, label_text = NOTES[type(entry)]
    return _opening(kind, entry.at) + _labelled(label_text, encode(entry.text)) + _end()


def _query(entry: Query) -> str:
    heading = f"## Query {entry.number} ({entry.at:%H:%M:%S})\n"
    return f"\n---\n{_record('query', entry, heading + _labelled(YOU, encode(entry.text)))}"


def _reply(entry: Reply, agent: str) -> str:
    encoded = encode(entry.text)
    opening = reply_opening(entry.number, entry.at) + reply_label(agent, encoded)
    return opening + encoded + reply_end(entry)


def reply_opening(number: int, at: datetime) -> str:
    """Return the first piece of a reply, which is written before its text is known."""
    return _opening("reply" if number else "acknowledgment", at, n=str(number or ""))


def reply_label(agent: str, encoded_start: str) -> str:
    """Return what stands between a reply's opening and its encoded text, decided by the text's
    first character.
    """
    return _labelled(label(agent), encoded_start[:1])[: -len(encoded_start[:1]) or None]


def reply_end(entry: Reply) -> str:
    """Return the last piece: the end marker, a fence that the text left open, and the line of time
    and tokens.
    """
    values = marker.seconds_values(entry.seconds) | marker.usage_values(entry.usage)
    values["failed"] = "yes" if entry.failed else ""
    closing = _end(n=str(entry.number or ""), stop=entry.stop, **values)
    parts = _spent(entry.seconds, entry.usage)
    parts += [STOPS[entry.stop].capitalize()] if entry.stop in STOPS else []
    parts += ["Not sent again"] if entry.failed else []
    fence = open_fence(entry.text)
    closing += f"{fence}\n" if fence else ""
    return closing + (f"\n*{' | '.join(parts)}*\n" if parts else "")


def open_fence(text: str) -> str:
    """Return the fence that would close `text` if it leaves a code block open, else an empty string
    (CommonMark 4.5).
    """
    fence = ""
    for line in text.split("\n"):
        stripped = line.lstrip(" ")
        sign = stripped[:1]
        if sign not in ("`", "~") or len(line) - len(stripped) > 3:
            continue
        rest = stripped.lstrip(sign)
        run = stripped[: len(stripped) - len(rest)]
        if not fence:
            fence = run if len(run) >= 3 and not (sign == "`" and "`" in rest) else ""
        elif sign == fence[0] and len(run) >= len(fence) and not rest.strip():
            fence = ""
    return fence


def _result(entry: Result) -> str:
    values = {"id": entry.id, "failed": "yes" if entry.failed else ""}
    text = _fold("It failed" if entry.failed else "Its result", entry.text)
    return _record("result", entry, text, values, marker.seconds_values(entry.seconds))


def _attachment(entry: Attachment, folder: str) -> str:
    values = {
        "type": entry.media,
        "size": str(entry.size),
        "sha": entry.sha256,
        "width": str(entry.width or ""),
        "height": str(entry.height or ""),
    }
    link = entry.file.replace(IMAGE_FOLDER, folder, 1)
    shown = (
        f"![{entry.width}×{entry.height}]({link})"
        if entry.is_image
        else _fold("Its text", entry.text)
    )
    return _record("attachment", entry, f"{ATTACHED} {encode_line(entry.name)}\n\n{shown}", values)


def _restoration(entry: Restoration, header: Header) -> str:
    lines = [f"## Session Restored ({entry.at:%H:%M:%S})"]
    if header.minor:  # as many lines as before, which earlier readers count
        source = restored_text(entry, _link(header.parent), _link(entry.merged))
        lines += ["", f"**Context:** Resumed from {source}", ""]
    else:
        source = restored_text(entry, header.parent, entry.merged)
        lines += [f"**Context:** Resumed from {source}"]
        lines += [f"**Previous Session:** {encode_line(header.parent_path)}", ""]
    lines += [_fold("Restored context", entry.block)]
    values = {
        "queries": str(entry.queries),
        "tokens": str(entry.tokens),
        "of": entry.parent_created.isoformat(),
        "grandparent": entry.grandparent,
        "depth": str(entry.depth) if entry.depth != 2 else "",
        "since": entry.verbatim_from,
        "fresh": entry.unsummarized_from,
        "until": entry.until,
        "merged": entry.merged,
    }
    return "\n---\n" + _opening("restoration", entry.at, **values) + "\n".join(lines) + _end()


def _link(identity: str) -> str:
    """Return a link to a session beside this one."""
    return f"[{identity}]({identity}.md)" if identity else ""


def tail(seal: Seal, totals: Totals, minor: int) -> str:
    """Return the summary block and the seal's line, which repeats the totals so that a listing need
    only read it.
    """
    lines = ["", "---", ""]
    if seal.summary is not None:
        block = summary_block.render(seal.summary, grouped=False, spaced=minor > 0)
        lines += [marker.SUMMARY_START, block, marker.SUMMARY_END, ""]
    if seal.compaction is not None:
        lines += [_audit(seal.compaction)]
    values = {
        "at": seal.at.isoformat(),
        "reason": seal.reason,
        "summary": seal.source,
        "queries": str(totals.queries),
        "tokens": str(totals.combined),
        "covers": "" if seal.covers is None else str(seal.covers),
    }
    values |= marker.seconds_values(seal.seconds) | marker.usage_values(seal.usage)
    parts = [_SOURCES[seal.source], *_spent(seal.seconds, seal.usage)]
    return "\n".join([*lines, f"*{' | '.join(parts)}*", marker.write("sealed", values), ""])


def _audit(compaction: Compaction) -> str:
    lines = [
        marker.write("compaction", marker.compaction_values(compaction)),
        f"*Compacted {compaction.first} to {compaction.last}: {compaction_text(compaction)}*",
        f"*Model: {compaction.model or 'none'} | Cost: {dollars_text(compaction.cost)}*",
        marker.write("end"),
        "",
    ]
    return "\n".join(lines)


def render(session: Session, folder: str = IMAGE_FOLDER) -> bytes:
    """Return the whole transcript. Its links to images lead into `folder`, a part of a URL; they
    are for people.
    """
    totals = session.totals
    parts = [head(session.header, totals if session.seal else None)]
    parts += [entry_text(entry, session.header, folder) for entry in session.entries]
    parts += [tail(session.seal, totals, session.header.minor)] if session.seal else []
    return "".join(parts).encode()


def _opening(kind: str, at: datetime, **values: str) -> str:
    return f"\n{marker.write(kind, {**values, 'at': at.isoformat()})}\n"


def _end(**values: str) -> str:
    return f"\n{marker.write('end', values)}\n"


def _record(
    kind: str,
    entry: Query | Undo | Call | Result | ArchiveContext | Attachment,
    body: str,
    values: dict[str, str] | None = None,
    at_end: dict[str, str] | None = None,
) -> str:
    """Return the record of an entry that belongs to a query, with these values in its markers."""
    number = str(entry.number)
    opening = _opening(kind, entry.at, n=number, **(values or {}))
    return opening + body + _end(n=number, **(at_end or {}))


def _labelled(label_text: str, encoded: str) -> str:
    """Return the label on the text's first line when that is a plain paragraph, else on a line of
    its own.
    """
    return f"{label_text}{' ' if encoded[:1].isalpha() else chr(10) * 2}{encoded}"


def _fold(title: str, text: str) -> str:
    """Return text that a person sees on a click."""
    return f"<details><summary>{title}</summary>\n\n{encode(text)}\n\n</details>"


def _spent(seconds: float | None, usage: Usage | None) -> list[str]:
    parts = [f"Time: {seconds:.1f}s"] if seconds is not None else []
    return parts + ([f"Tokens: {tokens_text(usage)}"] if usage else [])
