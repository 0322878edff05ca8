"""`chat-loop sessions`: the actions that only read, as text and as JSON."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from chat_loop.sessions import summary_block
from chat_loop.sessions.git import project_of
from chat_loop.sessions.pointers import Pointer, Pointers
from chat_loop.sessions.records import Seal
from tests.support.environments import environment
from tests.support.headless import ECHO, failure, run
from tests.support.pty_chat import PtyChat
from tests.support.saved_sessions import (
    FIRST,
    LATER,
    LISTED,
    OLD,
    OPEN,
    RATES,
    SECOND,
    at,
    of_this_project,
    put,
    simple,
)


def printed(home: Path, *arguments: str, code: int = 0) -> str:
    """The standard output of `chat-loop sessions …`; its standard error must be empty."""
    result = run(home, "sessions", *arguments)
    assert (result.returncode, result.stderr.decode()) == (code, "")
    return result.stdout.decode()


def values(home: Path, *arguments: str, code: int = 0) -> Any:
    result = run(home, "sessions", *arguments, "--json")
    assert (result.returncode, result.stderr.decode()) == (code, "")
    return json.loads(result.stdout)


def listed(home: Path, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
    """The rows of `sessions list --json`: conversations or, with `--unfold`, sessions."""
    found = values(home, "list", *arguments, code=code)
    assert found["schema"] == 2
    rows: list[dict[str, Any]] = found["sessions" if "--unfold" in arguments else "conversations"]
    return rows


def ids(rows: list[dict[str, Any]]) -> list[tuple[int | None, str]]:
    return [(row["number"], row["id"]) for row in rows]


ROW = {
    "number": 2,
    "id": SECOND.header.id,
    "name": "Rate limiter",
    "tags": ["work", "urgent"],
    "agent": "Sally",
    "project": "/home/kim/shop",
    "git_branch": "rate/limits",
    "created": "2026-11-01T10:00:00+00:00",
    "updated": "2026-11-02T10:00:11+00:00",
    "queries": 3,
    "tokens": 330,
    "cost": 0.0,
    "parent": FIRST.header.id,
    "merged": None,
    "depth": 2,
    "compacted": False,
    "mode": None,
    "answered": True,
    "state": "sealed",
    "sessions": 2,
    "compactions": 1,
    "branch": None,
}


def test_the_list_as_text(home: Path) -> None:
    assert printed(home, "list") == (
        """\
