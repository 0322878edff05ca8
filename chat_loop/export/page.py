"""A chain as one HTML page that is complete in itself: no script, nothing loaded, and a policy that
forbids both.

The policy names the hash of the page's own style sheet, so that not even another style would count.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from html import escape

from chat_loop.export.shown import (
    anchor,
    day,
    entries_shown,
    facts,
    fields_of,
    fold,
    moment,
    seal_shown,
)
from chat_loop.export.style import STYLE
from chat_loop.sessions.escape import visible
from chat_loop.sessions.files import Files
from chat_loop.sessions.images import ImageGone, ImageStore
from chat_loop.sessions.manager import Loaded
from chat_loop.sessions.naming import name_of
from chat_loop.sessions.records import Attachment, Query, Session
from chat_loop.sessions.writer import accounting
from chat_loop.wording import compact_number, counted, counts_text

_LONG = 100
"""From this many queries on the browser lays out only what is looked at."""
_TITLE = 80
MOST_IMAGES = 40 << 20
"""Characters of base64 in a page: images beyond it are named only."""
_ENTRY = 70


def page(chain: Sequence[Loaded]) -> bytes:
    """Return the page of the sessions, the oldest first."""
    text = "".join(_pieces(chain))
    # Every text is in it by now: what a browser would hide or obey is made visible once, wherever
    # it came from.
    return visible(text).encode()


def _pieces(chain: Sequence[Loaded]) -> Iterator[str]:
    sessions = [loaded.session for loaded in chain]
    last = max(sessions[-1].depth, len(sessions)) if sessions else 0
    depths = range(last - len(sessions) + 1, last + 1)
    named = (sessions[-1].name, sessions[-1].header.title) if sessions else ()
    title = next(filter(None, (*named, *map(name_of, sessions))), "Conversation")
    queries = sum(session.totals.queries for session in sessions)
    yield _head(_cut(title, _TITLE))
    yield '<body class="long">\n' if queries > _LONG else "<body>\n"
    yield '<a class="skip" href="#conversation">To the conversation</a>\n'
    yield _top(sessions, _cut(title, _TITLE))
    yield '<div class="frame">\n'
    yield from _navigation(sessions, depths)
    yield '<main id="conversation">\n'
    images = _Images()
    for place, (loaded, depth) in enumerate(zip(chain, depths, strict=True)):
        yield from _session(loaded, depth, images, first=place == 0, last=place == len(chain) - 1)
    yield "</main>\n</div>\n"
    yield (
        '<footer class="end soft">Exported by chat-loop. Times are those of where it was '
        "said.</footer>\n"
    )
    yield "</body>\n</html>\n"


def _head(title: str) -> str:
    digest = b64encode(sha256(STYLE.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; "
        "form-action 'none'"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
"""


def _top(sessions: Sequence[Session], title: str) -> str:
    agents = ", ".join(dict.fromkeys(session.header.agent for session in sessions))
    parts = [f"{counted(len(sessions), 'session')}, {_counts(sessions)}"]
    parts = [escape(part) for part in parts]
    if sessions:
        ends = [day(sessions[0].header.created), day(sessions[-1].header.created)]
        parts.append(" to ".join(dict.fromkeys(ends)))
    tags = sessions[-1].tags if sessions else ()
    parts += [escape(" ".join(f"#{tag}" for tag in tags))] if tags else []
    kicker = f"Conversation with {escape(_cut(agents, _TITLE))}" if agents else "Conversation"
    return (
        f'<header class="top">\n<p class="kicker">{kicker}</p>\n<h1 '
        f'dir="auto">{escape(title)}</h1>\n'
        f'<p class="soft">{" · ".join(parts)}</p>\n</header>\n'
    )


def _counts(sessions: Sequence[Session]) -> str:
    totals = [session.totals for session in sessions]
    return counts_text(
        sum(total.queries for total in totals), sum(total.combined for total in totals)
    )


def _navigation(sessions: Sequence[Session], depths: Sequence[int]) -> Iterator[str]:
    yield '<nav class="chain" aria-label="Sessions">\n<h2>Sessions</h2>\n<ol>\n'
    for session, depth in zip(sessions, depths, strict=True):
        when = _when(session)
        tokens = f'<span class="soft">{compact_number(session.totals.combined)} tokens</span>'
        yield f'<li><a href="#{anchor(depth)}"><b>Session {depth}</b>{when}{tokens}</a>\n'
        queries = [entry for entry in session.entries if isinstance(entry, Query)]
        if queries:
            yield f"<details><summary>{counted(len(queries), 'query').capitalize()}</summary>\n<ol>\n"
        for count, query in enumerate(queries, 1):
            words = f"<span>{depth}.{query.number}</span><bdi>{escape(_cut(query.text, _ENTRY) or '…')}</bdi>"
            yield f'<li><a href="#{anchor(depth, count)}">{words}</a></li>\n'
        yield "</ol>\n</details>\n" if queries else ""
        yield "</li>\n"
    yield "</ol>\n</nav>\n"


class _Images:
    """The images of a page, as long as there is room for them."""

    def __init__(self) -> None:
        self._room = MOST_IMAGES

    def of(self, loaded: Loaded) -> Callable[[Attachment], str]:
        store = ImageStore(loaded.path.parent, Files())

        def data(entry: Attachment) -> str:
            try:
                found = store.base64(entry.file)
            except ImageGone:
                return ""
            if len(found) > self._room:
                return ""
            self._room -= len(found)
            return found

        return data


def _session(
    loaded: Loaded, depth: int, images: _Images, *, first: bool, last: bool
) -> Iterator[str]:
    session = loaded.session
    model = f" · {session.header.model}" if session.header.model else ""
    yield (
        f'<section class="session" id="{anchor(depth)}" '
        f'aria-labelledby="{anchor(depth)}t">\n<header>\n'
    )
    yield f'<h2 id="{anchor(depth)}t">Session {depth}</h2>\n<p class="soft">'
    yield f"{_when(session)} · {escape(_counts([session]) + model)}</p>\n"
    about = [*fields_of(session.header), *accounting(session.totals)]
    about += (
        [(f"Seal: {name.lower()}", value) for name, value in fields_of(session.seal)]
        if session.seal
        else []
    )
    about += [("Damage", sentence) for sentence in loaded.damage]
    yield fold("About this session", facts(about), " about")
    yield "</header>\n"
    yield from entries_shown(session, depth, images.of(loaded))
    if session.seal is not None:
        yield from seal_shown(session.seal)
    before = "" if first else f'<a href="#{anchor(depth - 1)}">← Session {depth - 1}</a>'
    after = "" if last else f'<a href="#{anchor(depth + 1)}">Session {depth + 1} →</a>'
    yield (
        f'<p class="steps"><span>{before}</span><span>{after}</span></p>\n'
        if before or after
        else ""
    )
    yield "</section>\n"


def _when(session: Session) -> str:
    created = session.header.created
    return moment(created, f"{day(created)}, {created:%H:%M}")


def _cut(text: str, length: int) -> str:
    """The text's beginning on one line."""
    flat = " ".join(text[: length * 4].split())
    if len(flat) <= length:
        return flat
    words, space, _ = flat[:length].rpartition(" ")
    return f"{words if space and len(words) > length // 2 else flat[: length - 1]}…"
