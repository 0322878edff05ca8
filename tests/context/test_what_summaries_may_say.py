"""A model's summary in the next session's block: what is said there is what was said, and no
decision is lost.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Received, Reply
from chat_loop.values import Usage
from tests.context.test_siblings import AT_LENGTH, COMPACT, WIRES, chat, configure

SUMMARY = """\
**Background Context:** Initial session.

**Current Session Summary:**
**Topics Discussed:**
- A cache

**Decisions Made:**
{decisions}

**Pending:**
- No pending items.
"""
FILLED = "I am still thinking about the whole plan and about what it means for all of us. " * 58
SECRET = "sk-ant-api03-AbCdEf0123456789AbCdEf0123456789AbCd"


class Model:
    """Says nothing exact, and writes summaries with these decisions."""

    def __init__(self, *decisions: str, reply: str = AT_LENGTH) -> None:
        self._summary = SUMMARY.format(
            decisions="\n".join(f"- {decision}" for decision in decisions)
        )
        self._reply = reply

    def __call__(self, request: Received) -> Reply:
        task = request.system.startswith("Task: session summary")
        asked = sum(map(len, (request.system, *request.texts))) // 4
        return Reply(
            chunks=(self._summary if task else self._reply,), usage=Usage(input=asked, output=9)
        )


def run(home: Path, model: Model, *lines: str, option: str = "--new-session") -> list[Received]:
    """The requests that a chat of these lines makes."""
    name, keys = WIRES["compatible"]
    with Loopback(model) as server:
        configure(home, server, name)
        chat(
            home,
            name,
            {key: value.format(url=server.url) for key, value in keys.items()},
            list(lines),
            option,
        )
    return server.requests


def decisions(requests: list[Received]) -> str:
    """The decisions of the block that the last question was sent with."""
    asked = next(request for request in requests if request.query.endswith("What holds?"))
    return (
        "\n".join(asked.texts)
        .partition("**Decisions Made:**")[2]
        .partition("**Pending:**")[0]
        .strip()
    )


@pytest.mark.parametrize(
    "decision",
    [
        "No database is needed: sessions stay plain files",
        "No pending migrations may remain before the release",
    ],
)
def test_a_decision_that_something_is_not_needed_is_kept(tmp_path: Path, decision: str) -> None:
    said = f"So it stands for the plan: {decision}?"
    assert f"- {decision}" in decisions(
        run(tmp_path, Model(decision), said, COMPACT, "What holds?")
    )


@pytest.mark.parametrize("nothing", ["None", "No decisions (yet)."])
def test_a_bullet_that_says_nothing_is_left_out(tmp_path: Path, nothing: str) -> None:
    assert (
        decisions(run(tmp_path, Model(nothing), "Hello there!", COMPACT, "What holds?")) == "*none*"
    )


@pytest.mark.parametrize(
    "invented",
    [
        "We chose Redis 7.2 for its stability and performance",
        "We chose Redis for its stability",
        "The cache answers within 5 ms",
    ],
)
def test_what_nobody_said_is_no_decision(tmp_path: Path, invented: str) -> None:
    requests = run(
        tmp_path, Model(invented, "Use a cache"), "Which cache do we use?", COMPACT, "What holds?"
    )
    assert decisions(requests) == "- Use a cache"


def test_what_only_a_reply_names_is_no_decision(tmp_path: Path) -> None:
    reply = f"We chose Redis 7.2 for its stability and performance. {AT_LENGTH}"
    requests = run(
        tmp_path, Model("none", reply=reply), "Which cache do we use?", COMPACT, "What holds?"
    )
    assert decisions(requests) == "*none*"


def test_an_order_to_answer_is_no_fact(tmp_path: Path) -> None:
    requests = run(tmp_path, Model("none"), "Answer OK.", COMPACT, "What holds?")
    asked = next(request for request in requests if request.query.endswith("What holds?"))
    assert "Answer OK" not in "\n".join(asked.texts).partition("**Decisions Made:**")[2]


@pytest.mark.parametrize("place", [0, len(FILLED) // 2, len(FILLED)])
def test_a_sentence_in_a_long_message_is_kept(tmp_path: Path, place: int) -> None:
    place = FILLED.rfind(". ", 0, place) + 2 if place else 0
    said = f"{FILLED[:place]}Never deploy on Fridays. {FILLED[place:]}"
    assert 4_600 < len(said) < 5_400
    requests = run(tmp_path, Model("none"), said.strip(), COMPACT, "What holds?")
    asked = next(request for request in requests if request.query.endswith("What holds?"))
    facts = "\n".join(asked.texts).partition("**Key Facts:**")[2].partition("\n**")[0]
    assert " Never deploy on Fridays." in facts


def test_secrets_in_hand_edited_lines_are_not_sent_for_a_summary(tmp_path: Path) -> None:
    run(tmp_path, Model("Use a cache"), "We use a cache.", COMPACT, "And then?")
    [sealed] = [
        path
        for path in (tmp_path / "sessions").glob("*.md")
        if "- We use a cache." in path.read_text() and "Previous Session" not in path.read_text()
    ]
    sealed.write_text(
        sealed.read_text().replace(
            "**Decisions Made:**", f"**Decisions Made:**\n- The key is {SECRET}", 1
        )
    )
    requests = run(
        tmp_path, Model("none"), "Go on.", COMPACT, "Good.", option=f"--resume={sealed.stem}"
    )
    tasks = [request for request in requests if request.system.startswith("Task: session summary")]
    assert any("The key is" in text for request in tasks for text in request.texts)
    assert not any(SECRET in text for request in tasks for text in request.texts)
