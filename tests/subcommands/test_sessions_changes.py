"""`chat-loop sessions`: the actions that make, change or share sessions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, Reply, failing
from chat_loop.sessions.files import take_lock
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Restoration, Session
from tests.support.headless import ECHO, run
from tests.support.pty_chat import PtyChat
from tests.support.saved_sessions import ALL, FIRST, LISTED, OLD, OPEN, SECOND, at, put, simple
from tests.support.session_folders import later

SUMMARY = """\
**Background Context:** Initial session.

**Current Session Summary:**
**Topics Discussed:**
- Monads made anew

**Decisions Made:**
- none

**Pending:**
- none
"""


@pytest.fixture(name="home")
def _home(tmp_path: Path) -> Path:
    put(tmp_path / "sessions", *ALL)
    return tmp_path


@pytest.fixture(name="server")
def _server() -> Iterator[Loopback]:
    with Loopback() as server:
        yield server


def done(home: Path, *arguments: str) -> str:
    """What `chat-loop sessions …` prints when it goes well."""
    result = run(home, "sessions", *arguments)
    assert (result.returncode, result.stderr.decode()) == (0, "")
    return result.stdout.decode()


def failure(home: Path, *arguments: str, code: int = 1) -> str:
    result = run(home, "sessions", *arguments)
    assert (result.returncode, result.stdout.decode()) == (code, "")
    return result.stderr.decode()


def load(home: Path, identity: str) -> Session:
    return SessionManager(home / "sessions").load(home / "sessions" / f"{identity}.md").session


def listed(home: Path) -> list[str]:
    return [
        row["id"]
        for row in json.loads(run(home, "sessions", "list", "--unfold", "--json").stdout)[
            "sessions"
        ]
    ]


def compatible(server: Loopback, model: str = "m") -> tuple[str, ...]:
    return ("--model", f"compatible:{model}", "--base-url", f"{server.url}/v1")


# Describing


def test_tag_and_rename(home: Path) -> None:
    assert done(home, "tag", "3", "#Maths", "old") == f"{OLD.header.id}: #maths #old\n"
    assert done(home, "tag", "monad", "maths", "--remove") == f"{OLD.header.id}: #old\n"
    assert done(home, "rename", "3", "Monads,", "briefly") == f"{OLD.header.id}: Monads, briefly\n"
    assert (load(home, OLD.header.id).name, load(home, OLD.header.id).tags) == (
        "Monads, briefly",
        ("old",),
    )
    assert done(home, "rename", "3") == f"{OLD.header.id}: automatic name\n"
    assert done(home, "tag", "3", "old", "--remove") == f"{OLD.header.id}: no tags\n"
    assert listed(home)[0] == OPEN.header.id, "describing is no use: the order stays"
    assert "is not a tag" in failure(home, "tag", "3", "two words", code=2)
    assert "at most 80 characters" in failure(home, "rename", "3", "x" * 81, code=2)
    assert load(home, OLD.header.id) == OLD


def test_a_session_that_is_open_elsewhere_is_left_alone(home: Path) -> None:
    folder = home / "sessions"
    path = folder / f"{OLD.header.id}.md"
    before = path.read_bytes()
    held = take_lock(folder, OLD.header.id)
    try:
        for action in (
            ("tag", "3", "x"),
            ("rename", "3", "x"),
            ("trash", "3"),
            ("compact", "3"),
        ):
            assert "is open in another process" in failure(home, *action)
        result = run(home, "sessions", "clean", "--older-than", "1y", "--yes")
        assert result.returncode == 1
        assert "is open in another process" in result.stderr.decode()
    finally:
        held.close()
    assert path.read_bytes() == before


# Summaries


def test_compact_makes_a_summary_with_the_model_and_the_words_that_are_asked_for(
    home: Path, server: Loopback
) -> None:
    (home / "config.yaml").write_text("agent: {summary_instructions: Mind the laws.}\n")
    server.enqueue(Reply(chunks=(SUMMARY,)))
    options = (
        "--base-url",
        f"{server.url}/v1",
        "sessions",
        "compact",
        "3",
        "--model",
        "compatible:big",
    )
    result = run(home, *options, "--focus", "identity", "laws")
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout.decode().startswith(f"{OLD.header.id}: summary made by a model")
    [request] = server.requests
    assert request.body["model"] == "big"
    asked = "\n".join((request.system, *request.texts))
    for text in ("Mind the laws.", "identity laws", "What is a monad?", "A monoid."):
        assert text in asked
    seal = load(home, OLD.header.id).seal
    assert seal is not None
    assert seal.summary is not None
    assert (seal.source, seal.summary.topics) == ("model", ("Monads made anew",))
    assert load(home, OLD.header.id).entries == OLD.entries
    assert listed(home)[-1] == OLD.header.id


def test_compact_of_an_unsealed_session_seals_it(home: Path, server: Loopback) -> None:
    result = run(home, *compatible(server), "sessions", "compact", "1")
    assert (result.returncode, result.stderr) == (0, b"")
    seal = load(home, OPEN.header.id).seal
    assert seal is not None
    assert (seal.source, seal.reason) == ("model", "exit")


def test_the_summaries_of_the_config_are_written_by_its_summary_model(
    home: Path, server: Loopback
) -> None:
    (home / "config.yaml").write_text("auto_compact: {summary_model: small}\n")
    assert run(home, *compatible(server, "big"), "sessions", "compact", "3").returncode == 0
    assert [request.body["model"] for request in server.requests] == ["big"], (
        "it was named for this"
    )
    config = home / "config.yaml"
    config.write_text(
        f"model: compatible:big\nproviders: {{compatible: {{base_url: '{server.url}/v1'}}}}\n"
    )
    config.write_text(config.read_text() + "auto_compact: {summary_model: small}\n")
    result = run(home, "sessions", "compact", "3")
    assert (result.returncode, result.stderr) == (0, b"")
    assert [request.body["model"] for request in server.requests] == ["big", "small"]


def test_a_server_that_fails_leaves_the_summary_that_is_there(home: Path, server: Loopback) -> None:
    path = home / "sessions" / f"{SECOND.header.id}.md"
    before = path.read_bytes()
    for answer in (
        failing(401, "authentication_error", "invalid key"),
        Reply(chunks=("No summary at all.",)),
    ):
        server.handler = lambda request, answer=answer: answer  # type: ignore[misc]
        result = run(home, *compatible(server), "sessions", "compact", SECOND.header.id)
        assert (result.returncode, result.stdout) == (1, b"")
        assert f"No summary could be made of session {SECOND.header.id}." in result.stderr.decode()
        assert b"Traceback" not in result.stderr
        assert path.read_bytes() == before


def test_delete_summary_and_compact_makes_it_anew(home: Path, server: Loopback) -> None:
    told = f"The summary of {SECOND.header.id} is deleted; sessions compact makes a new one.\n"
    assert done(home, "delete-summary", "2") == told
    deleted = load(home, SECOND.header.id)
    assert deleted.seal is not None
    assert (deleted.seal.summary, deleted.entries) == (None, SECOND.entries)
    assert f"Session {SECOND.header.id} has no summary." in failure(home, "delete-summary", "2")
    (home / "config.yaml").write_text("agent: {name: Sally}\n")
    typed = f"/resume {SECOND.header.id}\nand now?\n"
    chat = run(home, *compatible(server), stdin=typed.encode())
    assert chat.returncode == 0
    assert server.requests[1].query == "and now?", "a resume goes on without one"
    server.enqueue(Reply(chunks=(SUMMARY,)))
    made = run(home, *compatible(server), "sessions", "compact", SECOND.header.id)
    assert made.returncode == 0
    assert "Monads made anew" in (home / "sessions" / f"{SECOND.header.id}.md").read_text()
    again = load(home, SECOND.header.id).seal
    assert again is not None
    assert again.summary is not None
    assert done(home, "delete-summary", SECOND.header.id) == told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compact",), "Missing: SESSION.\n"),
        (("compact", "--focus", "ports", "3"), "Missing: SESSION.\n"),
        (("fork", "1", "--at", "x"), "“x” is not a number above 0"),
        (("fork", "1", "--at", "7"), "No query 7 in this session: it has 1 query.\n"),
        (("merge", "1"), "Missing: SESSION."),
        (("clean",), "Missing: --older-than."),
        (("clean", "--older-than", "soon", "--yes"), "“soon” is not a date.\n"),
        (("clean", "--older-than", "2999-01-01", "--yes"), "“2999-01-01” is in the future"),
        (
            ("clean", "--older-than", "30d"),
            "Confirmation needs a terminal.\n",
        ),
        (("export", "1", "talk.pdf"), "Unknown export format “.pdf”.\n"),
        (("export", "1", "--as", "pdf"), "Unknown export format “pdf”.\n"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_misuse(home: Path, arguments: tuple[str, ...], message: str) -> None:
    assert message in failure(home, *arguments, code=2)
    assert sorted(listed(home)) == sorted(session.header.id for session in ALL)


# Branching


def test_a_fork_knows_the_words_up_to_its_query_and_no_more(home: Path, server: Loopback) -> None:
    result = run(home, "sessions", "fork", FIRST.header.id, "--at", "1")
    assert result.returncode == 0
    identity = result.stdout.decode().strip()
    assert result.stderr.decode() == (
        f"Forked after query 1 of {FIRST.header.id}. Resume with: chat-loop --resume {identity}\n"
    )
    assert load(home, identity).header.parent == FIRST.header.id
    (home / "config.yaml").write_text("agent: {name: Sally}\n")
    chat = run(home, *compatible(server), "--resume", identity, stdin=b"And then?\nexit\n")
    assert chat.returncode == 0
    asked = [text for request in server.requests for text in request.texts]
    assert any("How do we limit the rate?" in text for text in asked)
    assert any("With a token bucket." in text for text in asked)
    assert not any("Take 100." in text for text in asked)
    assert any(text.startswith("And then?") for text in asked)
    rows = json.loads(run(home, "sessions", "list", "--unfold", "--json").stdout)["sessions"]
    tree = [row for row in rows if row["id"] != OPEN.header.id and row["id"] != OLD.header.id]
    assert {
        row["parent"] for row in tree if row["id"] not in (FIRST.header.id, SECOND.header.id)
    } <= {
        FIRST.header.id,
        identity,
    }


def branches(home: Path) -> tuple[str, str]:
    """Two sessions that go on from FIRST and decided for different ports."""
    found = []
    for number, port in ((3, "5433"), (4, "6000")):
        session = simple(f"sally_2026110{number}_100000", at(11, number), parent=FIRST.header.id)
        assert session.seal is not None
        assert session.seal.summary is not None
        summary = replace(
            session.seal.summary, decisions=(f"The port of the database is {port}. [2 user]",)
        )
        session = replace(
            session,
            entries=(SECOND.entries[0], *session.entries),
            seal=replace(session.seal, summary=summary),
        )
        put(home / "sessions", session)
        found.append(session.header.id)
    return found[0], found[1]


def test_merge_begins_a_child_with_the_lines_of_both(home: Path) -> None:
    first, second = branches(home)
    result = run(home, *ECHO, "sessions", "merge", first, second)
    assert (result.returncode, result.stdout.count(b"\n")) == (0, 1)
    merged = load(home, result.stdout.decode().strip())
    restoration = merged.restoration
    assert restoration is not None
    assert (merged.header.parent, restoration.merged) == (first, second)
    assert (merged.header.agent, merged.header.id[:6]) == ("Sally", "sally_")
    assert "5433" in restoration.block
    assert "6000" in restoration.block


def test_a_merge_of_a_session_with_one_that_it_comes_from(home: Path) -> None:
    result = run(home, *ECHO, "sessions", "merge", "2", FIRST.header.id)
    assert (result.returncode, result.stdout) == (2, b"")
    assert "there is nothing to merge" in result.stderr.decode()


# Sharing


@pytest.mark.parametrize("form", ["json", "markdown"])
def test_what_is_exported_is_imported_elsewhere_once(home: Path, tmp_path: Path, form: str) -> None:
    document = run(home, "sessions", "export", "2", "-", "--as", form)
    assert (document.returncode, document.stderr) == (0, b"")
    other = tmp_path / "other"
    lines = [f"{FIRST.header.id}  imported", f"{SECOND.header.id}  imported"]
    taken = run(other, "sessions", "import", "-", stdin=document.stdout)
    assert (taken.returncode, taken.stdout.decode().split("\n")[:2], taken.stderr) == (
        0,
        lines,
        b"",
    )
    again = run(other, "sessions", "import", "-", stdin=document.stdout)
    assert again.returncode == 0
    assert again.stdout.decode() == "\n".join(lines).replace("imported", "there already") + "\n"
    assert [load(other, session.header.id) for session in (FIRST, SECOND)] == [FIRST, SECOND]
    assert run(other, "sessions", "tree", "1").stdout.decode().split()[1] == FIRST.header.id


def test_export_to_files(home: Path, tmp_path: Path) -> None:
    page = tmp_path / "talk.html"
    told = run(home, "sessions", "export", "2", str(page))
    assert (told.returncode, told.stdout) == (0, b"")
    assert told.stderr.decode().startswith(f"Exported 2 sessions to {page} (")
    assert page.read_bytes().startswith(b"<!DOCTYPE html>")
    assert page.stat().st_mode & 0o777 == 0o600
    before = page.read_bytes()
    assert f"{page} cannot be written: file exists.\n" in failure(home, "export", "2", str(page))
    assert page.read_bytes() == before
    folder = tmp_path / "exports.d"
    folder.mkdir()
    for name in (f"{SECOND.header.id}.json", f"{SECOND.header.id}_2.json"):
        result = run(home, "sessions", "export", "2", str(folder), "--as", "json", "--one")
        assert result.stderr.decode().startswith(f"Exported 1 session to {folder / name} (")
    assert len(json.loads((folder / name).read_bytes())["sessions"]) == 1
    assert "cannot be written: no such file or directory." in failure(
        home, "export", "2", str(tmp_path / "no" / "x.md")
    )
    assert "cannot be written: file name too long." in failure(home, "export", "2", "x" * 300)


def test_export_of_a_broken_chain_says_so(home: Path) -> None:
    (home / "sessions" / f"{FIRST.header.id}.md").unlink()
    result = run(home, "sessions", "export", "2", "-", "--as", "json")
    assert result.returncode == 0
    assert FIRST.header.id in result.stderr.decode()
    assert result.stderr.count(b"\n") == 1
    assert len(json.loads(result.stdout)["sessions"]) == 1


def test_import_of_several_things_at_once(home: Path, tmp_path: Path) -> None:
    """Sessions of one chain may come in several files, and what cannot be read does not hold up the
    others.
    """
    single = [tmp_path / f"{name}.md" for name in ("child", "parent")]
    for reference, path in zip((SECOND.header.id, FIRST.header.id), single, strict=True):
        path.write_text(done_out(home, "export", reference, "-", "--one") + "\n")
    old = tmp_path / "old"
    old.mkdir()
    plain = Path(__file__).parents[1] / "golden" / "plain"
    for name in ("before-1.8.md", "resumed.md"):
        (old / name).write_bytes((plain / name).read_bytes())
    other = tmp_path / "other"
    taken = simple(FIRST.header.id, at(11, 1), "Another session of that id")
    put(other / "sessions", taken)
    names = [
        str(path)
        for path in (single[0], tmp_path / "nowhere.json", tmp_path / "talk.html", single[1], old)
    ]
    (tmp_path / "talk.html").write_text("<!DOCTYPE html><p>")
    result = run(other, "sessions", "import", *names)
    assert result.returncode == 1, "two of them gave nothing"
    lines = result.stdout.decode().split("\n")
    assert lines[2:] == [
        f"{FIRST.header.id}  imported as {FIRST.header.id}_2",
        f"{SECOND.header.id}  imported",
        "",
    ]
    assert len(lines) == 5
    assert result.stderr.decode() == (
        "nowhere.json: It cannot be read: no such file or directory.\n"
        "talk.html: It is neither an export nor a transcript.\n"
    )
    assert load(other, SECOND.header.id).header.parent == f"{FIRST.header.id}_2"
    assert load(other, FIRST.header.id) == taken
    again = run(other, "sessions", "import", str(old))
    assert (again.returncode, again.stdout.decode().count("there already")) == (0, 2)


# Keeping


def test_trash_and_restore(home: Path) -> None:
    assert done(home, "trash") == ""
    path = home / "sessions" / f"{OLD.header.id}.md"
    before = path.read_bytes()
    told = "{0} is in the trash; chat-loop sessions restore {0} restores it.\n"
    assert done(home, "trash", "1", "3", "3") == told.format(OPEN.header.id) + told.format(
        OLD.header.id
    )
    assert listed(home) == [SECOND.header.id, FIRST.header.id]
    assert done(home, "trash") == (
        f"2026-11-10 10:00  {OPEN.header.id}  Which port does the database listen on?\n"
        f"2020-03-01 10:00  {OLD.header.id}  What is a monad?\n"
    )
    assert failure(home, "restore", "nope") == (
        "No session named nope in the trash. chat-loop sessions trash lists what is.\n"
    )
    both = run(home, "sessions", "restore", "../x", OLD.header.id, OPEN.header.id)
    assert (both.returncode, both.stdout.decode()) == (
        1,
        f"{OLD.header.id} is restored.\n{OPEN.header.id} is restored.\n",
    )
    assert path.read_bytes() == before
    assert listed(home)[0] == OPEN.header.id
    assert done(home, "trash") == ""


def test_an_id_that_is_taken_again_is_not_overwritten(home: Path) -> None:
    path = home / "sessions" / f"{OLD.header.id}.md"
    done(home, "trash", "3")
    put(home / "sessions", simple(OLD.header.id, at(11, 1)))
    new = path.read_bytes()
    told = failure(home, "restore", OLD.header.id)
    assert told == f"Session {OLD.header.id} exists already. Rename one of the files.\n"
    assert path.read_bytes() == new
    done(home, "trash", OLD.header.id)
    trash = done(home, "trash").splitlines()
    assert {line.split()[2] for line in trash} == {OLD.header.id, f"{OLD.header.id}_2"}


def test_trash_and_one_that_is_open(home: Path) -> None:
    held = take_lock(home / "sessions", OPEN.header.id)
    try:
        result = run(home, "sessions", "trash", "1", "3")
    finally:
        held.close()
    assert result.returncode == 1
    assert result.stdout.decode().startswith(f"{OLD.header.id} is in the trash; ")
    assert result.stderr.decode().startswith(
        f"Session {OPEN.header.id} is open in another process."
    )


def forgotten(home: Path) -> list[Path]:
    """An old chain that goes on today, an old chain that does not, a session from the future."""
    now = datetime.now(UTC).replace(microsecond=0)
    long_ago = now - timedelta(days=90)
    return list(
        put(
            home / "sessions",
            simple("archive", long_ago),
            simple("goes_on", now - timedelta(days=1), parent="archive"),
            simple("dead_1", long_ago),
            simple("dead_2", long_ago + timedelta(days=1), parent="dead_1"),
            simple("future", now + timedelta(days=400)),
        )
    )


def test_clean_moves_whole_conversations_that_nobody_used(tmp_path: Path) -> None:
    forgotten(tmp_path)
    clean = ("sessions", "clean", "--older-than", "30d")
    dry = run(tmp_path, *clean, "--dry-run")
    assert (dry.returncode, dry.stderr) == (0, b"2 sessions would go to the trash.\n")
    assert [line.split()[2] for line in dry.stdout.decode().strip().split("\n")] == [
        "dead_2",
        "dead_1",
    ]
    assert len(listed(tmp_path)) == 5
    wet = run(tmp_path, *clean, "--yes")
    assert (wet.returncode, wet.stdout) == (0, dry.stdout)
    assert (
        wet.stderr
        == b"2 sessions moved to the trash; chat-loop sessions restore ID restores one.\n"
    )
    assert listed(tmp_path) == ["future", "goes_on", "archive"]
    assert run(tmp_path, *clean, "--yes").stderr == b"There is nothing to clean.\n"
    assert (
        done(tmp_path, "restore", "dead_1", "dead_2")
        == "dead_1 is restored.\ndead_2 is restored.\n"
    )


def test_clean_leaves_the_archive_of_what_is_open(tmp_path: Path) -> None:
    forgotten(tmp_path)
    held = take_lock(tmp_path / "sessions", "dead_2")
    try:
        result = run(tmp_path, "sessions", "clean", "--older-than", "30d", "--yes")
    finally:
        held.close()
    assert result.returncode == 1
    assert result.stderr.decode() == (
        "Session dead_2 is open in another process. Close it there, or resume it once it has "
        "ended.\n"
        "dead_1 stays: another session that stays continues it.\n"
        "Nothing was moved.\n"
    )


def test_clean_asks_on_a_terminal(tmp_path: Path) -> None:
    forgotten(tmp_path)
    env = {"CHAT_LOOP_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    command = [sys.executable, "-m", "chat_loop", "sessions", "clean", "--older-than", "30d"]
    for answer, code, told in (
        ("n", 1, "Nothing was moved."),
        ("y", 0, "2 sessions moved to the trash"),
    ):
        with PtyChat(command, env=env, cols=120) as terminal:
            terminal.wait_for("Move 2 sessions to the trash? (y/n)")
            terminal.line(answer)
            terminal.wait_for(told)
            assert terminal.exit_code() == code


def test_clean_originals_leaves_what_only_words_stand_for(tmp_path: Path) -> None:
    forgotten(tmp_path)
    bare = simple("bare", datetime(2020, 1, 1, tzinfo=UTC))
    assert bare.seal is not None
    bare = replace(bare, seal=replace(bare.seal, summary=None, source="none"))
    child = simple("of_bare", datetime(2020, 1, 2, tzinfo=UTC), parent="bare")
    forked = simple("forked", datetime(2020, 1, 1, tzinfo=UTC))
    put(tmp_path / "sessions", bare, child, forked)
    fork = done_out(tmp_path, "fork", "forked")
    assert "No messages in this session yet." in failure(tmp_path, "fork", fork, code=2)
    result = run(tmp_path, "sessions", "clean", "--older-than", "30d", "--originals", "--yes")
    assert result.returncode == 0
    assert sorted(line.split()[2] for line in result.stdout.decode().strip().split("\n")) == [
        "archive",
        "dead_1",
    ]
    assert {"bare", "of_bare", "forked", fork, "goes_on", "dead_2"} <= set(listed(tmp_path))


def test_clean_originals_leaves_the_words_that_a_live_session_carries(home: Path) -> None:
    """A compaction carries its newest words by reference: they are read from the parent's file."""
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    folder = home / "sessions"
    put(folder, later(FIRST, (long_ago - FIRST.header.created).total_seconds()))
    restoration = SECOND.entries[0]
    assert isinstance(restoration, Restoration)
    carrying = replace(
        SECOND,
        header=replace(SECOND.header, id="carrying"),
        entries=(
            replace(restoration, verbatim_from="1.2", unsummarized_from="1.2"),
            *SECOND.entries[1:],
        ),
        seal=None,
    )
    below = replace(carrying, header=replace(SECOND.header, id="below", parent="carrying"))
    put(
        folder,
        carrying,
        replace(
            below, entries=(replace(restoration, depth=3, verbatim_from="1.2"), *SECOND.entries[1:])
        ),
    )
    clean = ("clean", "--older-than", "1y", "--originals", "--dry-run")
    for left in ("below", "carrying"):
        assert done_out(home, *clean) == ""
        (folder / f"{left}.md").unlink()
    assert done_out(home, *clean).split()[2] == FIRST.header.id


