"""`chat-loop sessions trash|restore|clean`: move sessions to the trash and back."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from chat_loop.display import conversation_rows as drawn
from chat_loop.display.plain import ask, err, out
from chat_loop.display.questions import CONFIRMING, Question
from chat_loop.display.sanitizer import visible_newlines
from chat_loop.errors import ChatLoopError, SessionError, UsageError
from chat_loop.library import lineage
from chat_loop.library.filters import moment_of
from chat_loop.sessions import organizing
from chat_loop.sessions.chain import Link
from chat_loop.sessions.records import SessionRow
from chat_loop.subcommands.stored import Action, StoredSessions
from chat_loop.values import plural


def trash(stored: StoredSessions, options: argparse.Namespace) -> int:
    """Move conversations, or earlier sessions, to the trash; without any, list the trash."""
    if not options.references:
        out(_rows_text(organizing.trashed(stored.sessions.directory)))
        return 0
    # look up all of them first, because each move changes the numbers
    ids = dict.fromkeys(stored.path(reference).stem for reference in options.references)
    links = stored.told(stored.own.links())
    gone = set[str]()

    def move(identity: str) -> None:
        chosen = [one for one in lineage.own_sessions(identity, links) if one not in gone]
        if chosen:
            paths = map(stored.sessions.session_file, chosen)
            out(f"{organizing.move_to_trash(stored.sessions, *paths)}\n")
            gone.update(chosen)

    moved = [_try_each(move, identity) for identity in ids]
    return int(not all(moved))


def restore(stored: StoredSessions, options: argparse.Namespace) -> int:
    """Bring sessions back from the trash."""
    ids = dict.fromkeys(options.ids)
    restored = [one for one in ids if _try_each(organizing.restore, stored.sessions, one)]
    out("".join(f"{identity} is restored.\n" for identity in restored))
    return int(len(restored) < len(ids))


def clean(stored: StoredSessions, options: argparse.Namespace) -> int:
    """Move old conversations to the trash, or with --originals old sessions with summaries."""
    before = moment_of(options.older_than, stored.sessions.now())
    if before > stored.sessions.now():
        raise UsageError(f"“{options.older_than[:40]}” is in the future.")
    asking = not (options.dry_run or options.yes)
    if asking and not sys.stdin.isatty():
        hint = "--yes skips the question, --dry-run only shows what would be moved."
        raise UsageError("Confirmation needs a terminal.", hint)
    files = stored.own.look().stamps
    links = stored.told(stored.own.links(files))
    rows, _ = stored.told(stored.own.rows(fold=False, files=files))
    chosen = _cleanable(stored, before, links, rows, originals=options.originals)
    count = plural(len(chosen), "session")
    if not (asking and chosen):
        out(_rows_text(chosen))
    if options.dry_run or not chosen:
        err(f"{count} would go to the trash." if chosen else "There is nothing to clean.")
        return 0
    if asking and not _agrees_to_move(chosen):
        err("Nothing was moved.")
        return 1
    staying = set[str]()
    moved = 0
    for row in chosen:  # children first: if a session stays, its ancestors stay as well
        if row.id in staying:
            err(f"{row.id} stays: another session that stays continues it.")
        elif _try_each(organizing.move_to_trash, stored.sessions, row.path):
            moved += 1
        elif not options.originals:
            staying |= lineage.ancestry([row.id], links)
    text = f"{plural(moved, 'session')} moved to the trash; chat-loop sessions restore ID"
    err(f"{text} restores one." if moved else "Nothing was moved.")
    return int(moved < len(chosen))


def _cleanable(
    stored: StoredSessions,
    before: datetime,
    links: Mapping[str, Link],
    rows: Sequence[SessionRow],
    *,
    originals: bool,
) -> Sequence[SessionRow]:
    """Return the sessions that `clean` moves, children first."""
    if not originals:
        return lineage.old_chains(rows, links, before)
    candidates = {row.id for row in lineage.old_originals(rows, links, before)}
    needed = {*_needed(stored, candidates, links)}
    return lineage.old_originals(rows, links, before, needed)


def _needed(
    stored: StoredSessions, candidates: set[str], links: Mapping[str, Link]
) -> Iterator[str]:
    """Yield the sessions that are needed: those without a complete summary, and ancestors."""
    for identity in links:
        family = lineage.ancestry([identity], links)
        if not candidates.isdisjoint(family):
            try:
                loaded = stored.load(identity)
                seal = None
                if loaded.is_sealable:
                    seal = loaded.session.seal
            except SessionError:
                seal = None
            if seal is None or seal.summary is None or seal.covers is not None:
                yield from family


def _agrees_to_move(rows: Sequence[SessionRow]) -> bool:
    """Ask whether sessions may be moved to the trash."""
    sentence = f"Move {plural(len(rows), 'session')} to the trash?"
    return ask(Question(sentence, CONFIRMING, (_rows_text(rows).rstrip("\n"),))) == "yes"


def _rows_text(rows: Sequence[SessionRow]) -> str:
    """Return a line for each session."""
    lines = (f"{drawn.date_text(row):<16}  {row.id}  {visible_newlines(row.name)}" for row in rows)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _try_each(act: Callable[..., object], *arguments: object) -> bool:
    """Run an action; report a failure and return False, so that the others continue."""
    try:
        act(*arguments)
    except ChatLoopError as error:
        err(f"{error.message} {error.hint}".rstrip())
        return False
    return True


ACTIONS: dict[str, Action] = {"trash": trash, "restore": restore, "clean": clean}
