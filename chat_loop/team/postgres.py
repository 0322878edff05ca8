"""A team's library in PostgreSQL: one index of the sessions of many owners and machines.

`postgres.sql` defines the tables and who may see a row; only the database enforces that. A session
is stored once. `copies` lists the files that it was read from, by machine and folder.
"""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from chat_loop.errors import IndexUnavailable, install_hint
from chat_loop.library.filters import SessionFilter
from chat_loop.library.indexed import (
    RUNNING,
    SPACE,
    Condition,
    IndexedSession,
    Likely,
    Phrase,
    Position,
    Scope,
    StoredExchange,
    Terms,
    VectorRow,
    columns_of,
    where_clause,
)
from chat_loop.library.shared import Cursor, SharedPage
from chat_loop.sessions.chain import Link
from chat_loop.sessions.records import ALL, RunningTotals, SessionRow
from chat_loop.sessions.rows import Stale, Stamps, stale_files

try:
    import psycopg
    from psycopg import conninfo, errors

    IS_INSTALLED = True
except ImportError:  # `Postgres` reports it
    IS_INSTALLED = False

VERSION = 2
"""The version of `postgres.sql`. The role that created an older version recreates the tables."""
DEFAULTS = {
    "connect_timeout": "2",
    "application_name": "chat-loop",
    "tcp_user_timeout": "10000",
    "target_session_attrs": "read-write",
}
STATEMENT_SECONDS = 20
_BYTES_OF_VECTOR = 384
_NEAREST = 200  # passages that pgvector looks for
_CAPPED = 20_000  # the most exchanges that are counted exactly, or whose vectors are read
_SCORED = 5_000  # the most exchanges with a word that are counted; the newest of them are scored
_MOST_SESSIONS = 50_000  # the newest sessions that match a filter; only these are searched
_INDEXED = 400_000  # searchable characters of an exchange: a tsvector is limited to 1 MB
_SETTINGS = (
    f"SET statement_timeout = '{STATEMENT_SECONDS}s'; SET lock_timeout = '5s'; SET jit = off; "
    "SET search_path = chat_loop, pg_temp; SET standard_conforming_strings = on"
)
_TESTS = {"contains": "strpos({}, %s) > 0", ">=": "{} >= %s", "<": "{} < %s"}
_SCHEMA = Path(__file__).with_name("postgres.sql").read_text("utf-8")
_PASSAGES = (
    "CREATE TABLE passages (owner name NOT NULL DEFAULT current_user, content bytea NOT NULL, "
    "passage vector(384) NOT NULL, FOREIGN KEY (owner, content) REFERENCES vectors ON DELETE "
    "CASCADE); CREATE INDEX passages_near ON passages USING hnsw (passage vector_cosine_ops); "
    "CREATE INDEX passages_content ON passages (content); SELECT protect('passages')"
)
_LINKS = msgspec.json.Decoder(list[Link])
_NEWEST = "ORDER BY used DESC NULLS LAST, id DESC"
_AFTER = (
    "(used < %s OR (used IS NULL AND %s::float8 IS NOT NULL) "
    "OR (used IS NOT DISTINCT FROM %s AND id < %s))"
)
_AT_POSITIONS = (
    "exchanges e JOIN unnest(%s::bigint[], %s::int[]) AS wanted (session, position) "
    "ON e.session = wanted.session AND e.position = wanted.position"
)
_INSERT_EXCHANGE = (
    "WITH added AS (INSERT INTO exchanges (session, position, number, archived, content, at, "
    "texts, lines) VALUES (%s, %s, %s, %s, %s, %s, %s, %s) RETURNING key, session, lines) "
    "INSERT INTO sentences (exchange, session, words) SELECT key, session, "
    f"to_tsvector('chat_loop.words', left(lines, {_INDEXED})) FROM added"
)
_FAMILY = """
WITH RECURSIVE family (id, parent, merged) AS (
    SELECT id, parent, merged FROM sessions WHERE id = ANY (%s)
    UNION
    SELECT r.* FROM family f CROSS JOIN LATERAL (
        SELECT id, parent, merged FROM sessions WHERE id IN (f.parent, f.merged)
        UNION ALL SELECT id, parent, merged FROM sessions WHERE parent = f.id AND parent <> ''
        UNION ALL SELECT id, parent, merged FROM sessions WHERE merged = f.id AND merged <> ''
    ) AS r
)
SELECT link, used, {admitted} FROM sessions WHERE id IN (SELECT id FROM family)
ORDER BY used DESC NULLS LAST, id DESC
"""


