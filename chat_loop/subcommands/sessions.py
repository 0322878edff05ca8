"""`chat-loop sessions …`: each action is a function that returns the exit code."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial

from msgspec.structs import asdict, replace

from chat_loop.characters import one_line
from chat_loop.config import Config, Paths
from chat_loop.display import conversation_rows as drawn
from chat_loop.display.plain import Meter, err, out, out_json
from chat_loop.errors import TRIED_AGAIN, SaveError, SessionError, UsageError
from chat_loop.library import lineage
from chat_loop.library.filters import filter_of
from chat_loop.library.shared import Answer
from chat_loop.parts import build
from chat_loop.sessions import copies, naming, organizing, summary_block
from chat_loop.sessions.chain import read_chain
from chat_loop.sessions.files import read_part
from chat_loop.sessions.manager import LoadedSession
from chat_loop.sessions.records import Session, SessionRow
from chat_loop.sessions.writer import render
from chat_loop.subcommands import trash
from chat_loop.subcommands.stored import Action, StoredSessions
from chat_loop.terminal import columns
from chat_loop.values import compaction_text, counts_text, dollars_text, plural

SCHEMA = 2  # the version of `sessions list --json`, which docs/sessions.md describes
FIELDS = (
    *("id", "name", "tags", "agent", "project", "git_branch", "created", "updated"),
    *("queries", "tokens", "parent", "merged", "depth", "compacted"),
    *("mode", "answered", "state", "path", "owner"),
)
"""The fields of a session's row in JSON."""
FIRST_ROWS = 100  # a pipe gets them before the others are read
PIPE_COLUMNS = 1000  # the width of rows without a terminal
WRITERS = {"model": "a model", "extracted": "code, without a model", "none": "nobody"}


def run(options: argparse.Namespace, config: Config, paths: Paths) -> int:
    """Run the action of the command line; return the exit code."""
    act = _action(options.action)
    with closing(StoredSessions(build(options, config, paths))) as stored:
        try:
            return act(stored, options)
        except SaveError as error:
            error.hint = error.hint.replace(TRIED_AGAIN, ".")
            raise


def list_(stored: StoredSessions, options: argparse.Namespace) -> int:
    """Print the conversations, last used first, with the numbers that other commands take."""
    problem = stored.share()
    code, warning = _list(stored, options)
    if reason := warning or problem:
        err(reason)
    return code


def _list(stored: StoredSessions, options: argparse.Namespace) -> Answer[int]:
    """Print the list. Return the exit code, and the warning of the library."""
    files, misnamed = stored.library.look()
    if misnamed:
        for text in copies.adopt_conflict_copies(stored.sessions):
            err(text)
        files, misnamed = stored.library.look()
    fold = not options.unfold
    width = columns(unknown=0)
    filters = filter_of(vars(options), stored.sessions.now(), " ".join(options.words))
    find = partial(
        stored.library.rows, wanted=filters, fold=fold, everything=options.all, files=files
    )
    streams = options.limit is None and not (width or options.as_json)
    (rows, more), warning = find(FIRST_ROWS if streams else options.limit)
    is_whole = fold and not filters and not options.all
    ids = [row.id for row in rows]
    if not is_whole:
        ids, _ = stored.library.listed()
    numbers = {identity: number for number, identity in enumerate(ids, 1)}
    if options.as_json:
        printed = [_row_values(stored, row, numbers.get(row.id), fold=fold) for row in rows]
        key = "conversations" if fold else "sessions"
        out_json({"schema": SCHEMA, key: printed, "older": more})
        return Answer(int(bool(filters) and not rows), warning)
    if not rows:
        err(drawn.nothing_text(filtered=bool(filters)))
    _print_table(stored, rows, numbers, width)
    if streams and more:  # a reader has the first rows while the others are read
        above = {row.id for row in rows}
        (others, more), _ = find()
        if is_whole:
            numbers |= {row.id: at for at, row in enumerate(others, 1)}
        _print_table(stored, [row for row in others if row.id not in above], numbers, width)
    if more:
        err(f"… and {more:,} older")
    if misnamed:
        err(drawn.unlisted_text(misnamed))
    return Answer(int(bool(filters) and not rows), warning)


