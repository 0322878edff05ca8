"""A chain as one self-contained HTML page, which has no script and loads nothing.

Its content security policy forbids both, and allows the page's own style sheet by its hash.
"""

from __future__ import annotations

from base64 import b64encode
from calendar import month_abbr
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template

from msgspec import Struct
from msgspec.structs import replace

from chat_loop import values
from chat_loop.characters import one_line, readable
from chat_loop.context.ledger import SECTIONS, items
from chat_loop.export.marks import ChainMarks
from chat_loop.export.markup import code, prose
from chat_loop.sessions import records, summary_block
from chat_loop.sessions.manager import LoadedSession
from chat_loop.sessions.marker import KINDS
from chat_loop.sessions.naming import name_of
from chat_loop.sessions.records import Session
from chat_loop.sessions.writer import SOURCES, accounting, restored_text
from chat_loop.values import Usage

_MAX_TITLE = 80
_MAX_ENTRY = 70
STYLE = Path(__file__).with_name("page.css").read_text("utf-8")
_PAGE = Template(Path(__file__).with_name("page.html").read_text("utf-8"))


def html_page(chain: Sequence[LoadedSession], images: Mapping[str, bytes]) -> bytes:
    """Return the page of the sessions, oldest first, with `images` by `Attachment.file`."""
    encoded = {name: b64encode(data).decode() for name, data in images.items()}
    sessions = [loaded.session for loaded in chain]
    newest = sessions[-1:]
    last = max(len(chain), *(session.depth for session in newest), 0)
    numbered = [*enumerate(chain, last - len(chain) + 1)]
    links = _links(numbered)
    names = [session.name or session.header.title for session in newest]
    title = next(filter(None, (*names, *map(name_of, sessions))), "Conversation")
    agents = dict.fromkeys(session.header.agent for session in sessions)
    days = dict.fromkeys(_day(session.header.created) for session in (*sessions[:1], *newest))
    about = [f"{values.plural(len(sessions), 'session')}, {_counts(sessions)}", " to ".join(days)]
    for session in newest:
        about.append(" ".join(f"#{tag}" for tag in session.tags))
    sections: list[str] = []
    for depth, loaded in numbered:
        sections += _session(loaded, depth, encoded, links)
    digest = b64encode(sha256(STYLE.encode()).digest()).decode()
    page = _PAGE.substitute(
        policy=f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'",
        title=escape(one_line(title, _MAX_TITLE)),
        style=STYLE,
        kicker=escape(one_line(f"Conversation with {', '.join(agents) or 'nobody'}", _MAX_TITLE)),
        about=escape(" · ".join(filter(None, about))),
        contents="".join(_contents(loaded.session, depth) for depth, loaded in numbered),
        sessions="".join(sections),
    )
    # Characters that a browser would hide or obey become visible here, wherever they came from.
    return readable(page, lambda sign: f"⟦U+{ord(sign):04X}⟧").encode()


class _Links(Struct, frozen=True):
    """What links messages and summaries: the marks of the chain, and the anchors of its messages by
    their references.
    """

    marks: ChainMarks
    anchors: Mapping[str, str]

    def linked(self, summary: records.Summary) -> records.Summary:
        """Return a summary as markdown in which each line links to the message that says it."""
        lists: dict[str, list[str]] = {name: [] for name in SECTIONS}
        for line in items(summary):
            text = line.whole
            source = self.marks.source(line)
            if source in self.anchors:
                text = f"{line.text} [{source} {line.speaker}](#{self.anchors[source]})"
            lists[line.section].append(text)
        return replace(summary, **{name: tuple(texts) for name, texts in lists.items()})

    def kept(self, ref: str) -> str:
        """Return links to the summaries that have lines of a message."""
        numbers = self.marks.summaries.get(ref, ())
        links = ", ".join(f'<a href="#s{number}b">{number}</a>' for number in numbers)
        if not links:
            return ""
        noun = "summary of session" if len(numbers) == 1 else "summaries of sessions"
        return f'<p class="cost">In the {noun} {links}</p>\n'


def _links(numbered: Sequence[tuple[int, LoadedSession]]) -> _Links:
    anchors: dict[str, str] = {}
    for depth, loaded in numbered:
        queries = (entry for entry in loaded.session.entries if isinstance(entry, records.Query))
        for count, query in enumerate(queries, 1):
            anchors.setdefault(f"{depth}.{query.number}", f"s{depth}q{count}")
    return _Links(ChainMarks([(depth, loaded.session) for depth, loaded in numbered]), anchors)