def name_of(url: str) -> str:
    """Return the name of a library: its host and database, without user and password."""
    host, _, name = url.partition("://")[2].rpartition("@")[2].partition("?")[0].partition("/")
    return f"postgresql://{host}/{name}"


class Postgres:
    """A connection to a team's library for the sessions of one folder, for one thread at a time.
    Every method may raise IndexUnavailable.
    """

    def __init__(self, directory: Path, url: str) -> None:
        self.name = name_of(url)
        self.place = f"{platform.node()}:{directory.resolve()}"
        self._rows = msgspec.json.Decoder(SessionRow, dec_hook=lambda kind, value: directory)
        if not IS_INSTALLED:
            hint = install_hint("postgres")
            raise IndexUnavailable(f"The library {self.name} needs psycopg: {hint}.")
        self._password = ""
        try:
            values = {**DEFAULTS, **conninfo.conninfo_to_dict(url)}
        except psycopg.ProgrammingError:
            # without its cause, whose text contains the password
            text = f"The library {self.name} has a URL that PostgreSQL does not understand."
            raise IndexUnavailable(text) from None
        self._password = str(values.get("password", ""))
        with self._translated():
            self._database = psycopg.connect(
                conninfo.make_conninfo("", **values), autocommit=True, prepare_threshold=None
            )
        with contextlib.ExitStack() as unusable:
            unusable.callback(self.close)
            self.ask(_SETTINGS)
            self._prepare()
            unusable.pop_all()

    def close(self) -> None:
        self._database.close()

    def ask(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Run an SQL statement and return its rows."""
        with self._translated():
            cursor = self._database.execute(statement, values or None)
            if cursor.description is None:
                return []
            return cursor.fetchall()

    @contextlib.contextmanager
    def transaction(self, *, writes: bool = False) -> Iterator[None]:
        """Run the statements of a context on one snapshot or, if it `writes`, as one change."""
        self.ask("BEGIN" if writes else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        try:
            yield
            self.ask("COMMIT")
        finally:
            if not self._database.closed and self._database.info.transaction_status:
                with contextlib.suppress(psycopg.Error):
                    self._database.rollback()

    def damage(self) -> IndexUnavailable:
        """Return the error for an index with impossible content."""
        return IndexUnavailable(f"The library {self.name} contains impossible values.")

    def version(self) -> None:
        """Return None: others may write at any time, so do not reuse any earlier answer."""

    def stale(self, files: Stamps) -> Stale:
        """Compare `files` with the stored ones. This ignores sessions that were stored from other
        folders and machines. All have their texts.
        """
        rows = self.ask(
            "SELECT c.changed, s.id, c.size FROM copies c JOIN sessions s ON s.key = c.session "
            "WHERE c.owner = current_user AND c.place = %s",
            (self.place,),
        )
        return stale_files(files, rows)

    def page(self, wanted: SessionFilter, limit: int, after: Cursor | None) -> SharedPage:
        """Return the next `limit` wanted sessions, last used first, and their relatives."""
        some = wanted.conditions(of_newest=False)
        newest = wanted.conditions(of_any=False)
        where, values = where_clause(some or newest, _TESTS)
        if after is not None:
            where = f"{where or 'WHERE true'} AND {_AFTER}"
            values += [after.used, after.used, after.used, after.id]
        most = limit
        while True:
            found = self.ask(
                f"SELECT id, used FROM sessions {where} {_NEWEST} LIMIT {most}", values
            )
            ids = list(dict.fromkeys(identity for identity, _ in found))
            if len(ids) >= limit or len(found) < most:
                break
            most *= 2  # several owners have the same sessions
        last = None
        if len(found) == most:
            identity, used = found[-1]
            last = Cursor(used, identity)
        page = self.family(ids, newest, last)
        if last is None or wanted:
            return page
        [(count,)] = self.ask("SELECT count(*) FROM sessions WHERE listed AND parent = ''")
        return msgspec.structs.replace(page, beginnings=int(count))

    def family(
        self,
        ids: Sequence[str],
        newest: Sequence[Condition] = (),
        last: Cursor | None = None,
    ) -> SharedPage:
        """Return sessions with their relatives. A conversation's newest session must meet `newest`,
        and must not have been used before the `last` session that was examined.
        """
        where, values = where_clause(newest, _TESTS)
        admitted = where.removeprefix("WHERE ") or "true"
        found = self.ask(_FAMILY.format(admitted=admitted), ([*ids], *values))
        with self._translated():
            decoded = _LINKS.decode(f"[{','.join(link for link, _, _ in found)}]")
        links: dict[str, Link] = {}
        used: dict[str, float] = {}
        listed = set[str]()
        for link, (_, seconds, is_admitted) in zip(decoded, found, strict=True):
            if link.id in links:  # if two owners have a session, its newest state comes first
                continue
            links[link.id] = link
            used[link.id] = seconds or 0.0
            if is_admitted and (
                last is None or (seconds or 0.0, link.id) >= (last.used or 0.0, last.id)
            ):
                listed.add(link.id)
        return SharedPage(wanted={*ids}, newest=listed, links=links, used=used, next=last)

    def _row(self, owner: str, text: str) -> SessionRow:
        with self._translated():
            row = self._rows.decode(text)
        if owner == self.owner:
            owner = ""
        return msgspec.structs.replace(row, owner=owner)

    def running_totals(self, ids: Sequence[str]) -> dict[str, list[RunningTotals]]:
        """Return the running totals of sessions, preferably this owner's; not of those of which
        only the row was read.
        """
        if not ids:
            return {}
        found = self.ask(
            "SELECT DISTINCT ON (id) id, running FROM sessions WHERE id = ANY (%s) "
            "ORDER BY id, owner <> current_user, changed DESC",
            ([*ids],),
        )
        with self._translated():
            return {identity: RUNNING.decode(text) for identity, text in found if text}

    def rows(self, ids: Sequence[str]) -> dict[str, SessionRow]:
        """Return the rows of the indexed sessions among `ids`, preferably this owner's rows."""
        found = self.ask(
            "SELECT DISTINCT ON (id) owner::text, row FROM sessions WHERE id = ANY (%s) "
            "ORDER BY id, owner <> current_user, changed DESC",
            ([*ids],),
        )
        rows = [self._row(owner, text) for owner, text in found]
        return {row.id: row for row in rows}

    def put(self, sessions: Sequence[IndexedSession]) -> None:
        """Store this owner's sessions, replacing earlier versions of them. If another owner has
        stored a session in the same state, only note that it is in this folder, too.
        """
        ids = [session.row.id for session in sessions]
        columns = {session.row.id: _columns(session) for session in sessions}
        with self.transaction(writes=True):
            theirs: dict[str, int] = {}
            stored = self.ask(
                "SELECT id, key, size, link FROM sessions "
                "WHERE id = ANY (%s) AND owner <> current_user",
                (ids,),
            )
            for identity, key, size, link in stored:
                if columns[identity]["size"] == size and columns[identity]["link"] == link:
                    theirs[identity] = key
            self._remove("id = ANY (%s)", ([*theirs],))
            own = [session for session in sessions if session.row.id not in theirs]
            for session in own:
                values = columns[session.row.id]
                names = ", ".join(values)
                marks = ", ".join(["%s"] * len(values))
                news = ", ".join(f"excluded.{name}" for name in values)
                [(key,)] = self.ask(
                    f"INSERT INTO sessions ({names}) VALUES ({marks}) "
                    f"ON CONFLICT (owner, id) DO UPDATE SET ({names}) = ROW ({news}) RETURNING key",
                    [*values.values()],
                )
                theirs[session.row.id] = key
                for table in ("exchanges", "message_summaries"):
                    self.ask(f"DELETE FROM {table} WHERE session = %s", (key,))
                if session.summary:
                    summary = key, session.archived, *session.summary
                    names = "session, last, tokens, before, after, cost"
                    self.ask(
                        f"INSERT INTO message_summaries ({names}) VALUES (%s, %s, %s, %s, %s, %s)",
                        summary,
                    )
                self._insert_exchanges(key, session)
            copies = []
            for session in sessions:
                key = theirs[session.row.id]
                copies.append((self.place, key, session.changed, session.size))
            self._many(
                "INSERT INTO copies (place, session, changed, size) VALUES (%s, %s, %s, %s) "
                "ON CONFLICT (session, owner, place) "
                "DO UPDATE SET (changed, size) = ROW (excluded.changed, excluded.size)",
                copies,
            )

    def _insert_exchanges(self, key: int, session: IndexedSession) -> None:
        rows = []
        for position, exchange in enumerate(session.exchanges, 1):
            archived = int(exchange.number <= session.archived)
            start = key, position, exchange.number, archived, exchange.digest, exchange.at
            rows.append((*start, exchange.json, exchange.lines.replace("\0", " ")))
        self._many(_INSERT_EXCHANGE, rows)

    def _many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Run a statement once for each row."""
        with self._translated(), self._database.cursor() as cursor:
            cursor.executemany(statement, rows)

    def _remove(self, condition: str, values: Sequence[object]) -> None:
        """Delete this owner's sessions that meet a condition."""
        self.ask(f"DELETE FROM sessions WHERE owner = current_user AND {condition}", values)

    def drop(self, ids: Iterable[str]) -> None:
        """Delete sessions that are in no other folder of this owner, and the vectors of texts that
        no other session contains.
        """
        gone = [*ids]
        with self.transaction(writes=True):
            self.ask(
                "DELETE FROM copies c USING sessions s WHERE c.session = s.key "
                "AND s.id = ANY (%s) AND c.owner = current_user AND c.place = %s",
                (gone, self.place),
            )
            elsewhere = "SELECT session FROM copies WHERE owner = current_user"
            self._remove(f"id = ANY (%s) AND key NOT IN ({elsewhere})", (gone,))
            self.ask(
                "DELETE FROM vectors v WHERE owner = current_user AND NOT EXISTS "
                "(SELECT 1 FROM exchanges e WHERE e.content = v.content)"
            )

    def erase(self, ids: Sequence[str]) -> None:
        """Delete this owner's sessions, whichever folders they are in."""
        self._remove("id = ANY (%s)", ([*ids],))

    def keep_vectors(self, rows: Sequence[VectorRow]) -> None:
        """Store vectors of the exchanges that are in the library."""
        contents = [content for content, _ in rows]
        size = _BYTES_OF_VECTOR
        parts = []
        for content, data in rows:
            for at in range(0, len(data) - size + 1, size):
                parts.append((content, _vector(data[at : at + size]), content))
        with self.transaction(writes=True):
            self._many(
                "INSERT INTO vectors (content, space, data) SELECT %s, %s, %s "
                "WHERE EXISTS (SELECT 1 FROM exchanges WHERE content = %s) "
                "ON CONFLICT (owner, content) "
                "DO UPDATE SET (space, data) = ROW (excluded.space, excluded.data)",
                [(content, SPACE, data, content) for content, data in rows],
            )
            if self._has_pgvector:
                self.ask(
                    "DELETE FROM passages WHERE owner = current_user AND content = ANY (%s)",
                    (contents,),
                )
                self._many(
                    "INSERT INTO passages (content, passage) SELECT %s, %s::vector WHERE EXISTS "
                    "(SELECT 1 FROM vectors WHERE content = %s AND owner = current_user)",
                    parts,
                )

    def exchange_count(self) -> int:
        """Return the number of exchanges. Above _CAPPED, it is an estimate for all owners."""
        found = f"SELECT 1 FROM exchanges LIMIT {_CAPPED + 1}"
        [(count, estimate)] = self.ask(
            f"SELECT (SELECT count(*) FROM ({found}) AS few), reltuples::bigint "
            "FROM pg_class WHERE oid = 'chat_loop.exchanges'::regclass"
        )
        if count > _CAPPED:
            count = max(count, estimate)
        return int(count)

    def count(self, phrases: Sequence[Phrase], most: int) -> int:
        """Return the number of exchanges that contain one of these phrases, at most `most` and
        _SCORED.
        """
        # with a small limit, the server would read all rows until it found a rare word
        statement = "SELECT holding(to_tsquery('chat_loop.words', %s), %s)"
        [(count,)] = self.ask(statement, (_query(phrases), _SCORED))
        return min(int(count), most)

    def likely(self, terms: Terms, scope: Scope, limit: int) -> list[Likely]:
        """Return the exchanges that match one of these terms, best first by the terms' weights."""
        return self._matching(terms, scope, f"score DESC, m.exchange LIMIT {limit}")

    def newest(self, phrases: Sequence[Phrase], scope: Scope, limit: int) -> list[Likely]:
        """Return the exchanges that contain one of these phrases, newest first."""
        return self._matching([(phrases, 1.0)], scope, f"e.at DESC LIMIT {limit}")

    def _matching(self, terms: Terms, scope: Scope, order: str) -> list[Likely]:
        queries = [_query(phrases) for phrases, _ in terms]
        weights = [weight for _, weight in terms]
        keys, until = self._in_scope(scope)
        rows = self.ask(
            "SELECT e.at, e.session, e.position, m.score FROM matching("
            "ARRAY(SELECT to_tsquery('chat_loop.words', q) FROM unnest(%s::text[]) AS q), "
            f"%s::float8[], %s::bigint[], {_SCORED}) AS m "
            f"JOIN exchanges e ON e.key = m.exchange WHERE {until} ORDER BY {order}",
            (queries, weights, keys),
        )
        return [*map(Likely._make, rows)]

    def said_on(self, days: Sequence[str], scope: Scope, limit: int) -> list[Position]:
        """Return the first exchanges of these days, which `days.named` found in a query."""
        keys, until = self._in_scope(scope)
        rows = self.ask(
            "SELECT e.session, e.position FROM exchanges e WHERE e.at LIKE ANY (%s) "
            f"AND (%s::bigint[] IS NULL OR e.session = ANY (%s)) AND {until} "
            f"ORDER BY e.at, e.position LIMIT {limit}",
            ([f"{day}%" for day in days], keys, keys),
        )
        return [(session, position) for session, position in rows]

    def words_at(self, positions: Iterable[Position]) -> dict[Position, str]:
        """Return the lines that `terms.lines` made of the exchanges at these positions."""
        rows = self.ask(
            f"SELECT e.session, e.position, e.lines FROM {_AT_POSITIONS}", _arrays(positions)
        )
        return {(session, position): lines for session, position, lines in rows}

    def exchanges_at(self, positions: Iterable[Position]) -> dict[Position, StoredExchange]:
        """Return the exchanges at these positions."""
        rows = self.ask(
            "SELECT e.session, e.position, s.id, e.number, e.at, e.texts "
            f"FROM {_AT_POSITIONS} JOIN sessions s ON s.key = e.session",
            _arrays(positions),
        )
        return {(row[0], row[1]): StoredExchange(*row[2:]) for row in rows}

    def texts_of(self, identity: str) -> list[StoredExchange]:
        """Return the exchanges of a session, from the same owner as the row that `rows` returns."""
        rows = self.ask(
            "SELECT s.id, e.number, e.at, e.texts FROM exchanges e JOIN sessions s "
            "ON s.key = e.session WHERE s.key = (SELECT key FROM sessions WHERE id = %s "
            "ORDER BY owner <> current_user, changed DESC LIMIT 1) ORDER BY e.position",
            (identity,),
        )
        return [*map(StoredExchange._make, rows)]

    def vectors(
        self, scope: Scope, also: Collection[Position], embed: Callable[[], bytes]
    ) -> dict[Position, bytes]:
        """Return vectors in SPACE: with pgvector, of those in `also` and the ones nearest to the
        vector that `embed` returns, and without it, of the newest.
        """
        keys, until = self._in_scope(scope)
        here = f"(%s::bigint[] IS NULL OR e.session = ANY (%s)) AND {until}"
        select = "SELECT e.session, e.position, v.data FROM exchanges e JOIN vectors v"
        values: list[object] = [SPACE, keys, keys]
        question = b""
        if self._has_pgvector:
            question = embed()
        if question:
            select = (
                "WITH nearest AS MATERIALIZED (SELECT content FROM passages "
                f"ORDER BY passage <=> %s::vector LIMIT {_NEAREST}) {select}"
            )
            is_near = "(e.session, e.position) IN (SELECT * FROM unnest(%s::bigint[], %s::int[]))"
            here += f" AND (e.content IN (SELECT content FROM nearest) OR {is_near})"
            values = [_vector(question), *values, *_arrays(also)]
        rows = self.ask(
            f"{select} USING (content) WHERE v.space = %s AND {here} "
            f"ORDER BY e.key DESC LIMIT {_CAPPED}",
            values,
        )
        return {(session, position): bytes(data) for session, position, data in rows}

    def lacking(self, limit: int) -> list[bytes]:
        """Return the digests of exchanges without vectors in this owner's ended sessions, the last
        changed session first.
        """
        rows = self.ask(
            "SELECT e.content FROM exchanges e JOIN sessions s ON s.key = e.session "
            "WHERE s.state <> 'unsealed' AND e.owner = current_user AND NOT EXISTS (SELECT 1 "
            "FROM vectors v WHERE v.content = e.content AND v.space = %s) "
            "ORDER BY s.changed DESC, e.position LIMIT %s",
            (SPACE, limit),
        )
        return [bytes(content) for (content,) in rows]

    def _in_scope(self, scope: Scope) -> tuple[list[int] | None, str]:
        """Return the keys of the sessions in a scope, or None for all sessions, and a condition on
        the exchange `e`.
        """
        if scope.last_queries is None:
            if not scope.conditions:
                return None, "true"
            where, values = where_clause(scope.conditions, _TESTS)
            rows = self.ask(
                f"SELECT key FROM sessions {where} {_NEWEST} LIMIT {_MOST_SESSIONS}", values
            )
            return [key for (key,) in rows], "true"
        found = self.ask(
            "SELECT key, id FROM sessions WHERE id = ANY (%s)", ([*scope.last_queries],)
        )
        limits = [(key, scope.last_queries[identity]) for key, identity in found]
        until = [f"NOT (e.session = {key} AND e.number > {at})" for key, at in limits if at != ALL]
        return [key for key, _ in limits], " AND ".join(until) or "true"

    def _prepare(self) -> None:
        """Create the tables if they are missing or of an older version. Raises IndexUnavailable if
        they are of a newer version, or of an older one that another role created.
        """
        [(self.owner, encoding, found, maker, vectors, passages)] = self.ask(
            "SELECT current_user::text, current_setting('server_encoding'), "
            "to_regclass('chat_loop.version')::text, (SELECT pg_get_userbyid(nspowner)::text "
            "FROM pg_namespace WHERE nspname = 'chat_loop'), (SELECT extnamespace::regnamespace"
            "::text FROM pg_extension WHERE extname = 'vector'), "
            "to_regclass('chat_loop.passages')::text"
        )
        if encoding != "UTF8":
            raise IndexUnavailable(
                f"The library {self.name} has the encoding {encoding}, not UTF8."
            )
        newest = 0
        if found:
            [(newest,)] = self.ask("SELECT coalesce(max(number), 0) FROM version")
        if newest > VERSION:
            text = f"The library {self.name} is of a newer version: update chat-loop."
            raise IndexUnavailable(text)
        if maker not in (None, self.owner) and newest < VERSION:
            text = f"The library {self.name} is of an older version: {maker} updates it"
            raise IndexUnavailable(f"{text} by starting this version of chat-loop.")
        if newest < VERSION:
            with self.transaction(writes=True):
                self.ask("SELECT pg_advisory_xact_lock(hashtext('chat_loop'))")
                if self.ask("SELECT to_regclass('chat_loop.version')") == [(found,)]:
                    self.ask(f"DROP SCHEMA IF EXISTS chat_loop CASCADE; {_SCHEMA}")
                    self.ask("INSERT INTO version VALUES (%s)", (VERSION,))
        if vectors and not passages and maker in (None, self.owner):
            self.ask(f"SET search_path = chat_loop, {vectors}; {_PASSAGES}")
            passages = "passages"
        self._has_pgvector = bool(vectors and passages)
        if self._has_pgvector:
            near = f"hnsw.ef_search = {_NEAREST}; SET hnsw.iterative_scan = relaxed_order"
            self.ask(f"SET search_path = chat_loop, {vectors}, pg_temp; SET {near}")

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        """Translate the server's errors into IndexUnavailable, except those that bugs cause."""
        try:
            yield
        except psycopg.Error as error:
            if isinstance(error, errors.SyntaxError):
                raise
            raise IndexUnavailable(
                f"The library {self.name} cannot be used now: {self._reason(error)}."
            ) from error
        except msgspec.MsgspecError as error:
            raise self.damage() from error

    def _reason(self, error: psycopg.Error) -> str:
        """Return the cause of an error, without the password."""
        match error:
            case errors.QueryCanceled():
                return f"it took longer than {STATEMENT_SECONDS} s"
            case errors.InsufficientPrivilege():
                return "its administrator has to allow it (docs/team.md)"
            case errors.UndefinedTable() | errors.UndefinedColumn() | errors.UndefinedFunction():
                return "its tables were changed"
        text = " ".join(str(error).split()).removeprefix("connection failed: ").rstrip(".")
        if self._password:
            text = text.replace(self._password, "…")
        return text[:200]


def _columns(session: IndexedSession) -> dict[str, object]:
    """Return the columns of a session without NUL characters, which PostgreSQL cannot store."""
    link = session.link
    ties = {"parent": link.parent, "merged": link.merged, "listed": link.is_listed}
    columns = {**columns_of(session), **ties}
    for name, value in columns.items():
        if isinstance(value, str):
            columns[name] = value.replace("\0", " ")
    return columns


def _query(phrases: Sequence[Phrase]) -> str:
    """Return the tsquery for texts that contain one of these phrases."""
    several = []
    for words, is_beginning in phrases:
        quoted = ["'" + word.replace("\\", "").replace("'", "") + "'" for word in words]
        several.append(" <-> ".join(quoted) + ":*" * is_beginning)
    return " | ".join(f"({one})" for one in several)


def _arrays(positions: Iterable[Position]) -> tuple[list[int], list[int]]:
    """Return the keys of the sessions and the positions in them, as two parallel lists."""
    pairs = [*positions]
    return [session for session, _ in pairs], [position for _, position in pairs]


def _vector(data: bytes) -> str:
    """Return a vector of signed bytes in pgvector's text format."""
    return str(memoryview(data).cast("b").tolist())