1  Which port does the database listen on?  2026-11-10 10:00  blue               Bob     1 message  13 tokens  bob_20261110_100000
2  Rate limiter · compacted #work #urgent   2026-11-02 10:00  shop  rate/limits  Sally  3 messages  25 tokens  sally_20261102_100000
3  What is a monad?                         2020-03-01 10:00                     Sally   1 message   7 tokens  sally_20200301_100000
"""
    )


def test_the_list_as_json(home: Path) -> None:
    rows = listed(home)
    assert rows[1] == ROW | {
        "owner": None,
        "path": str(home / "sessions" / f"{SECOND.header.id}.md"),
    }
    assert ids(rows) == list(enumerate(LISTED, 1))
    assert values(home, "list") == json.loads(run(home, "--json", "sessions", "list").stdout)


FILTERS: list[tuple[tuple[str, ...], list[tuple[int | None, Any]]]] = [
    (("--unfold",), [(1, OPEN), (2, SECOND), (None, FIRST), (3, OLD)]),
    (("--limit", "2"), [(1, OPEN), (2, SECOND)]),
    (("rate", "LIMITER"), [(2, SECOND)]),
    (("token", "bucket"), [(2, SECOND)]),  # in the summary of its first session
    (("monad",), [(3, OLD)]),
    (("--tag", "urgent"), [(2, SECOND)]),
    (("--tag", "#Work"), [(2, SECOND)]),
    (("--agent", "bob"), [(1, OPEN)]),
    (("--project", "shop"), [(2, SECOND)]),
    (("--since", "2026-11-05"), [(1, OPEN)]),
    (("--before", "2026-11-02T10:00:11+00:00"), [(3, OLD)]),
    (("--before", "2026-11-02T10:00:11+00:00", "--unfold"), [(None, FIRST), (3, OLD)]),
    (("--before", "2021-01-01"), [(3, OLD)]),
    (("--since", "99y", "--limit", "1"), [(1, OPEN)]),
    (("--agent", "Sally", "--tag", "work", "--since", "2026-11-02", "--unfold"), [(2, SECOND)]),
]


def test_filters_keep_the_numbers_of_the_list(home: Path) -> None:
    for arguments, expected in FILTERS:
        found = ids(listed(home, *arguments))
        assert found == [(number, session.header.id) for number, session in expected], arguments


REFUSED: list[tuple[tuple[str, ...], int, str]] = [
    (("list", "nowhere"), 1, "No matching sessions.\n"),
    (("list", "--tag", "none"), 1, "No matching sessions.\n"),
    (("list", "--since", "someday"), 2, "“someday” is not a date.\n"),
    (("list", "--since", "2026-13-01"), 2, "“2026-13-01” is not a date.\n"),
    (("list", "--before", ""), 0, ""),
    (("list", "--limit", "0"), 2, "“0” is not a number above 0"),
    (("list", "--limit", "-3"), 2, "“-3” is not a number above 0"),
    (("search", "nowhere"), 1, "No matches.\n"),
    (("search",), 2, "Missing: WORDS."),
    (
        ("show", "9"),
        1,
        ("No session 9: the numbers go from 1 to 3.\nchat-loop sessions list shows numbers"),
    ),
    (("show", "0"), 1, "No session 0"),
    (("show", "sally"), 1, "2 sessions match “sally”.\nchat-loop sessions list shows"),
    (
        ("show", "home kim"),
        1,
        "2 sessions match “home kim”.\nchat-loop sessions list shows",
    ),
    (("show", "no such words"), 1, "No session named no such words.\n"),
    (("show", "a/b"), 1, "No session named a/b.\n"),
    (("show", ""), 1, "No session named .\n"),
    (("tree", "9"), 1, "No session 9"),
    (("frobnicate",), 2, "Unknown action “frobnicate”."),
    (("browse",), 2, "The browser needs a terminal.\n"),
]


def test_what_cannot_be_done_or_found(home: Path) -> None:
    for arguments, code, message in REFUSED:
        result = run(home, "sessions", *arguments)
        assert result.returncode == code, arguments
        assert message in result.stderr.decode()
        assert code == 0 or result.stdout == b""


def test_nothing_found_is_an_empty_list_of_json(home: Path) -> None:
    assert listed(home, "nowhere", code=1) == []
    result = run(home, "sessions", "search", "nowhere", "--json")
    assert (result.returncode, result.stdout) == (1, b"[]\n")


REFERENCES = [
    ("1", OPEN),
    ("2", SECOND),
    ("3", OLD),
    ("03", OLD),
    (FIRST.header.id, FIRST),
    ("bob", OPEN),
    ("monad", OLD),
    ("what is a monad", OLD),
    ("last", OPEN),
    ("current", OPEN),
]


def test_show_prints_the_file(home: Path) -> None:
    for reference, session in REFERENCES:
        path = home / "sessions" / f"{session.header.id}.md"
        assert run(home, "sessions", "show", reference).stdout == path.read_bytes(), reference


def test_the_last_session_is_the_newest_when_the_last_is_gone(home: Path) -> None:
    put(home / "sessions", of_this_project(OLD))
    here = project_of(str(Path.cwd()))
    for identity in (OLD.header.id, "gone_20260101_000000"):
        pointers = Pointers(newest=(Pointer(here, (identity,)),))
        (home / "sessions" / ".current").write_bytes(msgspec.json.encode(pointers))
        assert values(home, "show", "last")["id"] == OLD.header.id, "the newest of this project"
    put(home / "sessions", OLD)
    (home / "sessions" / ".current").unlink()
    assert values(home, "show", "last")["id"] == OPEN.header.id, "the newest of any"


def test_where_a_text_comes_from(home: Path) -> None:
    kept = (
        "in the summary of session 1 (Nov 01, 10:01), under Key Facts: The limit is 100 per minute."
    )
    assert printed(home, "why", "100", "--session", "rate") == (
        "“100” was said in 1 place:\n"
        "1.2       you, Nov 01, 10:00: Take 100.\n"
        f"kept      {kept}\n"
        "missing   in the summary of session 2 (Nov 02, 10:01), with which a resume may go on: the "
        "summary had no room for it\n"
        "now       in the context: in the summary, under Key Facts: The limit is 100 per minute.\n"
    )
    found = values(home, "why", "take 100", "--session", FIRST.header.id)
    assert (found["count"], found["said"][0]["message"]) == (1, "1.2")
    assert "does not say that" in failure(home, "why", "gaffer", "--session", "2")


def test_show_as_json(home: Path) -> None:
    shown = values(home, "show", "3")
    assert (shown["id"], shown["name"], shown["damage"]) == (OLD.header.id, "What is a monad?", [])
    assert [(entry["kind"], entry["text"]) for entry in shown["entries"]] == [
        ("query", "What is a monad?"),
        ("reply", "A monoid."),
    ]
    assert shown["entries"][1]["usage"]["input"] == shown["totals"]["session"]["input"] == 100
    assert shown["seal"]["at"] == "2020-03-01T11:00:00+00:00"
    assert (shown["seal"]["reason"], shown["seal"]["summary"]) == ("exit", None)


def test_the_summaries_of_a_chain(home: Path) -> None:
    assert printed(home, "show", "2", "--show-summaries") == (
        f"""\
{FIRST.header.id}: 2026-11-01 10:01, by a model
61K → 9.4K tokens · 1 decision, 1 fact kept · scripted:echo · $0.0123

