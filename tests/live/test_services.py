"""Twelve checks of real services: `pytest -m live` runs them on each service whose key is set, and
reports their cost.

`LIVE_MODEL_OPENAI=…` names a model other than the usual one, `LIVE_URL_OPENAI=…` another address.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path

import pytest

from chat_loop import tokens
from chat_loop.config import Config, ProviderConfig
from chat_loop.errors import ContextTooLong, ModelNotFound
from chat_loop.events import Event, Finished, TextDelta, ToolCalled
from chat_loop.headless import INCOMPLETE
from chat_loop.providers import Provider
from chat_loop.providers.catalogue import CATALOGUE
from chat_loop.providers.choose import Machine, create, missing_requirement
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.rows import read_rows
from chat_loop.values import Image, Message, Request, ToolResult, ToolSpec, Usage
from tests.live import spending
from tests.support.images import png
from tests.support.providers import closing

SERVICES = [entry.name for entry in CATALOGUE.values() if entry.needs_key and entry.model]
LARGEST_WINDOW = 300_000  # tokens; larger windows are not filled to provoke an error
WORDS = "The harbor of Turku lies at the mouth of the river Aura. " * 40

pytestmark = [pytest.mark.live, pytest.mark.parametrize("name", SERVICES)]


class Service:
    """A service with its key in the environment."""

    def __init__(self, name: str) -> None:
        self.name = name
        entry = CATALOGUE[name]
        self.model = os.environ.get(f"LIVE_MODEL_{name.upper()}", entry.model)
        self.url = os.environ.get(f"LIVE_URL_{name.upper()}", "")

    def provider(self, model: str = "") -> Provider:
        setting = ProviderConfig(base_url=self.url) if self.url else ProviderConfig()
        around = Machine(environment=os.environ, models=Path(os.devnull), servers=())
        reference = f"{self.name}:{model or self.model}"
        return create(reference, Config(providers={self.name: setting}), around)

    def run(
        self, home: Path, *options: str, lines: Sequence[str] = (), **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run the program with this model in `home`, with other `variables` in its environment."""
        home.mkdir()
        address = f", base_url: {self.url}" if self.url else ""
        config = f"providers: {{{self.name}: {{model: {self.model}{address}}}}}"
        (home / "config.yaml").write_text(f"{config}\nauto_compact: {{summary_on_exit: false}}\n")
        model = ("--model", f"{self.name}:{self.model}")
        return subprocess.run(
            [sys.executable, "-m", "chat_loop", *model, *options],
            input="".join(f"{line}\n" for line in lines),
            env={**os.environ, "CHAT_LOOP_HOME": str(home), **variables},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def ask(self, request: Request, model: str = "") -> list[Event]:
        """Return the events of one call, and add its tokens to the total spent."""

        async def call() -> list[Event]:
            provider = self.provider(model)
            try:
                async with closing(provider, request) as stream:
                    return [event async for event in stream]
            finally:
                await provider.close()

        events = asyncio.run(call())
        spending.add(self.name, self.model, usage_of(events))
        return events


@pytest.fixture
def service(name: str) -> Service:
    """Return the service, or skip the test without its key."""
    if missing := missing_requirement(CATALOGUE[name], os.environ):
        pytest.skip(f"{name} is not asked: {missing.message} {missing.hint}")
    return Service(name)


def request(text: str, **more: object) -> Request:
    fields: dict[str, object] = {"max_tokens": 2_000, **more}
    return Request(system="Answer briefly.", messages=(Message("user", text),), **fields)  # type: ignore[arg-type]


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def usage_of(events: list[Event]) -> Usage:
    last = events[-1]
    return last.usage if isinstance(last, Finished) and last.usage else Usage()


def stop_of(events: list[Event]) -> str:
    last = events[-1]
    assert isinstance(last, Finished)
    return last.stop


def test_a_short_reply(service: Service) -> None:
    events = service.ask(request("Reply with the one word: ready"))
    assert "ready" in text_of(events).lower()
    assert stop_of(events) == "end"


def test_a_long_reply_streams(service: Service) -> None:
    events = service.ask(request("Count from 1 to 60 in digits, separated by spaces."))
    assert len([event for event in events if isinstance(event, TextDelta)]) > 1
    assert " 59 60" in " ".join(text_of(events).split())


def test_tokens_are_counted(service: Service) -> None:
    usage = usage_of(service.ask(request("Reply with the one word: ready")))
    assert usage.input > 5
    assert usage.output > 0


def test_a_reply_ends_at_its_limit(service: Service) -> None:
    events = service.ask(request("Count from 1 to 500 in words.", max_tokens=32))
    assert stop_of(events) == "length"


def test_a_reply_that_is_cut_is_told_as_such(service: Service, tmp_path: Path) -> None:
    options = ("--max-tokens", "32", "-p", "Count from 1 to 500 in words.")
    done = service.run(tmp_path / "home", *options)
    spending.add(service.name, service.model, Usage(input=50, output=32, estimated=True))
    assert "cut off at the token limit" in done.stderr
    assert done.returncode == INCOMPLETE


def test_a_wrong_key_is_told_as_such(service: Service, tmp_path: Path) -> None:
    wrong = dict.fromkeys(CATALOGUE[service.name].keys, "sk-no-key-of-anybody-0123456789")
    done = service.run(tmp_path / "home", "-p", "Hello", **wrong)
    assert CATALOGUE[service.name].key_refused in done.stderr
    assert done.returncode == 1
    assert done.stdout.strip() == ""


def test_a_tool_is_called_and_its_result_is_read(service: Service) -> None:
    if not service.provider().calls_tools:
        pytest.skip(f"{service.name}:{service.model} calls no tools")
    place = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
    tool = ToolSpec("depth", "Return the depth of a harbor in meters.", place)
    query = request("How deep is the harbor of Turku? Use the tool.", tools=(tool,))
    events = service.ask(query)
    [call] = [event.call for event in events if isinstance(event, ToolCalled)]
    assert call.name == "depth"
    assert "Turku" in call.arguments
    messages = (
        *query.messages,
        Message("assistant", text_of(events), calls=(call,)),
        Message("user", "", results=(ToolResult(call.id, "8.37 meters"),)),
    )
    answer = Request(system=query.system, messages=messages, max_tokens=2_000, tools=(tool,))
    assert "8.37" in text_of(service.ask(answer))


def test_an_image_is_taken(service: Service) -> None:
    if not service.provider().takes_images:
        pytest.skip(f"{service.name}:{service.model} takes no images")
    picture = Image("blue.png", "image/png", 64, 64, data=b64encode(png(64, 64)).decode())
    message = Message("user", "Name the color of this picture in one word.", images=(picture,))
    events = service.ask(Request(system="Answer briefly.", messages=(message,), max_tokens=2_000))
    assert "blue" in text_of(events).lower()


def test_a_conversation_that_is_too_long_is_known_as_such(service: Service) -> None:
    window = service.provider().window.tokens
    if window > LARGEST_WINDOW:
        pytest.skip(f"{service.name}:{service.model} has a window of {window:,} tokens")
    with pytest.raises(ContextTooLong):
        service.ask(request("lake " * (window * 3 // 2)))


def test_a_model_that_does_not_exist_is_named(service: Service) -> None:
    with pytest.raises(ModelNotFound) as caught:
        service.ask(request("Hello"), model="no-such-model-1")
    assert caught.value.hint


def test_our_count_of_tokens_is_near_theirs(service: Service) -> None:
    short = usage_of(service.ask(request("Reply with the one word: ready"))).input
    long = usage_of(service.ask(request(f"{WORDS}\nReply with the one word: ready"))).input
    assert 0.6 < (long - short) / tokens.estimate(WORDS) < 1.6


def test_a_compaction_keeps_a_fact(service: Service, tmp_path: Path) -> None:
    home = tmp_path / "home"
    lines = (
        "The gate of berth 14 opens with the number 48117. Repeat that sentence.",
        "/compact",
        "Which number opens the gate of berth 14?",
        "exit",
    )
    done = service.run(home, lines=lines)
    assert done.returncode == 0, done.stderr
    manager = SessionManager(home / "sessions")
    child, parent = [manager.load(row.path).session for row in read_rows(manager.directory)]
    assert parent.seal is not None
    for usage in (
        *parent.usage_of_models.values(),
        parent.seal.usage,
        *child.usage_of_models.values(),
    ):
        spending.add(service.name, service.model, usage or Usage())
    reply = child.exchanges[-1].reply
    assert reply is not None
    assert "48117" in reply.text