def done_out(home: Path, *arguments: str) -> str:
    result = run(home, "sessions", *arguments)
    assert result.returncode == 0
    return result.stdout.decode().strip()


def test_reindex(home: Path) -> None:
    assert done(home, "reindex") == "4 sessions read into the index.\n"
    before = done(home, "list")
    assert done(home, "reindex") == "4 sessions read into the index.\n"
    assert done(home, "list") == before
    listed = json.loads(done_out(home, "list", "--json"))["conversations"]
    assert [row["id"] for row in listed] == list(LISTED)


@contextmanager
def write_protected(folder: Path) -> Iterator[None]:
    folder.chmod(0o555)
    try:
        yield
    finally:
        folder.chmod(0o700)


def bound(home: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """`run` for somebody for whom the rights of files count: root without its special rights."""
    prefix = (
        ("setpriv", "--bounding-set", "-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
    )
    return run(home, *arguments, prefix=prefix)


@pytest.mark.skipif(
    os.name == "nt" or not shutil.which("setpriv"), reason="rights of POSIX, given away on Linux"
)
def test_a_folder_that_cannot_be_written_to(home: Path) -> None:
    folder = home / "sessions"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with write_protected(folder):
        if bound(home, "--version").returncode:
            pytest.skip("these rights cannot be given away here")
        found = bound(home, "sessions", "list")
        assert (found.returncode, found.stdout.count(b"\n"), found.stderr.count(b"\n")) == (0, 3, 1)
        shown = bound(home, "sessions", "show", OLD.header.id)
        assert (shown.returncode, shown.stdout) == (0, before[f"{OLD.header.id}.md"])
        assert bound(home, "sessions", "tree", SECOND.header.id).stdout.count(b"\n") == 2
        for action in (
            ("tag", OLD.header.id, "x"),
            ("trash", OLD.header.id),
            ("compact", OLD.header.id),
            ("fork", OLD.header.id),
            ("delete-summary", SECOND.header.id),
            (
                "import",
                str(folder / f"{OLD.header.id}.md"),
                str(Path(__file__).parents[1] / "golden" / "plain" / "resumed.md"),
            ),
            ("reindex",),
            ("stats",),
            ("search", "monad"),
            ("clean", "--older-than", "1y", "--yes"),
        ):
            result = bound(home, *ECHO, "sessions", *action)
            told = result.stderr.decode()
            assert result.returncode == 1, action
            assert "ermission denied" in told, action
            assert "Traceback" not in told
            assert "in memory" not in told, "nothing is tried again: the program ends"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.skipif(
    os.name == "nt" or not shutil.which("setpriv"), reason="rights of POSIX, given away on Linux"
)
def test_what_cannot_be_read(home: Path) -> None:
    folder = home / "sessions"
    if bound(home, "--version").returncode:
        pytest.skip("these rights cannot be given away here")
    (folder / f"{OLD.header.id}.md").chmod(0)
    found = json.loads(bound(home, "sessions", "list", "--json").stdout)["conversations"]
    assert [(row["id"], row["state"]) for row in found] == [
        (OPEN.header.id, "unsealed"),
        (SECOND.header.id, "sealed"),
        (OLD.header.id, "foreign"),
    ]
    shown = bound(home, "sessions", "show", "3")
    assert (shown.returncode, shown.stdout) == (1, b"")
    assert "permission denied" in shown.stderr.decode()
    folder.chmod(0)
    try:
        for action in (
            ("list",),
            ("show", "1"),
            ("show", "last"),
            ("search", "x"),
            ("stats",),
            ("trash",),
        ):
            result = bound(home, "sessions", *action)
            assert (result.returncode, result.stdout) == (1, b""), action
            assert "cannot be read: permission denied." in result.stderr.decode().lower(), action
            assert result.stderr.count(b"\n") <= 2
    finally:
        folder.chmod(0o700)
