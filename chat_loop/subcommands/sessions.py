"""`chat-loop sessions …`: a method for each action. It returns the exit code."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import asdict, replace

from chat_loop.commands.references import SeveralSessions, find_session
from chat_loop.config import Config
from chat_loop.conversation.options import costs
from chat_loop.display.plain import Meter, err, out, out_bytes, out_json
from chat_loop.display.rows import compactions_text, cost_of, name_text, nothing_text, unlisted_text
from chat_loop.display.text import one_line
from chat_loop.errors import ChatLoopError, SaveError, SessionError, SessionNotFound, UsageError
from chat_loop.library.filters import SessionFilter, filter_of, moment_of
from chat_loop.library.index import FIGURES
from chat_loop.library.library import Library
from chat_loop.library.lineage import Link, ancestry, forgotten, originals, tree
from chat_loop.sessions import naming, trash
from chat_loop.sessions.chain import ChainReader
from chat_loop.sessions.files import read_part
from chat_loop.sessions.manager import Loaded, SessionManager
from chat_loop.sessions.partial import newest_first, unlisted
from chat_loop.sessions.records import Session, SessionRow
from chat_loop.wording import compaction_text, counted, counts_text, dollars_text

if TYPE_CHECKING:
    from chat_loop.agent.agent import Agent
    from chat_loop.app import App
    from chat_loop.providers import Provider

SCHEMA = 2
"""Of what `sessions list --json` prints; docs/using.md describes it."""
AT_ONCE = 500
"""Rows that are written at once: the first stand there while the last are priced."""
FIELDS = (
    *("id", "name", "tags", "agent", "project", "created", "updated", "queries", "tokens"),
    *("parent", "merged", "depth", "compacted", "mode", "answered", "state", "path"),
)
"""What JSON tells of a session."""


def run(app: App) -> int:
    """Do what the command line asks for; return the exit code."""
    options = app.options
    run = SessionActions(app.sessions, app.config, app.answering)
    try:
        action = options.action.replace("-", "_")
        if action in ("fork", "merge", "compact", "export", "import"):
            from chat_loop.subcommands import chains  # loads what a list does not need

            return int(getattr(chains, action.replace("import", "import_"))(run, options))
        return int(getattr(run, action)(options))
    except SaveError as error:
        message = error.message.removeprefix("Not saved: ")
        if message == error.message:
            raise
        # in a chat it is tried again; here it is not
        raise SaveError(message, "Free some space or fix the permissions.") from error
    finally:
        run.progress.erase()
        run.library.close()


class SessionActions:
    """The actions on a folder of sessions that need no model."""

    def __init__(
        self,
        sessions: SessionManager,
        config: Config,
        models: Callable[[], tuple[Agent, Provider | None]],
    ) -> None:
        self.sessions, self.config, self.models = sessions, config, models
        self.progress = Meter()
        self.library = Library(sessions.directory, sessions.now, self.count, thorough=True)
        self._trouble = ""

    def count(self, done: int, of: int) -> None:
        """Show how many sessions are read."""
        if done < of:
            self.progress.count(done, of, "sessions read")
        else:
            self.progress.erase()

    def listed(self) -> list[str]:
        """Return the ids that the numbers of `sessions list` stand for."""
        found = self.library.listed()
        self._trouble = self.library.trouble
        return found

    def numbers(self) -> dict[str, int]:
        """Return the number of each session that has one."""
        return {identity: number for number, identity in enumerate(self.listed(), 1)}

    def path(self, reference: str) -> Path:
        """Return the file of the session that is meant. Raises SessionNotFound."""
        try:
            return find_session(self.sessions, self.library, reference, self.listed)
        except SessionNotFound as error:
            if isinstance(error, SeveralSessions):
                error.hint = f"chat-loop sessions list {shlex.quote(reference)}"
            elif not error.several:
                error.hint = "chat-loop sessions list shows numbers and ids."
            raise

    def load(self, reference: str) -> Loaded:
        """Read the session that is meant. Raises SessionError."""
        return self.sessions.load(self.path(reference))

    def chosen(self, options: argparse.Namespace) -> Loaded:
        """Read the session that is named as a word or by an option. Raises UsageError."""
        given = (options.reference, options.session, getattr(options, "summary_id", ""))
        found = [one for one in given if one]
        if len(found) != 1:
            raise UsageError(
                "Which session?" if not found else f"Which session: {' or '.join(found)[:200]}?",
                "For example: --session 3. chat-loop sessions list shows the numbers.",
            )
        return self.load(found[0])

    def tell_trouble(self) -> None:
        """Say why the index was not used, if it was not."""
        for trouble in dict.fromkeys((self._trouble, self.library.trouble)):
            if trouble:
                err(trouble)

    def filter(self, options: argparse.Namespace, words: str = "") -> SessionFilter:
        """Return the filter that the options make."""
        names = ("agent", "tag", "project", "since", "before")
        values = {name: value for name in names if (value := getattr(options, name))}
        return filter_of(values, self.sessions.now(), words)

    def list(self, options: argparse.Namespace) -> int:
        """Print the conversations, last used first, with the numbers that other commands take."""
        wanted = self.filter(options, " ".join(options.words))
        fold = not options.unfold
        rows, more = self.library.rows(
            options.limit, wanted=wanted, fold=fold, everything=options.all
        )
        if fold and not wanted and not options.all:
            numbers = {row.id: number for number, row in enumerate(rows, 1)}
        else:
            numbers = self.numbers()
        self.tell_trouble()
        code, cost = int(bool(wanted) and not rows), costs(self.config)
        if options.as_json:
            found = []
            for row in rows:
                values = {**row_values(numbers.get(row.id), row), "cost": cost_of(row, cost)}
                if fold:
                    values["sessions"] = 1 + row.folded
                    values["compactions"] = row.compactions
                    values["shared_queries"] = row.shared
                    values["branch"] = row.branch and {
                        "at": row.branch.at or None,
                        "words": row.branch.words,
                    }
                found.append(values)
            key = "conversations" if fold else "sessions"
            out_json({"schema": SCHEMA, key: found, "older": more})
            return code
        if not rows:
            hidden = bool(newest_first(self.sessions.directory))
            err(nothing_text(filtered=bool(wanted), hidden=hidden))
        for start in range(0, len(rows), AT_ONCE):
            part = rows[start : start + AT_ONCE]
            out("".join(_line(row, numbers.get(row.id), cost_of(row, cost)) for row in part))
        if more:
            err(f"… and {more:,} older")
        if names := unlisted(self.sessions.directory):
            err(unlisted_text(names))
        return code

    def show(self, options: argparse.Namespace) -> int:
        """Print a session's transcript, its value as JSON, or the summaries of its chain."""
        path = self.path(options.reference)
        loaded = self.sessions.load(path)
        session = loaded.session
        if options.show_summaries:
            return self._show_summaries(session, as_json=options.as_json)
        if not options.as_json:
            out_bytes(read_part(path)[0])
            return 0
        entries = [
            {"kind": type(entry).__name__.lower(), **asdict(entry)} for entry in session.entries
        ]
        values = {
            "name": naming.name_of(session),
            "tags": session.tags,
            "path": str(path),
            "damage": loaded.damage,
            "totals": session.totals,
            "entries": entries,
            "seal": session.seal,
        }
        out_json({**asdict(session.header), **values})
        return 0

    def _show_summaries(self, session: Session, *, as_json: bool) -> int:
        """Print the summaries of a chain and what its compactions came to, the oldest first."""
        from chat_loop.sessions import summary_block

        chain = ChainReader(self.sessions).read(session)
        if chain.broken:
            err(chain.broken)
        found = []
        for one in (*(loaded.session for loaded in reversed(chain.loaded)), session):
            seal = one.seal
            summary = seal.summary if seal is not None else None
            numbers = [exchange.query.number for exchange in one.exchanges]
            last = max(numbers, default=None)
            if seal is not None and seal.covers is not None:
                last = seal.covers
            covers = last is not None and any(number <= last for number in numbers)
            values = {
                "session": one.header.id,
                "first": min(numbers) if covers else None,
                "last": last if covers and summary is not None else None,
                "at": seal.at if seal is not None and summary is not None else None,
                "source": seal.source if seal is not None else "none",
                "usage": seal.usage if seal is not None else None,
                "compaction": seal.compaction if seal is not None else None,
                "summary": summary,
            }
            found.append(values)
            if as_json:
                continue
            if seal is None or summary is None:
                out(f"{one.header.id}: no summary\n\n")
                continue
            covered = f"queries {values['first']} to {values['last']}" if covers else "no queries"
            by = {"model": "a model", "extracted": "code, without a model", "none": "nobody"}
            out(f"{one.header.id}: {covered}, {seal.at:%Y-%m-%d %H:%M}, by {by[seal.source]}\n")
            if (made := seal.compaction) is not None:
                cost = dollars_text(made.cost)
                out(f"{compaction_text(made)} · {made.model or 'no model'} · {cost}\n")
            out(f"\n{summary_block.render(summary)}\n\n")
        if as_json:
            out_json(found)
        return 0

    def search(self, options: argparse.Namespace) -> int:
        """Print the exchanges that fit, the best first."""
        from chat_loop.commands.search import excerpts_of
        from chat_loop.library.search import search_all
        from chat_loop.library.semantic import SemanticIndex

        semantic = SemanticIndex() if self.config.search.meaning and not options.text else None
        words, wanted = " ".join(options.words), self.filter(options)
        found = search_all(self.library, words, wanted, options.limit, semantic, standalone=True)
        self.progress.erase()
        self.tell_trouble()
        if semantic is not None and semantic.problem:
            err(semantic.problem)
        if options.as_json:
            out_json(
                [
                    {
                        "number": hit.listed,
                        "session": hit.row.id,
                        "name": hit.row.name,
                        "tags": hit.row.tags,
                        "query": hit.exchange.query.number,
                        "at": hit.exchange.query.at,
                        "strength": round(hit.strength, 3),
                        "related": hit.related,
                        "excerpts": {who.lower(): text for who, text in excerpts_of(hit)},
                        "path": str(hit.row.path),
                    }
                    for hit in found
                ]
            )
            return int(not found)
        if not found:
            err("No matches.")
        for hit in found:
            at = f"{hit.exchange.query.at:%Y-%m-%d %H:%M}"
            related = " · related" if hit.related else ""
            place = f"{hit.row.id} · query {hit.exchange.query.number} · {at}{related}"
            out(f"{hit.listed or '':>4}  {one_line(hit.row.name, 80)} · {place}\n")
            for who, text in excerpts_of(hit):
                out(f"      {who.lower()}: {one_line(text, 600)}\n")
        return int(not found)

    def tree(self, options: argparse.Namespace) -> int:
        """Print a chain with its branches, the oldest first."""
        nodes = tree(self.path(options.reference).stem, self.library.links())
        self.tell_trouble()
        rows = self.library.rows_of(node.id for node in nodes)
        if options.as_json:
            numbers = self.numbers()
            once = [node.id for node in nodes if not node.again]
            out_json([row_values(numbers.get(one), rows[one]) for one in once])
            return 0
        compactions = self.library.compactions(node.id for node in nodes)
        for node in nodes:
            row = rows[node.id]
            parts = [date_text(row), _counts(row), compactions.get(row.id), one_line(row.name, 60)]
            shown = "as above" if node.again else " · ".join(filter(None, parts))
            out(f"{node.stem}● {row.id}  {shown}\n")
        return 0

    def stats(self, options: argparse.Namespace) -> int:
        """Print what the sessions of the folder come to."""
        found: dict[str, int | float | None] = dict.fromkeys(FIGURES, 0)
        if self.listed():
            found = self.library.figures()
            self.progress.erase()
        if options.as_json:
            out_json(found)
            return 0
        width = max(map(len, found), default=0) + 1
        for name, value in found.items():
            label = f"{name.replace('_', ' ').capitalize()}:"
            text = f"{value:,}" if isinstance(value, int) else dollars_text(value)
            out(f"{label:<{width}} {text}\n")
        return 0

    def reindex(self, options: argparse.Namespace) -> int:
        """Make the index anew from the files."""
        count = self.library.bring_up_to_date(anew=True)
        self.progress.erase()
        self.tell_trouble()
        out(f"{counted(count, 'session')} read into the index.\n")
        return 0

    def tag(self, options: argparse.Namespace) -> int:
        """Tag a stored session, or take tags off it."""
        loaded = self.load(options.reference)
        standing, tags = loaded.session.tags, [naming.validate_tag(one) for one in options.tags]
        if options.remove:
            wanted = [one for one in standing if one not in tags]
        else:
            wanted = [*dict.fromkeys((*standing, *tags))]
        self.sessions.describe(loaded, tags=tuple(wanted))
        shown = " ".join(f"#{one}" for one in wanted) or "no tags"
        out(f"{loaded.session.header.id}: {shown}\n")
        return 0

    def rename(self, options: argparse.Namespace) -> int:
        """Name a stored session."""
        loaded = self.load(options.reference)
        name = naming.validate_name(" ".join(options.name))
        self.sessions.describe(loaded, name=name)
        out(f"{loaded.session.header.id}: {name or 'no name of its own'}\n")
        return 0

    def delete_summary(self, options: argparse.Namespace) -> int:
        """Take the summary out of a session; its words and the audit of its compaction stay."""
        loaded = self.chosen(options)
        identity, seal = loaded.session.header.id, loaded.session.seal
        if seal is None or seal.summary is None:
            raise SessionError(f"Session {identity} has no summary.")
        if not loaded.sealable:
            text = "is another program’s file or damaged: it stays as it is."
            raise SessionError(f"{loaded.path.name} {text}")
        empty = replace(seal, summary=None, source="none", usage=None, seconds=None, covers=None)
        self.sessions.seal_later(loaded, empty)
        out(f"The summary of {identity} is deleted; it is made anew when the session is resumed.\n")
        return 0

    def trash(self, options: argparse.Namespace) -> int:
        """Move sessions to the trash; without any, list what is there."""
        if not options.references:
            _print_rows(trash.trashed(self.sessions.directory), as_json=options.as_json)
            return 0
        # all are looked up before one is gone and the numbers change
        ids = [self.path(reference).stem for reference in options.references]
        rows = [*self.library.rows_of(ids).values()]
        moved = [row for row in rows if _done(trash.take_away, row.path)]
        if options.as_json:
            out_json([row_values(None, row) for row in moved])
        else:
            for row in moved:
                back = f"chat-loop sessions restore {row.id} brings it back."
                out(f"{row.id} is in the trash; {back}\n")
        gone = {row.id for row in moved}
        for link in self.library.links().values() if gone else ():
            for parent in gone.intersection(link.parents):
                text = f"{link.id} goes on from {parent}: it has the summary"
                err(f"{text}, the words are in the trash.")
        return int(len(moved) < len(rows))

    def restore(self, options: argparse.Namespace) -> int:
        """Bring sessions back from the trash."""
        code = 0
        for identity in dict.fromkeys(options.ids):
            if _done(trash.bring_back, self.sessions.directory, identity):
                out(f"{identity} is back.\n")
            else:
                code = 1
        return code

    def clean(self, options: argparse.Namespace) -> int:
        """Move what was not used for long to the trash: whole chains, or with --originals what
        summaries stand for.
        """
        now = self.sessions.now()
        before = moment_of(options.older_than, now)
        if before > now:
            text = f"“{options.older_than[:40]}” is in the future: every session is older."
            raise UsageError(text)
        asking = not (options.dry_run or options.yes)
        if asking and not sys.stdin.isatty():
            hint = "--yes does without, --dry-run only says what it would do."
            raise UsageError("Nobody is there to agree.", hint)
        rows, _ = self.library.rows(fold=False)
        links = self.library.links()
        chosen = forgotten(rows, links, before)
        if options.originals:
            chosen = originals(rows, links, before)
            needed = set(self._needed({row.id for row in chosen}, links))
            chosen = originals(rows, links, before, needed)
        _print_rows(chosen, as_json=options.as_json)
        count = counted(len(chosen), "session")
        if options.dry_run or not chosen:
            err(f"{count} would go to the trash." if chosen else "There is nothing to clean.")
            return 0
        if asking and not confirmed(f"Move {count} to the trash? (y/n)"):
            err("Nothing is moved.")
            return 1
        staying: set[str] = set()
        moved = 0
        for row in chosen:  # children first: what a session that stays goes on from stays as well
            if row.id in staying:
                err(f"{row.id} stays: a session that stays goes on from it.")
            elif _done(trash.take_away, row.path):
                moved += 1
            elif not options.originals:
                staying |= ancestry([row.id], links)
        told = f"{counted(moved, 'session')} moved to the trash; chat-loop sessions restore ID"
        err(f"{told} brings one back." if moved else "Nothing is moved.")
        return int(moved < len(chosen))

    def _needed(self, wanted: set[str], links: Mapping[str, Link]) -> Iterator[str]:
        """Yield those of the sessions whose own words are needed: no summary stands for them, or
        another session was given their words by reference.
        """
        for identity in links:
            older = ancestry([identity], links) - {identity}
            if identity not in wanted and wanted.isdisjoint(older):
                continue
            try:
                loaded = self.sessions.load(self.sessions.session_file(identity))
            except SessionError:
                yield from (identity, *older)
                continue
            session, seal = loaded.session, loaded.session.seal
            summary = seal.summary if seal is not None else None
            if summary is None or not loaded.sealable:
                yield identity
            if seal is not None and summary is not None and seal.covers is None:
                continue
            given = session.restoration
            first = (
                int(given.verbatim_from.partition(".")[0]) if given and given.verbatim_from else 0
            )
            parent, depth = session.header.parent, session.depth - 1
            while first and parent in links and depth >= first:
                yield parent
                parent, depth = links[parent].parent, depth - 1


