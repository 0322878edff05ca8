"""The model that writes summaries, and the compaction settings, in the real program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, failing
from tests.support.headless import run, saved

KEYS = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
WAIT = "summary: {on_exit: wait}"  # a busy machine may need long for the summary at the exit
SCRIPT = b"The port is 5544.\nAnd the key is 4471.\n/compact --force\nWhich port?\nexit\n"


def configured(home: Path, text: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(text, "utf-8")


def test_summaries_go_to_the_model_that_is_named_for_them(tmp_path: Path) -> None:
    with Loopback() as server:
        configured(
            tmp_path,
            f"""
model: openai:chat-model
{WAIT}
agent: {{summary_instructions: "Mind the ports."}}
auto_compact: {{summary_provider: anthropic, summary_model: small-model, summary_max_tokens: 700}}
providers:
  openai: {{base_url: "{server.url}/v1"}}
  anthropic: {{base_url: "{server.url}"}}
""",
        )
        result = run(tmp_path, stdin=SCRIPT, keys=KEYS)
        assert result.returncode == 0, result.stderr
        summaries = [
            request
            for request in server.requests
            if request.system.startswith("Task: session summary")
        ]
        assert [(request.wire, request.body["model"]) for request in summaries] == [
            ("anthropic", "small-model")
        ] * 2
        assert [request.body["max_tokens"] for request in summaries] == [700, 700]
        assert "\n\nMind the ports." in summaries[0].query
        chats = [request for request in server.requests if request not in summaries]
        assert {(request.wire, request.body["model"]) for request in chats} == {
            ("openai", "chat-model")
        }
    parent = next(
        session for session in saved(tmp_path) if session.seal and session.seal.compaction
    )
    assert parent.seal is not None
    assert parent.seal.compaction is not None
    assert parent.seal.compaction.model == "anthropic:small-model"


def test_when_that_one_fails_the_sessions_own_is_asked(tmp_path: Path) -> None:
    with Loopback() as server:
        configured(
            tmp_path,
            f"""
model: openai:chat-model
{WAIT}
auto_compact: {{summary_provider: anthropic, summary_model: small-model}}
providers:
  openai: {{base_url: "{server.url}/v1"}}
  anthropic: {{base_url: "{server.url}"}}
""",
        )
        handler = server.handler
        server.handler = lambda request: (
            failing(401, "authentication_error")
            if request.wire == "anthropic"
            else (handler(request))
        )
        result = run(tmp_path, stdin=SCRIPT, keys=KEYS)
        assert result.returncode == 0, result.stderr
    assert "📦 Compacted" in result.stdout.decode()
    assert {session.seal.source for session in saved(tmp_path) if session.seal} == {"model"}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            "auto_compact: {summary_provider: azure}",
            "No model is named for Azure OpenAI.",
        ),
        (
            "auto_compact: {summary_provider: nowhere, summary_model: m}",
            "Unknown model “nowhere:m”.",
        ),
        (
            "auto_compact: {compact_ratio: 0}",
            "auto_compact.compact_ratio: expected `float` > 0.0.",
        ),
        (
            "auto_compact: {trigger_threshold: 80}",
            "trigger_threshold: expected `float` <= 1.0.",
        ),
        (
            "auto_compact: {preserve_recent: -1}",
            "auto_compact.preserve_recent: expected `int` >= 0.",
        ),
        (
            "auto_compact: {summary_max_tokens: 5}",
            "auto_compact.summary_max_tokens: expected `int` >= 100.",
        ),
        (
            "context: {max_history_messages: -2}",
            "context.max_history_messages: expected `int` >= 0.",
        ),
        ("auto_compact: {enabled: maybe}", "auto_compact.enabled"),
    ],
)
def test_settings_that_mean_nothing_are_said(tmp_path: Path, config: str, message: str) -> None:
    configured(tmp_path, f"model: scripted:echo\n{config}\n")
    result = run(tmp_path, stdin=b"hello\n")
    assert result.returncode == 2
    assert message in result.stderr.decode()


def test_without_a_model_for_summaries_everything_works(tmp_path: Path) -> None:
    configured(
        tmp_path,
        "model: scripted:echo\nauto_compact: {use_ai_summary: false, show_summary_markers: true}\n"
        "context: {max_history_messages: 4}\n",
    )
    result = run(tmp_path, stdin=SCRIPT + b"")
    text = result.stdout.decode()
    assert "Generating session summary" not in text
    assert re.search(
        r"📦 Compacted \d+ → \d+ tokens · .*2 facts kept · without a model\.",
        text.replace("\n   ", " "),
    )
    assert "[SUMMARY: 1.1 to 1.2]" in text
    assert "- The port is 5544." in text
    assert {session.seal.source for session in saved(tmp_path) if session.seal} == {"extracted"}