def _contents(session: Session, depth: int) -> str:
    """Return a session's entry in the navigation, with its queries."""
    queries = [entry for entry in session.entries if isinstance(entry, records.Query)]
    items = ""
    for count, query in enumerate(queries, 1):
        html = f"<bdi>{escape(one_line(query.text, _MAX_ENTRY) or '…')}</bdi>"
        link = f'<a href="#s{depth}q{count}">'
        items += f"<li>{link}<span>{depth}.{query.number}</span>{html}</a></li>\n"
    tokens = values.compact_number(session.totals.combined)
    about = f'<b>Session {depth}</b>{_when(session)}<span class="soft">{tokens} tokens</span>'
    fold = ""
    if queries:
        number = values.plural(len(queries), "query").capitalize()
        fold = f"<details><summary>{number}</summary>\n<ol>\n{items}</ol>\n</details>\n"
    return f'<li><a href="#s{depth}">{about}</a>\n{fold}</li>\n'


def _session(
    loaded: LoadedSession, depth: int, images: Mapping[str, str], links: _Links
) -> Iterator[str]:
    """Yield a session: facts about it, its exchanges, the audit of its compaction, its summary."""
    session = loaded.session
    model = ""
    if session.header.model:
        model = f" · {session.header.model}"
    yield f'<section class="session" id="s{depth}" aria-labelledby="s{depth}t">\n<header>\n'
    yield f'<h2 id="s{depth}t">Session {depth}</h2>\n'
    yield f'<p class="soft">{_when(session)} · {escape(_counts([session]) + model)}</p>\n'
    about = [("Id", session.id), ("Parent", session.header.parent)]
    about += [*accounting(session.totals), *(("Damage", sentence) for sentence in loaded.damage)]
    rows = (f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>\n" for name, value in about if value)
    yield _fold("About this session", f"<dl>\n{''.join(rows)}</dl>\n", " about")
    yield "</header>\n"
    found = [entry for entry in session.entries if isinstance(entry, records.Result)]
    results = {(result.number, result.id): result for result in found}
    count = 0
    for entry in session.entries:
        if isinstance(entry, records.Query):
            if count:
                yield "</article>\n"
            count += 1
            kept = links.kept(f"{depth}.{entry.number}")
            yield _query(entry, depth, f"s{depth}q{count}", kept)
        elif isinstance(entry, records.Call):
            yield _call(entry, results.pop((entry.number, entry.id), None))
        elif not isinstance(entry, records.Result) or (entry.number, entry.id) in results:
            yield _entry(entry, session.header, images)
    if count:
        yield "</article>\n"
    if session.seal is not None:
        yield from _end(session.seal, depth, links)
    yield "</section>\n"


def _end(seal: records.Seal, depth: int, links: _Links) -> Iterator[str]:
    """Yield the audit of a compaction, and the summary."""
    if (compaction := seal.compaction) is not None:
        text = f"Compacted {compaction.first} to {compaction.last}"
        yield _note(escape(f"{text}: {values.compaction_text(compaction)}"))
    title = f"<b>{SOURCES[seal.source]}</b> {_costs(seal.seconds, seal.usage)}"
    if seal.summary is None:
        yield f'<p class="note">{title}</p>\n'
        return
    block = summary_block.render(links.linked(seal.summary), grouped=False, spaced=True)
    html = f'<div class="said" dir="auto">{prose(block, marked=True)}</div>\n'
    yield _fold(title, html, name=f"s{depth}b")


def _query(query: records.Query, depth: int, name: str, kept: str) -> str:
    """Return a query, which begins an exchange called `name`, and what `kept` it."""
    link = f'<a class="ref" href="#{name}" aria-label="Link to this query">'
    who = f"<b>You</b> {_time(query.at)} {link}{depth}.{query.number}</a>"
    html = _words(query.text, breaks=True)
    opening = f'<article class="exchange" id="{name}">\n'
    return f'{opening}<div class="query"><div class="who">{who}</div>\n{html}{kept}</div>\n'


def _call(call: records.Call, result: records.Result | None) -> str:
    """Return a call of a tool, with its result."""
    title = f"<b>Tool: {escape(call.name)}</b> {_time(call.at)}"
    kind = ""
    outcome = "<p>No result.</p>\n"
    if result is not None:
        outcome = _result(result)
        if result.failed:
            title += ' <span class="soft">it failed</span>'
            kind = " failed"
    return _fold(title, code(call.arguments, "json") + outcome, kind)


def _result(result: records.Result) -> str:
    heading = "It failed" if result.failed else "Its result"
    if result.not_kept:
        heading += f", without its last {values.size_text(result.not_kept)}"
    return f"<h4>{heading}</h4>\n{code(result.text)}{_costs(result.seconds, None)}"


def _entry(entry: records.Entry, header: records.Header, images: Mapping[str, str]) -> str:
    """Return any other entry of a session."""
    match entry:
        case records.Reply() | records.AsideReply():
            who = f'<b dir="auto">{escape(header.agent)}</b> {_time(entry.at)}'
            costs = _costs(entry.seconds, entry.usage, values.STOPS.get(entry.stop, ""))
            html = _words(entry.text) + (f'<p class="cost">{costs}</p>\n' * bool(costs))
            return f'<div class="reply"><div class="who">{who}</div>\n{html}</div>\n'
        case records.Result():
            return _fold("<b>Result of a tool</b>", _result(entry))
        case records.Attachment():
            return _attachment(entry, images.get(entry.file, ""))
        case records.ArchiveContext():
            return _fold("<b>Found in the archive</b>", _words(entry.text))
        case records.Restoration():
            source = escape(restored_text(entry, header.parent, entry.merged))
            title = f'<b>Restored context</b> <span class="soft">from {source}</span>'
            return _fold(title, _words(entry.block))
        case records.Covered():
            return _fold("<b>Summary that was not sent</b>", _words(entry.block))
        case records.Note() | records.Change() | records.LeftOut():
            labels = {kind.entry: kind.label.strip("*:") for kind in KINDS.values()}
            return _note(labels[type(entry)], _words(entry.text, breaks=True))
        case records.UndoEntry():
            return _note(f"{type(entry).__name__}: query {entry.ref or entry.number}")
        case records.Shortened():
            what = f"the {entry.part} of {entry.ref}, to {entry.tokens:,} tokens"
            return _note(f"Shortened: {escape(what)}")
    return ""


def _attachment(entry: records.Attachment, image: str) -> str:
    size = f"{entry.width}×{entry.height}"
    if not entry.is_image:
        size = values.size_text(entry.size)
    title = f'<b>Attached: {escape(entry.name)}</b> <span class="soft">{size}</span>'
    if image:
        source = f'src="data:{entry.media};base64,{image}"'
        sides = f'width="{entry.width}" height="{entry.height}"'
        image_tag = f'<img {source} alt="{escape(entry.name)}" {sides}>'
        return f'<figure class="attached">{image_tag}<figcaption>{title}</figcaption></figure>\n'
    if entry.is_image:
        return _note(f"{title} The image is not in this page.")
    return _fold(title, code(entry.text, entry.name.rpartition(".")[2]))


def _fold(title: str, inner: str, kind: str = "", name: str = "") -> str:
    """Return a section that the reader can unfold. Both texts are HTML; a `name` can be linked."""
    anchor = f' id="{name}"' * bool(name)
    head = f'<details class="fold{kind}"{anchor}><summary>{title}</summary>\n'
    return f"{head}<div>{inner}</div></details>\n"


def _note(label: str, inner: str = "") -> str:
    return f'<div class="note"><p class="label">{label}</p>{inner}</div>\n'


def _words(text: str, *, breaks: bool = False) -> str:
    return f'<div class="said" dir="auto">{prose(text, breaks)}</div>\n'


def _costs(seconds: float | None, usage: Usage | None, ended: str = "") -> str:
    parts = []
    if seconds is not None:
        parts = [f"{seconds:.1f} s"]
    if usage:
        parts += [values.tokens_text(usage).replace(" (", " tokens (", 1)]
    if ended:
        parts += [ended]
    if parts:
        return f'<span class="soft">{escape(" · ".join(parts))}</span>'
    return ""


def _counts(sessions: Sequence[Session]) -> str:
    totals = [session.totals for session in sessions]
    queries = sum(total.queries for total in totals)
    return values.counts_text(queries, sum(total.combined for total in totals))


def _when(session: Session) -> str:
    created = session.header.created
    return _time(created, f"{_day(created)}, {created:%H:%M}")


def _day(at: datetime) -> str:
    return f"{at.day} {month_abbr[at.month]} {at.year}"


def _time(at: datetime, shown: str = "") -> str:
    """Return a time element that shows the time of day, or `shown`."""
    return f'<time datetime="{at.isoformat()}">{shown or f"{at:%H:%M:%S}"}</time>'