def confirmed(question: str) -> bool:
    """Ask yes or no on standard error; anything but yes is no."""
    err(question)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def row_values(number: int | None, row: SessionRow) -> dict[str, object]:
    """Return a session as JSON has it."""
    values = {name: getattr(row, name) for name in FIELDS}
    return {"number": number, **values} | {
        name: values[name] or None for name in ("parent", "merged", "mode")
    }


def date_text(row: SessionRow) -> str:
    """Return when a session was used last."""
    return "unknown" if row.updated is None else f"{row.updated:%Y-%m-%d %H:%M}"


def _counts(row: SessionRow) -> str:
    return "" if row.queries is None else counts_text(row.queries, row.tokens or 0)


def _line(row: SessionRow, number: int | None, price: float | None) -> str:
    tags = " ".join(f"#{tag}" for tag in row.tags)
    parts = (
        f"{number or '':>4}",
        f"{date_text(row):<16}",
        row.id,
        row.state,
        f"{_counts(row)}, {dollars_text(price)}" if price else _counts(row),
        compactions_text(row),
        f"{name_text(row, 60)} {tags}".rstrip(),
    )
    return "  ".join(part for part in parts if part) + "\n"


def _print_rows(rows: Sequence[SessionRow], *, as_json: bool) -> None:
    if as_json:
        out_json([row_values(None, row) for row in rows])
        return
    for row in rows:
        out(f"{date_text(row):<16}  {row.id}  {one_line(row.name, 60)}".rstrip() + "\n")


def _done(act: Callable[..., object], *arguments: object) -> bool:
    """Do it; a failure is told and does not hold up the others."""
    try:
        act(*arguments)
    except ChatLoopError as error:
        err(f"{error.message} {error.hint}".rstrip())
        return False
    return True
