"""The tutorial and the recipes are played as they are written: the program prints what they say.

A server on this machine plays the model: it says what the page says, or what is below.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import Struct

from benchmarks.support.loopback import Loopback, Received, Reply
from chat_loop.values import Usage
from tests.support.environments import environment
from tests.support.guide_pages import FENCE, TREE, text_of

pytestmark = pytest.mark.slow

TUTORIAL = text_of(TREE / "docs" / "tutorial.md")
RECIPES = text_of(TREE / "docs" / "recipes.md")
RESTORED = "I have read the summary and can continue."
REPLIES = {"Was the rig checked?": "Yes."}
"""What a model says that a page does not show."""
SUMMARY = """\
**Background Context:** Initial session.

**Current Session Summary:**
**Topics Discussed:**
- What to check before the trip [1.1]

**Decisions Made:**
- Two anchors, of 16 and 20 kg [1.3]

**Pending:**
- none"""
EXPORT = [
    {
        "uuid": "0f8c9a2e-1111-4222-8333-444455556666",
        "name": "The trip to Bergen",
        "created_at": "2026-03-01T09:30:00Z",
        "updated_at": "2026-03-01T09:31:00Z",
        "account": {"uuid": "a"},
        "chat_messages": [
            {
                "uuid": sender,
                "text": text,
                "sender": sender,
                "created_at": "2026-03-01T09:30:01Z",
                "content": [{"type": "text", "text": text}],
                "attachments": [],
                "files": [],
            }
            for sender, text in (("human", "When do we sail?"), ("assistant", "In May."))
        ],
    }
]
"""What Claude's export has."""


class Run(Struct):
    """A command of a page, what is typed into it, and the lines that it prints."""

    command: str
    typed: list[str] = []
    printed: list[str] = []


def runs(page: str) -> list[Run]:
    """The commands of a page; a block without one goes on in the chat of the block before it."""
    found: list[Run] = []
    for language, block in FENCE.findall(page):
        for line in block.splitlines() if language == "console" else ():
            if line.startswith("$ "):
                found.append(Run(line[2:]))
                continue
            if line.startswith("You: "):
                found[-1].typed.append(line[5:])
            found[-1].printed.append(line)
    return found


def replies(page: str) -> dict[str, str]:
    """What the model says to each message of a page."""
    said = re.findall(r"^You: (.*)\n(?:📎 .*\n)?Assistant: (.*)$", page, re.MULTILINE)
    asked = re.findall(r'^\$ .*-p "([^"]*)".*\n(?!\$|…|```)(.*)$', page, re.MULTILINE)
    return {**REPLIES, **dict(asked), **dict(said)}


def pattern(lines: list[str]) -> str:
    """The regular expression of lines in which `…` stands for anything, and alone for any lines."""
    parts = []
    for line in lines:
        if line == "…":
            parts.append(r"(?:.*\n)*?")
        elif line:
            parts.append(".*".join(map(re.escape, line.split("…"))) + r"\n\n*")
    return "".join(parts)


@pytest.mark.parametrize("page", [TUTORIAL, RECIPES], ids=["tutorial", "recipes"])
def test_a_page_is_played_as_it_is_written(tmp_path: Path, page: str) -> None:
    folder = tmp_path / "trip"
    folder.mkdir()
    (folder / "conversations.json").write_text(json.dumps(EXPORT))
    for language, block in FENCE.findall(page):
        if language == "markdown":
            (folder / "sally.md").write_text(block)
    known = replies(page)

    def played(request: Received) -> Reply:
        asked = request.texts[-1] if request.texts else ""
        found = [reply for message, reply in known.items() if message in asked]
        text = found[0] if found else RESTORED
        if request.system.startswith("Task: session summary"):
            text = SUMMARY
        elif asked.startswith("CONTEXT RESTORATION"):
            text = RESTORED
        size = sum(map(len, (request.system, *request.texts))) // 3
        return Reply(chunks=(text,), usage=Usage(input=size, output=len(text) // 3))

    scripts = Path(sys.executable).parent
    with Loopback(played) as server:
        variables = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.url}
        own = environment(tmp_path / "home", **variables)
        own["PATH"] = f"{scripts}:{own['PATH']}"
        for run in runs(page):
            done = subprocess.run(
                ["/bin/sh", "-c", run.command],
                input="".join(f"{line}\n" for line in run.typed),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,  # a terminal shows both
                text=True,
                env=own,
                cwd=folder,
                timeout=120,
                check=False,
            )
            said = f"$ {run.command}\n{done.stdout}"
            assert done.returncode == 0, said
            assert re.fullmatch(pattern(run.printed), done.stdout), said
        sent = "\n".join(text for request in server.requests for text in request.texts)
        assert "kx7Qm2vRtW9p" not in sent


def test_a_line_that_is_not_printed_is_noticed() -> None:
    [chat] = [run for run in runs(TUTORIAL) if run.command == "chat-loop"]
    shown = "\n".join(line for line in chat.printed if line) + "\n"
    assert re.fullmatch(pattern(chat.printed), shown)
    assert not re.fullmatch(pattern(chat.printed), shown.replace("Decision saved.", "Saved."))
    assert len(runs(TUTORIAL)) == 7
    assert len(runs(RECIPES)) > 10
