"""`chat-loop sync`, and the rest of the program when there is a store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chat_loop.sessions.records import Session
from tests.support.headless import ECHO, run, said, saved
from tests.support.killed_store import Home
from tests.support.ports import closed_port
from tests.support.s3_server import S3Server, require_server
from tests.support.saved_sessions import FIRST, OPEN, SECOND, put
from tests.support.shared_sessions import grown


@pytest.fixture
def s3(tmp_path: Path) -> Iterator[S3Server]:
    require_server()
    with S3Server(tmp_path / "objects") as server:
        yield server


def sessions_of(home: Home) -> list[Session]:
    return saved(home.folder)


def test_without_a_store_there_is_nothing_to_do(tmp_path: Path) -> None:
    done = run(tmp_path, "sync")
    assert done.returncode == 2
    assert b"No store configured." in done.stderr
    assert b"Set sessions.store in the config, such as s3://BUCKET/PREFIX" in done.stderr


@pytest.mark.parametrize(
    "url", ["file:///tmp", "bucket", "s3://", "s3://key:secret@bucket/x", "s3://bucket/a b"]
)
def test_what_is_no_store_is_refused(tmp_path: Path, url: str) -> None:
    (tmp_path / "config.yaml").write_text(f"sessions: {{store: '{url}'}}\n")
    done = run(tmp_path, "sync")
    assert done.returncode == 2
    assert b"store must be s3://BUCKET/PREFIX, or the same with gs:// or az://" in done.stderr


def test_a_conversation_goes_on_on_another_machine(tmp_path: Path, s3: S3Server) -> None:
    here, there = Home(tmp_path / "here", s3), Home(tmp_path / "there", s3)
    assert here.run("-p", "Our port is 8443.") == 0
    here.finish()  # the upload continues after the exit
    assert there.run("sync") == 0
    assert there.contents() == here.contents()
    assert there.run("--resume", here.ids()[0], "-p", "And the host?") == 0
    there.finish()
    assert here.run("sync") == 0
    child = next(session for session in sessions_of(here) if session.header.parent)
    assert child.header.parent == there.ids()[0] or child.header.parent in here.ids()
    assert said(child)[0] == "And the host?"


@pytest.mark.slow
def test_a_session_that_has_not_ended_goes_on_in_both_places(tmp_path: Path, s3: S3Server) -> None:
    here, there = Home(tmp_path / "here", s3), Home(tmp_path / "there", s3)
    put(here.sessions.directory, OPEN)
    assert here.run("sync") == 0
    assert there.run("sync") == 0
    done = run(
        *(there.folder, *ECHO, "--resume", OPEN.header.id, "-p", "And the host?"),
        keys=s3.environment(),
    )
    assert f"The machine that began {OPEN.header.id} has not ended it.".encode() in done.stderr
    there.finish()
    assert there.run("sessions", "compact", OPEN.header.id) == 1  # it began elsewhere
    put(here.sessions.directory, later := grown(OPEN, "And the cache?"))
    for home in (here, there, here):
        assert home.run("sync") == 0
    assert here.contents() == there.contents()
    (child,) = (session for session in saved(here.folder) if session.header.parent)
    assert child.restoration is not None
    assert (child.header.parent, child.restoration.until) == (OPEN.header.id, "1.1")
    assert said(there.sessions.load(there.sessions.session_file(OPEN.header.id)).session) == said(
        later
    )


def test_who_has_no_store_loads_nothing_of_it(tmp_path: Path) -> None:
    done = run(tmp_path, *ECHO, "-p", "Hello.", prefix=("env", "PYTHONPROFILEIMPORTTIME=1"))
    assert done.returncode == 0
    assert b"chat_loop.sessions.manager" in done.stderr
    for name in (b"chat_loop.store", b"obstore"):
        assert name not in done.stderr
    assert not [*tmp_path.rglob(".sync*")]


@pytest.mark.slow
def test_doctor_says_whether_the_store_answers(tmp_path: Path, s3: S3Server) -> None:
    here = Home(tmp_path / "here", s3)
    put(here.sessions.directory, FIRST)
    assert here.run("sync") == 0
    keys = s3.environment()
    done = run(here.folder, *ECHO, "doctor", keys=keys)
    assert "✓ Store           s3://chats/team answers, with 1 object" in done.stdout.decode()
    s3.kill()
    done = run(here.folder, *ECHO, "doctor", keys=keys)
    assert "✗ Store           s3://chats/team cannot be reached." in done.stdout.decode()
    assert done.returncode == 1


@pytest.mark.slow
def test_a_purge_takes_a_session_out_of_the_store(tmp_path: Path, s3: S3Server) -> None:
    here = Home(tmp_path / "here", s3)
    put(here.sessions.directory, FIRST, SECOND)
    assert here.run("sync") == 0
    assert here.run("sessions", "purge", FIRST.header.id, "--yes") == 0
    stored = s3.objects("team/")
    assert [*stored] == [f"{SECOND.header.id}.md"]
    assert stored == here.contents()
    assert b"token bucket" not in b"".join(stored.values())


@pytest.mark.slow
def test_a_purge_without_the_store_says_that_the_store_has_it(tmp_path: Path, s3: S3Server) -> None:
    here = Home(tmp_path / "here", s3)
    put(here.sessions.directory, FIRST)
    here.run("sync")
    s3.kill()
    keys = s3.environment()
    done = run(here.folder, "sessions", "purge", FIRST.header.id, "--yes", keys=keys)
    assert done.returncode == 1
    assert b"The store still has it: s3://chats/team cannot be reached." in done.stderr
    assert b"chat-loop sync removes it there as soon as that works." in done.stderr
    assert here.ids() == []
    s3.start()
    assert here.run("sync") == 0
    assert s3.objects("team/") == {}


@pytest.mark.slow
def test_a_store_that_is_away_costs_no_word(tmp_path: Path, s3: S3Server) -> None:
    here = Home(tmp_path / "here", s3)
    s3.kill()
    assert here.run("-p", "Our port is 8443.") == 0
    here.finish()
    keys = s3.environment()
    done = run(here.folder, "sync", keys=keys)
    assert done.returncode == 1
    assert b"s3://chats/team cannot be reached." in done.stderr
    assert b"Traceback" not in done.stderr
    (session,) = sessions_of(here)
    assert said(session)[0] == "Our port is 8443."


def test_the_ids_of_shared_sessions_differ_between_machines(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("sessions: {store: 's3://chats/team'}\n")
    keys = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{closed_port()}"}
    keys |= {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y"}
    run(tmp_path, "--model", "scripted:echo", "-p", "Hello.", keys=keys)
    (session,) = saved(tmp_path)
    end = session.header.id.rpartition("-")[2]
    assert len(end) == 4
    assert int(end, 16) >= 0
