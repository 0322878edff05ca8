"""`/export` and `/import` on the screen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chat_loop.library.library import Library
from chat_loop.library.lineage import tree
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.rows import read_rows
from tests.support.imported_chain import imported
from tests.support.saved_sessions import ALL, FIRST, SECOND, at, put, simple
from tests.support.screens import Line, Screen
from tests.support.scripted_chat import SUMMARY, Step, names


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the user's working directory and a known screen width."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def screen(tmp_path: Path, *lines: Line, steps: tuple[Step, ...] = (), hours: int = 9) -> Screen:
    return Screen(tmp_path / "sessions", lines, *steps, hours=hours)


def shown(found: Screen, line: str) -> list[str]:
    """Return the lines on the screen between a line of the user and the next."""
    after = found.text.partition(f"You: {line}\n")[2]
    return after.partition("You: ")[0].removesuffix("Goodbye!\n").rstrip("\n").split("\n")


def folder(path: Path) -> list[str]:
    return sorted(one.name for one in path.iterdir())


def test_a_live_session_is_exported_as_it_is_now_and_goes_on(tmp_path: Path) -> None:
    lines = ["How do I sort?", "/export now.json", "And in place?", "/export md then.md", "/export"]
    found = screen(tmp_path, *lines, steps=("With sorted().", "list.sort()", SUMMARY))
    here = tmp_path / "here"
    assert folder(here) == ["how_do_i_sort.html", "now.json", "then.md"]
    assert shown(found, "/export now.json")[0].startswith("Exported 1 session to now.json (")
    assert shown(found, "/export")[0].startswith("Exported 1 session to how_do_i_sort.html (")
    [early] = imported((here / "now.json").read_bytes(), "now.json").sessions
    [late] = imported((here / "then.md").read_bytes(), "x.md").sessions
    assert [len(one.exchanges) for one in (early, late)] == [1, 2]
    [path] = (tmp_path / "sessions").glob("*.md")
    whole = SessionManager(tmp_path / "sessions").load(path).session
    assert len(whole.exchanges) == 2
    assert late.entries == whole.entries
    assert late.seal is None


def test_a_chat_that_was_just_resumed_exports_its_chain(tmp_path: Path) -> None:
    put(tmp_path / "sessions", *ALL)
    found = screen(tmp_path, "/resume rate --quick", "/export talk.json")
    assert shown(found, "/export talk.json")[0].startswith("Exported 2 sessions to talk.json (")


def test_another_session_its_chain_and_a_page(tmp_path: Path) -> None:
    put(tmp_path / "sessions", *ALL)
    found = screen(
        tmp_path,
        "sessions",
        "/export --session 2 talk.html",
        "/export --session 2 --one one --as json",
        '/export --session 2 "my own talk.json"',
        "/export --session rate ~/no/such.md",
    )
    assert shown(found, "/export --session 2 talk.html")[0].startswith(
        "Exported 2 sessions to talk.html ("
    )
    here = tmp_path / "here"
    assert folder(here) == ["my own talk.json", "one", "talk.html"]
    page = (here / "talk.html").read_text()
    assert all(
        text in page for text in ("How do we limit the rate?", "Up to 20 at once.", FIRST.header.id)
    )
    assert [
        len(json.loads((here / name).read_text())["sessions"])
        for name in ("one", "my own talk.json")
    ] == [1, 2]
    assert shown(found, "/export --session rate ~/no/such.md") == [
        f"✗ {tmp_path / 'home' / 'no' / 'such.md'} cannot be written: no such file or directory."
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/export", "✗ Nothing to export yet."),
        ("/export talk.pdf", "✗ Unknown export format “.pdf”."),
        ("/export pdf", "✗ “pdf” is no format, and no file with an ending."),
        ("/export --all", "✗ /export has no option --all."),
        ("/export --session 9 x.md", "✗ No session 9: the numbers go from 1 to 3."),
        ("/export --session 1 taken.md", "✗ taken.md cannot be written: file exists."),
        ("/export --session 1 a\0b.md", "✗ That is not a file name."),
        (f"/export --session 1 {'x' * 300}.md", "cannot be written: file name too long."),
        ("/import", "✗ Usage: /import FILE|FOLDER"),
        ("/import nowhere.json", "⚠️  nowhere.json: no such file or directory."),
        ("/import ~nobody-of-that-name/x", "x: no such file or directory."),
        ("/import a\0b", "✗ That is not a file name."),
        ("/import taken.md", "⚠️  taken.md: It is neither an export nor a transcript."),
        ("/import .", "⚠️  taken.md: It is neither an export nor a transcript."),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(
    tmp_path: Path, line: str, message: str
) -> None:
    put(tmp_path / "sessions", *ALL)
    (tmp_path / "here" / "taken.md").write_text("mine")
    found = screen(tmp_path, line)
    flat = " ".join(found.text.split())
    assert " ".join(message.split()) in flat
    assert (tmp_path / "here" / "taken.md").read_text() == "mine"
    assert folder(tmp_path / "here") == ["taken.md"]
    assert names(tmp_path / "sessions") == sorted(f"{session.header.id}.md" for session in ALL)
    assert found.code == 0


def test_a_chain_with_a_fork_and_a_merge_is_the_same_tree_elsewhere(tmp_path: Path) -> None:
    """The chain is exported, then imported into an empty folder and into one that already has one
    of its ids.
    """
    source = tmp_path / "sessions"
    Screen(
        source, ["Plan A?", "compact", "On with it."], "Yes.", SUMMARY, "Ready.", "Good.", SUMMARY
    )
    first, second = sorted(path.removesuffix(".md") for path in names(source))
    fork = simple("sally_20261122_100000", at(11, 22), parent=first)
    put(source, fork)
    Screen(
        source,
        [f"/merge {second} {fork.header.id}", "And on."],
        "Ready.",
        "Well.",
        SUMMARY,
        hours=21,
    )
    [merged] = [row.id for row in read_rows(source) if row.merged]
    for place in ("empty", "taken"):
        other = tmp_path / place
        if place == "taken":
            put(other, simple(first, at(1, 1), "Somebody else's"))
        screen(tmp_path, f"/export --session {merged} {place}.json")
        found = Screen(other, [f"/import {place}.json", f"/import {place}.json"], hours=30)
        exported = imported((tmp_path / "here" / f"{place}.json").read_bytes(), "x").sessions
        assert {session.header.id for session in exported} == {
            first,
            second,
            fork.header.id,
            merged,
        }
        assert shown(found, f"/import {place}.json")[0] == "Imported 4 sessions."
        assert "Imported 0 sessions; 4 there already." in found.text
        new = {
            f"{first}_2" if one == first and place == "taken" else one
            for one in (first, second, merged)
        }
        there = shape(other, merged)
        assert new <= {identity for identity, _ in there}
        assert [(identity.removesuffix("_2"), stem) for identity, stem in there] == shape(
            source, merged
        )
        assert (f"  {first} is {first}_2 here." in found.text) == (place == "taken")


def shape(where: Path, identity: str) -> list[tuple[str, str]]:
    library = Library(where)
    try:
        return [(node.id, node.stem) for node in tree(identity, library.links().value)]
    finally:
        library.close()


def test_complaints_are_shown(tmp_path: Path) -> None:
    old = tmp_path / "here" / "old"
    old.mkdir()
    for number in range(8):
        (old / f"note{number}\x1b[2J.md").write_text("# A note\n")
    put(old, SECOND)
    found = screen(tmp_path, '/import "old"', "/import old")
    lines = shown(found, '/import "old"')
    assert len(lines) == 9
    assert lines[0] == "⚠️  note0⟦U+001B⟧[2J.md: It is neither an export nor a transcript."
    assert lines[8:] == ["Imported 1 session."]
    assert shown(found, "/import old")[-1].startswith("Imported 0 sessions; 1 there already.")
    assert "\x1b[2J" not in found.text


def test_what_was_imported_can_be_resumed_by_its_number(tmp_path: Path) -> None:
    document = tmp_path / "here" / "talk.json"
    put(tmp_path / "elsewhere", FIRST, SECOND)
    Screen(tmp_path / "elsewhere", [f"/export --session {SECOND.header.id} {document}"])
    found = screen(
        tmp_path,
        f"/import {document}",
        "sessions",
        "/resume 1 --summary",
        steps=("Ready.",),
        hours=400,
    )
    assert [line.split()[0] for line in shown(found, "sessions")] == ["1"]
    assert "Bursts of requests" in found.talk.sent[0][0].text
