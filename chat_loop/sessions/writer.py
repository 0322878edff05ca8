r"""The file format, writing side: values -> markdown, in the minor version that the header names.

A record is what stands between a `<!-- chat:KIND … -->` line and its `<!-- chat:end … -->` line.
Inside it, headings and labels are decoration for people; the parser takes off exactly the
decoration written here. `parse(render(session)) == session` for every Session whose ids and names
are values that markers hold (`marker.value`); `render` raises ValueError for any other. A living
session is written by the same pieces: `render(session) == head + each entry + tail`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
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
    QueryEntry,
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
from chat_loop.values import Usage
from chat_loop.wording import STOPS, compaction_text, counts_text, dollars_text, tokens_text

YOU = "**You:**"
ATTACHED = "**Attached:**"
NOTES: Mapping[type[Note], tuple[str, str]] = {
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
_FENCE = re.compile(r"^ {0,3}((`|~)\2{2,})(.*)$", re.MULTILINE)
_SOURCES = {
    "model": "Summary",
    "extracted": "Summary extracted without a model",
    "none": "No summary",
}


def render(session: Session, folder: str = IMAGE_FOLDER) -> bytes:
    """Return the whole transcript. Its links to images lead into `folder`, a part of a URL; they
    are for people.
    """
    header, seal, totals = session.header, session.seal, session.totals
    parts = [head(header, totals if seal else None)]
    parts += [entry_text(entry, header, folder) for entry in session.entries]
    parts += [tail(seal, totals, header.minor)] if seal else []
    return "".join(parts).encode()


def head(header: Header, totals: Totals | None = None) -> str:
    """Return the header record, with the `totals` of a sealed session."""
    values = {
        "v": "1",
        "minor": header.minor or None,
        "id": header.id,
        "created": header.created,
        "parent": header.parent,
        "mode": header.mode,
    }
    fields = {
        "Session ID": header.id,
        "Date": header.created.isoformat(),
        "Agent": header.agent,
        "Agent Path": header.agent_path,
        "Model": header.model,
        "Project": header.project,
        "Resumed From": header.parent,
        "Previous Session": header.parent_path,
        "Name": header.name,
        "Title": header.title,
        "Tags": ", ".join(header.tags),
        **dict(accounting(totals) if totals else ()),
    }
    lines = [f"**{name}:** {encode_line(text)}" for name, text in fields.items() if text]
    title = f"{marker.write('session', values)}\n# {encode_line(header.agent)} Conversation\n\n"
    return title + ("\n\n" if header.minor else "\n").join(lines) + f"\n{marker.write('end')}\n"


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


def entry_text(entry: Entry, header: Header, folder: str = IMAGE_FOLDER) -> str:
    """Return the text of an entry as it is appended; links to images lead into `folder`."""
    number = {"n": entry.number} if isinstance(entry, QueryEntry) else {}
    values: Mapping[str, marker.Value] = {}
    end: Mapping[str, marker.Value] = {}
    match entry:
        case Reply():
            text = labelled(label(header.agent), encode(entry.text))
            return reply_opening(entry.number, entry.at) + text + reply_end(entry)
        case Query():
            kind, heading = "query", f"## Query {entry.number} ({entry.at:%H:%M:%S})\n"
            body = heading + labelled(YOU, encode(entry.text))
        case Undo():
            kind, body = "undo", f"*Undone: what was said with query {entry.number}.*"
        case Call():
            kind, values = "call", {"id": entry.id, "name": entry.name}
            body = _fold(f"Tool: {entry.name}", entry.arguments)
        case Result():
            kind, values = "result", {"id": entry.id, "failed": entry.failed}
            body = _fold("It failed" if entry.failed else "Its result", entry.text)
            end = {"time": entry.seconds}
        case ArchiveContext():
            kind, body = "recall", _fold("Found in the archive", entry.text)
        case Attachment():
            kind, values, body = "attachment", _attachment_values(entry), _attached(entry, folder)
        case Restoration():
            kind, values, body = "restoration", _restoration_values(entry), _restored(entry, header)
        case _:
            assert isinstance(entry, Note)
            kind, label_text = NOTES[type(entry)]
            body = labelled(label_text, encode(entry.text))
    rule = "\n---\n" if isinstance(entry, Query | Restoration) else ""
    opening = marker.write(kind, {**number, **values, "at": entry.at})
    return f"{rule}\n{opening}\n{body}\n{marker.write('end', {**number, **end})}\n"


def _attachment_values(entry: Attachment) -> dict[str, marker.Value]:
    return {
        "type": entry.media,
        "size": entry.size,
        "sha": entry.sha256,
        "width": entry.width or None,
        "height": entry.height or None,
    }


def _attached(entry: Attachment, folder: str) -> str:
    shown = _fold("Its text", entry.text)
    if entry.is_image:
        link = entry.file.replace(IMAGE_FOLDER, folder, 1)
        shown = f"![{entry.width}×{entry.height}]({link})"
    return f"{ATTACHED} {encode_line(entry.name)}\n\n{shown}"


def _restoration_values(entry: Restoration) -> dict[str, marker.Value]:
    return {
        "queries": entry.queries,
        "tokens": entry.tokens,
        "of": entry.parent_created,
        "grandparent": entry.grandparent,
        "depth": entry.depth if entry.depth != 2 else None,
        "since": entry.verbatim_from,
        "fresh": entry.unsummarized_from,
        "until": entry.until,
        "merged": entry.merged,
    }


def _restored(entry: Restoration, header: Header) -> str:
    """Return the body of a restoration: as many lines in each minor version, for readers."""

    def link(identity: str) -> str:
        return f"[{identity}]({identity}.md)" if identity and header.minor else identity

    source = restored_text(entry, link(header.parent), link(entry.merged))
    source = f"**Context:** Resumed from {source}"
    path = f"**Previous Session:** {encode_line(header.parent_path)}"
    lines = ["", source, ""] if header.minor else [source, path, ""]
    heading = f"## Session Restored ({entry.at:%H:%M:%S})"
    return "\n".join([heading, *lines, _fold("Restored context", entry.block)])


def restored_text(entry: Restoration, parent: str, merged: str) -> str:
    """Return where a session comes from, with its two parents named so: `ID (5 queries, 2.3K
    tokens; forked at 1.4), merged with ID2`.
    """
    parts = [counts_text(entry.queries, entry.tokens)]
    parts += [f"the words from {entry.verbatim_from} on"] if entry.verbatim_from else []
    parts += [f"forked at {entry.until}"] if entry.until else []
    return f"{parent} ({'; '.join(parts)}){f', merged with {merged}' if merged else ''}"


def label(agent: str) -> str:
    """Return the bold label before a reply; the parser compares it."""
    return f"**{encode_line(agent)}:**"


def labelled(label_text: str, encoded: str) -> str:
    """Return the label on the text's first line when that is a plain paragraph, else on a line of
    its own.
    """
    return label_text + (" " if encoded[:1].isalpha() else "\n\n") + encoded


def reply_opening(number: int, at: datetime) -> str:
    """Return the first piece of a reply, which is written before its text is known."""
    kind = "reply" if number else "acknowledgment"
    return f"\n{marker.write(kind, {'n': number or None, 'at': at})}\n"


def reply_end(entry: Reply) -> str:
    """Return the last piece: the end marker, a fence that the text left open, and the line of time
    and tokens.
    """
    values: dict[str, marker.Value] = {
        "n": entry.number or None,
        "stop": entry.stop,
        "time": entry.seconds,
        **marker.usage_values(entry.usage),
        "failed": entry.failed,
    }
    parts = _spent(entry.seconds, entry.usage)
    parts += [STOPS[entry.stop].capitalize()] if entry.stop in STOPS else []
    parts += ["Not sent again"] if entry.failed else []
    fence = open_fence(entry.text)
    closing = f"\n{marker.write('end', values)}\n" + (f"{fence}\n" if fence else "")
    return closing + (f"\n*{' | '.join(parts)}*\n" if parts else "")


def open_fence(text: str) -> str:
    """Return the fence that would close `text` if it leaves a code block open, else an empty string
    (CommonMark 4.5).
    """
    fence = ""
    for run, sign, rest in _FENCE.findall(text):
        if not fence:
            fence = "" if sign == "`" and "`" in rest else run
        elif sign == fence[0] and len(run) >= len(fence) and not rest.strip():
            fence = ""
    return fence


def tail(seal: Seal, totals: Totals, minor: int) -> str:
    """Return the summary block and the seal's line, which repeats the totals so that a listing need
    only read it.
    """
    lines = ["", "---", ""]
    if seal.summary is not None:
        block = summary_block.render(seal.summary, grouped=False, spaced=minor > 0)
        lines += [marker.SUMMARY_START, block, marker.SUMMARY_END, ""]
    if (audit := seal.compaction) is not None:
        lines += [
            marker.write("compaction", marker.compaction_values(audit)),
            f"*Compacted {audit.first} to {audit.last}: {compaction_text(audit)}*",
            f"*Model: {audit.model or 'none'} | Cost: {dollars_text(audit.cost)}*",
            marker.write("end"),
            "",
        ]
    values = {
        "at": seal.at,
        "reason": seal.reason,
        "summary": seal.source,
        "queries": totals.queries,
        "tokens": totals.combined,
        "covers": seal.covers,
        "time": seal.seconds,
        **marker.usage_values(seal.usage),
    }
    spent = " | ".join([_SOURCES[seal.source], *_spent(seal.seconds, seal.usage)])
    return "\n".join([*lines, f"*{spent}*", marker.write("sealed", values), ""])


def _fold(title: str, text: str) -> str:
    """Return text that a person sees on a click."""
    return f"<details><summary>{title}</summary>\n\n{encode(text)}\n\n</details>"


def _spent(seconds: float | None, usage: Usage | None) -> list[str]:
    parts = [f"Time: {seconds:.1f}s"] if seconds is not None else []
    return parts + ([f"Tokens: {tokens_text(usage)}"] if usage else [])