{summary_block.render(RATES)}

{SECOND.header.id}: 2026-11-02 10:01, by a model

{summary_block.render(LATER)}

"""
    )
    assert printed(home, "show", "3", "--show-summaries") == f"{OLD.header.id}: no summary\n\n"
    first, second = values(home, "show", "2", "--show-summaries")
    assert (first["session"], second["session"]) == (FIRST.header.id, SECOND.header.id)
    assert FIRST.seal is not None
    assert msgspec.convert(first["seal"], Seal) == FIRST.seal
    assert second["seal"]["summary"]["background"] == "We limit rates."
    [old] = values(home, "show", "3", "--show-summaries")
    assert old["seal"] is None or old["seal"]["summary"] is None


def test_a_broken_chain_is_shown_as_far_as_it_goes(home: Path) -> None:
    (home / "sessions" / f"{FIRST.header.id}.md").unlink()
    for more in ((), ("--json",)):
        result = run(home, "sessions", "show", "2", "--show-summaries", *more)
        assert (result.returncode, FIRST.header.id in result.stderr.decode()) == (0, True)
        assert result.stderr.count(b"\n") == 1
        assert b"We limit rates." in result.stdout


def test_search(home: Path) -> None:
    assert printed(home, "search", "token bucket") == (
        f"""\
      Rate limiter · {FIRST.header.id} · 1.1 · 2026-11-01 10:00
      assistant: With a token bucket.
