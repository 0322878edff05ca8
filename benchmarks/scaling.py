"""A library of 10,000, 100,000 and, with --sessions 1000000, a million sessions in PostgreSQL,
beside the index of a folder in SQLite.

The sessions are synthetic: two to four exchanges each, with words as frequent as those of a
language, by twenty owners. They are loaded with COPY, not through the program. Then the program
asks, on an open connection, for the first page of the list, for the same with filters, and for
searches by words. The server is Debian's with its usual settings, except for `fsync`; everything
fits into this machine's memory. A reader of all owners is the worst case; a reader of one owner
sees a twentieth.
"""

from __future__ import annotations

import random
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TypeVar

import psycopg
from msgspec import Struct

from benchmarks.support.postgres_server import PostgresServer, binaries, temporary_server
from benchmarks.support.results import NotMeasured, Results, Settings
from chat_loop.library.engine import Engine, IndexedExchange, IndexedSession, columns_of
from chat_loop.library.index import FILE, Index
from chat_loop.library.library import Database, Library, SessionFilter
from chat_loop.library.postgres import PostgresIndex
from chat_loop.library.search import search_all
from chat_loop.library.terms import lines
from chat_loop.sessions.records import Header, Query, Reply, Seal, Session, SessionRow, Summary
from chat_loop.sessions.writer import render
from chat_loop.values import Usage

SIZES, SQLITE_SIZES = (10_000, 100_000), (10_000, 100_000)
OWNERS, POOL, ROUNDS, PAGE = 20, 10_000, 5, 20
END = datetime(2026, 11, 1, tzinfo=UTC)
VOCABULARY = 30_000
FUNCTION_WORDS = [
    "the",
    "of",
    "and",
    "to",
    "in",
    "is",
    "that",
    "it",
    "for",
    "on",
    "with",
    "as",
    "this",
    "be",
    "at",
    "from",
    "by",
    "or",
    "an",
    "are",
    "not",
    "we",
]
RARE = "zanzibar"  # one session in a thousand mentions it
LISTS = {
    "list": SessionFilter(),
    "filter by a rare word": SessionFilter(words=RARE),
    "filter by project": SessionFilter(project="project-17"),
    "filter by tag": SessionFilter(words="#tag10"),
}

T = TypeVar("T")


class Talk(Struct, frozen=True):
    """An exchange of the pool, and its words as the server indexes them."""

    query: str
    exchange: IndexedExchange
    vector: str = ""


class Pool:
    """Exchanges in pseudo-words with the frequencies of a natural language."""

    def __init__(self) -> None:
        self._chance = random.Random(7)
        letters = "etaoinshrdlucmfwypvbgk"
        words = {
            "".join(self._chance.choices(letters, k=self._chance.randint(3, 9)))
            for _ in range(VOCABULARY)
        }
        self.words = [
            *FUNCTION_WORDS,
            *sorted(sorted(words), key=lambda word: self._chance.random()),
        ]
        self._weights = [*accumulate(1 / rank for rank in range(3, len(self.words) + 3))]
        self.talks = [self._talk() for _ in range(POOL)]

    def searches(self, total: int) -> dict[str, str]:
        """Return the queries for a library of `total` sessions."""
        return searches([talk.exchange.lines for talk in self.talks], total)

    def _sentence(self, least: int, most: int) -> str:
        count = self._chance.randint(least, most)
        return " ".join(self._chance.choices(self.words, cum_weights=self._weights, k=count))

    def _talk(self) -> Talk:
        query = f"{self._sentence(4, 12)}?"
        reply = " ".join(f"{self._sentence(6, 16)}." for _ in range(self._chance.randint(1, 4)))
        texts = ("User", query), ("Assistant", reply)
        at = END.isoformat()
        return Talk(query, IndexedExchange(1, at, texts, lines(query, reply)))


def session_of(number: int, total: int, pool: Pool) -> tuple[SessionRow, list[Talk], str]:
    """Return a session, its exchanges, and words that are rare or unique to it."""
    chance = random.Random(number)
    at = END - timedelta(minutes=5 * (total - number))
    talks = chance.choices(pool.talks, k=chance.randint(2, 4))
    special = f" {RARE}" if number % 1_000 == 0 else ""
    row = SessionRow(
        id=f"assistant_{at:%Y%m%d_%H%M%S}_{number}",
        folder=Path(),
        state="sealed",
        updated=at,
        created=at,
        agent="Assistant",
        project=f"/home/user/project-{number % 50}",
        # every fifth session continues the previous one
        parent=f"assistant_{at - timedelta(minutes=5):%Y%m%d_%H%M%S}_{number - 1}"
        if number % 5 == 4
        else "",
        queries=len(talks),
        tokens=120 * len(talks),
        name=talks[0].query[:60] + special,
        tags=(f"tag{number % 40}",) if number % 4 == 0 else (),
        spent=(("anthropic:claude-sonnet-5-5", Usage(input=300, output=200)),),
    )
    return row, talks, f" case{number}{special}"


