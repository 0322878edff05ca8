"""`chat-loop providers`: it shows what is usable and what the others need, but never a key."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback
from chat_loop.config import Config, ProviderConfig
from chat_loop.providers.catalogue import CATALOGUE
from chat_loop.providers.choose import Machine
from chat_loop.subcommands import providers
from tests.support.ports import closed_port, port_of
from tests.support.providers import clear_environment, listening

SECRET = "sk-not-to-be-shown"


@pytest.fixture(autouse=True)
def _nothing_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clear_environment(monkeypatch, tmp_path)


def machine(folder: Path, environment: Mapping[str, str] | None = None, **servers: int) -> Machine:
    around = {
        "lmstudio": closed_port(),
        "llama-server": closed_port(),
        "vllm": closed_port(),
        **servers,
    }
    return Machine(
        environment=environment or {}, models=folder / "models", servers=listening(around)
    )


def told(
    capsys: pytest.CaptureFixture[str], around: Machine, config: Config | None = None
) -> dict[str, dict[str, object]]:
    assert providers.providers(config or Config(), around, as_json=True) == 0
    return {status["name"]: status for status in json.loads(capsys.readouterr().out)}


def test_the_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat_loop.subcommands.providers.find_spec", lambda name: name)
    environment = {
        "GEMINI_API_KEY": SECRET,
        "AZURE_OPENAI_API_KEY": SECRET,
        "OFFICE_KEY": SECRET,
        "AWS_REGION": "x",
    }
    config = Config(
        providers={
            "office": ProviderConfig(base_url="https://llm.example/v1", api_key_env="OFFICE_KEY")
        },
    )
    with Loopback(models=("qwen3:8b", "other")) as server:
        servers = {name: closed_port() for name in ("lmstudio", "llama-server", "vllm")} | {
            "ollama": port_of(server)
        }
        around = Machine(
            environment=environment, models=tmp_path / "models", servers=listening(servers)
        )
        assert providers.providers(config, around, as_json=False) == 0

    assert capsys.readouterr().out == (
        f"""\
· anthropic     ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN is not set.
· openai        OPENAI_API_KEY is not set.
✓ gemini        gemini-flash-latest
· grok          XAI_API_KEY is not set.
· mistral       MISTRAL_API_KEY is not set.
· deepseek      DEEPSEEK_API_KEY is not set.
· groq          GROQ_API_KEY is not set.
· openrouter    OPENROUTER_API_KEY is not set.
· azure         The address of Azure OpenAI is not set. Set AZURE_OPENAI_ENDPOINT, as https://NAME.openai.azure.com.
· bedrock       No AWS credentials. Check AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and \
AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; sign in again if it has expired.
✓ ollama        qwen3:8b
· lmstudio      Nothing listens at http://127.0.0.1:{servers["lmstudio"]}/v1.
· llama-server  Nothing listens at http://127.0.0.1:{servers["llama-server"]}/v1.
· vllm          Nothing listens at http://127.0.0.1:{servers["vllm"]}/v1.
· compatible    The address of a compatible server is not set. Set providers.compatible.base_url, or give --base-url URL.
· local         No model is installed. chat-loop models install
· scripted      no model: scripted:echo repeats your words
✓ office        name a model

✓ is ready. Example: chat-loop -m gemini:gemini-flash-latest
"""
    )


def test_the_same_as_json_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = told(capsys, machine(tmp_path, {"GEMINI_API_KEY": SECRET}, ollama=closed_port()))

    assert [*found] == [*CATALOGUE]
    assert found["grok"] == {
        "name": "grok",
        "title": "xAI Grok",
        "usable": False,
        "missing": "XAI_API_KEY is not set.",
        "hint": "export XAI_API_KEY=...",
        "model": "grok-4.3",
        "address": "https://api.x.ai/v1",
        "keys": ["XAI_API_KEY"],
    }
    assert found["gemini"]["usable"] is True
    assert found["ollama"]["hint"] == "Start Ollama, or set providers.ollama.base_url."
    assert SECRET not in str(found)


def test_a_name_and_a_password_in_an_address_are_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = Config(
        providers={
            "compatible": ProviderConfig(base_url=f"http://me:{SECRET}@127.0.0.1:1/v1?key={SECRET}")
        }
    )
    providers.providers(config, machine(tmp_path), as_json=False)
    text = capsys.readouterr().out
    found = told(capsys, machine(tmp_path), config)

    assert SECRET not in text + str(found)
    assert found["compatible"]["missing"] == "Nothing listens at http://127.0.0.1:1/v1."


def test_what_bedrock_and_azure_need_one_after_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps: list[dict[str, str]] = [
        {},
        {"AWS_REGION": "x"},
        {"AWS_REGION": "x", "AWS_BEARER_TOKEN_BEDROCK": SECRET},
    ]
    assert [told(capsys, machine(tmp_path, step))["bedrock"]["missing"] for step in steps] == [
        "Amazon Bedrock has no region: AWS_REGION is not set.",
        "No AWS credentials.",
        "",
    ]
    token = {"AZURE_OPENAI_AD_TOKEN": SECRET}
    steps = [{}, token, token | {"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com"}]
    assert [told(capsys, machine(tmp_path, step))["azure"]["missing"] for step in steps] == [
        "AZURE_OPENAI_API_KEY or AZURE_OPENAI_AD_TOKEN is not set.",
        "The address of Azure OpenAI is not set.",
        "",
    ]
