"""`chat-loop sessions …`: each action is a method that returns the exit code."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial

from msgspec.structs import asdict, replace

from chat_loop.config import Config, Paths
from chat_loop.display import rows as drawn
from chat_loop.display.plain import Meter, ask, err, out, out_json, out_line
from chat_loop.display.questions import CONFIRMING, Question
from chat_loop.display.text import one_line, visible_newlines
from chat_loop.errors import ChatLoopError, SaveError, SessionError, UsageError
from chat_loop.library import lineage
from chat_loop.library.engine import FIGURES
from chat_loop.library.library import filter_of, moment_of
from chat_loop.parts import build
from chat_loop.providers.prices import costs
from chat_loop.sessions import naming, summary_block
from chat_loop.sessions.chain import Link, read_chain
from chat_loop.sessions.files import read_part
from chat_loop.sessions.live import TRIED_AGAIN
from chat_loop.sessions.manager import LoadedSession
from chat_loop.sessions.records import Session, SessionRow
from chat_loop.sessions.rows import misnamed_files
from chat_loop.sessions.writer import render
from chat_loop.subcommands.stored import StoredSessions
from chat_loop.terminal import columns
from chat_loop.tokens import estimate
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
    actions = SessionActions(build(options, config, paths))
    try:
        if options.action in ("fork", "merge", "compact", "export", "import", "redact", "purge"):
            from chat_loop.subcommands import chains, erasure  # a list does not need them

            module = erasure if options.action in ("redact", "purge") else chains
            act = partial(getattr(module, options.action.replace("import", "import_")), actions)
        else:
            act = getattr(actions, options.action.replace("-", "_"))
        code = int(act(options))
        if actions.library.trouble:
            err(actions.library.trouble)
        return code
    except SaveError as error:
        error.hint = error.hint.replace(TRIED_AGAIN, ".")
        raise
    finally:
        actions.close()


class SessionActions(StoredSessions):
    """The actions on a folder of sessions that need no model."""

    def list(self, options: argparse.Namespace) -> int:
        """Print the conversations, last used first, with the numbers that other commands take."""
        folder = self.sessions.directory
        if has_copies := bool(misnamed_files(folder)):
            for text in self.sessions.take_in_copies():
                err(text)
        fold = not options.unfold
        width = columns(unknown=0)
        filters = filter_of(vars(options), self.sessions.now(), " ".join(options.words))
        find = partial(self.library.rows, wanted=filters, fold=fold, everything=options.all)
        streams = options.limit is None and not (width or options.as_json)
        rows, more = find(FIRST_ROWS if streams else options.limit)
        is_whole = fold and not filters and not options.all
        ids = [row.id for row in rows] if is_whole else self.library.listed()
        numbers = {identity: number for number, identity in enumerate(ids, 1)}
        if options.as_json:
            printed = [self._row_values(row, numbers.get(row.id), fold=fold) for row in rows]
            key = "conversations" if fold else "sessions"
            out_json({"schema": SCHEMA, key: printed, "older": more})
            return int(bool(filters) and not rows)
        if not rows:
            err(drawn.nothing_text(filtered=bool(filters)))
        self._print_table(rows, numbers, width)
        if streams and more:  # a reader has the first rows while the others are read
            above = {row.id for row in rows}
            others, more = find()
            numbers |= {row.id: at for at, row in enumerate(others, 1) if is_whole}
            self._print_table([row for row in others if row.id not in above], numbers, width)
        if more:
            err(f"… and {more:,} older")
        if has_copies and (names := misnamed_files(folder)):
            err(drawn.unlisted_text(names))
        return int(bool(filters) and not rows)

    def _row_values(self, row: SessionRow, number: int | None, *, fold: bool) -> dict[str, object]:
        """Return the values of a row in JSON."""
        values = {"number": number, **{name: getattr(row, name) for name in FIELDS}}
        values |= {name: values[name] or None for name in ("parent", "merged", "mode", "owner")}
        values["cost"] = drawn.cost_of(row.spent, costs(self.parts.config))
        if fold:
            values |= {"sessions": 1 + row.folded, "compactions": row.compactions}
            values["branch"] = row.branch
        return values

    def _print_table(
        self, rows: Sequence[SessionRow], numbers: Mapping[str, int], width: int
    ) -> None:
        """Print rows. A `width` of 0 means that there is no terminal: print dates and ids."""
        labels = [str(numbers.get(row.id, "")) for row in rows]
        # prices are slow to load
        cost = costs(self.parts.config) if not 0 < width < drawn.MIN_FULL else None
        now = self.sessions.now()
        named = self.sessions.pointers.named(rows)
        table = drawn.RowTable(named, now, cost, numbers=labels, exact=not width)
        lines = [table.line(at, width or PIPE_COLUMNS) for at in range(len(rows))]
        out("".join("".join(text for text, _ in line) + "\n" for line in lines))

    def show(self, options: argparse.Namespace) -> int:
        """Print a session's transcript, its value as JSON, or the summaries of its chain."""
        path = self.path(options.reference, stored=True)
        if not path.is_file() and (found := self.library.session(path.stem)) is not None:
            loaded = LoadedSession(found, path)
            data = render(found)
        else:
            with Meter().clock("Reading"):
                loaded = self.sessions.load(path)
                data = b""
        session = loaded.session
        if options.show_summaries:
            self._show_summaries(session, as_json=options.as_json)
            return 0
        if not options.as_json:
            out(data or read_part(path)[0])
            return 0
        values = {**asdict(session.header), "name": naming.name_of(session), "tags": session.tags}
        values |= {"path": path, "damage": loaded.damage, "totals": session.totals}
        kinds = ((type(entry).__name__.lower(), entry) for entry in session.entries)
        values["entries"] = [{"kind": kind, **asdict(entry)} for kind, entry in kinds]
        out_json({**values, "seal": session.seal})
        return 0

    def _show_summaries(self, session: Session, *, as_json: bool) -> None:
        """Print the summaries of a chain and the results of its compactions, oldest first."""
        chain = read_chain(self.sessions, session)
        if chain.problem:
            err(chain.problem)
        sessions = [*(loaded.session for loaded in reversed(chain.ancestors)), session]
        seals = [(session.header.id, session.seal) for session in sessions]
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

    def search(self, options: argparse.Namespace) -> int:
        """Print the exchanges that match, best first."""
        from chat_loop.library.search import excerpts_of, search_all
        from chat_loop.library.semantic import SemanticIndex

        by_meaning = self.parts.config.search.meaning and not options.text
        semantic = SemanticIndex(once=True) if by_meaning else None
        filters = filter_of(vars(options), self.sessions.now())
        words = " ".join(options.words)
        hits = search_all(self.library, words, filters, options.limit, semantic, standalone=True)
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
                values = {name: getattr(row, name) for name in ("name", "tags", "path")}
                values["owner"] = row.owner or None
                values |= {"number": hit.listed, "session": row.id, "query": query.number}
                values |= {"at": query.at, "strength": round(hit.strength, 3)}
                values |= {"related": hit.related}
                rows.append({**values, "excerpts": {who.lower(): text for who, text in excerpts}})
            else:
                related = " · related" if hit.related else ""
                owner = f" · {one_line(row.owner, 40)}" if row.owner else ""
                at = f"{row.depth}.{query.number} · {query.at:%Y-%m-%d %H:%M}{owner}{related}"
                out_line(f"{hit.listed or '':>4}  {one_line(row.name, 80)} · {row.id} · {at}", 6)
                for who, text in excerpts:
                    out_line(f"      {who.lower()}: {one_line(text, 600)}", 6)
        if options.as_json:
            out_json(rows)
        return int(not hits)

    def tree(self, options: argparse.Namespace) -> int:
        """Print a chain with its branches, oldest first."""
        identity = self.path(options.reference, stored=True).stem
        nodes = lineage.tree(identity, self.library.relatives(identity))
        rows = self.library.rows_of(node.id for node in nodes)
        for node in nodes:
            row = rows[node.id]
            counts = "" if row.queries is None else counts_text(row.queries, row.tokens or 0)
            name = one_line(drawn.tree_name(row, rows.get(row.parent)), 60)
            missing = drawn.missing_text(row, rows)
            parts = [f"{drawn.date_text(row):<16}", counts, row.compaction, missing, name]
            about = "as above" if node.again else " · ".join(filter(None, parts))
            out(f"{node.stem}● {row.id}  {about}\n")
        return 0

    def stats(self, options: argparse.Namespace) -> int:
        """Print totals over the sessions of the folder."""
        figures = self.library.figures() if self.library.listed() else dict.fromkeys(FIGURES, 0)
        if options.as_json:
            out_json(figures)
            return 0
        width = max(map(len, figures)) + 1
        for name, value in figures.items():
            label = f"{name.replace('_', ' ').capitalize()}:"
            text = f"{value:,}" if isinstance(value, int) else dollars_text(value)
            out(f"{label:<{width}} {text}\n")
        return 0

    def reindex(self, options: argparse.Namespace) -> int:
        """Rebuild the index from the files, and this folder's part of a team's library."""
        if self.own is not self.library:
            self.own.update_index(rebuild=True)
        out(f"{plural(self.library.update_index(rebuild=True), 'session')} read into the index.\n")
        return 0

    def tag(self, options: argparse.Namespace) -> int:
        """Add tags to a stored session, or remove them."""
        loaded = self.load(options.reference)
        tags = dict.fromkeys(loaded.session.tags)
        for tag in map(naming.validate_tag, options.tags):
            if not options.remove:
                tags[tag] = None
            elif tag in tags:
                del tags[tag]
            else:
                text = f"{loaded.session.header.id} has no tag #{tag}."
                raise UsageError(
                    text, f"chat-loop sessions show {options.reference} shows its tags."
                )
        self.sessions.describe(loaded, tags=tuple(tags))
        out(f"{loaded.session.header.id}: {' '.join(f'#{tag}' for tag in tags) or 'no tags'}\n")
        return 0

    def rename(self, options: argparse.Namespace) -> int:
        """Name a stored session."""
        loaded = self.load(options.reference)
        name = naming.validate_name(" ".join(options.name))
        self.sessions.describe(loaded, name=name)
        out(f"{loaded.session.header.id}: {name or 'automatic name'}\n")
        return 0

    def delete_summary(self, options: argparse.Namespace) -> int:
        """Delete the summary of a session; its words and the audit of its compaction stay."""
        loaded = self.load(options.reference)
        identity = loaded.session.header.id
        seal = loaded.session.seal
        if seal is None or seal.summary is None:
            raise SessionError(f"Session {identity} has no summary.")
        empty = replace(seal, summary=None, source="none", usage=None, seconds=None, covers=None)
        self.sessions.seal_stored(loaded, empty)
        out(f"The summary of {identity} is deleted; sessions compact makes a new one.\n")
        return 0

    def trash(self, options: argparse.Namespace) -> int:
        """Move sessions to the trash; without any, list the trash."""
        if not options.references:
            out(_rows_text(self.sessions.trash()))
            return 0
        # look up all of them first, because each move changes the numbers
        ids = [self.path(reference).stem for reference in options.references]

        def move(row: SessionRow) -> None:
            out(f"{self.sessions.move_to_trash(row.path)}\n")

        moved = [_try_each(move, row) for row in self.own.rows_of(ids).values()]
        return int(not all(moved))

    def restore(self, options: argparse.Namespace) -> int:
        """Bring sessions back from the trash."""
        ids = dict.fromkeys(options.ids)
        restored = [identity for identity in ids if _try_each(self.sessions.restore, identity)]
        out("".join(f"{identity} is restored.\n" for identity in restored))
        return int(len(restored) < len(ids))

    def clean(self, options: argparse.Namespace) -> int:
        """Move old conversations to the trash, or with --originals old sessions with summaries."""
        before = moment_of(options.older_than, self.sessions.now())
        if before > self.sessions.now():
            raise UsageError(f"“{options.older_than[:40]}” is in the future.")
        asking = not (options.dry_run or options.yes)
        if asking and not sys.stdin.isatty():
            hint = "--yes skips the question, --dry-run only shows what would be moved."
            raise UsageError("Confirmation needs a terminal.", hint)
        links = self.own.links()
        chosen = self._cleanable(before, links, originals=options.originals)
        count = plural(len(chosen), "session")
        if not (asking and chosen):
            out(_rows_text(chosen))
        if options.dry_run or not chosen:
            err(f"{count} would go to the trash." if chosen else "There is nothing to clean.")
            return 0
        if asking and not _agrees_to_move(chosen):
            err("Nothing was moved.")
            return 1
        staying: set[str] = set()
        moved = 0
        for row in chosen:  # children first: if a session stays, its ancestors stay as well
            if row.id in staying:
                err(f"{row.id} stays: another session that stays continues it.")
            elif _try_each(self.sessions.move_to_trash, row.path):
                moved += 1
            elif not options.originals:
                staying |= lineage.ancestry([row.id], links)
        text = f"{plural(moved, 'session')} moved to the trash; chat-loop sessions restore ID"
        err(f"{text} restores one." if moved else "Nothing was moved.")
        return int(moved < len(chosen))

    def _cleanable(
        self, before: datetime, links: Mapping[str, Link], *, originals: bool
    ) -> Sequence[SessionRow]:
        """Return the sessions that `clean` moves, children first."""
        rows, _ = self.own.rows(fold=False)
        if not originals:
            return lineage.old_chains(rows, links, before)
        candidates = {row.id for row in lineage.old_originals(rows, links, before)}
        needed = {*self._needed(candidates, links)}
        return lineage.old_originals(rows, links, before, needed)

    def _needed(self, candidates: set[str], links: Mapping[str, Link]) -> Iterator[str]:
        """Yield the sessions that are needed: those without a complete summary, and ancestors."""
        for identity in links:
            family = lineage.ancestry([identity], links)
            if not candidates.isdisjoint(family):
                try:
                    loaded = self.load(identity)
                    seal = loaded.session.seal if loaded.is_sealable else None
                except SessionError:
                    seal = None
                if seal is None or seal.summary is None or seal.covers is not None:
                    yield from family


def _agrees_to_move(rows: Sequence[SessionRow]) -> bool:
    """Ask whether sessions may be moved to the trash."""

    listed = _rows_text(rows, lambda row: visible_newlines(row.name)).rstrip("\n")
    sentence = f"Move {plural(len(rows), 'session')} to the trash?"
    return ask(Question(sentence, CONFIRMING, (listed,))) == "yes"


def _rows_text(
    rows: Sequence[SessionRow],
    name_of: Callable[[SessionRow], str] = lambda row: one_line(row.name),
) -> str:
    """Return a line for each session."""
    lines = (f"{drawn.date_text(row):<16}  {row.id}  {name_of(row)}" for row in rows)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _try_each(act: Callable[..., object], *arguments: object) -> bool:
    """Run an action; report a failure and return False, so that the others continue."""
    try:
        act(*arguments)
    except ChatLoopError as error:
        err(f"{error.message} {error.hint}".rstrip())
        return False
    return True