def fill_postgres(server: PostgresServer, database: str, total: int, pool: Pool) -> None:
    """Fill a database with COPY, then create its indexes."""
    owners = [f"owner{number}" for number in range(OWNERS)]
    with psycopg.connect(server.url(database)) as connection:
        run = connection.execute
        run("SET session_replication_role = replica")  # no constraint is checked
        run("SET maintenance_work_mem = '1GB'")
        vectors = []
        for at in range(0, POOL, 1_000):
            several = [talk.exchange.lines for talk in pool.talks[at : at + 1_000]]
            found = run(
                "SELECT to_tsvector('chat_loop.words', t)::text FROM unnest(%s::text[]) "
                "WITH ORDINALITY AS u (t, n) ORDER BY n",
                (several,),
            )
            vectors += [vector for (vector,) in found]
        made = run(
            "SELECT indexname::text, indexdef FROM pg_indexes WHERE schemaname = 'chat_loop' AND "
            "indexname NOT IN (SELECT conname FROM pg_constraint)"
        ).fetchall()
        for name, _ in made:
            run(f"DROP INDEX chat_loop.{name}".encode())
        names = "key, owner, id, size, changed, used, state, agent, project, tags, searched, queries, tokens, link, row, parent, merged, listed"
        cursor = connection.cursor()
        with cursor.copy(f"COPY chat_loop.sessions ({names}) FROM STDIN".encode()) as copy:
            for number in range(1, total + 1):
                row, _, _ = session_of(number, total, pool)
                session = IndexedSession(row=row, size=2_000, changed=number)
                ends = row.parent, "", session.link.is_listed
                copy.write_row(
                    (number, owners[number % OWNERS], *columns_of(session).values(), *ends)
                )
        names = "key, owner, session, position, number, archived, content, at, texts, lines"
        with cursor.copy(f"COPY chat_loop.exchanges ({names}) FROM STDIN".encode()) as copy:
            for key, number, position, (talk, special) in exchanges_of(total, pool):
                exchange = talk.exchange
                texts = exchange.json.replace('?"', f'?{special}"', 1)
                words = f"{exchange.lines}{special}"
                place = number, position, position, 1, key.to_bytes(16, "big"), exchange.at
                copy.write_row((key, owners[number % OWNERS], *place, texts, words))
        vector_of = dict(zip(map(id, pool.talks), vectors, strict=True))
        names = "exchange, owner, session, words"
        with cursor.copy(f"COPY chat_loop.sentences ({names}) FROM STDIN".encode()) as copy:
            for key, number, _, (talk, special) in exchanges_of(total, pool):
                more = "".join(f" '{word}':999" for word in special.split())
                copy.write_row((key, owners[number % OWNERS], number, vector_of[id(talk)] + more))
        for _, definition in made:
            run(definition.encode())
        for table in ("sessions", "exchanges"):
            run(
                f"SELECT setval(pg_get_serial_sequence('chat_loop.{table}', 'key'), "
                f"(SELECT max(key) FROM chat_loop.{table}))".encode()
            )
    for _ in range(2):  # the second run can mark all rows as visible to everyone
        server.run("VACUUM (ANALYZE)", database)


def exchanges_of(total: int, pool: Pool) -> Iterator[tuple[int, int, int, tuple[Talk, str]]]:
    """Yield key, session, position, and the exchange with its special words."""
    key = 0
    for number in range(1, total + 1):
        _, talks, special = session_of(number, total, pool)
        for position, talk in enumerate(talks, 1):
            key += 1
            yield key, number, position, (talk, special if position == 1 else "")


def fill_sqlite(folder: Path, total: int, pool: Pool) -> None:
    """Fill the index of a folder without files."""
    Index(folder).close()
    with closing(sqlite3.connect(folder / FILE)) as database:
        marks = ", ".join("?" * 14)
        for number in range(1, total + 1):
            row, _, _ = session_of(number, total, pool)
            session = IndexedSession(row=row, size=2_000, changed=number)
            values = number, *columns_of(session).values()
            database.execute(f"INSERT INTO sessions VALUES ({marks})", values)
        for key, number, position, (talk, special) in exchanges_of(total, pool):
            exchange = talk.exchange
            texts = exchange.json.replace('?"', f'?{special}"', 1)
            place = key, number, position, position, 1, key.to_bytes(16, "big"), exchange.at, texts
            database.execute("INSERT INTO exchanges VALUES (?, ?, ?, ?, ?, ?, ?, ?)", place)
            words = f"{exchange.lines}{special}"
            database.execute("INSERT INTO sentences (rowid, words) VALUES (?, ?)", (key, words))
        database.commit()


class Filled(Library):
    """The library of a folder whose sessions are only in the index."""

    def __init__(self, index: Index) -> None:
        super().__init__(index.directory)
        self._filled = index

    def ask(self, question: Callable[[Engine], T], **_: object) -> T:
        with self._filled.transaction():
            return question(self._filled)


def searches(indexed: Sequence[str], total: int) -> dict[str, str]:
    """Return queries by kind, with words of different frequency in the exchanges `indexed`."""
    held = Counter(word for text in indexed for word in {*text.split()} if 3 < len(word) < 8)
    by_share = sorted((count / len(indexed), word) for word, count in held.items())

    def word(share: float) -> str:
        return min(by_share, key=lambda known: abs(known[0] - share))[1]

    return {
        "search for an id": f"case{total // 2}",
        "search for a rare word": RARE,
        "search for three words": " ".join(map(word, (0.02, 0.004, 0.001))),
        "search for frequent words": " ".join(map(word, (0.2, 0.15))),
    }


