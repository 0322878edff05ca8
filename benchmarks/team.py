"""Libraries of 10,000 and 100,000 sessions: a folder with its index, and a team's library in
PostgreSQL. `benchmarks.million` has a million.

The sessions are synthetic: two to four short exchanges each, with words as frequent as those of a
language, by twenty owners; every fifth session continues another one. Neither library is filled by
reading transcripts. The files of a folder are empty, since only their names, sizes and times are
looked at, and its index is filled through the program's own code; the database is filled with COPY.
Then the program asks an open library for the first page of the list, for the same with filters, and
for searches by words. The server is Debian's without `fsync`, with its data in memory. A reader of
all owners is compared with one of the owners, who sees a twentieth.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import accumulate, islice
from pathlib import Path

import psycopg
from msgspec.structs import replace

from benchmarks.large import cost_of
from benchmarks.support.postgres_server import PostgresServer, binaries, temporary_server
from benchmarks.support.results import NotMeasured, Results, Settings
from benchmarks.support.terminal import environment
from chat_loop.library.filters import SessionFilter
from chat_loop.library.index import FILE, Index
from chat_loop.library.indexed import IndexedExchange, IndexedSession, columns_of
from chat_loop.library.library import Library
from chat_loop.library.search import search_all
from chat_loop.library.terms import lines
from chat_loop.sessions.records import SessionRow
from chat_loop.team.postgres import Postgres
from chat_loop.team.team_library import TeamLibrary
from chat_loop.values import Usage

SIZES = 10_000, 100_000
OWNERS, POOL, ROUNDS, PAGE, HITS, BATCH = 20, 10_000, 5, 20, 10, 1_000
END = datetime(2026, 11, 1, tzinfo=UTC)
STEP = timedelta(minutes=5)
VOCABULARY = 30_000
LETTERS = "etaoinshrdlucmfwypvbgk"
RARE = "zanzibar"  # one session in 1,001 mentions it, and so does each owner
SERVER = {"shared_buffers": "1GB", "work_mem": "32MB", "max_wal_size": "16GB"}
LISTS = {
    "first page": SessionFilter(),
    "filter, a rare word": SessionFilter(words=RARE),
    "filter, a tag": SessionFilter(words="#tag10"),
}
SHARES = {
    "search, three words": (0.02, 0.004, 0.001),
    "search, two frequent words": (0.2, 0.15),
}
"""The words of a search, by the share of the exchanges that contain them."""


class Pool:
    """Exchanges of pseudo-words with the frequencies of a natural language."""

    def __init__(self) -> None:
        self._chance = random.Random(7)
        words = {
            "".join(self._chance.choices(LETTERS, k=self._chance.randint(2, 9)))
            for _ in range(VOCABULARY)
        }
        self._words = sorted(words)
        self._chance.shuffle(self._words)
        self._weights = [*accumulate(1 / rank for rank in range(3, len(words) + 3))]
        self.exchanges = [self._exchange() for _ in range(POOL)]

    def searches(self, total: int) -> dict[str, str]:
        """Return the queries for a library of `total` sessions."""
        texts = [{*exchange.lines.split()} for exchange in self.exchanges]
        counts = Counter(word for words in texts for word in words if 3 < len(word) < 8)

        def word(share: float) -> str:
            return min(sorted(counts), key=lambda known: abs(counts[known] - share * POOL))

        found = {"search, an id": f"case{total // 2 + 7}", "search, a rare word": RARE}
        return found | {name: " ".join(map(word, shares)) for name, shares in SHARES.items()}

    def _exchange(self) -> IndexedExchange:
        query = f"{self._sentence(4, 12)}?"
        count = self._chance.randint(1, 4)
        reply = " ".join(f"{self._sentence(6, 16)}." for _ in range(count))
        texts = ("User", query), ("Assistant", reply)
        return IndexedExchange(1, END.isoformat(), texts, lines(query, reply))

    def _sentence(self, least: int, most: int) -> str:
        count = self._chance.randint(least, most)
        return " ".join(self._chance.choices(self._words, cum_weights=self._weights, k=count))


def id_of(number: int, total: int) -> str:
    """Return the id of a session."""
    return f"assistant_{END - STEP * (total - number):%Y%m%d_%H%M%S}_{number}"


def sessions(total: int, pool: Pool) -> Iterator[IndexedSession]:
    """Yield the sessions of a library, oldest first."""
    for number in range(1, total + 1):
        chance = random.Random(number)
        at = END - STEP * (total - number)
        special = f" case{number}"
        if number % 1_001 == 0:
            special += f" {RARE}"
        exchanges = [
            replace(exchange, number=place, at=at.isoformat())
            for place, exchange in enumerate(chance.choices(pool.exchanges, k=2 + number % 3), 1)
        ]
        (user, query), reply = exchanges[0].texts
        exchanges[0] = replace(
            exchanges[0],
            texts=((user, query + special), reply),
            lines=f"{exchanges[0].lines}{special}",
        )
        row = SessionRow(
            id=id_of(number, total),
            folder=Path(),
            state="sealed",
            updated=at,
            created=at,
            agent="Assistant",
            project=f"/home/user/project-{number % 50}",
            parent=id_of(number - 1, total) if number % 5 == 4 else "",
            queries=len(exchanges),
            tokens=120 * len(exchanges),
            name=query[:60] + special,
            tags=(f"tag{number % 40}",) if number % 4 == 0 else (),
            answered=True,
            spent=(("anthropic:claude-sonnet-5-5", Usage(input=300, output=200)),),
        )
        yield IndexedSession(row=row, size=0, changed=number, exchanges=exchanges, running=())


def fill_folder(folder: Path, total: int, pool: Pool) -> None:
    """Fill a folder with empty files, and its index with their sessions."""
    every = sessions(total, pool)
    with closing(Index(folder)) as index:
        while batch := [*islice(every, BATCH)]:
            index.put(batch)
    for number in range(1, total + 1):
        path = folder / f"{id_of(number, total)}.md"
        path.touch()
        os.utime(path, ns=(number, number))


def fill_server(server: PostgresServer, total: int, pool: Pool) -> None:
    """Fill the tables of a team's library, then create their indexes."""
    with psycopg.connect(server.url("library")) as connection:
        run = connection.execute
        run("SET session_replication_role = replica")  # no constraint is checked
        run("SET maintenance_work_mem = '1GB'")
        indexes = run(
            "SELECT indexname::text, indexdef FROM pg_indexes WHERE schemaname = 'chat_loop' AND "
            "indexname NOT IN (SELECT conname FROM pg_constraint)"
        ).fetchall()
        for name, _ in indexes:
            run(f"DROP INDEX chat_loop.{name}".encode())
        names = ", ".join(columns_of(next(sessions(1, pool))))
        copied = f"COPY chat_loop.sessions (key, owner, parent, merged, listed, {names}) FROM STDIN"
        with connection.cursor().copy(copied.encode()) as copy:
            for number, session in enumerate(sessions(total, pool), 1):
                place = number, f"owner{number % OWNERS}", session.row.parent, "", True
                copy.write_row((*place, *columns_of(session).values()))
        names = "owner, session, position, number, archived, content, at, texts, lines"
        with connection.cursor().copy(
            f"COPY chat_loop.exchanges ({names}) FROM STDIN".encode()
        ) as copy:
            for number, session in enumerate(sessions(total, pool), 1):
                for one in session.exchanges:
                    at = f"owner{number % OWNERS}", number, one.number, one.number, 0
                    copy.write_row((*at, one.digest, one.at, one.json, one.lines))
        run(
            "INSERT INTO chat_loop.sentences (exchange, owner, session, words) "
            "SELECT key, owner, session, to_tsvector('chat_loop.words', lines) "
            "FROM chat_loop.exchanges ORDER BY key"
        )
        for _, definition in indexes:
            run(definition.encode())
    for _ in range(2):  # the second run can mark all rows as visible to everyone
        server.run("VACUUM (ANALYZE)", "library")


