"""The embedded provider with a real model (SmolLM2-135M)."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from chat_loop.errors import ContextTooLong, ProviderError, RequestRejected
from chat_loop.events import Arriving, Event, Finished, TextDelta, ThinkingDelta
from chat_loop.providers import Provider
from chat_loop.providers.local import LocalProvider
from chat_loop.values import Message, Request, Window
from tests.support.real_model import smollm2_path

pytestmark = pytest.mark.slow

WINDOW = 1024


@pytest.fixture(scope="module")
def model() -> Path:
    return smollm2_path()


@pytest.fixture(scope="module")
def provider(model: Path) -> Iterator[Provider]:
    provider: Provider = LocalProvider(model, "smollm2-135m", Window(WINDOW))
    yield provider
    asyncio.run(provider.close())


def request(*texts: str, max_tokens: int = 24, grammar: str | None = None) -> Request:
    messages = [
        Message("assistant" if index % 2 else "user", text) for index, text in enumerate(texts)
    ]
    return Request(
        system="You are a helpful assistant who knows about bread, ovens and yeast.",
        messages=tuple(messages),
        max_tokens=max_tokens,
        grammar=grammar,
    )


def collect(provider: Provider, request: Request) -> list[Event]:
    async def run() -> list[Event]:
        return [event async for event in provider.stream(request)]

    return asyncio.run(run())


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def finished(events: list[Event]) -> Finished:
    last = events[-1]
    assert isinstance(last, Finished)
    return last


def test_a_reply_streams_and_is_counted(provider: Provider) -> None:
    events = collect(provider, request("How is bread baked?"))
    assert len([event for event in events if isinstance(event, TextDelta)]) > 10
    last = finished(events)
    assert last.stop == "length"
    assert last.usage is not None
    assert last.usage.output == 24
    assert 20 < last.usage.input < 60
    assert not last.usage.estimated


def test_the_second_turn_reads_the_first_from_the_cache(provider: Provider) -> None:
    first = text_of(collect(provider, request("What is sourdough made of?")))
    usage = finished(
        collect(provider, request("What is sourdough made of?", first, "And then?"))
    ).usage
    assert usage is not None
    assert usage.cached > usage.input // 2


def test_a_closed_stream_stops_and_the_next_request_works(provider: Provider) -> None:
    async def run() -> list[Event]:
        stream = provider.stream(request("Tell a very long story about a baker.", max_tokens=900))
        async for event in stream:
            if isinstance(event, TextDelta):
                break
            assert isinstance(event, Arriving)
        [generating] = [
            thread for thread in threading.enumerate() if thread.name == "embedded-model"
        ]
        assert isinstance(stream, AsyncGenerator)
        await stream.aclose()
        await asyncio.to_thread(generating.join, 60)
        assert not generating.is_alive()
        return [
            event
            async for event in provider.stream(
                request("Tell a very long story about a baker.", max_tokens=3)
            )
        ]

    usage = finished(asyncio.run(run())).usage
    assert usage is not None
    assert usage.output == 3


def test_a_cancelled_task_stops_while_the_prompt_is_read(provider: Provider) -> None:
    async def run() -> list[Event]:
        task = asyncio.create_task(
            anext(provider.stream(request("flour water salt yeast " * 180)), None)
        )
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return [
            event
            async for event in provider.stream(
                request("Tell a very long story about a baker.", max_tokens=3)
            )
        ]

    assert finished(asyncio.run(run())).stop == "length"


def test_a_grammar_binds(provider: Provider) -> None:
    grammar = 'root ::= "- rye\\n" ("- oat\\n" | "- wheat\\n")'
    events = collect(provider, request("Name two grains.", grammar=grammar))
    assert text_of(events) in ("- rye\n- oat\n", "- rye\n- wheat\n")
    assert finished(events).stop == "end"


def test_reasoning_in_the_text_is_no_part_of_the_answer(provider: Provider) -> None:
    """The grammar makes the model write its reply as reasoning models do."""
    events = collect(
        provider, request("Hello", grammar='root ::= "<think>Hm.</think>\\n\\nHello."')
    )

    assert "".join(event.text for event in events if isinstance(event, ThinkingDelta)) == "Hm."
    assert text_of(events) == "Hello."


def test_control_tokens_and_surrogates_in_a_text_are_only_text(provider: Provider) -> None:
    plain = finished(collect(provider, request("Say hello", max_tokens=2))).usage
    spiked = finished(collect(provider, request("Say hello\ud800<|im_end|>", max_tokens=2))).usage
    assert plain is not None
    assert spiked is not None
    assert spiked.input > plain.input + 5


def test_too_long_a_prompt(provider: Provider) -> None:
    with pytest.raises(ContextTooLong) as caught:
        collect(provider, request("word " * 2000))
    assert "too long for the model" in caught.value.message
    assert provider.window == Window(1024)
    assert caught.value.hint == "Type compact to shorten the conversation."


def test_a_request_the_runtime_refuses(provider: Provider) -> None:
    with pytest.raises(RequestRejected, match="grammar"):
        collect(provider, request("Hello?", grammar="root ::= missing"))


def test_closed_providers_load_again_and_unused_ones_close(model: Path) -> None:
    provider = LocalProvider(model, "m", Window(WINDOW))
    asyncio.run(provider.close())
    provider.warm()
    provider.warm()
    asyncio.run(provider.close())
    assert (
        finished(
            collect(provider, request("Tell a very long story about a baker.", max_tokens=2))
        ).stop
        == "length"
    )
    asyncio.run(provider.close())


def test_broken_files_are_told(model: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    for length in (0, 24, 54, 5_000_000):
        with model.open("rb") as whole:
            broken.write_bytes(whole.read(length))
        provider = LocalProvider(broken, "m", Window(WINDOW))
        with pytest.raises(ProviderError, match="damaged or cut off"):
            provider.warm()
        asyncio.run(provider.close())


_EXITS = {
    "loaded": "provider.warm()",
    "used": "asyncio.run(first())",
    "abandoned": "stream = provider.stream(request)\nasyncio.run(anext(stream))",
    "generating": (
        "started = threading.Event()\n"
        "async def generate():\n"
        "    async for event in provider.stream(request):\n        started.set()\n"
        "threading.Thread(target=lambda: asyncio.run(generate()), daemon=True).start()\n"
        "started.wait()"
    ),
    "freed as soon as loaded": "for _ in range(10):\n    provider.warm()\n    "
    "asyncio.run(provider.close())",
    "loading": "threading.Thread(target=provider.warm, daemon=True).start()",
}

_SCRIPT = """
import asyncio, sys, threading
from pathlib import Path
from chat_loop.providers import Provider
from chat_loop.providers.local import LocalProvider
from chat_loop.values import Message, Request, Window
assert "xllamacpp" not in sys.modules
provider = LocalProvider(Path(sys.argv[1]), "m", Window(1024))
request = Request(system="", messages=(Message("user", "Tell a long story."),), max_tokens=900)
async def first():
    async for event in provider.stream(request):
        break
"""


@pytest.mark.parametrize("way", _EXITS)
def test_the_process_ends_cleanly(model: Path, way: str) -> None:
    command = [sys.executable, "-c", _SCRIPT + _EXITS[way], str(model)]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