"""
    )
    [hit] = values(home, "search", "5544")
    assert hit == {
        "number": 1,
        "session": OPEN.header.id,
        "name": "Which port does the database listen on?",
        "tags": [],
        "query": 1,
        "at": "2026-11-10T10:00:00+00:00",
        "strength": hit["strength"],
        "related": False,
        "owner": None,
        "excerpts": {"assistant": "Port 5544."},
        "path": str(home / "sessions" / f"{OPEN.header.id}.md"),
    }
    assert values(home, "show", str(hit["number"]))["id"] == hit["session"]
    assert [
        one["session"] for one in values(home, "search", "rate", "--since", "2026-11-02", code=1)
    ] == []
    assert len(values(home, "search", "limit", "bursts", "--limit", "1")) == 1


def test_the_tree(home: Path) -> None:
    fork = simple("sally_20261103_100000", at(11, 3), parent=FIRST.header.id)
    put(home / "sessions", fork)
    assert printed(home, "tree", FIRST.header.id) == (
        f"""\
● {FIRST.header.id}  2026-11-01 10:00 · 2 queries, 220 tokens · compacted 61K → 9.4K · Rate limiter
├─● {fork.header.id}  2026-11-03 10:00 · 1 query, 110 tokens · About sally_20261103_100000
└─● {SECOND.header.id}  2026-11-02 10:00 · 1 query, 110 tokens · “And bursts?”
"""
    )


def test_stats(home: Path) -> None:
    found = values(home, "stats")
    size = sum(path.stat().st_size for path in (home / "sessions").glob("*.md"))
    tokens = found.pop("tokens_of_summaries")
    assert tokens > 50
    assert found == {
        "sessions": 4,
        "conversations": 3,
        "queries": 5,
        "tokens": 550,
        "bytes": size,
        "exchanges_in_archives": 3,
        "summaries": 2,
        "compactions": 1,
        "tokens_saved_by_compactions": 51_600,
        "cost_of_compactions": 0.0123,
    }
    lines = printed(home, "stats").split("\n")
    assert lines[0].split() == ["Sessions:", "4"]
    assert lines[-2].split() == ["Cost", "of", "compactions:", "$0.0123"]


def test_stats_count_what_no_list_shows(tmp_path: Path) -> None:
    run(tmp_path, *ECHO, "-p", "Hello.")
    assert values(tmp_path, "list")["conversations"] == []
    found = values(tmp_path, "stats")
    assert (found["sessions"], found["queries"]) == (1, 1)


@pytest.mark.slow
def test_a_folder_that_is_missing_or_empty(tmp_path: Path) -> None:
    for folder in ("nowhere", "empty"):
        options = ("--sessions-dir", str(tmp_path / folder), "sessions")
        listed = run(tmp_path, *options, "list")
        assert (listed.returncode, listed.stdout, listed.stderr) == (
            0,
            b"",
            b"No conversations yet; --all also lists runs of -p and failed ones.\n",
        )
        found = json.loads(run(tmp_path, *options, "list", "--json").stdout)
        assert found == {"schema": 2, "conversations": [], "older": 0}
        shown = run(tmp_path, *options, "show", "last")
        assert (shown.returncode, shown.stderr.decode().partition("\n")[0]) == (
            1,
            "There is no session to continue.",
        )
        assert run(tmp_path, *options, "search", "x").returncode == 1
        assert set(json.loads(run(tmp_path, *options, "stats", "--json").stdout).values()) == {0}
        assert run(tmp_path, *options, "trash").returncode == 0
        cleaned = run(tmp_path, *options, "clean", "--older-than", "30d", "--yes")
        assert (cleaned.returncode, cleaned.stderr) == (0, b"There is nothing to clean.\n")
        assert not (tmp_path / "nowhere").exists()
        (tmp_path / "empty").mkdir(exist_ok=True)


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "sessions").write_text("in the way")
    for action in (
        ("list",),
        ("search", "x"),
        ("stats",),
        ("reindex",),
        ("show", "1"),
        ("show", "last"),
        ("trash",),
    ):
        result = run(tmp_path, "sessions", *action)
        assert (result.returncode, result.stdout) == (1, b"")
        assert "cannot be read" in result.stderr.decode()
        assert result.stderr.count(b"\n") <= 2


def test_a_file_of_another_kind_does_not_hide_the_others(home: Path) -> None:
    folder = home / "sessions"
    (folder / "notes.md").write_text("# Notes\n")
    (folder / "empty.md").write_text("")
    (folder / "link.md").symlink_to("/etc/hostname")
    (folder / "folder.md").mkdir()
    damaged = (folder / f"{OLD.header.id}.md").read_bytes()
    (folder / "torn.md").write_bytes(damaged[: len(damaged) // 2])
    rows = {row["id"]: row["state"] for row in listed(home, "--all")}
    assert [rows[name] for name in ("notes", "empty", "link", "folder", "torn")] == [
        "foreign",
        "empty",
        "foreign",
        "foreign",
        "unsealed",
    ]
    assert set(LISTED) < set(rows)
    for name in ("notes", "empty", "link", "folder"):
        assert failure(home, "show", name).count("\n") == 1


@pytest.mark.slow
def test_many_sessions_and_a_reader_that_leaves(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    put(folder, *(simple(f"s{number:04}", at(11, 1, number)) for number in range(500)))
    first = run(tmp_path, "sessions", "list")
    assert first.returncode == 0
    assert first.stderr == b"", "they are in the index now"
    numbers = [int(line.split()[0]) for line in first.stdout.splitlines()]
    assert numbers == [*range(1, 501)]
    row = first.stdout.split(b"\n")[41].split()
    assert (row[0], *row[3:5], row[-1]) == (b"42", b"2026-11-01", b"10:07", b"s0458")
    assert values(tmp_path, "show", "499")["id"] == "s0001"
    assert run(tmp_path, "sessions", "reindex").stdout == b"500 sessions read into the index.\n"
    assert run(tmp_path, "sessions", "list").stdout == first.stdout
    assert ids(listed(tmp_path, "s007", "--limit", "2")) == [(421, "s0079"), (422, "s0078")]
    process = subprocess.Popen(
        [sys.executable, "-m", "chat_loop", "sessions", "list", "--json"],
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.read(4) == b'{"sc'
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=60) == 0


def test_the_folder_of_an_agents_settings_is_listed(tmp_path: Path) -> None:
    settings = f"agents: {{Assistant: {{sessions: {{directory: {tmp_path / 'own'}}}}}}}"
    (tmp_path / "config.yaml").write_text(settings)
    put(tmp_path / "sessions", simple("other", at(11, 1)))
    put(tmp_path / "own", simple("mine", at(11, 1)))
    assert ids(listed(tmp_path)) == [(1, "mine")]


HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe\nsecond <!-- chat:end --> line"


def test_hostile_names_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    session = simple("odd_20261101_100000", at(11, 1), HOSTILE, f"{HOSTILE} answer 4711")
    put(tmp_path / "sessions", session)
    env = environment(tmp_path)
    for action in (
        ("list",),
        ("show", "1"),
    ):
        with PtyChat(
            [sys.executable, "-m", "chat_loop", "sessions", *action], env=env, cols=200
        ) as terminal:
            assert terminal.exit_code() == 0
            shown = terminal.raw.decode()
            assert "owned" in shown
            assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e]", shown), (
                action
            )
    name = "␛]0;owned␇␛[2J<U+009B>31m<U+202E>gnp.exe"
    assert listed(tmp_path)[0]["name"] == name
    piped = printed(tmp_path, "list")
    assert piped.count("\n") == 1
    assert name in piped
    raw = run(tmp_path, "sessions", "show", "1").stdout
    assert raw == (tmp_path / "sessions" / f"{session.header.id}.md").read_bytes()


def test_an_index_that_is_damaged_or_of_a_newer_program_costs_one_line(home: Path) -> None:
    expected = printed(home, "list")
    [index] = [path for path in (home / "sessions").iterdir() if path.read_bytes()[:6] == b"SQLite"]
    index.write_bytes(b"not a database at all" * 1000)
    result = run(home, "sessions", "list")
    assert (result.returncode, result.stdout.decode()) == (0, expected)
    assert result.stderr.count(b"\n") == 1
    assert printed(home, "list") == expected
