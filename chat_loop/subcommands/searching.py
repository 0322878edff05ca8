"""`chat-loop sessions search` and `why`."""

from __future__ import annotations

import argparse

from chat_loop.characters import one_line
from chat_loop.commands import origins
from chat_loop.display.plain import Meter, err, out_json, out_line
from chat_loop.library.filters import filter_of
from chat_loop.library.search import excerpts_of, search_all
from chat_loop.library.semantic import SemanticIndex
from chat_loop.sessions.chain import read_chain
from chat_loop.subcommands.stored import Action, StoredSessions
from chat_loop.tokens import estimate


def search(stored: StoredSessions, options: argparse.Namespace) -> int:
    """Print the exchanges that match, best first."""
    problem = stored.share()
    by_meaning = stored.parts.config.search.meaning and not options.text
    semantic = None
    if by_meaning:
        semantic = SemanticIndex(once=True)
    filters = filter_of(vars(options), stored.sessions.now())
    words = " ".join(options.words)
    hits, warning = search_all(
        stored.library, words, filters, options.limit, semantic, standalone=True
    )
    if reason := warning or problem:
        err(reason)
    if semantic is not None and semantic.problem:
        err(semantic.problem)
    if not hits and not options.as_json:
        err("No matches.")
    rows = []
    for hit in hits:
        row = hit.row
        query = hit.exchange.query
        excerpts = excerpts_of(hit, estimate)
        if options.as_json:
            values = {
                "name": row.name,
                "tags": row.tags,
                "path": row.path,
                "owner": row.owner or None,
                "number": hit.listed,
                "session": row.id,
                "query": query.number,
                "at": query.at,
                "strength": round(hit.strength, 3),
                "related": hit.related,
                "excerpts": {who.lower(): text for who, text in excerpts},
            }
            rows.append(values)
        else:
            related = " · related" if hit.related else ""
            owner = ""
            if row.owner:
                owner = f" · {one_line(row.owner, 40)}"
            at = f"{row.depth}.{query.number} · {query.at:%Y-%m-%d %H:%M}{owner}{related}"
            out_line(f"{hit.listed or '':>4}  {one_line(row.name, 80)} · {row.id} · {at}", 6)
            for who, text in excerpts:
                out_line(f"      {who.lower()}: {one_line(text, 600)}", 6)
    if options.as_json:
        out_json(rows)
    return int(not hits)


def why(stored: StoredSessions, options: argparse.Namespace) -> int:
    """Print where a text of a conversation comes from, and what became of it."""
    loaded = stored.load(options.session)
    with Meter().clock("Reading"):
        chain = read_chain(stored.sessions, loaded.session)
        sessions = [*(one.session for one in reversed(chain.ancestors)), loaded.session]
        found = origins.find(" ".join(options.text), sessions)
    if chain.problem:
        err(chain.problem)
    if options.as_json:
        out_json(found)
    elif not found.is_found:
        name = loaded.session.id
        err(f"The conversation of {name} does not say that; search looks in all of them.")
    else:
        out_line(origins.heading(found))
        resume = f"chat-loop --resume {loaded.session.id}"
        for label, text in origins.rows(found, stored.sessions.now(), resume):
            out_line(f"{label:<{origins.LABEL}}{text}", origins.LABEL)
    return int(not found.is_found)


ACTIONS: dict[str, Action] = {"search": search, "why": why}
