"""A PostgreSQL server of Debian on a Unix socket, in a temporary folder, as long as it is used."""

from __future__ import annotations

import glob
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

try:
    import psycopg
    from psycopg import sql
except ImportError:  # the caller that starts a server reports this
    pass

QUICK = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_wal_size": "4GB",
    "autovacuum": "off",
    "max_connections": "60",
    "listen_addresses": "",
}
"""Settings of a server whose data is not needed after a crash."""
NOBODY = 65534


def binaries() -> Path | None:
    """Return the folder with the newest version of the server's programs."""
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"))  # noqa: PTH207
    found = folders[-1] if folders else shutil.which("postgres") and "/usr/bin"
    return Path(found) if found else None


class PostgresServer:
    """A server with its folder. Every user of this machine may connect to it as any role."""

    def __init__(
        self,
        folder: Path,
        programs: Path | None = None,
        settings: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        found = programs or binaries()
        assert found is not None
        self._programs, self._settings = found, {**QUICK, **settings}
        self.folder, self._data = folder, folder / "data"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server, the first time with new data, and wait until it answers."""
        if not self._data.exists():
            self.folder.mkdir(exist_ok=True, parents=True)
            if os.geteuid() == 0:  # the server refuses to run as root
                os.chown(self.folder, NOBODY, NOBODY)
            options = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
            self._run("initdb", "-D", str(self._data), *options).wait()
        words = [f"--{name}={value}" for name, value in self._settings.items()]
        self._process = self._run("postgres", "-D", str(self._data), "-k", str(self.folder), *words)
        until = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.url(), connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise
                time.sleep(0.05)

    def stop(self) -> None:
        """Stop the server at once, as a crash would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
            self._process = None

    def __enter__(self) -> PostgresServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def url(self, database: str = "postgres", role: str = "postgres", password: str = "") -> str:
        """Return the URL of a database for a role. A busy machine may take long to connect."""
        who = f"{role}:{password}" if password else role
        return f"postgresql://{who}@/{database}?host={self.folder}&connect_timeout=60"

    def database(self, name: str, *roles: str) -> None:
        """Make an empty database in which `roles` may make schemas; make the roles, too."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            known = connection.execute("SELECT rolname FROM pg_roles").fetchall()
            for role in roles:
                if (role,) not in known:
                    connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(role)))
            made = sql.Identifier(name)
            connection.execute(sql.SQL("CREATE DATABASE {}").format(made))
            for role in roles:
                grant = sql.SQL("GRANT CREATE ON DATABASE {} TO {}")
                connection.execute(grant.format(made, sql.Identifier(role)))

    def exists(self, name: str) -> bool:
        """Return True when there is a database with this name."""
        with psycopg.connect(self.url()) as connection:
            find = "SELECT 1 FROM pg_database WHERE datname = %s"
            return bool(connection.execute(find, (name,)).fetchall())

    def run(self, statement: str, database: str = "postgres", role: str = "postgres") -> None:
        """Run a statement as a role."""
        with psycopg.connect(self.url(database, role), autocommit=True) as connection:
            connection.execute(statement.encode())

    def _run(self, program: str, *words: str) -> subprocess.Popen[bytes]:
        is_root = os.geteuid() == 0
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [str(self._programs / program), *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                user=NOBODY if is_root else None,
                group=NOBODY if is_root else None,
                extra_groups=[] if is_root else None,
                env={"PATH": os.defpath, "LC_ALL": "C"},
                cwd="/",
            )


@contextmanager
def temporary_server(
    programs: Path | None = None, settings: Mapping[str, str] = MappingProxyType({})
) -> Iterator[PostgresServer]:
    """Yield a running server whose folder is removed afterwards."""
    # a short name: the path of a socket has at most 107 bytes
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    try:
        with PostgresServer(folder, programs, settings) as server:
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)
