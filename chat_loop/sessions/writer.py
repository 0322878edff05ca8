"""Writes the file format: values -> markdown, in the minor version that the header names.
`parse(render(session)) == session` if markers can contain its ids and names (`marker.safe_value`);
otherwise, `render` raises ValueError.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from msgspec.structs import replace

from chat_loop.sessions import marker, records, summary_block
from chat_loop.sessions.escape import encode, encode_field, encode_line
from chat_loop.values import (
    STOPS,
    Usage,
    compaction_text,
    counts_text,
    dollars_text,
    size_text,
    tokens_text,
)

_NAMES = {kind.entry: name for name, kind in marker.KINDS.items()}
_FENCE = re.compile(r"^ {0,3}((`|~)\2{2,})(.*)$", re.MULTILINE)
LABELS = {
    *("Session ID", "Date", "Tags", *marker.HEADER),
    *("Total Queries", "Restoration Tokens", "Session Tokens", "Combined Total"),
}
"""The labels of a header's lines. Other lines were added by someone else, and stay."""
SOURCES = {
    "model": "Summary",
    "extracted": "Summary extracted without a model",
    "none": "No summary",
}


def render(session: records.Session, others: Sequence[str] = ()) -> bytes:
    """Return the whole transcript, with the lines `others` added to its header."""
    header = session.header
    seal = session.seal
    totals = session.totals if seal else None
    parts = [head(header, totals, others)]
    before = None
    for entry in session.entries:
        parts.append(entry_text(entry, header, before))
        before = entry
    if seal is not None:
        parts.append(tail(seal, session.totals, header.minor))
    return "".join(parts).encode()


def head(
    header: records.Header, totals: records.Totals | None = None, others: Sequence[str] = ()
) -> str:
    """Return the header record, with the `totals` of a sealed session, and the lines `others`."""
    values = {
        "v": "1",
        "minor": header.minor or None,
        "id": header.id,
        "created": header.created,
        "parent": header.parent,
        "mode": header.mode,
    }
    fields = {"Session ID": header.id, "Date": header.created.isoformat()}
    for name, attribute in marker.HEADER.items():
        fields[name] = getattr(header, attribute)
    fields["Tags"] = ", ".join(header.tags)
    if totals is not None:
        fields.update(accounting(totals))
    heading = f"{encode_line(header.agent)} Conversation"
    if header.minor >= 2:
        heading = encode_line(header.name or header.title) or heading
        text = "  \n".join(_fields(fields, header, others))
    else:
        lines = [f"**{name}:** {encode_line(text)}" for name, text in fields.items() if text]
        separator = "\n\n" if header.minor else "\n"
        text = separator.join([*lines, *others])
    opening = marker.write("session", values)
    return f"{opening}\n# {heading}\n\n{text}\n{marker.write('end')}\n"


def _fields(
    fields: Mapping[str, str], header: records.Header, others: Sequence[str]
) -> Iterator[str]:
    """Yield the lines of a header since 1.2, between which hard breaks stand. The agent is the
    last one: earlier versions would take the two spaces of a hard break for a part of its name.
    """
    for name, text in fields.items():
        if name == "Resumed From" and text:
            yield f"**{name}:** {link(text)}"
        elif name != "Agent" and text:
            yield f"**{name}:** {encode_field(text)}"
    for line in others:
        yield line.rstrip(" ")
    if header.agent:
        yield f"**Agent:** {encode_field(header.agent)}"


def accounting(totals: records.Totals) -> Iterator[tuple[str, str]]:
    """Yield the lines of the session's accounting as (label, value)."""
    yield "Total Queries", str(totals.queries)
    if totals.restoration.total:
        yield "Restoration Tokens", tokens_text(totals.restoration)
    yield "Session Tokens", tokens_text(totals.session)
    if totals.restoration.total:
        yield "Combined Total", f"{totals.combined:,}"