def measure(
    results: Results, name: str, library: Library, queries: Mapping[str, str], rounds: int
) -> None:
    """Measure lists and searches of an open library."""

    def timed(what: str, act: Callable[[], object]) -> None:
        samples = []
        for number in range(rounds + 1):
            started = time.perf_counter()
            act()
            if number:  # the first round fills the caches
                samples.append(1000 * (time.perf_counter() - started))
        results.add(f"{name}: {what}", samples, "ms")

    for what, wanted in LISTS.items():
        timed(what, partial(library.rows, PAGE, wanted=wanted or None))
    for what, text in queries.items():
        timed(what, partial(search_all, library, text, SessionFilter(), 10))


def sizes(results: Results, name: str, server: PostgresServer, total: int) -> None:
    """Measure the size of the tables and their indexes."""
    with psycopg.connect(server.url("library")) as connection:
        rows = connection.execute(
            "SELECT relname::text, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class "
            "WHERE relkind = 'r' AND relnamespace = 'chat_loop'::regnamespace"
        ).fetchall()
    whole = sum(table + indexes for _, table, indexes in rows)
    results.add(f"{name}: size", [whole / 1e6], "MB")
    results.add(f"{name}: bytes of a session", [whole / total], "bytes")
    words = sum(table + indexes for relation, table, indexes in rows if relation == "sentences")
    results.add(f"{name}: size of the words", [words / 1e6], "MB")


def transcripts(results: Results, pool: Pool) -> None:
    """Measure the size of the transcripts of such sessions."""
    lengths = []
    for number in range(1, 501):
        row, talks, _ = session_of(number, 1_000, pool)
        entries: list[Query | Reply] = []
        for at, talk in enumerate(talks, 1):
            (_, query), (_, reply) = talk.exchange.texts[:2]
            entries.append(Query(number=at, at=END, text=query))
            usage = Usage(input=30, output=90)
            entries.append(Reply(number=at, at=END, text=reply, usage=usage, seconds=2.0))
        header = Header(id=row.id, created=END, agent="Assistant", model="scripted:echo")
        summary = Summary(topics=(talks[0].query,), decisions=(talks[-1].query,))
        seal = Seal(at=END, reason="exit", source="model", summary=summary)
        lengths.append(len(render(Session(header=header, entries=tuple(entries), seal=seal))))
    results.add("bytes of a transcript", [sum(lengths) / len(lengths)], "bytes")


def run(results: Results, settings: Settings) -> None:
    """Measure."""
    if binaries() is None:
        raise NotMeasured("No PostgreSQL server is installed.")
    rounds, pool = settings.rounds or ROUNDS, Pool()
    more = {settings.sessions} if settings.sessions else set()
    transcripts(results, pool)
    for total in sorted({*SIZES, *more}):
        postgres(results, total, pool, rounds)
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        for total in SQLITE_SIZES:
            folder = Path(name, f"sqlite-{total}")
            folder.mkdir()
            fill_sqlite(folder, total, pool)
            size = (folder / FILE).stat().st_size
            label = f"SQLite, {total:,}"
            results.add(f"{label}: size", [size / 1e6], "MB")
            results.add(f"{label}: bytes of a session", [size / total], "bytes")
            with closing(Index(folder)) as index:
                measure(results, label, Filled(index), pool.searches(total), rounds)
            (folder / FILE).unlink()


def postgres(results: Results, total: int, pool: Pool, rounds: int) -> None:
    """Measure a library of `total` sessions on a new server."""
    settings = {"shared_buffers": "1GB", "work_mem": "32MB", "max_wal_size": "16GB"}
    with temporary_server(settings=settings) as server, tempfile.TemporaryDirectory() as name:
        owners = [f"owner{number}" for number in range(OWNERS)]
        server.database("library", "admin", "reader", *owners)
        for owner in owners:
            server.run(f"GRANT {owner} TO reader")
        PostgresIndex(Path(name), server.url("library", "admin")).close()
        started = time.perf_counter()
        fill_postgres(server, "library", total, pool)
        label = f"PostgreSQL, {total:,}"
        results.add(f"{label}: filled", [time.perf_counter() - started], "s")
        filled(results, server, total, pool.searches(total), rounds)


def filled(
    results: Results, server: PostgresServer, total: int, queries: Mapping[str, str], rounds: int
) -> None:
    """Measure a server that contains a library of `total` sessions."""
    label = f"PostgreSQL, {total:,}"
    sizes(results, label, server, total)
    for role, what in (("reader", label), ("owner7", f"{label}, one owner of {OWNERS}")):
        database = Database(server.url("library", role))
        with (
            tempfile.TemporaryDirectory() as name,
            closing(Library(Path(name), thorough=True, database=database)) as library,
        ):
            measure(results, what, library, queries, rounds)
            assert library.trouble == ""
