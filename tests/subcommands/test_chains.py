"""The files that `chat-loop sessions fork|merge|compact|export|import` writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, Reply, failing
from tests.support.headless import ECHO, failure, load, output, run, session_ids, stdout
from tests.support.saved_sessions import ALL, FIRST, OLD, OPEN, SECOND, at, put, simple

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


def compatible(server: Loopback, model: str = "m") -> tuple[str, ...]:
    return ("--model", f"compatible:{model}", "--base-url", f"{server.url}/v1")


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
    assert session_ids(home)[-1] == OLD.header.id


def test_compact_of_an_unsealed_session_seals_it(home: Path, server: Loopback) -> None:
    result = run(home, *compatible(server), "sessions", "compact", "1")
    assert (result.returncode, result.stderr) == (0, b"")
    seal = load(home, OPEN.header.id).seal
    assert seal is not None
    assert (seal.source, seal.reason) == ("model", "exit")


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_delete_summary_and_compact_makes_it_anew(home: Path, server: Loopback) -> None:
    told = f"The summary of {SECOND.header.id} is deleted; sessions compact makes a new one.\n"
    assert output(home, "delete-summary", "2") == told
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
    assert output(home, "delete-summary", SECOND.header.id) == told


MISUSE: list[tuple[tuple[str, ...], str]] = [
    (("compact",), "Missing: SESSION.\n"),
    (("compact", "--focus", "ports", "3"), "Missing: SESSION.\n"),
    (("fork", "1", "--at", "x"), "“x” is not a number above 0"),
    (("fork", "1", "--at", "7"), "No message 1.7: that session has 1.1.\n"),
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
]


def test_misuse(home: Path) -> None:
    for arguments, message in MISUSE:
        assert message in failure(home, *arguments, code=2), arguments
    assert sorted(session_ids(home)) == sorted(session.header.id for session in ALL)


def branches(home: Path) -> tuple[str, str]:
    """Write two children of FIRST with different decisions on a port, and return their ids."""
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
    for name in ("rate_limiter.json", "rate_limiter_2.json"):
        result = run(home, "sessions", "export", "2", str(folder), "--as", "json", "--one")
        assert result.stderr.decode().startswith(f"Exported 1 session to {folder / name} (")
    assert len(json.loads((folder / name).read_bytes())["sessions"]) == 1
    assert "cannot be written: no such file or directory." in failure(
        home, "export", "2", str(tmp_path / "no" / "x.md")
    )
    assert "cannot be written: file name too long." in failure(
        home, "export", "2", "x" * 300 + ".md"
    )


def test_import_of_several_things_at_once(home: Path, tmp_path: Path) -> None:
    """One chain may come in several files, and the rest is imported if some cannot be read."""
    single = [tmp_path / f"{name}.md" for name in ("child", "parent")]
    for reference, path in zip((SECOND.header.id, FIRST.header.id), single, strict=True):
        path.write_text(stdout(home, "export", reference, "-", "--one") + "\n")
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
        "nowhere.json: no such file or directory.\n"
        "talk.html: It is neither an export nor a transcript.\n"
    )
    assert load(other, SECOND.header.id).header.parent == f"{FIRST.header.id}_2"
    assert load(other, FIRST.header.id) == taken
    again = run(other, "sessions", "import", str(old))
    assert (again.returncode, again.stdout.decode().count("there already")) == (0, 2)
