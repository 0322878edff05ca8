"""`chat-loop sessions trash|restore|clean|reindex`: what is kept, and where."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from chat_loop.display.plain import err, out, out_json
from chat_loop.display.text import one_line
from chat_loop.errors import ChatLoopError, SessionError, UsageError
from chat_loop.library.filters import moment_of
from chat_loop.library.lineage import Link, ancestry, forgotten, originals
from chat_loop.sessions import trash
from chat_loop.sessions.records import SessionRow
from chat_loop.subcommands.listing import row_values
from chat_loop.subcommands.shelf import Progress, Shelf
from chat_loop.wording import counted

T = TypeVar("T")


def to_trash(shelf: Shelf, options: argparse.Namespace) -> int:
    """Move sessions to the trash; without any, list what is there."""
    if not options.references:
        _tell(trash.trashed(shelf.sessions.directory), as_json=options.as_json)
        return 0
    paths = [
        shelf.path(reference) for reference in options.references
    ]  # before one is gone and the numbers change
    rows = [*shelf.library.rows_of(path.stem for path in paths).values()]

    def move(row: SessionRow) -> None:
        trash.take_away(row.path)
        if not options.as_json:
            out(f"{row.id} is in the trash; chat-loop sessions restore {row.id} brings it back.\n")

    moved = _each(rows, move)
    if options.as_json:
        out_json([row_values(None, row) for row in moved])
    gone = {row.id for row in moved}
    for link in shelf.library.links().values() if gone else ():
        for parent in gone.intersection(link.parents):
            err(f"{link.id} goes on from {parent}: it has the summary, the words are in the trash.")
    return 0 if len(moved) == len(rows) else 1


def restore(shelf: Shelf, options: argparse.Namespace) -> int:
    """Bring sessions back from the trash."""

    def move(identity: str) -> None:
        trash.bring_back(shelf.sessions.directory, identity)
        out(f"{identity} is back.\n")

    ids = list(dict.fromkeys(options.ids))
    return 0 if len(_each(ids, move)) == len(ids) else 1


def clean(shelf: Shelf, options: argparse.Namespace) -> int:
    """Move what was not used for long to the trash: whole chains, or with --originals what
    summaries stand for.
    """
    now = shelf.sessions.now()
    before = moment_of(options.older_than, now)
    if before > now:
        raise UsageError(f"“{options.older_than[:40]}” is in the future: every session is older.")
    asking = not (options.dry_run or options.yes)
    if asking and not sys.stdin.isatty():
        raise UsageError(
            "Nobody is there to agree.", "--yes does without, --dry-run only says what it would do."
        )
    rows, _ = shelf.library.rows(fold=False)
    links = shelf.library.links()
    chosen = forgotten(rows, links, before)
    if options.originals:
        chosen = originals(rows, links, before)
        chosen = originals(rows, links, before, _needed(shelf, chosen, links))
    _tell(chosen, as_json=options.as_json)
    if options.dry_run or not chosen:
        err(
            f"{counted(len(chosen), 'session')} would go to the trash."
            if chosen
            else "There is nothing to clean."
        )
        return 0
    if asking and not _agreed(f"Move {counted(len(chosen), 'session')} to the trash? (y/n)"):
        err("Nothing is moved.")
        return 1
    moved = _taken_away(chosen, {} if options.originals else links)
    told = (
        f"{counted(moved, 'session')} moved to the trash; chat-loop sessions restore ID brings "
        "one back."
    )
    err(told if moved else "Nothing is moved.")
    return 0 if moved == len(chosen) else 1


def reindex(shelf: Shelf, options: argparse.Namespace) -> int:
    """Make the index anew from the files."""
    progress = Progress()
    try:
        count = shelf.library.bring_up_to_date(progress, anew=True)
    finally:
        progress.end()
    shelf.tell_trouble()
    out(f"{counted(count, 'session')} read into the index.\n")
    return 0


def _tell(rows: Sequence[SessionRow], *, as_json: bool) -> None:
    if as_json:
        out_json([row_values(None, row) for row in rows])
        return
    dates = ("unknown" if row.updated is None else f"{row.updated:%Y-%m-%d %H:%M}" for row in rows)
    lines = (
        f"{date:<16}  {row.id}  {one_line(row.name, 60)}"
        for date, row in zip(dates, rows, strict=True)
    )
    out("".join(f"{line.rstrip()}\n" for line in lines))


def _each(things: Sequence[T], act: Callable[[T], None]) -> list[T]:
    """Do it to each; what fails is said and does not hold up the others. Return those with which it
    went well.
    """
    done = []
    for thing in things:
        try:
            act(thing)
            done.append(thing)
        except ChatLoopError as error:
            err(f"{error.message} {error.hint}".rstrip())
    return done


def _taken_away(chosen: Sequence[SessionRow], links: Mapping[str, Link]) -> int:
    """Move sessions to the trash, children first; what one that could not be moved comes from
    stays. How many went.
    """
    staying: set[str] = set()
    moved = 0
    for row in chosen:
        if row.id in staying:
            err(f"{row.id} stays: a session that stays goes on from it.")
            continue
        try:
            trash.take_away(row.path)
            moved += 1
        except ChatLoopError as error:
            err(error.message)
            staying |= ancestry([row.id], links)
    return moved


def _needed(shelf: Shelf, chosen: Sequence[SessionRow], links: Mapping[str, Link]) -> set[str]:
    """Which of these sessions' own words are needed: no summary stands for them, or somebody goes
    on from them.
    """
    wanted = {row.id for row in chosen}
    needed = {identity for identity in wanted if not _summarised(shelf, identity)}
    for identity in links:
        if not wanted.isdisjoint(ancestry([identity], links) - {identity}):
            needed |= _leans_on(shelf, identity, links)
    return needed


def _summarised(shelf: Shelf, identity: str) -> bool:
    try:
        loaded = shelf.sessions.load(shelf.sessions.session_file(identity))
    except SessionError:
        return False
    return (
        loaded.sealable
        and loaded.session.seal is not None
        and loaded.session.seal.summary is not None
    )


def _leans_on(shelf: Shelf, identity: str, links: Mapping[str, Link]) -> set[str]:
    """The ancestors whose words a session was given by reference, unless a summary stands for those
    by now.
    """
    try:
        session = shelf.sessions.load(shelf.sessions.session_file(identity)).session
    except SessionError:
        return ancestry([identity], links)
    if (
        session.seal is not None
        and session.seal.summary is not None
        and session.seal.covers is None
    ):
        return set()
    given, found = session.restoration, set[str]()
    if given is None or not given.verbatim_from:
        return found
    first, depth, parent = (
        int(given.verbatim_from.partition(".")[0]),
        session.depth - 1,
        session.header.parent,
    )
    while parent and depth >= first and parent not in found:
        found.add(parent)
        parent, depth = links[parent].parent if parent in links else "", depth - 1
    return found


def _agreed(question: str) -> bool:
    err(question)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