def measure(
    results: Results, name: str, library: Library, queries: Mapping[str, str], rounds: int
) -> None:
    """Measure the lists and searches of an open library."""

    def timed(what: str, ask: Callable[[], tuple[object, str]]) -> None:
        samples = []
        for number in range(rounds + 1):
            started = time.perf_counter()
            value, warning = ask()
            if number:  # the first round fills the caches
                samples.append(1000 * (time.perf_counter() - started))
            assert value
            assert not warning, warning
        results.add(f"{name}: {what}", samples, "ms")

    for what, wanted in LISTS.items():
        timed(what, partial(library.rows, PAGE, wanted=wanted))
    for what, text in queries.items():
        timed(what, partial(search_all, library, text, SessionFilter(), HITS))


def measure_folder(results: Results, total: int, pool: Pool, rounds: int) -> None:
    """Measure a folder of `total` sessions, and the memory of the program that lists them."""
    label = f"folder, {total:,}"
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        folder = home / "chat-loop" / "sessions"
        folder.mkdir(parents=True, mode=0o700)
        fill_folder(folder, total, pool)
        results.add(f"{label}: size", [(folder / FILE).stat().st_size / 1e6], "MB")
        with closing(Library(folder)) as library:
            measure(results, label, library, pool.searches(total), rounds)
        for words in (("list", "--limit", str(PAGE)), ("search", "--text", RARE)):
            command = [sys.executable, "-m", "chat_loop", "sessions", *words]
            cost = cost_of(command, environment(home), folder)
            results.add(f"{label}: memory, {words[0]}", [cost.mebibytes], "MiB")


def measure_team(results: Results, total: int, pool: Pool, rounds: int) -> None:
    """Measure a team's library of `total` sessions on a new server. Raises NotMeasured."""
    if binaries() is None:
        raise NotMeasured("No PostgreSQL server is installed.")
    with temporary_server(settings=SERVER) as server, tempfile.TemporaryDirectory() as name:
        owners = [f"owner{number}" for number in range(OWNERS)]
        server.database("library", "librarian", "reader", *owners)
        for owner in owners:
            server.run(f"GRANT {owner} TO reader")
        folder = Path(name)
        with closing(Postgres(folder, server.url("library", "librarian"))) as tables:
            fill_server(server, total, pool)
            [(size,)] = tables.ask(
                "SELECT sum(pg_total_relation_size(oid)) FROM pg_class "
                "WHERE relkind = 'r' AND relnamespace = 'chat_loop'::regnamespace"
            )
        results.add(f"team, {total:,}: size", [float(size) / 1e6], "MB")
        for role, who in (("reader", "team"), ("owner7", "one owner")):
            with (
                closing(TeamLibrary(server.url("library", role), folder)) as shared,
                closing(Library(folder, thorough=True, shared=shared)) as library,
            ):
                measure(results, f"{who}, {total:,}", library, pool.searches(total), rounds)


def run(results: Results, settings: Settings) -> None:
    """Measure. Raises NotMeasured without a server."""
    rounds = settings.rounds or ROUNDS
    pool = Pool()
    for total in SIZES:
        measure_team(results, total, pool, rounds)
        measure_folder(results, total, pool, rounds)
