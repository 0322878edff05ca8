r"""The file format, writing side: values -> markdown.

A record is what stands between a `<!-- chat:KIND … -->` line and its `<!-- chat:end … -->` line. Inside it, headings
and labels are decoration for the human reader; the parser (`parser.py`) skips exactly the decoration written here.
`parse(render(session)) == session` for every Session whose ids and names are values that markers hold (`marker.value`);
`render` raises ValueError for any other.

Each record's text is made by one function here, so that a living session can be appended record by record:
`render(session) == head(header) + each entry + tail(seal)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from chat_loop.sessions import marker, summary_block
from chat_loop.sessions.escape import encode, encode_line
from chat_loop.sessions.records import (
    IMAGE_FOLDER,
    Attachment,
    Call,
    Entry,
    Header,
    Name,
    Note,
    Pin,
    Query,
    Recall,
    Reply,
    Restoration,
    Result,
    Seal,
    Session,
    Switch,
    Tag,
    Totals,
    Undo,
    Unpin,
    Untag,
)
from chat_loop.values import Compaction
from chat_loop.wording import STOPS, compaction_text, counts_text, dollars_text, tokens_text

YOU = "**You:**"
FIELDS = (
    *(
        "Session ID",
        "Date",
        "Agent",
        "Agent Path",
        "Model",
        "Project",
        "Resumed From",
        "Previous Session",
    ),
    *("Name", "Title", "Tags"),
)
"""The header's lines, in this order; after them come those of `accounting`."""
NOTES: dict[type[Note], tuple[str, str]] = {
    Pin: ("pin", "**Pinned:**"),
    Unpin: ("unpin", "**Unpinned:**"),
    Name: ("name", "**Named:**"),
    Tag: ("tag", "**Tagged:**"),
    Untag: ("untag", "**Untagged:**"),
    Switch: ("model", "**Model:**"),
}
"""The records that hold a time and a text: their kinds and labels."""
ATTACHED = "**Attached:**"
UNDONE = "*Undone: what was said with query {0}.*"
FOLDED = 2
"""How many lines a fold has before its text."""


def accounting(totals: Totals) -> Iterator[tuple[str, str]]:
    """The lines of the session's accounting as (label, value), for the header and for the
    screen.
    """
    yield "Total Queries", str(totals.queries)
    if totals.restoration.total:
        yield "Restoration Tokens", tokens_text(totals.restoration)
    yield "Session Tokens", tokens_text(totals.session)
    if totals.restoration.total:
        yield "Combined Total", f"{totals.combined:,}"


def label(agent: str) -> str:
    """The bold label before a reply; the parser compares it, so it is one line whatever the agent
    is called.
    """
    return f"**{encode_line(agent)}:**"


def _folded(title: str, text: str) -> str:
    """Text that a reader sees when asking for it."""
    return f"<details><summary>{title}</summary>\n\n{encode(text)}\n\n</details>"


def _opening(kind: str, at: datetime, **values: str) -> str:
    return f"\n{marker.write(kind, {**values, 'at': at.isoformat()})}\n"


def _end(**values: str) -> str:
    return f"\n{marker.write('end', values)}\n"


def _labelled(label_text: str, encoded: str) -> str:
    """The label on the text's first line when that is a plain paragraph, else on a line of its
    own.
    """
    return f"{label_text}{' ' if encoded[:1].isalpha() else chr(10) * 2}{encoded}"


def head(header: Header, totals: Totals | None = None) -> str:
    """The header record; `totals` once the session is sealed."""
    values = {
        "v": "1",
        "id": header.id,
        "created": header.created.isoformat(),
        "parent": header.parent,
    }
    values["mode"] = header.mode
    lines = [marker.write("session", values), f"# {encode_line(header.agent)} Conversation", ""]
    texts = (
        *(
            header.id,
            header.created.isoformat(),
            header.agent,
            header.agent_path,
            header.model,
            header.project,
        ),
        *(header.parent, header.parent_path, header.name, header.title, ", ".join(header.tags)),
    )
    lines += [
        f"**{name}:** {encode_line(value)}"
        for name, value in zip(FIELDS, texts, strict=True)
        if value
    ]
    lines += [f"**{name}:** {value}" for name, value in accounting(totals)] if totals else []
    return "\n".join(lines) + _end()


