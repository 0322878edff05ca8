"""The chat, `doctor` and `models` name the same window, before the first message."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.support.environments import environment
from tests.support.headless import run
from tests.support.ports import closed_port
from tests.support.pty_chat import PtyChat
from tests.support.window_server import serving

CLAUDE = "anthropic:claude-sonnet-5-5"


def examined(home: Path, *options: str, keys: dict[str, str] | None = None) -> str:
    """Return what `doctor` says of the model."""
    result = run(home, *options, "doctor", "--json", keys=keys)
    [told] = [
        finding["text"]
        for finding in json.loads(result.stdout)["findings"]
        if finding["name"] == "Model"
    ]
    return str(told)


@pytest.mark.slow
def test_the_status_line_shows_the_window_without_a_key_being_pressed(tmp_path: Path) -> None:
    keys = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{closed_port()}"}
    assert "window 1M" in examined(tmp_path, "--model", CLAUDE, keys=keys)
    with PtyChat(
        [sys.executable, "-m", "chat_loop", "--model", CLAUDE], env=environment(tmp_path) | keys
    ) as chat:
        chat.wait_for("context ~0% of 1M", 60)


@pytest.mark.slow
def test_a_served_window_that_is_none_leaves_the_guess(tmp_path: Path) -> None:
    said: list[object] = [0, -4096, 10**30, "8192", 8192.5, True, None, [8192], {"tokens": 8192}]
    windows = []
    for value in [*said, 8192]:
        listed = {"data": [{"id": "m", "context_length": value, "max_model_len": value}]}
        with serving({"/v1/models": listed}) as (url, _):
            told = examined(tmp_path, "--model", "compatible:m", "--base-url", f"{url}/v1")
            windows.append(told.partition("window ")[2])
    assert windows == [*["128K?: its window is not known."] * len(said), "8K"]


def test_an_embedded_model_is_listed_with_the_window_that_it_gets(tmp_path: Path) -> None:
    def lines() -> list[str]:
        listed = run(tmp_path, "models", "list").stdout.decode()
        return [line for line in listed.split("\n") if " tokens " in line]

    assert ["8K of 32K tokens" in line for line in lines()] == [True, True, False]
    assert "8K of 8K tokens" in lines()[2]
    (tmp_path / "config.yaml").write_text("providers: {local: {context: 16384}}\n")
    assert "16K of 32K tokens" in lines()[0]
