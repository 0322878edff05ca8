"""Choosing a model from the lists of the services, on a terminal and as text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.chats import Chats


@pytest.mark.slow
def test_one_types_to_search_and_chooses(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        names = (f"maker-{number}" for number in range(100_000))
        chats.server.models = ("test-model", "quick-model", *names)
        with chats.terminal() as terminal:
            terminal.wait_for("context")
            terminal.line("/model")
            terminal.wait_for("Models: 200,0")
            terminal.wait_for("> openai:test-model")
            terminal.send("openai quick")
            terminal.wait_for("1 of 200,0")
            terminal.wait_for("> openai:quick-model")
            terminal.send("\r")
            terminal.wait_for("Switched to openai:quick-model.")
            terminal.line("/model")
            terminal.wait_for("Models: 200,0")
            terminal.send("no such thing")
            terminal.wait_for("No model matches.")
            terminal.send("\r\x1b")
            terminal.wait_for("> openai:quick-model")
            terminal.send("\x1b")
            terminal.wait_for("You: ")
            terminal.line("Hi")
            terminal.wait_for("You said: Hi")
    assert chats.server.requests[-1].body["model"] == "quick-model"


def test_as_text_and_the_names_of_providers(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.server.models = ("test-model", "quick-model", "slow-model")
        played = chats.play(
            *("/model", "/model --list quick", "/model --list nothing", "/model opnai:x"),
            *("/model nosuch:x", "/model quick model", "/model openai:slow-model", "exit"),
        )
        named = chats.run("-m", "antropic:claude-x", "-p", "Hi")
    assert "Using openai:test-model.\nAlso available (/model NAME):\n" in played.after("/model")
    assert "more: /model --list WORDS finds more." in played.after("/model")
    found = played.after("/model --list quick").split()
    assert sorted(found) == ["anthropic:quick-model", "openai:quick-model"]
    assert "✗ No model matches “nothing”.\n" in played.shown
    assert "✗ No provider “opnai”.\n  Did you mean openai:x?\n" in played.shown
    assert "✗ No provider “nosuch”.\n  Use PROVIDER:MODEL; providers: anthropic, openai" in (
        played.shown
    )
    assert "✗ No model is called “quick model”.\n" in played.shown
    assert "Switched to openai:slow-model." in played.shown
    assert named.code == 2
    said = "Unknown model “antropic:claude-x”.\nDid you mean anthropic:claude-x?\n"
    assert named.errors == said