def query(entry: Query) -> str:
    heading = f"## Query {entry.number} ({entry.at:%H:%M:%S})\n"
    opening = _opening("query", entry.at, n=str(entry.number))
    return (
        f"\n---\n{opening}{heading}{_labelled(YOU, encode(entry.text))}{_end(n=str(entry.number))}"
    )


def reply_opening(number: int, at: datetime) -> str:
    """The first piece of a reply: written before its text is known."""
    return _opening("reply" if number else "acknowledgment", at, n=str(number or ""))


def reply_label(agent: str, encoded_start: str) -> str:
    """What stands between a reply's opening and its encoded text, decided by the text's first
    character.
    """
    return _labelled(label(agent), encoded_start[:1])[: -len(encoded_start[:1]) or None]


def reply_end(entry: Reply, open_fence: str = "") -> str:
    """The last piece: the end marker, a fence that the text left open, and the line of time and
    tokens.
    """
    values = marker.seconds_values(entry.seconds) | marker.usage_values(entry.usage)
    values["failed"] = "yes" if entry.failed else ""
    closing = _end(n=str(entry.number or ""), stop=entry.stop, **values)
    parts = [f"Time: {entry.seconds:.1f}s"] if entry.seconds is not None else []
    parts += [f"Tokens: {tokens_text(entry.usage)}"] if entry.usage else []
    parts += [STOPS[entry.stop].capitalize()] if entry.stop in STOPS else []
    parts += ["Not sent again"] if entry.failed else []
    return (
        closing
        + (f"{open_fence}\n" if open_fence else "")
        + (f"\n*{' | '.join(parts)}*\n" if parts else "")
    )


def open_fence(text: str) -> str:
    """The fence that would close `text` if it leaves a code block open, else an empty string
    (CommonMark 4.5).
    """
    fence = ""
    for line in text.split("\n"):
        stripped = line.lstrip(" ")
        if len(line) - len(stripped) > 3:
            continue
        for sign in ("`", "~"):
            run = stripped[: len(stripped) - len(stripped.lstrip(sign))]
            if len(run) < 3:
                continue
            if not fence and not (sign == "`" and "`" in stripped[len(run) :]):
                fence = run
            elif (
                fence
                and sign == fence[0]
                and len(run) >= len(fence)
                and not stripped[len(run) :].strip()
            ):
                fence = ""
    return fence


def reply(entry: Reply, agent: str) -> str:
    encoded = encode(entry.text)
    return (
        reply_opening(entry.number, entry.at)
        + reply_label(agent, encoded)
        + encoded
        + reply_end(entry, open_fence(entry.text))
    )


def note(entry: Note) -> str:
    kind, label_text = NOTES[type(entry)]
    return _opening(kind, entry.at) + _labelled(label_text, encode(entry.text)) + _end()


def undo(entry: Undo) -> str:
    number = str(entry.number)
    return _opening("undo", entry.at, n=number) + UNDONE.format(number) + _end(n=number)


def call(entry: Call) -> str:
    opening = _opening("call", entry.at, n=str(entry.number), id=entry.id, name=entry.name)
    return opening + _folded(f"Tool: {entry.name}", entry.arguments) + _end(n=str(entry.number))


def result(entry: Result) -> str:
    values = {"n": str(entry.number), "id": entry.id, "failed": "yes" if entry.failed else ""}
    title = "It failed" if entry.failed else "Its result"
    opening = _opening("result", entry.at, **values)
    return (
        opening
        + _folded(title, entry.text)
        + _end(n=str(entry.number), **marker.seconds_values(entry.seconds))
    )


def recall(entry: Recall) -> str:
    opening = _opening("recall", entry.at, n=str(entry.number))
    return opening + _folded("Found in the archive", entry.text) + _end(n=str(entry.number))


