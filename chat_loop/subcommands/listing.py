"""`chat-loop sessions list|show|search|tree|stats`: what only reads."""

from __future__ import annotations

import argparse

from msgspec.structs import asdict

from chat_loop.conversation.options import costs
from chat_loop.display.plain import err, out, out_bytes, out_json
from chat_loop.display.rows import compactions_text, cost_of, name_text, nothing_text, unlisted_text
from chat_loop.display.text import one_line
from chat_loop.library.filters import filter_of
from chat_loop.library.index import FIGURES
from chat_loop.library.lineage import tree as tree_of
from chat_loop.sessions.chain import ChainReader
from chat_loop.sessions.files import read_part
from chat_loop.sessions.naming import name_of
from chat_loop.sessions.partial import newest_first, unlisted
from chat_loop.sessions.records import Session, SessionRow
from chat_loop.subcommands.shelf import Progress, Shelf
from chat_loop.wording import compaction_text, counts_text, dollars_text

SCHEMA = 2
"""Of what `sessions list --json` prints; docs/using.md describes it."""
NAME = 60
"""Columns of a name."""
AT_ONCE = 500
"""Rows that are written at once: the first stand there while the last are priced."""
EXCERPT = 60
"""Tokens of a text that are shown of a hit."""


def list_sessions(shelf: Shelf, options: argparse.Namespace) -> int:
    """Print the conversations, last used first, one a line; the numbers are those that the other
    commands take.
    """
    wanted = filter_of(_filters(options), shelf.sessions.now(), " ".join(options.words))
    fold = not options.unfold
    rows, more = shelf.library.rows(options.limit, wanted=wanted, fold=fold, everything=options.all)
    whole = fold and not wanted and not options.all
    numbers = {row.id: number for number, row in enumerate(rows, 1)} if whole else shelf.numbers()
    shelf.tell_trouble()
    code = 1 if wanted and not rows else 0
    cost = costs(shelf.config)
    if options.as_json:
        values = conversation_values if fold else row_values
        found = [values(numbers.get(row.id), row) | {"cost": cost_of(row, cost)} for row in rows]
        out_json({"schema": SCHEMA, "conversations" if fold else "sessions": found, "older": more})
        return code
    if not rows:
        err(
            nothing_text(filtered=bool(wanted), hidden=bool(newest_first(shelf.sessions.directory)))
        )
    for start in range(0, len(rows), AT_ONCE):
        part = rows[start : start + AT_ONCE]
        out("".join(_line(row, numbers.get(row.id), cost_of(row, cost)) for row in part))
    if more:
        err(f"… and {more:,} older")
    if names := unlisted(shelf.sessions.directory):
        err(unlisted_text(names))
    return code


def _line(row: SessionRow, number: int | None, price: float | None) -> str:
    counts = "" if row.queries is None else counts_text(row.queries, row.tokens or 0)
    tags = " ".join(f"#{tag}" for tag in row.tags)
    parts = (
        f"{number or '':>4}",
        _date(row),
        row.id,
        row.state,
        f"{counts}, {dollars_text(price)}" if price else counts,
        compactions_text(row),
        " ".join(filter(None, (name_text(row, NAME), tags))),
    )
    return "  ".join(part for part in parts if part) + "\n"


def _date(row: SessionRow) -> str:
    return "unknown         " if row.updated is None else f"{row.updated:%Y-%m-%d %H:%M}"


def row_values(number: int | None, row: SessionRow) -> dict[str, object]:
    """Return a session as JSON has it."""
    return {
        "number": number,
        "id": row.id,
        "name": row.name,
        "tags": row.tags,
        "agent": row.agent,
        "project": row.project,
        "created": row.created,
        "updated": row.updated,
        "queries": row.queries,
        "tokens": row.tokens,
        "parent": row.parent or None,
        "merged": row.merged or None,
        "depth": row.depth,
        "compacted": row.compacted,
        "mode": row.mode or None,
        "answered": row.answered,
        "state": row.state,
        "path": str(row.path),
    }


def conversation_values(number: int | None, row: SessionRow) -> dict[str, object]:
    """Return a conversation as JSON has it: its newest session, and what the whole chain comes
    to.
    """
    branch = (
        None if row.branch is None else {"at": row.branch.at or None, "words": row.branch.words}
    )
    whole: dict[str, object] = {
        "sessions": 1 + row.folded,
        "compactions": row.compactions,
        "branch": branch,
        "shared_queries": row.shared,
    }
    return row_values(number, row) | whole


def _filters(options: argparse.Namespace) -> dict[str, str]:
    names = ("agent", "tag", "project", "since", "before")
    return {name: value for name in names if (value := getattr(options, name, ""))}


def show_session(shelf: Shelf, options: argparse.Namespace) -> int:
    """Print a session's transcript, its value as JSON, or the summaries of its chain."""
    path = shelf.path(options.reference)
    loaded = shelf.sessions.load(path)
    if options.show_summaries:
        return _show_summaries(shelf, loaded.session, as_json=options.as_json)
    if not options.as_json:
        out_bytes(read_part(path)[0])
        return 0
    session = loaded.session
    out_json(
        {
            **asdict(session.header),
            "name": name_of(session),
            "tags": session.tags,
            "path": str(path),
            "damage": loaded.damage,
            "totals": session.totals,
            "entries": [
                {"kind": type(entry).__name__.lower(), **asdict(entry)} for entry in session.entries
            ],
            "seal": session.seal,
        }
    )
    return 0


