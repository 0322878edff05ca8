"""Context windows come from the config, the server, genai-prices or a guess, in this order."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from chat_loop.config import Config, ModelConfig, ProviderConfig
from chat_loop.errors import ContextTooLong
from chat_loop.providers.capabilities import (
    FAMILIES,
    Capabilities,
    from_answer,
    window_of,
)
from chat_loop.providers.catalogue import CATALOGUE
from chat_loop.providers.choose import Machine, create
from chat_loop.providers.wire import WireProvider
from chat_loop.values import Message, Request, Window
from tests.support.headless import run
from tests.support.providers import events_of
from tests.support.window_server import serving

MODEL = "qwen3:8b"
ASK = Request(system="", messages=(Message("user", "Hello"),))


def told(home: Path, reference: str, url: str, **model: Any) -> WireProvider:
    """A provider whose server is at `url`, before it has sent any request."""
    name, _, which = reference.partition(":")
    config = Config(
        providers={name: ProviderConfig(base_url=url)}, models={which: ModelConfig(**model)}
    )
    environment = {key: "sk-x" for entry in CATALOGUE.values() for key in entry.keys[:1]}
    provider = create(
        reference, config, Machine(environment=environment, models=home / "models", servers=())
    )
    assert isinstance(provider, WireProvider)
    return provider


# The sources


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        (
            {
                "id": "claude-x",
                "type": "model",
                "max_input_tokens": 1_000_000,
                "max_tokens": 64_000,
                "capabilities": {"image_input": {"supported": True}},
            },
            Capabilities(window=1_000_000, reply=64_000, images=True),
        ),
        ({"id": "m", "meta": {"n_ctx": 2048, "n_ctx_train": 32_768}}, Capabilities(window=2048)),
        (
            {"id": "m", "context_window": 131_072, "max_completion_tokens": 65_536},
            Capabilities(window=131_072, reply=65_536),
        ),
        (
            {"id": "m", "max_context_length": 262_144, "capabilities": {"vision": False}},
            Capabilities(window=262_144, images=False),
        ),
        (
            {
                "id": "m",
                "context_length": 1_000_000,
                "architecture": {"input_modalities": ["text", "image"]},
                "top_provider": {"context_length": 200_000, "max_completion_tokens": 32_000},
            },
            Capabilities(window=200_000, reply=32_000, images=True),
        ),
        (
            {
                "id": "m",
                "type": "vlm",
                "state": "loaded",
                "loaded_context_length": 4096,
                "max_context_length": 9999,
            },
            Capabilities(window=4096, images=True),
        ),
        (
            {"id": "m", "type": "llm", "state": "not-loaded", "max_context_length": 9999},
            Capabilities(images=False),
        ),
        (
            {"id": "m", "context_length": "8192", "max_model_len": True, "context_window": -1},
            Capabilities(),
        ),
        (
            {"default_generation_settings": {"n_ctx": 4096}, "modalities": {"vision": True}},
            Capabilities(window=4096, images=True),
        ),
        ({"capabilities": ["completion", "vision"]}, Capabilities(images=True)),
        ({"id": "m", "context_length": 255}, Capabilities()),
        ({"id": "m", "context_length": 10**12}, Capabilities()),
        (None, Capabilities()),
    ],
)
def test_what_a_server_lists_of_a_model(entry: object, says: Capabilities) -> None:
    assert from_answer(entry) == says


# The order of the sources


def test_an_override_counts_for_the_exact_name_and_a_guess_says_so() -> None:
    overrides = {"gpt-4o": 50_000, "my-model": 4_096}

    assert window_of("gpt-4o", overrides) == Window(50_000)
    assert window_of("my-model", overrides) == Window(4_096)
    assert window_of("my-model-2", overrides) == Window(128_000, guessed=True)
    assert window_of("Qwen/Qwen3-8B", overrides) == Window(32_768, guessed=True)
    assert all(prefix == prefix.lower() and "/" not in prefix for prefix in FAMILIES)


def test_the_default_model_is_compacted_at_80_percent_of_a_million(tmp_path: Path) -> None:
    provider = told(tmp_path, "anthropic:claude-sonnet-5-5", "http://127.0.0.1:1")
    assert provider.window.guessed

    provider.look_up()

    assert provider.window == Window(1_000_000)


def test_the_config_comes_before_everything(tmp_path: Path) -> None:
    provider = told(tmp_path, "openai:gpt-4o", "http://127.0.0.1:1/v1", window=9000, images=False)

    provider.look_up()
    provider.learn(Capabilities(window=1_000_000, images=True))

    assert (provider.window, provider.takes_images) == (Window(9000), False)


def test_the_server_comes_before_the_library_whoever_is_first(tmp_path: Path) -> None:
    one, other = (told(tmp_path, "openai:gpt-4o", "http://127.0.0.1:1/v1") for _ in range(2))

    one.learn(Capabilities(window=64_000))
    one.look_up()
    other.look_up()
    assert other.window == Window(128_000)
    other.learn(Capabilities(window=64_000))

    assert one.window == other.window == Window(64_000)


HI = b"""\
data: {"choices": [{"index": 0, "delta": {"content": "Hi."}}]}

data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}

data: [DONE]

