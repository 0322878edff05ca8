"""Writes the file format: values -> markdown, in the minor version that the header names.
`parse(render(session)) == session` if markers can contain its ids and names (`marker.safe_value`);
otherwise, `render` raises ValueError.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from chat_loop.sessions import marker, records, summary_block
from chat_loop.sessions.escape import encode, encode_line
from chat_loop.values import STOPS, Usage, compaction_text, counts_text, dollars_text, tokens_text

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
    header, seal, totals = session.header, session.seal, session.totals
    parts = [head(header, totals if seal else None, others)]
    parts += [entry_text(entry, header) for entry in session.entries]
    parts += [tail(seal, totals, header.minor)] if seal else []
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
    fields = {
        "Session ID": header.id,
        "Date": header.created.isoformat(),
        **{name: getattr(header, attribute) for name, attribute in marker.HEADER.items()},
        "Tags": ", ".join(header.tags),
        **dict(accounting(totals) if totals else ()),
    }
    lines = [f"**{name}:** {encode_line(text)}" for name, text in fields.items() if text]
    lines += others
    title = f"{marker.write('session', values)}\n# {encode_line(header.agent)} Conversation\n\n"
    return title + ("\n\n" if header.minor else "\n").join(lines) + f"\n{marker.write('end')}\n"


def accounting(totals: records.Totals) -> Iterator[tuple[str, str]]:
    """Yield the lines of the session's accounting as (label, value)."""
    yield "Total Queries", str(totals.queries)
    if totals.restoration.total:
        yield "Restoration Tokens", tokens_text(totals.restoration)
    yield "Session Tokens", tokens_text(totals.session)
    if totals.restoration.total:
        yield "Combined Total", f"{totals.combined:,}"


def entry_text(entry: records.Entry, header: records.Header) -> str:
    """Return the text of an entry as it is appended."""
    if isinstance(entry, records.Reply):
        body = labeled(label(header.agent), encode(entry.text))
        return reply_opening(entry.number, entry.at) + body + reply_end(entry)
    name = _NAMES[type(entry)]
    kind = marker.KINDS[name]
    match entry:
        case records.Query():
            heading = f"## Query {entry.number} ({entry.at:%H:%M:%S})\n"
            body = heading + labeled(kind.label, encode(entry.text))
        case records.Undo():
            body = f"*Undone: what was said with query {entry.number}.*"
        case records.Call():
            body = _fold(f"Tool: {entry.name}", entry.arguments)
        case records.Result():
            body = _fold("It failed" if entry.failed else "Its result", entry.text)
        case records.ArchiveContext():
            body = _fold("Found in the archive", entry.text)
        case records.Attachment():
            content = _fold("Its text", entry.text)
            if entry.is_image:
                content = f"![{entry.width}×{entry.height}]({entry.file})"
            body = f"{kind.label} {encode_line(entry.name)}\n\n{content}"
        case records.Restoration():
            body = _restored(entry, header)
        case _:
            assert isinstance(entry, records.Note | records.Change)
            body = labeled(kind.label, encode(entry.text))
    rule = "\n---\n" if isinstance(entry, records.Query | records.Restoration) else ""
    values = marker.values_of(entry, kind.values)
    opening = marker.write(name, {**values, "at": entry.at})
    end = marker.write("end", {"n": values.get("n"), **marker.values_of(entry, kind.closing)})
    return f"{rule}\n{opening}\n{body}\n{end}\n"


def _restored(entry: records.Restoration, header: records.Header) -> str:
    """Return the body of a restoration, with the same number of lines in each minor version."""

    def link(identity: str) -> str:
        return f"[{identity}]({identity}.md)" if identity and header.minor else identity

    source = restored_text(entry, link(header.parent), link(entry.merged))
    source = f"**Context:** Resumed from {source}"
    path = f"**Previous Session:** {encode_line(header.parent_path)}"
    lines = ["", source, ""] if header.minor else [source, path, ""]
    heading = f"## Session Restored ({entry.at:%H:%M:%S})"
    return "\n".join([heading, *lines, _fold("Restored context", entry.block)])


def restored_text(entry: records.Restoration, parent: str, merged: str) -> str:
    """Return the origin of a session: `ID (5 queries, 2.3K tokens; forked at 1.4)`."""
    parts = [counts_text(entry.queries, entry.tokens)]
    parts += [f"the words from {entry.verbatim_from} on"] if entry.verbatim_from else []
    parts += [f"forked at {entry.until}"] if entry.until else []
    return f"{parent} ({'; '.join(parts)}){f', merged with {merged}' if merged else ''}"


def label(agent: str) -> str:
    """Return the bold label before a reply; the parser compares it."""
    return f"**{encode_line(agent)}:**"


def labeled(label_text: str, encoded: str) -> str:
    """Return the text after its label, on the same line if it begins with a letter."""
    return label_text + (" " if encoded[:1].isalpha() else "\n\n") + encoded


def reply_opening(number: int, at: datetime) -> str:
    """Return the first piece of a reply, which is written before its text is known."""
    kind = "reply" if number else "acknowledgment"
    return f"\n{marker.write(kind, {'n': number or None, 'at': at})}\n"


def reply_end(entry: records.Reply) -> str:
    """Return the end marker, the fence that closes open code, and the line of time and tokens."""
    values = {
        "n": entry.number or None,
        **marker.values_of(entry, ("stop", "seconds")),
        **marker.values_of(entry.usage, marker.USAGE),
        "failed": entry.failed,
    }
    parts = _costs(entry.seconds, entry.usage)
    parts += [STOPS[entry.stop].capitalize()] if entry.stop in STOPS else []
    parts += ["Not sent again"] if entry.failed else []
    fence = open_fence(entry.text)
    closing = f"\n{marker.write('end', values)}\n" + (f"{fence}\n" if fence else "")
    return closing + (f"\n*{' | '.join(parts)}*\n" if parts else "")


def open_fence(text: str) -> str:
    """Return the fence that closes the code block left open by `text`, or an empty string."""
    fence = ""
    for run, sign, rest in _FENCE.findall(text):
        if not fence:
            fence = "" if sign == "`" and "`" in rest else run
        elif sign == fence[0] and len(run) >= len(fence) and not rest.strip():
            fence = ""
    return fence


def tail(seal: records.Seal, totals: records.Totals, minor: int) -> str:
    """Return the summary block, the audit, and the seal, from which listings read the totals."""
    lines = ["", "---", ""]
    if seal.summary is not None:
        block = summary_block.render(seal.summary, grouped=False, spaced=minor > 0)
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
        **marker.values_of(seal, ("covers", "seconds")),
        **marker.values_of(seal.usage, marker.USAGE),
    }
    costs = " | ".join([SOURCES[seal.source], *_costs(seal.seconds, seal.usage)])
    return "\n".join([*lines, f"*{costs}*", marker.write("sealed", values), ""])


def _fold(title: str, text: str) -> str:
    """Return text that is folded until a person clicks on its title."""
    return f"<details><summary>{title}</summary>\n\n{encode(text)}\n\n</details>"


def _costs(seconds: float | None, usage: Usage | None) -> list[str]:
    parts = [f"Time: {seconds:.1f}s"] if seconds is not None else []
    return parts + ([f"Tokens: {tokens_text(usage)}"] if usage else [])