def _row_values(
    stored: StoredSessions, row: SessionRow, number: int | None, *, fold: bool
) -> dict[str, object]:
    """Return the values of a row in JSON."""
    values = {"number": number, **{name: getattr(row, name) for name in FIELDS}}
    values |= {name: values[name] or None for name in ("parent", "merged", "mode", "owner")}
    values["cost"] = drawn.cost_of(row.spent, stored.cost)
    if fold:
        values |= {"sessions": 1 + row.folded, "compactions": row.compactions}
        values["branch"] = row.branch
    return values


def _print_table(
    stored: StoredSessions, rows: Sequence[SessionRow], numbers: Mapping[str, int], width: int
) -> None:
    """Print rows. A `width` of 0 means that there is no terminal: print dates and ids."""
    labels = [str(numbers.get(row.id, "")) for row in rows]
    # prices are slow to load
    cost = None
    if not width or width in drawn.FULL:
        cost = stored.cost
    now = stored.sessions.now()
    named = stored.sessions.pointers.named(rows)
    table = drawn.RowTable(named, now, cost, numbers=labels, exact=not width)
    lines = []
    for at in range(len(rows)):
        texts = [text for text, _ in table.line(at, width or PIPE_COLUMNS)]
        lines.append("".join(texts) + "\n")
    out("".join(lines))


def show(stored: StoredSessions, options: argparse.Namespace) -> int:
    """Print a session's transcript, its value as JSON, or the summaries of its chain."""
    path = stored.path(options.reference, stored=True)
    found = None
    if not path.is_file():
        found = stored.told(stored.library.session(path.stem))
    if found is not None:
        loaded = LoadedSession(found, path)
        data = render(found)
    else:
        with Meter().clock("Reading"):
            loaded = stored.sessions.load(path)
            data = b""
    session = loaded.session
    if options.show_summaries:
        _show_summaries(stored, session, as_json=options.as_json)
        return 0
    if not options.as_json:
        out(data or read_part(path)[0])
        return 0
    entries = [{"kind": type(entry).__name__.lower(), **asdict(entry)} for entry in session.entries]
    values = {
        **asdict(session.header),
        "name": naming.name_of(session),
        "tags": session.tags,
        "path": path,
        "damage": loaded.damage,
        "totals": session.totals,
        "entries": entries,
        "seal": session.seal,
    }
    out_json(values)
    return 0


def _show_summaries(stored: StoredSessions, session: Session, *, as_json: bool) -> None:
    """Print the summaries of a chain and the results of its compactions, oldest first."""
    chain = read_chain(stored.sessions, session)
    if chain.problem:
        err(chain.problem)
    sessions = [*(loaded.session for loaded in reversed(chain.ancestors)), session]
    seals = [(session.id, session.seal) for session in sessions]
    if as_json:
        out_json([{"session": identity, "seal": seal} for identity, seal in seals])
        return
    for identity, seal in seals:
        if seal is None or seal.summary is None:
            out(f"{identity}: no summary\n\n")
            continue
        out(f"{identity}: {seal.at:%Y-%m-%d %H:%M}, by {WRITERS[seal.source]}\n")
        if (audit := seal.compaction) is not None:
            model = audit.model or "no model"
            price = dollars_text(audit.cost)
            out(f"{compaction_text(audit)} · {model} · {price}\n")
        out(f"\n{summary_block.render(seal.summary)}\n\n")


