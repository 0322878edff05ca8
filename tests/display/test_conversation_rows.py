"""A conversation is one row of every list, with the totals and dates of its chain."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from chat_loop.display.conversation_rows import cost_of
from chat_loop.sessions.records import Restoration, Session
from chat_loop.sessions.writer import render
from chat_loop.values import Usage
from tests.support.headless import ECHO, run
from tests.support.library_screens import CODE, in_zone
from tests.support.saved_sessions import ALL, FIRST, SECOND, at, put, simple
from tests.support.screens import Screen


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    in_zone(monkeypatch)


def told(folder: Path, *lines: str, hours: int = 0) -> str:
    """Return the screen of a chat in which each query gets a reply and code writes summaries."""
    return Screen(
        folder, lines, *["Noted."] * 20, hours=hours, options=CODE, answers=["y"] * 9
    ).text


def rows(text: str, command: str = "sessions") -> list[str]:
    """Return the lines that a command showed."""
    return (
        text.partition(f"You: {command}\n")[2]
        .partition("\nYou: ")[0]
        .removesuffix("\nGoodbye!\n")
        .split("\n")
    )


def listed(home: Path, *options: str) -> list[dict[str, Any]]:
    """Return the rows of `sessions list --json`."""
    result = run(home, "sessions", "list", "--json", *options)
    found = json.loads(result.stdout)
    assert found["schema"] == 2
    conversations: list[dict[str, Any]] = found[
        "sessions" if "--unfold" in options else "conversations"
    ]
    return conversations


def test_the_conversation_that_is_open_is_in_the_list_before_and_after_a_compaction(
    tmp_path: Path,
) -> None:
    text = told(
        tmp_path, "How do I sort?", "sessions", "And by two keys?", "compact", "sessions  ", "So?"
    )
    assert rows(text) == ["*  How do I sort?  now  1 message  6 tokens"]
    [row] = rows(text, "sessions  ")
    assert row == "*  How do I sort? · compacted  now  2 messages  12 tokens"
    assert "no other conversations" not in text
    [row] = rows(told(tmp_path, "sessions", hours=2))
    assert row == "1  How do I sort? · compacted  1h  3 messages  15 tokens"


def test_a_compaction_that_was_taken_back_leaves_one_row(tmp_path: Path) -> None:
    told(tmp_path, "How do I sort?", "And by two keys?", "compact", "/uncompact", "And by three?")
    [row] = rows(told(tmp_path, "sessions", hours=2))
    assert "3 messages  17 tokens" in row


def test_the_open_conversation_has_no_number_and_the_others_keep_theirs(tmp_path: Path) -> None:
    told(tmp_path, "How do I sort?")
    told(tmp_path, "What is a fold?", hours=1)
    text = told(tmp_path, "Which port?", "sessions", "/show 1", "/show 2", "/show 3", hours=2)
    assert [row.split()[0] for row in rows(text)] == ["*", "1", "2"]
    assert (
        "You: What is a fold?" in text.partition("You: /show 1\n")[2].partition("You: /show 2\n")[0]
    )
    assert (
        "You: How do I sort?" in text.partition("You: /show 2\n")[2].partition("You: /show 3\n")[0]
    )
    assert "No session 3: the numbers go from 1 to 2." in text


def test_branches_of_one_conversation_are_told_apart_everywhere(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    told(
        folder, "The gateway listens on port 5432.", "The budget is 8,400 euros.", "/rename Kitchen"
    )
    told(folder, "/resume 1", "Now on port 5544.", hours=1)
    first = min(path.stem for path in folder.glob("*.md"))
    told(folder, f"/resume {first}", "/fork 1.1", "Now on port 6000.", hours=2)
    text = told(folder, "sessions", hours=3)
    assert [re.sub(" +[0-9]+h .*", "", row[3:]) for row in rows(text)] == [
        "Kitchen ⑂1.1 “Now on port 6000.”",
        "Kitchen ⑂1.2 “Now on port 5544.”",
    ]
    newest, other = listed(tmp_path)
    assert newest["branch"] == {"at": "1.1", "words": "Now on port 6000."}
    assert other["branch"] == {"at": "1.2", "words": "Now on port 5544."}
    assert (newest["queries"], newest["tokens"]) == (2, 220)
    assert (other["queries"], other["tokens"]) == (3, 330)
    assert [row["number"] for row in listed(tmp_path, "--unfold")].count(None) >= 1
    printed = run(tmp_path, "sessions", "list").stdout.decode()
    assert "Kitchen ⑂1.1 “Now on port 6000.”" in printed


def test_the_times_of_files_change_nothing(tmp_path: Path) -> None:
    put(tmp_path / "sessions", *ALL)
    expected = listed(tmp_path)
    assert [row["updated"] for row in expected] == [
        "2026-11-10T10:00:01+00:00",
        "2026-11-02T10:00:11+00:00",
        "2020-03-01T10:00:01+00:00",
    ]
    for number, path in enumerate(sorted((tmp_path / "sessions").glob("*.md"))):
        os.utime(path, (10**9 + number, 10**9 + number))
    assert listed(tmp_path) == expected
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in sorted((tmp_path / "sessions").glob("*.md")):
        shutil.copyfile(path, copy / path.name)
    found = json.loads(
        run(tmp_path, "--sessions-dir", str(copy), "sessions", "list", "--json").stdout
    )
    assert [{**row, "path": ""} for row in found["conversations"]] == [
        {**row, "path": ""} for row in expected
    ]
    clean = run(tmp_path, "sessions", "clean", "--older-than", "2021-01-01", "--dry-run").stdout
    assert [line.split()[2] for line in clean.decode().splitlines()] == [ALL[3].header.id]


def undated(identity: str) -> bytes:
    """Return the transcript of a session whose records have no dates."""
    lines = render(simple(identity, at(11, 5))).decode().split("\n")
    return (
        "\n".join(" ".join(part for part in line.split(" ") if part[:3] != "at=") for line in lines)
        .replace(f" created={at(11, 5).isoformat()}", "")
        .encode()
    )


def test_what_has_no_date_is_last_and_stays(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    put(folder, simple("old", at(1, 1)))
    (folder / "undated.md").write_bytes(undated("undated"))
    found = listed(tmp_path)
    assert [(row["number"], row["id"], row["updated"] is None) for row in found] == [
        (1, "old", False),
        (2, "undated", True),
    ]
    lines = run(tmp_path, "sessions", "list").stdout.decode().split("\n")
    assert [re.split("  +", line.strip())[2] for line in lines[:2]] == [
        *("2026-01-01 10:00", "unknown")
    ]
    assert run(tmp_path, "sessions", "show", "2").stdout == (folder / "undated.md").read_bytes()
    assert [row["id"] for row in listed(tmp_path, "--before", "2999-01-01")] == ["old"]
    cleaned = run(
        tmp_path, "sessions", "clean", "--older-than", "2026-06-01", "--dry-run"
    ).stdout.decode()
    assert [line.split()[2] for line in cleaned.strip().split("\n")] == ["old"]
    text = told(folder, "sessions", hours=1)
    assert [re.split("  +", row)[2] for row in rows(text)] == ["Jan 2026", "unknown"]


def test_runs_of_p_and_queries_without_a_reply_are_listed_on_demand(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    unanswered = replace(simple("failed", at(11, 9)), seal=None)
    put(folder, simple("talk", at(11, 1)), replace(unanswered, entries=unanswered.entries[:1]))
    run(tmp_path, *ECHO, "-p", "Name a port.")
    run(tmp_path, *ECHO, "-c", "-p", "Another one.")
    assert [row["id"] for row in listed(tmp_path)] == ["talk"]
    everything = listed(tmp_path, "--all")
    assert [
        (row["number"], row["mode"], row["answered"], row["queries"]) for row in everything
    ] == [
        (None, "print", True, 2),
        (None, None, False, 1),
        (1, None, True, 1),
    ]
    assert [row.split()[0] for row in rows(told(folder, "sessions", hours=1))] == ["1"]
    assert len(rows(told(folder, "/sessions --all", hours=1), "/sessions --all")) == 3
    run(tmp_path, *ECHO, "-p", "And this?", "--resume", "talk")
    [row] = listed(tmp_path)
    assert (row["parent"], row["mode"], row["queries"]) == ("talk", None, 2)


def test_numbers_beyond_the_first_page_are_taken_at_the_start_as_well(tmp_path: Path) -> None:
    put(
        tmp_path / "sessions", *(simple(f"s{number:03}", at(11, 1, number)) for number in range(30))
    )
    row = listed(tmp_path)[24]
    assert (row["number"], row["id"]) == (25, "s005")
    assert "About s005" in told(tmp_path / "sessions", "/show 25", hours=1)


def child(identity: str, parent: str, text: str, second: int) -> Session:
    """Return a session that begins with its parent's summary."""
    made = simple(identity, at(11, 3, second), text, "So.", parent=parent)
    given = Restoration(
        at=at(11, 3), parent_created=at(11, 1), queries=1, tokens=110, block="**Background:** x"
    )
    return replace(made, header=replace(made.header, title="Ports"), entries=(given, *made.entries))