def entry_text(
    entry: records.Entry, header: records.Header, before: records.Entry | None = None
) -> str:
    """Return the text of an entry as it is appended, after the entry `before`."""
    if isinstance(entry, records.Reply | records.AsideReply):
        body = labeled(label(header.agent), encode(entry.text))
        opening = reply_opening(entry, header.minor, before)
        return opening + body + reply_end(entry, header.minor)
    name = _NAMES[type(entry)]
    kind = marker.KINDS[name]
    rule = "\n---\n" if isinstance(entry, records.Query | records.Restoration) else ""
    values = marker.values_of(entry, kind.values)
    opening = marker.write(name, {**values, "at": _time(entry, header.minor, before)})
    closing = marker.values_of(entry, kind.closing)
    if header.minor < 2:
        closing = {"n": values.get("n"), **closing}
    body = _body(entry, header)
    end = marker.write("end", closing)
    return f"{rule}\n{opening}\n{body}\n{end}\n{closing_fence(body)}"


def _body(entry: records.Entry, header: records.Header) -> str:
    """Return what stands between the markers of an entry that is not a reply."""
    kind = marker.KINDS[_NAMES[type(entry)]]
    match entry:
        case records.Query():
            heading = f"## Query {entry.number} ({entry.at:%H:%M:%S})\n"
            return heading + labeled(kind.label, encode(entry.text))
        case records.UndoEntry():
            what = "Undone" if isinstance(entry, records.Undo) else "Counts again"
            return f"*{what}: what was said with query {entry.ref or entry.number}.*"
        case records.Shortened():
            part = f"{entry.part} {entry.call}".rstrip()
            return f"*Shortened: the {part} of {entry.ref}, to {entry.tokens:,} tokens.*"
        case records.Attachment():
            content = _fold("Its text", entry.text)
            if entry.is_image:
                content = f"![{entry.width}×{entry.height}]({entry.file})"
            return f"{kind.label} {encode_line(entry.name)}\n\n{content}"
        case records.Restoration():
            return _restored(entry, header)
        case records.Note() | records.Change() | records.LeftOut():
            return labeled(kind.label, encode(entry.text))
    return _fold(_fold_title(entry), getattr(entry, kind.fold))


def _fold_title(entry: records.Entry) -> str:
    """Return the title of an entry that is nothing but a folded text."""
    match entry:
        case records.Call():
            return f"Tool: {entry.name}"
        case records.Result():
            title = "It failed" if entry.failed else "Its result"
            if entry.not_kept:
                title += f", without its last {size_text(entry.not_kept)}: not kept"
            return title
        case records.ArchiveContext():
            return "Found in the archive"
        case records.Covered():
            return f"Summary up to {entry.last_ref}, not sent"
    return "For the model’s service"


def _time(entry: records.Entry, minor: int, before: records.Entry | None) -> datetime | None:
    """Return the time for the marker of an entry, or None if a reader knows it: since 1.2, that of
    the entry `before` if both belong to one query.
    """
    if minor < 2 or not isinstance(entry, records.QueryEntry) or isinstance(entry, records.Query):
        return entry.at
    if not isinstance(before, records.QueryEntry) or before.number != entry.number:
        return entry.at
    is_same = before.at == entry.at and before.at.utcoffset() == entry.at.utcoffset()
    return None if is_same else entry.at


def _restored(entry: records.Restoration, header: records.Header) -> str:
    """Return the body of a restoration, with the same number of lines in each minor version."""
    parent = header.parent
    merged = entry.merged
    if header.minor:
        parent = link(parent)
        merged = link(merged)
    source = restored_text(entry, parent, merged)
    source = f"**Context:** Resumed from {source}"
    path = f"**Previous Session:** {encode_line(header.parent_path)}"
    lines = ["", source, ""] if header.minor else [source, path, ""]
    heading = f"## Session Restored ({entry.at:%H:%M:%S})"
    return "\n".join([heading, *lines, _fold("Restored context", entry.block)])


def link(identity: str) -> str:
    """Return a link to a session in the same folder, or an empty string without an id."""
    return f"[{identity}]({identity}.md)" if identity else ""


def restored_text(entry: records.Restoration, parent: str, merged: str) -> str:
    """Return the origin of a session: `ID (5 queries, 2.3K tokens; forked at 1.4)`."""
    text = f"{parent} ({counts_text(entry.queries, entry.tokens)}"
    if entry.verbatim_from:
        text += f"; the words from {entry.verbatim_from} on"
    if entry.until:
        text += f"; forked at {entry.until}"
    text += ")"
    if merged:
        text += f", merged with {merged}"
    return text


def label(agent: str) -> str:
    """Return the bold label before a reply; the parser compares it."""
    return f"**{encode_line(agent)}:**"