def _show_summaries(shelf: Shelf, session: Session, *, as_json: bool) -> int:
    """Print the summary blocks of a chain and what its compactions came to, the oldest first."""
    from chat_loop.sessions import summary_block

    chain = ChainReader(shelf.sessions).read(session)
    sessions = [*(loaded.session for loaded in reversed(chain.loaded)), session]
    if chain.broken:
        err(chain.broken)
    if as_json:
        out_json([_summary_values(one) for one in sessions])
        return 0
    for one in sessions:
        seal, values = one.seal, _summary_values(one)
        if seal is None or seal.summary is None:
            out(f"{one.header.id}: no summary\n\n")
            continue
        covered = (
            "no queries"
            if values["first"] is None
            else f"queries {values['first']} to {values['last']}"
        )
        by = {"model": "a model", "extracted": "code, without a model", "none": "nobody"}[
            seal.source
        ]
        out(f"{one.header.id}: {covered}, {seal.at:%Y-%m-%d %H:%M}, by {by}\n")
        if seal.compaction is not None:
            cost = dollars_text(seal.compaction.cost)
            out(
                f"{compaction_text(seal.compaction)} · {seal.compaction.model or 'no model'} "
                f"· {cost}\n"
            )
        out(f"\n{summary_block.render(seal.summary)}\n\n")
    return 0


def _summary_values(session: Session) -> dict[str, object]:
    seal = session.seal
    numbers = [exchange.query.number for exchange in session.exchanges]
    has = seal is not None and seal.summary is not None
    last = seal.covers if seal and seal.covers is not None else max(numbers, default=None)
    covers = last is not None and any(number <= last for number in numbers)
    return {
        "session": session.header.id,
        "first": min(numbers) if covers else None,
        "last": last if has and covers else None,
        "at": seal.at if has and seal else None,
        "source": seal.source if seal else "none",
        "usage": seal.usage if seal else None,
        "compaction": seal.compaction if seal else None,
        "summary": seal.summary if seal else None,
    }


def search(shelf: Shelf, options: argparse.Namespace) -> int:
    """Print the exchanges that fit, the best first, with the numbers that `sessions list` gives
    their sessions.
    """
    from chat_loop.library.archive_text import excerpt
    from chat_loop.library.embedding import leave_behind
    from chat_loop.library.search import search_all, texts
    from chat_loop.library.semantic import SemanticIndex
    from chat_loop.tokens import estimate

    progress = Progress()
    wanted = filter_of(_filters(options), shelf.sessions.now())
    words = " ".join(options.words)
    try:
        semantic = SemanticIndex() if shelf.config.search.meaning and not options.text else None
        found = search_all(
            *(shelf.library, words, wanted, options.limit, progress, semantic, leave_behind),
            numbered=True,
        )
    finally:
        progress.end()
    shelf.tell_trouble()
    if semantic is not None and semantic.problem:
        err(semantic.problem)
    results = []
    for hit in found:
        said = []
        for part, (who, text) in enumerate(texts(hit.hit.exchange)):
            places = [place for place in hit.hit.places if place.part == part]
            if text.strip() and (places or not hit.hit.places):
                said.append((who.lower(), excerpt(text, places, EXCERPT, estimate)))
        results.append((hit, said))
    if options.as_json:
        out_json(
            [
                {
                    "number": hit.listed,
                    "session": hit.row.id,
                    "name": hit.row.name,
                    "tags": hit.row.tags,
                    "query": hit.number,
                    "at": hit.hit.exchange.query.at,
                    "strength": round(hit.hit.strength, 3),
                    "related": hit.hit.related,
                    "excerpts": dict(said),
                    "path": str(hit.row.path),
                }
                for hit, said in results
            ]
        )
        return 0 if results else 1
    if not results:
        err("No matches.")
    for hit, said in results:
        at = f"{hit.hit.exchange.query.at:%Y-%m-%d %H:%M}{' · related' if hit.hit.related else ''}"
        out(
            f"{hit.listed or '':>4}  {one_line(hit.row.name, 80)} · {hit.row.id} · query "
            f"{hit.number} · {at}\n"
        )
        for who, text in said:
            out(f"      {who}: {one_line(text, 600)}\n")
    return 0 if results else 1


def tree(shelf: Shelf, options: argparse.Namespace) -> int:
    """Print a chain with its branches, the oldest first."""
    identity = shelf.path(options.reference).stem
    links = shelf.library.links()
    shelf.tell_trouble()
    nodes = tree_of(identity, links)
    rows = shelf.library.rows_of(node.id for node in nodes)
    compactions = shelf.library.compactions(node.id for node in nodes)
    if options.as_json:
        numbers = shelf.numbers()
        out_json(
            [row_values(numbers.get(node.id), rows[node.id]) for node in nodes if not node.again]
        )
        return 0
    for node in nodes:
        row = rows[node.id]
        counts = "" if row.queries is None else counts_text(row.queries, row.tokens or 0)
        parts = [_date(row).strip(), counts, compactions.get(row.id, ""), one_line(row.name, 60)]
        shown = "as above" if node.again else " · ".join(filter(None, parts))
        out(f"{node.stem}● {row.id}  {shown}\n")
    return 0


def stats(shelf: Shelf, options: argparse.Namespace) -> int:
    """Print what the sessions of the folder come to."""
    found: dict[str, int | float | None] = dict.fromkeys(FIGURES, 0)
    if shelf.listed():
        progress = Progress()
        try:
            found = shelf.library.figures(progress)
        finally:
            progress.end()
    if options.as_json:
        out_json(found)
        return 0
    width = max(map(len, found), default=0) + 1
    for name, value in found.items():
        label = f"{name.replace('_', ' ').capitalize()}:"
        out(f"{label:<{width}} {f'{value:,}' if isinstance(value, int) else dollars_text(value)}\n")
    return 0
