"""A chain as one HTML page, complete in itself: no script, and nothing is loaded.

Its content security policy forbids both. The policy names the hash of the page's own style sheet,
so that not even another style would count.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files

from chat_loop.export.html_entries import (
    anchor,
    day,
    entries_html,
    facts,
    fields_of,
    fold,
    moment,
    seal_html,
)
from chat_loop.sessions.escape import visible
from chat_loop.sessions.manager import Loaded
from chat_loop.sessions.naming import name_of
from chat_loop.sessions.records import Attachment, Query, Session
from chat_loop.sessions.writer import accounting
from chat_loop.wording import compact_number, counted, counts_text

_LONG = 100
"""Queries from which on the browser lays out only what is looked at."""
_MAX_TITLE = 80
_MAX_ENTRY = 70
_MAX_IMAGES = 40 << 20
"""Characters of base64 in a page; of further images only the names are shown."""


@cache
def style_sheet() -> str:
    """Return the style of every page."""
    return files("chat_loop.export").joinpath("page.css").read_text("utf-8")


def html_page(chain: Sequence[Loaded], images: Mapping[str, bytes]) -> bytes:
    """Return the page of the sessions, the oldest first, with `images` by `Attachment.file`."""
    text = "".join(_pieces(chain, _shown_images(chain, images)))
    # Characters that a browser would hide or obey become visible here, wherever they came from.
    return visible(text).encode()


def _shown_images(chain: Sequence[Loaded], images: Mapping[str, bytes]) -> dict[str, str]:
    entries = (entry for loaded in chain for entry in loaded.session.entries)
    uses = Counter(entry.file for entry in entries if isinstance(entry, Attachment))
    shown, room = {}, _MAX_IMAGES
    for name, data in images.items():
        encoded = b64encode(data).decode()
        if len(encoded) * uses[name] <= room:
            room -= len(encoded) * uses[name]
            shown[name] = encoded
    return shown


def _pieces(chain: Sequence[Loaded], images: Mapping[str, str]) -> Iterator[str]:
    sessions = [loaded.session for loaded in chain]
    last = max(sessions[-1].depth, len(sessions)) if sessions else 0
    depths = range(last - len(sessions) + 1, last + 1)
    names = (sessions[-1].name, sessions[-1].header.title) if sessions else ()
    title = next(filter(None, (*names, *map(name_of, sessions))), "Conversation")
    title = escape(_cut(title, _MAX_TITLE))
    queries = sum(session.totals.queries for session in sessions)
    yield _head(title)
    yield '<body class="long">\n' if queries > _LONG else "<body>\n"
    yield '<a class="skip" href="#conversation">To the conversation</a>\n'
    yield _top(sessions, title)
    yield '<div class="frame">\n'
    yield from _navigation(sessions, depths)
    yield '<main id="conversation">\n'
    for loaded, depth in zip(chain, depths, strict=True):
        yield from _session(loaded, depth, images)
        yield _steps(depth, depths)
        yield "</section>\n"
    yield "</main>\n</div>\n"
    yield '<footer class="end soft">Exported by chat-loop. '
    yield "Times are those of where it was said.</footer>\n</body>\n</html>\n"


def _head(title: str) -> str:
    style = style_sheet()
    digest = b64encode(sha256(style.encode()).digest()).decode()
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
<title>{title}</title>
<style>{style}</style>
</head>
"""


def _top(sessions: Sequence[Session], title: str) -> str:
    agents = ", ".join(dict.fromkeys(session.header.agent for session in sessions))
    kicker = f"Conversation with {_cut(agents, _MAX_TITLE)}" if agents else "Conversation"
    parts = [f"{counted(len(sessions), 'session')}, {_counts(sessions)}"]
    if sessions:
        ends = [day(sessions[0].header.created), day(sessions[-1].header.created)]
        parts.append(" to ".join(dict.fromkeys(ends)))
        parts.append(" ".join(f"#{tag}" for tag in sessions[-1].tags))
    return f"""<header class="top">
<p class="kicker">{escape(kicker)}</p>
<h1 dir="auto">{title}</h1>
<p class="soft">{escape(" · ".join(filter(None, parts)))}</p>
</header>
"""


def _navigation(sessions: Sequence[Session], depths: Sequence[int]) -> Iterator[str]:
    yield '<nav class="chain" aria-label="Sessions">\n<h2>Sessions</h2>\n<ol>\n'
    for session, depth in zip(sessions, depths, strict=True):
        tokens = f'<span class="soft">{compact_number(session.totals.combined)} tokens</span>'
        label = f"<b>Session {depth}</b>{_when(session)}{tokens}"
        yield f'<li><a href="#{anchor(depth)}">{label}</a>\n'
        queries = [entry for entry in session.entries if isinstance(entry, Query)]
        if queries:
            summary = counted(len(queries), "query").capitalize()
            yield f"<details><summary>{summary}</summary>\n<ol>\n"
            for count, query in enumerate(queries, 1):
                words = f"<bdi>{escape(_cut(query.text, _MAX_ENTRY) or '…')}</bdi>"
                link = f'<a href="#{anchor(depth, count)}">'
                yield f"<li>{link}<span>{depth}.{query.number}</span>{words}</a></li>\n"
            yield "</ol>\n</details>\n"
        yield "</li>\n"
    yield "</ol>\n</nav>\n"


def _session(loaded: Loaded, depth: int, images: Mapping[str, str]) -> Iterator[str]:
    session, name = loaded.session, anchor(depth)
    model = f" · {session.header.model}" if session.header.model else ""
    yield f'<section class="session" id="{name}" aria-labelledby="{name}t">\n<header>\n'
    yield f'<h2 id="{name}t">Session {depth}</h2>\n'
    yield f'<p class="soft">{_when(session)} · {escape(_counts([session]) + model)}</p>\n'
    header = [pair for pair in fields_of(session.header) if pair[0] != "Minor"]
    about = [*header, *accounting(session.totals)]
    if session.seal is not None:
        about += [(f"Seal: {field.lower()}", value) for field, value in fields_of(session.seal)]
    about += [("Damage", sentence) for sentence in loaded.damage]
    yield fold("About this session", facts(about), " about")
    yield "</header>\n"
    yield from entries_html(session, depth, images)
    if session.seal is not None:
        yield from seal_html(session.seal)


def _steps(depth: int, depths: Sequence[int]) -> str:
    """Return the links to the sessions before and after the one at `depth`."""
    before, after = depth - 1, depth + 1
    if len(depths) < 2:
        return ""
    back = f'<a href="#{anchor(before)}">← Session {before}</a>' if before in depths else ""
    on = f'<a href="#{anchor(after)}">Session {after} →</a>' if after in depths else ""
    return f'<p class="steps"><span>{back}</span><span>{on}</span></p>\n'


def _counts(sessions: Sequence[Session]) -> str:
    totals = [session.totals for session in sessions]
    queries = sum(total.queries for total in totals)
    return counts_text(queries, sum(total.combined for total in totals))


def _when(session: Session) -> str:
    created = session.header.created
    return moment(created, f"{day(created)}, {created:%H:%M}")


def _cut(text: str, length: int) -> str:
    """Return the beginning of a text on one line, up to a word's end."""
    flat = " ".join(text[: length * 4].split())
    if len(flat) <= length:
        return flat
    words, space, _ = flat[:length].rpartition(" ")
    return f"{words if space and len(words) > length // 2 else flat[: length - 1]}…"
