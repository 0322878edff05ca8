"""A conversation that is repeatedly killed with SIGKILL and resumed by the next process."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chat_loop.events import Event, Warned
from chat_loop.sessions.parser import Parsed, parse
from chat_loop.sessions.records import Pin, Query, Reply
from chat_loop.sessions.rows import read_rows
from tests.support.killed_chat import (
    conversation_in,
    pin_text,
    query_text,
    reply_text,
    resume_newest,
)
from tests.support.scripted import ScriptedProvider

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")]

SEED = 20261121
MOST_LINES = 110
"""A process is killed after it has written a random number of lines up to this number: about five
exchanges and a compaction.
"""
MOST_TURNS = 3000
"""The most rounds of an empty loop before the kill: well under a millisecond."""

ROOT = Path(__file__).parents[2]


def killed_run(folder: Path, run: int, chance: random.Random) -> list[list[str]]:
    """Run one process and kill it; return its lines, each as a list of words."""
    command = [sys.executable, "-m", "tests.support.killed_chat", str(folder), str(run)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        told = []
        for _ in range(chance.randint(1, MOST_LINES)):
            told.append(process.stdout.readline())
        for _ in range(chance.randint(0, MOST_TURNS)):
            pass
        process.kill()
        told += process.stdout.readlines()  # lines from before the kill count too
        assert process.wait() == -signal.SIGKILL, "the conversation ended by itself"
    return [line.decode().split() for line in told]


def names(told: list[list[str]], kind: str) -> set[str]:
    return {words[1] for words in told if words[0] == kind}


def read(folder: Path) -> dict[str, Parsed]:
    return {path.stem: parse(path.read_bytes()) for path in folder.glob("*.md")}


def replies(files: dict[str, Parsed]) -> Iterator[tuple[str, Reply]]:
    """Yield every reply with the text of its query."""
    for parsed in files.values():
        entries = parsed.session.entries if parsed.session else ()
        queries = {entry.number: entry.text for entry in entries if isinstance(entry, Query)}
        for entry in entries:
            if isinstance(entry, Reply) and entry.number:
                yield queries[entry.number], entry


def check(folder: Path, told: list[list[str]]) -> None:
    """Check that the files contain everything reported, and the begun part of each reply."""
    files = read(folder)
    entries = [
        entry for parsed in files.values() if parsed.session for entry in parsed.session.entries
    ]
    queries = [entry.text for entry in entries if isinstance(entry, Query)]
    assert len(queries) == len(set(queries))
    assert {query_text(name) for name in names(told, "query")} <= set(queries)
    assert {pin_text(name) for name in names(told, "pin")} <= {
        entry.text for entry in entries if isinstance(entry, Pin)
    }
    found = dict(replies(files))
    for name in names(told, "reply"):
        reply = found[query_text(name)]
        assert (reply.text, reply.stop) == (reply_text(name), "end")
    for name in names(told, "query") - names(told, "reply"):
        if query_text(name) in found:
            assert reply_text(name).startswith(found[query_text(name)].text)
    for identity, parsed in files.items():
        torn = [sentence for sentence in parsed.damage if "fenced off" not in sentence]
        assert len(torn) <= 1, (identity, parsed.damage)


def chain(folder: Path, newest: str) -> list[str]:
    """Return the ids from `newest` to the first session."""
    files, found = read(folder), [newest]
    while (session := files[found[-1]].session) is not None and session.header.parent:
        found.append(session.header.parent)
    return found


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kills", [12, pytest.param(50, marks=pytest.mark.nightly)])
def test_kills_lose_nothing(tmp_path: Path, kills: int) -> None:
    folder, chance = tmp_path / "sessions", random.Random(SEED)
    told: list[list[str]] = []
    landed = {"in a reply": 0, "in a compaction": 0, "while resuming": 0, "between": 0}
    for run in range(kills):
        print(f"seed {SEED}, run {run}")  # noqa: T201  # shown with a failure
        this = killed_run(folder, run, chance)
        told += this
        assert not [words for words in this if words[0] == "warned"]
        check(folder, this)
        last = next((words[0] for words in reversed(this) if words[0] != "piece"), "")
        if last == "query":
            landed["in a reply"] += 1
        elif last == "compacting":
            landed["in a compaction"] += 1
        else:
            landed["between" if last else "while resuming"] += 1

    check(folder, told)
    assert landed["in a reply"] >= kills // 4, landed
    assert (
        landed["in a reply"] + landed["in a compaction"] + landed["while resuming"] >= kills // 2
    ), landed
    assert any(parsed.damage for parsed in read(folder).values())

    shown: list[Event] = []
    conversation = conversation_in(folder, ScriptedProvider(), shown.append)
    asyncio.run(resume_newest(conversation))
    pins = set(conversation.context.pins)
    whole = [read(folder)[identity] for identity in chain(folder, conversation.live.header.id)]
    conversation.close()
    said = {
        entry.text
        for parsed in whole
        if parsed.session
        for entry in parsed.session.entries
        if isinstance(entry, Query)
    }
    assert {query_text(name) for name in names(told, "query")} <= said
    assert {pin_text(name) for name in names(told, "pin")} <= pins
    assert len(read_rows(folder)) == len(read(folder))
    assert not any(isinstance(event, Warned) for event in shown)
