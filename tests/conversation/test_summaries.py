"""The model that writes summaries, and the compaction settings, in the real program."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.support.loopback import failing
from tests.support.chats import Chats

LINES = ("The port is 5544.", "And the key is 4471.", "/compact", "Which port?", "exit")


def test_summaries_go_to_the_model_that_is_named_for_them(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(
            agent={"summary_instructions": "Mind the ports."},
            auto_compact={
                "summary_provider": "anthropic",
                "summary_model": "small-model",
                "summary_max_tokens": 700,
            },
        )
        played = chats.play(*LINES)
        parent = chats.transcripts()["session-1"]
    assert [(asked.wire, asked.body["model"]) for asked in played.summaries] == [
        ("anthropic", "small-model")
    ] * 2
    assert [asked.body["max_tokens"] for asked in played.summaries] == [700, 700]
    assert "\n\nMind the ports." in played.summaries[0].text
    others = [*played.requests, *played.acknowledgments]
    assert {(asked.wire, asked.body["model"]) for asked in others} == {("openai", "test-model")}
    assert "*Model: anthropic:small-model | Cost: " in parent


def test_when_that_one_fails_the_sessions_own_is_asked(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(
            auto_compact={"summary_provider": "anthropic", "summary_model": "small-model"}
        )
        answer = chats.server.handler
        refusal = failing(401, "authentication_error")
        chats.server.handler = lambda request: (
            refusal if request.wire == "anthropic" else answer(request)
        )
        played = chats.play(*LINES)
        transcripts = chats.transcripts()
    assert "📦 Compacted" in played.shown
    assert [asked.wire for asked in played.summaries] == ["anthropic", "openai"] * 2
    assert all("summary=model" in text for text in transcripts.values())


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"summary_provider": "azure"}, "No model is named for Azure OpenAI."),
        ({"summary_provider": "nowhere", "summary_model": "m"}, "Unknown model “nowhere:m”."),
    ],
)
def test_settings_that_mean_nothing_are_said(
    tmp_path: Path, values: dict[str, object], message: str
) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(auto_compact=values)
        played = chats.run("--model", "scripted:echo", stdin="hello\n")
    assert played.code == 2
    assert message in played.errors
