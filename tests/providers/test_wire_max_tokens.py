"""--max-tokens on each wire, where it overrides the setting in the config."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.support.loopback import Loopback
from chat_loop.agent.agent import ModelAgent
from chat_loop.cli import main
from chat_loop.providers import local
from chat_loop.values import Message, Request
from tests.support.agent_turns import events_of
from tests.support.catalogue import ANTHROPIC, BEDROCK, OPENAI, Service
from tests.support.scripted_chat import Model
from tests.support.terminal_chat import answered, chat, compatible

LIMIT = 77


def asked(
    service: Service, home: Path, patch: pytest.MonkeyPatch, *options: str, ceiling: int = 0
) -> dict[str, Any]:
    """The body of the request for one question; `ceiling` is in the config unless it is 0."""
    service.set_up(patch, home)
    patch.setenv("CHAT_LOOP_HOME", str(home))
    setting = {"tools": service.setting.tools, "max_tokens": ceiling}
    with Loopback() as server, Path(os.devnull).open(encoding="utf-8") as nothing:
        patch.setattr(sys, "stdin", nothing)
        given = {name: value for name, value in setting.items() if value} | {
            "base_url": f"{server.url}{service.base}"
        }
        (home / "config.yaml").write_text(json.dumps({"providers": {service.name: given}}))
        assert main(["--model", f"{service.name}:{service.model}", *options, "-p", "Hi"]) == 0
        [request] = server.requests
    found: dict[str, Any] = request.body
    found.pop("anthropic_version", None)  # the SDK adds it
    return found


def body(service: Service, limit: int | None) -> dict[str, Any]:
    """The whole body of a request with `limit`; None means that it has no limit."""
    system = "You are a helpful assistant. Answer clearly and to the point."
    if service.wire == "openai":
        said = [{"role": "system", "content": system}, {"role": "user", "content": "Hi"}]
        ceiling = {} if limit is None else {service.limit: limit}
        return {
            "model": service.model,
            "messages": said,
            "stream": True,
            "stream_options": {"include_usage": True},
            **ceiling,
        }
    marked = {"type": "text", "cache_control": {"type": "ephemeral"}}
    whole = {
        "max_tokens": limit,
        "system": [marked | {"text": system}],
        "messages": [{"role": "user", "content": [marked | {"text": "Hi"}]}],
    }
    return whole | ({} if service.wire == "bedrock" else {"model": service.model, "stream": True})


@pytest.mark.parametrize("service", [ANTHROPIC, OPENAI, BEDROCK], ids=str)
def test_the_command_line_overrides_the_config_which_overrides_the_wire(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    option = ("--max-tokens", str(LIMIT))
    usual = None if service.wire == "openai" else 32_000
    assert asked(service, tmp_path, monkeypatch) == body(service, usual)
    assert asked(service, tmp_path, monkeypatch, ceiling=55) == body(service, 55)
    assert asked(service, tmp_path, monkeypatch, *option) == body(service, LIMIT)
    assert asked(service, tmp_path, monkeypatch, *option, ceiling=55) == body(service, LIMIT)


@pytest.mark.parametrize(("own", "expected"), [(None, LIMIT), (5, 5)])
async def test_a_request_with_a_limit_of_its_own_keeps_it(own: int | None, expected: int) -> None:
    model = Model("Hello.")
    agent = ModelAgent(name="Sally", system_prompt="", provider=model, max_tokens=LIMIT)

    await events_of(agent, Message("user", "Hi"), max_tokens=own)
    [request] = model.requests
    assert request.max_tokens == expected


def test_the_embedded_model_is_told() -> None:
    request = Request(system="Be kind.", messages=(Message("user", "Hi"),), max_tokens=LIMIT)
    assert local._body(request, 0) == {
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,
        "cache_prompt": True,
        "max_tokens": LIMIT,
        "temperature": 0.3,
        "repeat_penalty": 1.05,
    }


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5"])
def test_it_is_a_number_above_nothing(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--max-tokens", value, "-p", "Hi"]) == 2
    assert "--max-tokens" in capsys.readouterr().err


def test_in_a_chat_it_holds_and_is_named_to_go_on_with(tmp_path: Path) -> None:
    with (
        Loopback() as server,
        chat(tmp_path, *compatible(server), "--max-tokens", str(LIMIT)) as terminal,
    ):
        answered(terminal, "hello")
        assert server.requests[0].body["max_tokens"] == LIMIT
        terminal.line("exit")
        terminal.wait_for("--max-tokens 77 --resume")
        assert terminal.exit_code() == 0