def labeled(label_text: str, encoded: str) -> str:
    """Return the text after its label, on the same line if it begins with a letter."""
    separator = " " if encoded[:1].isalpha() else "\n\n"
    return label_text + separator + encoded


def reply_opening(
    entry: records.Reply | records.AsideReply, minor: int, before: records.Entry | None = None
) -> str:
    """Return the first piece of a reply, which is written before its text is known."""
    number = 0
    kind = "aside-reply"
    if isinstance(entry, records.Reply):
        number = entry.number
        kind = "reply" if number else "acknowledgment"
    values = {"n": number or None, "at": _time(entry, minor, before)}
    return f"\n{marker.write(kind, values)}\n"


def reply_end(entry: records.Reply | records.AsideReply, minor: int) -> str:
    """Return the end marker, the fence that closes open code, and the line of time and tokens."""
    values: dict[str, marker.Value] = {}
    if minor < 2:
        values = {
            "n": getattr(entry, "number", 0) or None,
            **marker.values_of(entry, ("stop", "seconds")),
            **marker.values_of(entry.usage, marker.USAGE),
            "failed": entry.failed,
        }
        parts = _costs(entry.seconds, entry.usage)
    else:  # the line of time and tokens is read, and the usual end is the default
        if entry.stop != "end":
            values["stop"] = entry.stop
        values["failed"] = entry.failed
        parts = _exact_costs(entry.seconds, entry.usage)
    if entry.stop in STOPS:
        parts.append(STOPS[entry.stop].capitalize())
    if entry.failed:
        parts.append("Not sent again")
    text = f"\n{marker.write('end', values)}\n{closing_fence(entry.text)}"
    if parts:
        text += f"\n*{' | '.join(parts)}*\n"
    return text


def closing_fence(text: str) -> str:
    """Return the line that closes the code block left open by `text`, or an empty string."""
    fence = ""
    for match in _FENCE.finditer(text):  # there may be millions
        run, sign, rest = match.groups()
        if not fence:
            if sign == "~" or "`" not in rest:
                fence = run
        elif sign == fence[0] and len(run) >= len(fence) and not rest.strip():
            fence = ""
    return fence and f"{fence}\n"


def tail(seal: records.Seal, totals: records.Totals, minor: int) -> str:
    """Return the summary block, the audit, and the seal, from which listings read the totals."""
    lines = ["", "---", ""]
    if seal.summary is not None:
        block = block_text(seal.summary, minor)
        lines += [marker.SUMMARY_START, block, marker.SUMMARY_END, ""]
    if (audit := seal.compaction) is not None:
        lines += [
            marker.write("compaction", marker.values_of(audit, marker.AUDIT)),
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
        **marker.values_of(seal, ("covers", "remade", "digest", "seconds")),
        **marker.values_of(seal.usage, marker.USAGE),
    }
    costs = " | ".join([SOURCES[seal.source], *_costs(seal.seconds, seal.usage)])
    return "\n".join([*lines, f"*{costs}*", marker.write("sealed", values), ""])


def block_text(summary: records.Summary, minor: int) -> str:
    """Return the inner text of a seal's summary block."""
    return summary_block.render(summary, grouped=False, spaced=minor > 0)


def with_digest(seal: records.Seal, minor: int) -> records.Seal:
    """Return a seal with the digest of its summary block as `tail` writes it."""
    if seal.summary is None:
        return seal
    digest = summary_block.digest(block_text(seal.summary, minor))
    return replace(seal, digest=digest, edited=False)


def _fold(title: str, text: str) -> str:
    """Return text that is folded until a person clicks on its title."""
    return f"<details><summary>{title}</summary>\n\n{encode(text)}\n\n</details>"


def _costs(seconds: float | None, usage: Usage | None) -> list[str]:
    parts = []
    if seconds is not None:
        parts.append(f"Time: {seconds:.1f}s")
    if usage is not None:
        parts.append(f"Tokens: {tokens_text(usage)}")
    return parts


def _exact_costs(seconds: float | None, usage: Usage | None) -> list[str]:
    """Return the same as `_costs`, from which a parser gets all values back."""
    parts = []
    if seconds is not None:
        parts.append(f"Time: {seconds!r}s")
    if usage is not None:
        text = tokens_text(usage)
        if usage.written:
            text = f"{text[:-1]}, written: {usage.written:,})"
        parts.append(f"Tokens: {text}")
    return parts