"""
LLAMA = {"data": [{"id": "model.gguf", "owned_by": "llamacpp", "meta": {"n_ctx": 4096}}]}


@pytest.mark.parametrize(
    ("reference", "answers", "window"),
    [
        (
            "llama-server:any",
            {"/v1/models": LLAMA, "/props": {"default_generation_settings": {"n_ctx": 2048}}},
            2048,
        ),
        ("compatible:model.gguf", {"/v1/models": LLAMA}, 4096),
        (
            "vllm:m",
            {"/v1/models": {"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 6000}]}},
            6000,
        ),
        (
            "ollama:qwen3:8b",
            {
                "/v1/models": {"data": []},
                "/api/ps": {"models": [{"name": MODEL, "context_length": 8192}]},
            },
            8192,
        ),
        (
            "lmstudio:m",
            {
                "/v1/models": {"data": [{"id": "m"}]},
                "/api/v0/models/m": {"id": "m", "loaded_context_length": 4096},
            },
            4096,
        ),
    ],
)
def test_a_server_of_this_machine_is_asked_before_the_first_question(
    tmp_path: Path, reference: str, answers: dict[str, object], window: int
) -> None:
    with serving(answers) as (url, asked):
        provider = told(tmp_path, reference, f"{url}/v1")
        provider.look_up()
        assert provider.window == Window(window)
        assert not any("chat" in path for path in asked)


def test_a_small_window_is_found_out_before_it_overflows(tmp_path: Path) -> None:
    """The program learns the window in time to shorten a question that does not fit."""
    answers = {
        "/v1/models": LLAMA,
        "/props": {"default_generation_settings": {"n_ctx": 2048}},
        "/v1/chat/completions": HI,
    }
    with serving(answers) as (url, asked):
        result = run(
            tmp_path, "--model", "llama-server:m", "--base-url", f"{url}/v1", "-p", "word " * 3000
        )
    assert "The window of 2K is too small for all of it" in result.stderr.decode()
    assert asked.index("/props") < asked.index("/v1/chat/completions")


def test_ollama_is_asked_for_the_window_that_it_gives_the_model(tmp_path: Path) -> None:
    """Ollama tells the window only of a loaded model, and silently drops text beyond it."""

    def processes(asked: list[str]) -> object:
        return {
            "models": [{"name": MODEL, "context_length": 4096}] if "/api/generate" in asked else []
        }

    answers: dict[str, object] = {
        "/v1/models": {"data": [{"id": MODEL, "owned_by": "library"}]},
        "/api/show": {
            "model_info": {"qwen3.context_length": 40_960},
            "capabilities": ["completion"],
        },
        "/api/ps": processes,
        "/api/generate": {"done": True, "done_reason": "load"},
        "/v1/chat/completions": HI,
    }
    with serving(answers) as (url, asked):
        provider = told(tmp_path, f"ollama:{MODEL}", f"{url}/v1")
        provider.look_up()
        assert provider.window.guessed
        long = Request(system="", messages=(Message("user", "many words " * 4000),))
        with pytest.raises(ContextTooLong) as caught:
            events_of(provider, long)
        assert caught.value.window == 4096
        assert provider.window == Window(4096)
        assert "/v1/chat/completions" not in asked
        events_of(provider, ASK)
        assert asked.count("/api/generate") == 1


def test_an_ollama_that_is_too_old_to_say_it_is_taken_for_a_small_one(tmp_path: Path) -> None:
    answers = {
        "/api/generate": {"done": True},
        "/api/ps": {"models": [{"name": MODEL}]},
        "/v1/chat/completions": HI,
    }
    with serving(answers) as (url, _):
        provider = told(tmp_path, f"ollama:{MODEL}", f"{url}/v1")
        events_of(provider, ASK)
        assert provider.window == Window(4096, guessed=True)


async def _after_a_reply(provider: WireProvider) -> None:
    """Ask once, and wait for the look-up that the provider starts after the reply."""
    try:
        async for _ in provider.stream(ASK):
            pass
        if provider._lookup_task is not None:
            await provider._lookup_task
    finally:
        await provider.close()


CLAUDE = b"""\
data: {"type": "message_start", "message": {}}

data: {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}

data: {"type": "message_stop"}

"""
INFO = {
    "id": "claude-next",
    "type": "model",
    "max_input_tokens": 300_000,
    "max_tokens": 96_000,
    "capabilities": {"image_input": {"supported": False}},
}


def test_a_service_is_asked_behind_the_first_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-x")
    with serving({"/v1/messages": CLAUDE, "/v1/models/claude-next": INFO}) as (url, asked):
        provider = told(tmp_path, "anthropic:claude-next", url)
        asyncio.run(_after_a_reply(provider))
    assert asked == ["/v1/messages", "/v1/models/claude-next"]
    assert (provider.window, provider.takes_images, provider.reply_tokens) == (
        Window(300_000),
        False,
        96_000,
    )


@pytest.mark.parametrize(
    "said",
    [
        (500, b"no"),
        b"\xff",
        b"[" * 100_000,
        {"data": 3},
        {"data": [{"id": "m", "context_length": 10**15}]},
        b"x" * (5 << 20),
    ],
    ids=lambda said: repr(said)[:20],
)
def test_a_service_that_says_nonsense_leaves_the_guess(tmp_path: Path, said: object) -> None:
    with serving({"/v1/chat/completions": HI, "/v1/models": said}) as (url, asked):
        provider = told(tmp_path, "openrouter:m", f"{url}/v1")
        asyncio.run(_after_a_reply(provider))
    assert asked[-1] == "/v1/models"
    assert provider.window == Window(128_000, guessed=True)


# Replies


# Guesses that get out of date