def attachment(entry: Attachment, folder: str = IMAGE_FOLDER) -> str:
    values = {
        "n": str(entry.number),
        "type": entry.media,
        "size": str(entry.size),
        "sha": entry.sha256,
    }
    values |= {"width": str(entry.width or ""), "height": str(entry.height or "")}
    link = entry.file.replace(IMAGE_FOLDER, folder, 1)
    shown = (
        f"![{entry.width}×{entry.height}]({link})"
        if entry.is_image
        else _folded("Its text", entry.text)
    )
    opening = _opening("attachment", entry.at, **values)
    return f"{opening}{ATTACHED} {encode_line(entry.name)}\n\n{shown}{_end(n=str(entry.number))}"


def restoration(entry: Restoration, header: Header) -> str:
    carried = f"; the words from {entry.since} on" if entry.since else ""
    carried += f"; forked at {entry.until}" if entry.until else ""
    merged = f", merged with {entry.merged}" if entry.merged else ""
    lines = [
        f"## Session Restored ({entry.at:%H:%M:%S})",
        (
            f"**Context:** Resumed from {header.parent} "
            f"({counts_text(entry.queries, entry.tokens)}{carried}){merged}"
        ),
        f"**Previous Session:** {encode_line(header.parent_path)}",
        "",
        _folded("Restored context", entry.block),
    ]
    values = {
        "queries": str(entry.queries),
        "tokens": str(entry.tokens),
        "of": entry.parent_created.isoformat(),
        "grandparent": entry.grandparent,
        "depth": str(entry.depth) if entry.depth != 2 else "",
        "since": entry.since,
        "fresh": entry.fresh,
        "until": entry.until,
        "merged": entry.merged,
    }
    return "\n---\n" + _opening("restoration", entry.at, **values) + "\n".join(lines) + _end()


def entry_text(entry: Entry, header: Header, folder: str = IMAGE_FOLDER) -> str:
    """The text of any entry, as it is appended; links to images lead into `folder`."""
    match entry:
        case Query():
            return query(entry)
        case Reply():
            return reply(entry, header.agent)
        case Pin() | Unpin() | Name() | Tag() | Untag() | Switch():
            return note(entry)
        case Undo():
            return undo(entry)
        case Call():
            return call(entry)
        case Result():
            return result(entry)
        case Recall():
            return recall(entry)
        case Attachment():
            return attachment(entry, folder)
        case Restoration():
            return restoration(entry, header)


def tail(seal: Seal, totals: Totals) -> str:
    """The summary block and the seal's line, which repeats the totals so that a listing need only
    read it.
    """
    lines = ["", "---", ""]
    if seal.summary is not None:
        lines += [
            marker.SUMMARY_START,
            summary_block.render(seal.summary, grouped=False),
            marker.SUMMARY_END,
            "",
        ]
    parts = [
        {
            "model": "Summary",
            "extracted": "Summary extracted without a model",
            "none": "No summary",
        }[seal.source]
    ]
    parts += [f"Time: {seal.seconds:.1f}s"] if seal.seconds is not None else []
    parts += [f"Tokens: {tokens_text(seal.usage)}"] if seal.usage else []
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
    sealed = marker.write(
        "sealed", values | marker.seconds_values(seal.seconds) | marker.usage_values(seal.usage)
    )
    return "\n".join([*lines, f"*{' | '.join(parts)}*", sealed, ""])


def _audit(compaction: Compaction) -> str:
    values = {
        name: str(getattr(compaction, name))
        for name in ("first", "last", "before", "after", "why", "model")
    } | {
        name: str(getattr(compaction, name) or "")
        for name in ("decisions", "pins", "facts", "archived", "superseded")
    }
    values["cost"] = "" if compaction.cost is None else repr(compaction.cost)
    lines = [
        marker.write("compaction", values),
        f"*Compacted {compaction.first} to {compaction.last}: {compaction_text(compaction)}*",
        f"*Model: {compaction.model or 'none'} | Cost: {dollars_text(compaction.cost)}*",
        marker.write("end"),
        "",
    ]
    return "\n".join(lines)


def render(session: Session, folder: str = IMAGE_FOLDER) -> bytes:
    """Return the whole transcript. Its links to images lead into `folder`, a part of a URL; they
    are for the reader.
    """
    totals = session.totals
    parts = [head(session.header, totals if session.seal else None)]
    parts += [entry_text(entry, session.header, folder) for entry in session.entries]
    parts += [tail(session.seal, totals)] if session.seal else []
    return "".join(parts).encode()
