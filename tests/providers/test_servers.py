"""Model servers on this machine: how the program finds and names them, and which it trusts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback
from chat_loop.config import Config, parse
from chat_loop.errors import NoProvider
from chat_loop.providers import Provider
from chat_loop.providers.catalogue import CATALOGUE
from chat_loop.providers.choose import Machine, choose, full_reference, this_machine
from chat_loop.subcommands.providers import providers
from tests.support.environments import environment
from tests.support.providers import listening
from tests.support.window_server import serving


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


def machine(home: Path, servers: Mapping[str, int]) -> Machine:
    return Machine(environment={}, models=home / "models", servers=listening(servers))


def chosen(config: Config, around: Machine, reference: str = "") -> tuple[Provider, list[str]]:
    told: list[str] = []
    return choose(reference, config, around, report=told.append), told


def test_a_server_that_was_found_is_named_before_it_is_asked_anything(tmp_path: Path) -> None:
    models = {"data": [{"id": "m.gguf", "owned_by": "llamacpp"}]}
    with serving({"/v1/models": models}) as (url, asked):
        provider, told = chosen(Config(), machine(tmp_path, {"llama-server": port_of(url)}))
        assert (provider.name, provider.model) == ("llama-server", "m.gguf")
        assert told == [(f"Using llama-server:m.gguf, found on this machine at {url}/v1.")]
        assert set(asked) == {"/v1/models"}
        _, told = chosen(
            Config(model="llama-server"), machine(tmp_path, {"llama-server": port_of(url)})
        )
        assert told == [], "the user named it"


def program(home: Path, port: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program as if `port` were the usual port of llama-server."""
    code = (
        "import sys; from chat_loop import cli; from chat_loop.providers import catalogue;"
        "from tests.support.providers import listening;"
        f"catalogue.LOCAL_SERVERS = listening({{'llama-server': {port}}});"
        "sys.exit(cli.main(sys.argv[1:]))"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=environment(home),
        timeout=60,
        check=False,
    )


@pytest.mark.slow
def test_with_p_the_server_is_named_on_standard_error(tmp_path: Path) -> None:
    with Loopback(models=("m",)) as server:
        result = program(tmp_path, port_of(server.url), "-p", "hi")
    assert (result.returncode, result.stdout) == (0, "You said: hi\n")
    assert result.stderr == (f"Using llama-server:m, found on this machine at {server.url}/v1.\n")


def test_discovery_can_be_switched_off(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("discover_servers: false\n")
    with Loopback(models=("m",)) as server:
        result = program(tmp_path, port_of(server.url), "-p", "hi")
        assert (result.returncode, server.requests, server.looked) == (2, [], [])
        assert result.stderr.startswith("No model is available.")
    assert parse(b"", "x").discover_servers
    assert this_machine(tmp_path, discover=False).servers == ()


def loading(times: int) -> Callable[[list[str]], object]:
    """The answers of a llama-server that is loading its model for the first `times` requests."""
    busy = {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}}
    return lambda asked: (
        (503, busy) if asked.count("/v1/models") <= times else {"data": [{"id": "m"}]}
    )


@pytest.mark.parametrize("reference", ["", "llama-server"])
def test_a_server_that_loads_its_model_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], reference: str
) -> None:
    with serving({"/v1/models": loading(10**9)}) as (url, _):
        around = machine(tmp_path, {"llama-server": port_of(url)})
        with pytest.raises(NoProvider) as caught:
            choose(reference, Config(), around)
        assert caught.value.message == f"llama-server at {url}/v1 is loading its model."
        providers(Config(), around, as_json=False)
    assert "· llama-server  It is loading its model.\n" in capsys.readouterr().out


def test_an_address_without_a_model_is_asked_for_one(tmp_path: Path) -> None:
    with Loopback(models=("nomic-embed-text", "qwen3", "phi4")) as server:
        first = choose("", Config(), machine(tmp_path, {}), base_url=f"{server.url}/v1")
        assert (first.name, first.model) == ("compatible", "qwen3")
        assert "authorization" not in server.looked[0].headers
        named = choose("phi4", Config(), machine(tmp_path, {}), base_url=f"{server.url}/v1")
        assert (named.name, named.model) == ("compatible", "phi4")


@pytest.mark.parametrize(
    ("name", "provider", "reference"),
    [
        ("gpt-5", "", "openai:gpt-5"),
        ("gpt-5", "anthropic", "openai:gpt-5"),
        ("gpt-5", "azure", "azure:gpt-5"),
        ("claude-sonnet-5-5", "openai", "anthropic:claude-sonnet-5-5"),
        ("claude-sonnet-5-5", "bedrock", "bedrock:claude-sonnet-5-5"),
        ("gemini-flash-latest", "", "gemini:gemini-flash-latest"),
        ("grok-4.3", "", "grok:grok-4.3"),
        ("mistral-medium-latest", "", "mistral:mistral-medium-latest"),
        ("gpt-oss:20b", "ollama", "ollama:gpt-oss:20b"),
        ("openai/gpt-4o", "openrouter", "openrouter:openai/gpt-4o"),
        ("qwen3:8b", "ollama", "ollama:qwen3:8b"),
        ("openai:gpt-5", "ollama", "openai:gpt-5"),
        ("gemini", "anthropic", "gemini"),
        ("nope", "", "nope"),
        ("llama3.2:1b", "ollama", "ollama:llama3.2:1b"),
    ],
)
def test_a_model_s_name_alone_means_the_same_everywhere(
    name: str, provider: str, reference: str
) -> None:
    assert full_reference(name, [*CATALOGUE], provider) == reference
