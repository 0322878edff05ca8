"""A session goes on as its model was asked: the effort, the sampling, and what a user changes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.chats import Asked, Chats, field

SET = {"test-model": {"window": 32_000, "effort": "low", "temperature": 0.2, "max_tokens": 500}}


def efforts(asked: Sequence[Asked]) -> list[str | None]:
    """The effort of each request, as OpenAI's wire has it."""
    return [each.body.get("reasoning_effort") for each in asked]


def test_the_config_says_how_a_model_is_asked_and_the_file_has_it(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(models=SET)
        played = chats.play("Our port is 8443.", "/model", "/info", "/compact", "Which?", "exit")
        texts = chats.transcripts().values()
    assert [(field(text, "Effort"), field(text, "Sampling")) for text in texts] == [
        ("low", '{"temperature":0.2,"max_tokens":500}')
    ] * 2
    for asked in played.requests:
        assert asked.body["temperature"] == 0.2
        assert asked.body["max_completion_tokens"] == 500
    assert efforts(played.requests) == ["low", "low"]
    assert efforts(played.acknowledgments) == ["low"]
    assert efforts(played.summaries) == [None] * len(played.summaries)
    says = "effort low, temperature 0.2, max_tokens 500"
    assert f"Using openai:test-model, {says}.\n" in played.after("/model")
    assert says in played.after("/info")


def test_effort_changes_and_stays_with_the_session(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(models=SET)
        first = chats.play(
            *("One.", "/effort", "/effort high", "Two.", "/effort", "/effort hgih"),
            *("/compact", "Three.", "exit"),
        )
        again = chats.run("-c", stdin="Four.\n/effort default\nFive.\nexit\n")
        printed = chats.run("-c", "-p", "Six.")
        flag = chats.run("--effort", "off", "-c", "-p", "Seven.")
        texts = chats.transcripts()
    assert efforts(first.requests) == ["low", "high", "high"]
    assert efforts(again.requests) == ["high", None]
    assert efforts(printed.requests) == [None]
    assert efforts(flag.requests) == ["none"]
    levels = "off, minimal, low, medium, high, xhigh, max, default"
    assert f"Effort: low. Levels: {levels}.\n" in first.shown
    assert f"Effort: high. Levels: {levels}.\n" in first.shown
    assert "Effort: high, from your next message on.\n" in first.shown
    assert "✗ openai:test-model has no effort “hgih”.\n" in first.shown
    assert f"It takes {levels}.\n" in first.shown
    assert "It keeps effort high, temperature 0.2, max_tokens 500; /model openai" in again.shown
    assert "Effort: the model’s own, from your next message on.\n" in again.shown
    assert "**Setting:** effort: high\n" in texts["session-1"]
    assert field(texts["session-2"], "Effort") == "high"


def test_naming_the_model_takes_the_values_of_the_config(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(models=SET)
        chats.play("One.", "exit")
        chats.configure(models={"test-model": {"temperature": 1.5}})
        kept = chats.run("-c", stdin="Two.\n/model openai:test-model\nThree.\nexit\n")
        after = chats.run("-c", "-p", "Four.")
    sent = [asked.body.get("temperature") for asked in (*kept.requests, *after.requests)]
    assert sent == [0.2, 1.5, 1.5]
    assert efforts((*kept.requests, *after.requests)) == ["low", None, None]


def test_another_model_is_asked_as_it_is_set_up_itself(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(models={**SET, "other": {"effort": "max", "top_p": 0.9}})
        played = chats.play("One.", "/model openai:other", "Two.", "exit")
        resumed = chats.run("-c", stdin="Three.\nexit\n")
        chosen = chats.play("Four.", "/effort medium", "/model openai:other", "Five.", "exit")
        named = chats.run("-m", "openai:test-model", "--resume", "session-1", "-p", "Six.")
    assert efforts((*played.requests, *resumed.requests)) == ["low", "max", "max"]
    assert efforts(chosen.requests) == ["low", "medium"]
    assert efforts(named.requests) == ["low"]
    sent = [
        (asked.body.get("temperature"), asked.body.get("top_p"))
        for asked in (*played.requests, *resumed.requests)
    ]
    assert sent == [(0.2, None), (None, 0.9), (None, 0.9)]


@pytest.mark.parametrize(
    "line",
    [
        "**Effort:** rm -rf",
        '**Sampling:** {"temperature": 1e9}',
        '**Sampling:** {"temperature": "hot"}',
        '**Sampling:** {"messages": [], "stream": false}',
        '**Sampling:** {"extra": {"seed": 7}}',
        "**Sampling:** " + "[" * 2_000,
    ],
)
def test_a_file_can_only_say_what_a_user_can(tmp_path: Path, line: str) -> None:
    with Chats(tmp_path) as chats:
        chats.play("One.", "exit")
        path = chats.path("session-1")
        path.write_text(path.read_text().replace("**Model:**", f"{line}  \n**Model:**", 1))
        asked = chats.run("-c", "-p", "Two.")
    assert (asked.code, asked.errors) == (0, "")
    [request] = asked.requests
    expected = {"model", "messages", "stream", "stream_options", "max_completion_tokens"}
    assert {*request.body} <= expected
    assert request.body["stream"]


def test_an_option_that_is_no_effort(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        done = chats.run("--effort", "hgih", "-p", "Hi")
    levels = "off, minimal, low, medium, high, xhigh, max, default"
    assert done.code == 2
    assert f"--effort: “hgih” is not one of {levels}" in done.errors


def test_a_model_without_efforts_says_so(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        played = chats.run("-m", "scripted:echo", stdin="/effort high\nexit\n")
    assert "✗ The effort of scripted:echo cannot be changed.\n" in played.shown


def test_off_in_a_config_needs_no_quotes(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        (chats.home / "config.yaml").write_text("models: {test-model: {effort: off}}\n")
        asked = chats.run("-m", chats.model, "-p", "Hi")
    assert efforts(asked.requests) == ["none"]