def tree(stored: StoredSessions, options: argparse.Namespace) -> int:
    """Print a chain with its branches, oldest first."""
    identity = stored.path(options.reference, stored=True).stem
    links = stored.told(stored.library.relatives([identity]))
    nodes = lineage.tree(identity, links)
    rows = stored.told(stored.library.rows_of(node.id for node in nodes))
    for node in nodes:
        row = rows[node.id]
        counts = ""
        if row.queries is not None:
            counts = counts_text(row.queries, row.tokens or 0)
        name = one_line(drawn.tree_name(row, rows.get(row.parent)), 60)
        missing = drawn.missing_text(row, rows)
        parts = [f"{drawn.date_text(row):<16}", counts, row.compaction, missing, name]
        about = "as above"
        if not node.again:
            about = " · ".join(filter(None, parts))
        out(f"{node.stem}● {row.id}  {about}\n")
    return 0


def stats(stored: StoredSessions, options: argparse.Namespace) -> int:
    """Print totals over the sessions of the folder."""
    figures = stored.told(stored.own.figures())
    if options.as_json:
        out_json(figures)
        return 0
    width = max(map(len, figures)) + 1
    for name, value in figures.items():
        label = f"{name.replace('_', ' ').capitalize()}:"
        text = f"{value:,}" if isinstance(value, int) else dollars_text(value)
        out(f"{label:<{width}} {text}\n")
    return 0


def reindex(stored: StoredSessions, options: argparse.Namespace) -> int:
    """Rebuild the index from the files, and this folder's part of a team's library."""
    count = stored.own.update_index(rebuild=True)
    if (shared := stored.parts.shared) is not None:
        shared.push((), shared.stale(())[1])
        if problem := stored.share():
            err(problem)
    out(f"{plural(count, 'session')} read into the index.\n")
    return 0


def tag(stored: StoredSessions, options: argparse.Namespace) -> int:
    """Add tags to a stored session, or remove them."""
    loaded = stored.load(options.reference)
    tags = dict.fromkeys(loaded.session.tags)
    for tag in map(naming.validate_tag, options.tags):
        if not options.remove:
            tags[tag] = None
        elif tag in tags:
            del tags[tag]
        else:
            text = f"{loaded.session.id} has no tag #{tag}."
            raise UsageError(text, f"chat-loop sessions show {options.reference} shows its tags.")
    organizing.set_name_and_tags(stored.sessions, loaded, tags=tuple(tags))
    out(f"{loaded.session.id}: {' '.join(f'#{tag}' for tag in tags) or 'no tags'}\n")
    return 0


def rename(stored: StoredSessions, options: argparse.Namespace) -> int:
    """Name a stored session."""
    loaded = stored.load(options.reference)
    name = naming.validate_name(" ".join(options.name))
    organizing.set_name_and_tags(stored.sessions, loaded, name=name)
    out(f"{loaded.session.id}: {name or 'automatic name'}\n")
    return 0


def delete_summary(stored: StoredSessions, options: argparse.Namespace) -> int:
    """Delete the summary of a session; its words and the audit of its compaction stay."""
    loaded = stored.load(options.reference)
    identity = loaded.session.id
    seal = loaded.session.seal
    if seal is None or seal.summary is None:
        raise SessionError(f"Session {identity} has no summary.")
    empty = replace(seal, summary=None, source="none", usage=None, seconds=None, covers=None)
    stored.sessions.seal_stored(loaded, empty)
    out(f"The summary of {identity} is deleted; sessions compact makes a new one.\n")
    return 0


ACTIONS: dict[str, Action] = {
    "list": list_,
    "show": show,
    "tree": tree,
    "stats": stats,
    "reindex": reindex,
    "tag": tag,
    "rename": rename,
    "delete-summary": delete_summary,
}


def _action(name: str) -> Action:
    if (action := ACTIONS.get(name) or trash.ACTIONS.get(name)) is not None:
        return action
    from chat_loop.subcommands import chains, erasing, searching  # a list does not need them

    return (searching.ACTIONS | chains.ACTIONS | erasing.ACTIONS)[name]