def test_chains_that_cannot_be_are_listed_said_and_resumed(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    put(
        folder,
        child("round_1", "round_2", "Round one?", 1),
        child("round_2", "round_1", "Round two?", 2),
        child("own", "own", "My own parent?", 3),
        child("orphan", "gone", "Where is my parent?", 4),
        simple("root", at(11, 1)),
        child("twin_1", "root", "Port 80?", 5),
        child("twin_2", "root", "Port 443?", 6),
    )
    found = listed(tmp_path)
    assert [row["id"] for row in found] == ["twin_2", "twin_1", "orphan", "own", "round_2"]
    assert [row["branch"] and row["branch"]["words"] for row in found[:2]] == [
        "Port 443?",
        "Port 80?",
    ]
    for number in range(1, 6):
        text = told(folder, f"resume {number}", "Go on.", hours=20 + number)
        assert "✗" not in text, text
    summaries = run(tmp_path, "sessions", "show", "round_1", "--show-summaries")
    assert "its sessions go on from each other" in summaries.stderr.decode()


def test_prices_that_nobody_knows_are_not_free(tmp_path: Path) -> None:
    assert FIRST.seal is not None
    assert FIRST.seal.compaction is not None
    unknown = replace(
        FIRST.seal, compaction=replace(FIRST.seal.compaction, cost=None, model="somewhere:big")
    )
    put(tmp_path / "sessions", replace(FIRST, seal=unknown), SECOND)
    assert (
        "Cost of compactions:         price unknown\n"
        in run(tmp_path, "sessions", "stats").stdout.decode()
    )
    assert (
        json.loads(run(tmp_path, "sessions", "stats", "--json").stdout)["cost_of_compactions"]
        is None
    )
    assert json.loads(run(tmp_path, "sessions", "stats", "--json").stdout)["conversations"] == 1


def test_names_have_the_room_that_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told(tmp_path, "How do I sort a list of dictionaries by two keys at once?")
    for width, room in ((80, 75), (40, 37)):
        monkeypatch.setenv("COLUMNS", str(width))
        shown = rows(told(tmp_path, "sessions", hours=1))
        assert max(map(len, shown)) >= room
        assert "How do I sort a list of" in shown[0]
        assert ("1 msg" if width == 40 else "1 message") in shown[0]
        assert "Sally" not in "".join(shown)


def test_copies_of_sync_tools_are_named(tmp_path: Path) -> None:
    put(tmp_path / "sessions", FIRST)
    path = tmp_path / "sessions" / f"{FIRST.header.id}.md"
    copies = [
        f"{path.stem} (conflicted copy).md",
        f"{path.stem}.sync-conflict-20261122-101010-ABCDEFG.md",
    ]
    for name in copies:
        shutil.copy(path, path.with_name(name))
    said = run(tmp_path, "sessions", "list").stderr.decode()
    assert said.startswith(f"2 files not listed: {copies[0]}, {copies[1]}. ")
    assert "2 files not listed" in run(tmp_path, "doctor").stdout.decode()


def test_the_cost_of_many_calls_is_that_of_calls_of_usual_size() -> None:
    def cost(model: str, usage: Usage) -> float | None:
        """Return a price that doubles in a call of more than 200,000 tokens."""
        if model != "known":
            return None
        rate = 6 if usage.input > 200_000 else 3
        return (usage.input - usage.cached) * rate + usage.written * 2 + usage.output * 15

    usage = Usage(input=1_000_003, cached=400_001, written=7, output=60_001)
    assert cost_of([("known", usage)], cost) == 600_002 * 3 + 14 + 60_001 * 15
    assert cost_of([("known", usage), ("other", usage)], cost) is None
    assert cost_of(None, cost) is None
