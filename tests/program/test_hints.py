"""Hints in errors: how to install an extra, and what to do without a terminal."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, failing
from chat_loop.errors import install_hint
from tests.support.headless import run

EDITABLE = {"url": "file:///home/me/chat%20loop", "dir_info": {"editable": True}}
CLONE = {"url": "file:///home/me/chat-loop", "dir_info": {}}
GIT = {"url": "https://git.example/chat-loop", "vcs_info": {"vcs": "git", "commit_id": "0"}}


class Installed:
    """A package's metadata about its origin."""

    def __init__(self, origin: Mapping[str, object] | None) -> None:
        self.origin = origin

    def read_text(self, name: str) -> str | None:
        return None if self.origin is None else json.dumps(self.origin)


@pytest.mark.parametrize(
    ("prefix", "origin", "command"),
    [
        ("/home/me/.venv", None, "pip install 'chat-loop[mcp]'"),
        ("/home/me/.venv", EDITABLE, "pip install 'chat-loop[mcp] @ file:///home/me/chat%20loop'"),
        ("/home/me/.venv", CLONE, "pip install 'chat-loop[mcp] @ file:///home/me/chat-loop'"),
        ("/home/me/.venv", GIT, "pip install 'chat-loop[mcp] @ git+https://git.example/chat-loop'"),
        (
            "/home/me/.local/share/pipx/venvs/chat-loop",
            None,
            "pipx install --force 'chat-loop[mcp]'",
        ),
        (
            "/home/me/.local/share/pipx/venvs/chat-loop",
            CLONE,
            "pipx install --force 'chat-loop[mcp] @ file:///home/me/chat-loop'",
        ),
        (
            "/home/me/.local/share/uv/tools/chat-loop",
            None,
            "uv tool install --force 'chat-loop[mcp]'",
        ),
    ],
)
def test_the_command_that_adds_an_extra_fits_the_installation(
    monkeypatch: pytest.MonkeyPatch, prefix: str, origin: Mapping[str, object] | None, command: str
) -> None:
    monkeypatch.setattr(sys, "prefix", prefix)
    monkeypatch.setattr(metadata, "distribution", lambda name: Installed(origin))
    assert install_hint("mcp") == command


def test_without_a_terminal_nobody_is_told_to_type_compact(tmp_path: Path) -> None:
    told = failing(
        400, "invalid_request_error", "This model's maximum context length is 300 tokens."
    )
    with Loopback() as server:
        server.enqueue(told, told, told)
        result = run(
            tmp_path, "--model", "vllm:m", "--base-url", f"{server.url}/v1", "-p", "word " * 900
        )
    assert result.returncode == 1
    assert b"ompact makes" not in result.stderr
    assert b"Type compact" not in result.stderr
    assert (
        b"Ask for less at once, or take a model with a larger window (--model).\n" in result.stderr
    )


@pytest.mark.slow
def test_an_output_that_shows_only_ascii_gets_signs_of_ascii(tmp_path: Path) -> None:
    plain = {"PYTHONIOENCODING": "ascii"}
    listed = run(tmp_path, "providers", keys=plain).stdout
    reply = run(tmp_path, "--model", "scripted:echo", "-p", "→ “日本”…", keys=plain).stdout

    lines = b"one\ntwo\n/context\n/stats\n/pin x\n/compact\n/tree\nsessions\nexit\n"
    chat = run(tmp_path, "--model", "scripted:echo", stdin=lines, keys=plain).stdout

    assert b"- anthropic" in listed
    assert b"\\x" not in listed
    assert not re.search(rb"\\[uUx][0-9a-f]", chat), chat
    assert reply == b'You said: -> "\\u65e5\\u672c"...\n'


def test_a_model_that_gets_no_tools_is_named_before_it_answers_without_them(tmp_path: Path) -> None:
    with Loopback() as server:
        model = ("--model", "compatible:m", "--base-url", f"{server.url}/v1")
        asked = run(tmp_path, *model, "--tools", "read_file", "-p", "Hi")
        chat = run(tmp_path, *model, "--tools", "read_file", stdin=b"/tools\nexit\n")

    sentence = "compatible:m cannot call tools."
    hint = "If it can, set providers.compatible.tools: true in the config."
    assert asked.stderr.decode() == f"{sentence} {hint}\n"
    assert chat.stdout.decode().count(sentence) == 2  # at the start, and by /tools
