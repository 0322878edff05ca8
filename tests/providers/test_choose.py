"""The choice of a provider: by a key, a server or an embedded model; otherwise an error."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback
from chat_loop.config import Config, ModelConfig, ProviderConfig
from chat_loop.errors import ModelError, NoProvider, UsageError
from chat_loop.providers import Provider
from chat_loop.providers.catalogue import CATALOGUE
from chat_loop.providers.choose import Machine, choose, list_candidates
from chat_loop.providers.models.store import QWEN_1_5B, SMOLLM2, EmbeddedModel, path_of
from chat_loop.providers.servers import server_at
from chat_loop.values import Window
from tests.support.ports import answering, closed_port, port_of
from tests.support.providers import events_of, failure_of, listening


def machine(
    folder: Path,
    environment: Mapping[str, str] | None = None,
    servers: Mapping[str, int] | None = None,
) -> Machine:
    names = listening(servers or {})
    return Machine(environment=environment or {}, models=folder / "models", servers=names)


def reference(provider: Provider) -> str:
    return f"{provider.name}:{provider.model}"


def install(folder: Path, model: EmbeddedModel) -> None:
    """Write a file of the model's size; the choice does not check anything else."""
    path = path_of(folder / "models", model)
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        file.write(b"GGUF")
        file.truncate(model.size)


def test_a_key_comes_first_then_a_server_then_an_embedded_model(tmp_path: Path) -> None:
    install(tmp_path, SMOLLM2)
    config = Config()
    with Loopback(models=("qwen3:8b", "other")) as server:
        servers = {"ollama": closed_port(), "lmstudio": port_of(server)}
        both = {"OPENAI_API_KEY": "sk-o", "ANTHROPIC_API_KEY": "sk-a"}
        assert reference(choose("", config, machine(tmp_path, both, servers))) == (
            f"anthropic:{CATALOGUE['anthropic'].model}"
        )
        one = {"OPENAI_API_KEY": "sk-o", "ANTHROPIC_API_KEY": ""}
        assert (
            reference(choose("", config, machine(tmp_path, one, servers)))
            == f"openai:{CATALOGUE['openai'].model}"
        )
        assert server.requests == []
        assert reference(choose("", config, machine(tmp_path, {}, servers))) == "lmstudio:qwen3:8b"
    assert reference(choose("", config, machine(tmp_path, {}, servers))) == f"local:{SMOLLM2.name}"


def test_of_two_embedded_models_the_recommended_is_taken(tmp_path: Path) -> None:
    for model in (SMOLLM2, QWEN_1_5B):
        install(tmp_path, model)
    assert reference(choose("", Config(), machine(tmp_path))) == f"local:{QWEN_1_5B.name}"


def test_with_nothing_the_ways_are_named(tmp_path: Path) -> None:
    with pytest.raises(NoProvider) as caught:
        choose(
            "", Config(), machine(tmp_path, {"ANTHROPIC_API_KEY": ""}, {"ollama": closed_port()})
        )
    assert caught.value.message == "No model is available."
    assert caught.value.hint == (
        """\
Ways to get one:
  export ANTHROPIC_API_KEY=...  or  export OPENAI_API_KEY=...
  start Ollama, LM Studio, llama-server or vLLM on this machine
  chat-loop --local              (an embedded model, which needs no key)
  chat-loop --model compatible:MODEL --base-url URL
  chat-loop providers            (all of them, and what each still needs)
To look around without one: chat-loop tour"""
    )


def test_the_configured_model_comes_before_a_key_and_the_asked_for_before_both(
    tmp_path: Path,
) -> None:
    around = machine(tmp_path, {"ANTHROPIC_API_KEY": "sk-a"})
    config = Config(model="scripted:echo")
    assert reference(choose("", config, around)) == "scripted:echo"
    assert reference(choose("openai:gpt-4o", config, around)) == "openai:gpt-4o"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("OpenAI:gpt-4o", "openai:gpt-4o"),
        (" openai:x", "openai:x"),
        ("antropic:x", "anthropic:x"),
        ("llama-serve:a:b", "llama-server:a:b"),
    ],
)
def test_a_misspelled_provider_is_answered_with_the_nearest_one(
    tmp_path: Path, text: str, meant: str
) -> None:
    with pytest.raises(UsageError) as caught:
        choose(text, Config(), machine(tmp_path))
    assert caught.value.message == f"Unknown model “{text}”."
    assert caught.value.hint == f"Did you mean {meant}?"


@pytest.mark.parametrize("text", ["nope", ":gpt-4o", "", "google:pro", "x" * 500])
def test_what_is_no_reference_is_refused_with_the_providers_names(
    tmp_path: Path, text: str
) -> None:
    kind = UsageError if text else NoProvider
    with pytest.raises(kind) as caught:
        choose(text, Config(), machine(tmp_path))
    if text:
        assert caught.value.message == f"Unknown model “{text[:80]}”."
        assert caught.value.hint == (
            "Use PROVIDER:MODEL; providers: anthropic, openai, gemini, grok, mistral, "
            "deepseek, groq, openrouter, "
            "azure, bedrock, ollama, lmstudio, llama-server, vllm, compatible, local, scripted."
        )


@pytest.mark.parametrize("text", ["local:x", "scripted:echo", "bedrock:x"])
@pytest.mark.parametrize("configured", [True, False])
def test_an_address_goes_only_with_a_servers_model(
    tmp_path: Path, text: str, configured: bool
) -> None:
    config, asked = (Config(model=text), "") if configured else (Config(), text)
    with pytest.raises(UsageError, match="--base-url needs a model of a server"):
        choose(asked, config, machine(tmp_path), base_url="http://127.0.0.1:1/v1")


@pytest.mark.parametrize("key", [{}, {"ANTHROPIC_API_KEY": "sk-a"}, {"OPENAI_API_KEY": "sk-o"}])
def test_an_address_without_a_model_is_asked_about_whatever_keys_there_are(
    tmp_path: Path, key: dict[str, str]
) -> None:
    """A key must not go to an address that was not given together with its provider."""
    with pytest.raises(UsageError, match="No model is named for a compatible server"):
        choose("", Config(), machine(tmp_path, key), base_url="http://127.0.0.1:1/v1")


def test_a_configured_address_without_a_model_is_asked_about(tmp_path: Path) -> None:
    config = Config(providers={"compatible": ProviderConfig(base_url="http://box:1/v1")})
    with pytest.raises(UsageError, match="No model is named for a compatible server"):
        choose("", config, machine(tmp_path))


def test_a_compatible_server_gets_its_own_key_and_never_openais(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-openai")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-anthropic")
    config = Config(providers={"compatible": ProviderConfig(api_key_env="BOX_KEY")})
    with Loopback() as server:
        for environment in ({}, {"BOX_KEY": "sk-box", "COMPATIBLE_API_KEY": "sk-other"}):
            around = machine(tmp_path, {"OPENAI_API_KEY": "sk-openai", **environment})
            events_of(choose("compatible:qwen3", config, around, base_url=f"{server.url}/v1"))
        served = choose("", Config(), machine(tmp_path, {}, {"vllm": port_of(server)}))
        events_of(served)
        asked = [request for request in server.requests if request.method == "POST"]
    assert [request.headers["authorization"] for request in asked] == [
        "Bearer none",
        "Bearer sk-box",
        "Bearer none",
    ]
    assert not any("sk-openai" in str(request.headers) for request in server.requests)


def test_the_command_lines_address_comes_before_the_configs(tmp_path: Path) -> None:
    with Loopback() as server:
        settings = ProviderConfig(base_url=f"http://127.0.0.1:{closed_port()}/v1")
        config = Config(providers={"compatible": settings})
        events_of(
            choose("compatible:qwen3", config, machine(tmp_path), base_url=f"{server.url}/v1")
        )
        assert server.requests[0].body["model"] == "qwen3"


def test_the_context_of_an_embedded_model_is_the_configs(tmp_path: Path) -> None:
    install(tmp_path, SMOLLM2)
    settings = {"local": ProviderConfig(context=2048)}
    around = machine(tmp_path)
    assert choose(f"local:{SMOLLM2.name}", Config(providers=settings), around).window == Window(
        2048
    )
    config = Config(providers=settings, models={SMOLLM2.name: ModelConfig(window=4096)})
    assert choose(f"local:{SMOLLM2.name}", config, around).window == Window(4096)


HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x00\xff garbage",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        HEAD,
        HEAD + b"<!DOCTYPE html><title>A router</title>",
        HEAD + b"null",
        HEAD + b'{"data": {}}',
        HEAD + b'{"data": ["qwen"]}',
        HEAD + b'{"data": [{"id": 3}]}',
        HEAD + b'{"data": [{"id": "a\\u001b[31mb"}]}',
        HEAD + b"[" * 100_000,
        HEAD + b'{"data": [{"id": "' + b"x" * (2 << 20) + b'"}]}',
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{",
    ],
    ids=lambda answer: repr(answer[:60]),
)
def test_a_server_that_answers_anything_else_is_no_server(tmp_path: Path, answer: bytes) -> None:
    with answering(answer) as port:
        found = server_at(f"http://127.0.0.1:{port}/v1")
        assert found is None or found.models == ()


@pytest.mark.parametrize("address", ["http://127.0.0.1:99999/v1", "http://[::1/v1", "box:1"])
def test_what_is_no_address_is_no_server(address: str) -> None:
    assert server_at(address) is None


def test_a_server_that_does_not_answer_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat_loop.providers.servers.CONNECT_SECONDS", 1.0)
    with answering(None) as port, Loopback(models=("qwen3",)) as server:
        around = machine(tmp_path, {}, {"ollama": port, "llama-server": port_of(server)})
        assert reference(choose("", Config(), around)) == "llama-server:qwen3"


def test_keys_are_considered_in_the_order_of_the_catalogue(tmp_path: Path) -> None:
    keys = {entry.keys[0]: "sk" for entry in CATALOGUE.values() if entry.needs_key and entry.model}
    taken = []
    while keys:
        provider = choose("", Config(), machine(tmp_path, keys))
        taken.append(provider.name)
        del keys[CATALOGUE[provider.name].keys[0]]
    assert " ".join(taken) == "anthropic openai gemini grok mistral deepseek groq openrouter"


def test_azure_bedrock_and_servers_of_one_s_own_are_considered_when_their_model_is_set(
    tmp_path: Path,
) -> None:
    azure = {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": "http://x"}
    bedrock = {"AWS_REGION": "x", "AWS_BEARER_TOKEN_BEDROCK": "k"}
    office = {"OFFICE_KEY": "k"}
    settings = {
        "office": ProviderConfig(base_url="http://x/v1", api_key_env="OFFICE_KEY", model="qwen3"),
        "azure": ProviderConfig(model="our-gpt"),
        "bedrock": ProviderConfig(model="us.anthropic.claude-opus-4-6-v1"),
    }
    config = Config(providers=settings)
    chosen = [
        choose("", config, machine(tmp_path, keys))
        for keys in ({**azure, **bedrock}, {**bedrock, **office}, office)
    ]
    assert [reference(provider) for provider in chosen] == [
        "azure:our-gpt",
        "bedrock:us.anthropic.claude-opus-4-6-v1",
        "office:qwen3",
    ]
    with pytest.raises(NoProvider):
        choose("", Config(), machine(tmp_path, {**azure, **bedrock, **office}))
    with pytest.raises(NoProvider):
        choose(
            "",
            config,
            machine(
                tmp_path,
                {name: key for name, key in azure.items() if name != "AZURE_OPENAI_ENDPOINT"},
            ),
        )


def test_a_provider_alone_is_asked_with_its_usual_model(tmp_path: Path) -> None:
    config = Config(providers={"openai": ProviderConfig(model="gpt-4o")})
    with Loopback(models=("qwen3:8b",)) as server:
        around = machine(tmp_path, {}, {"ollama": port_of(server), "vllm": closed_port()})
        named = [
            choose(name, config, around)
            for name in ("gemini", "gemini:", "openai", "scripted", "ollama")
        ]
        assert [reference(provider) for provider in named] == [
            "gemini:gemini-flash-latest",
            "gemini:gemini-flash-latest",
            "openai:gpt-4o",
            "scripted:echo",
            "ollama:qwen3:8b",
        ]
        assert choose("compatible", config, around, base_url=f"{server.url}/v1").model == "qwen3:8b"
    for name, message in (
        ("vllm", "No model is named for vLLM."),
        ("azure", "No model is named for Azure OpenAI."),
        ("bedrock", "No model is named for Amazon Bedrock."),
    ):
        with pytest.raises(UsageError) as caught:
            choose(name, config, around)
        assert caught.value.message == message
    with pytest.raises(ModelError, match=r"No embedded model is installed\."):
        choose("local", config, around)
    install(tmp_path, SMOLLM2)
    assert reference(choose("local", config, around)) == f"local:{SMOLLM2.name}"


def test_a_server_of_one_s_own_needs_an_address_and_its_key(tmp_path: Path) -> None:
    bare = Config(providers={"office": ProviderConfig(model="m")})
    with pytest.raises(NoProvider, match=r"The address of office is not set\."):
        choose("office", bare, machine(tmp_path))
    with Loopback() as server:
        setting = ProviderConfig(base_url=f"{server.url}/v1", api_key_env="OFFICE_KEY", model="m")
        config = Config(providers={"office": setting})
        keyless = failure_of(choose("office", config, machine(tmp_path)))
        events_of(choose("office", config, machine(tmp_path, {"OFFICE_KEY": "sk-1"})))
        assert (keyless.message, keyless.hint) == (
            "No key for office.",
            "Set OFFICE_KEY to a valid key.",
        )
        assert [request.headers["authorization"] for request in server.requests] == ["Bearer sk-1"]


def test_a_key_of_another_variable_goes_to_the_service_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-usual")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-usual")
    with Loopback() as server:
        for name, base in (("anthropic", ""), ("openai", "/v1")):
            config = Config(
                providers={
                    name: ProviderConfig(base_url=f"{server.url}{base}", api_key_env="WORK_KEY")
                }
            )
            events_of(choose(f"{name}:m", config, machine(tmp_path, {"WORK_KEY": "sk-work"})))
            failure_of(choose(f"{name}:m", config, machine(tmp_path)))
        assert [request.headers["authorization"] for request in server.requests] == [
            "Bearer sk-work"
        ] * 2


def test_who_could_answer_now(tmp_path: Path) -> None:
    install(tmp_path, SMOLLM2)
    settings = {"compatible": ProviderConfig(base_url="http://me:secret@box:1/v1", model="m")}
    with Loopback(models=("qwen3:8b",)) as server:
        around = machine(
            tmp_path, {"XAI_API_KEY": "sk-x", "GOOGLE_API_KEY": "sk-g"}, {"ollama": port_of(server)}
        )
        offers = list_candidates(Config(providers=settings), around)
        assert [*offers.items()] == [
            ("gemini:gemini-flash-latest", "GOOGLE_API_KEY is set"),
            ("grok:grok-4.3", "XAI_API_KEY is set"),
            ("compatible:m", "at http://box:1/v1"),
            ("ollama:qwen3:8b", f"at {server.url}/v1"),
            (f"local:{SMOLLM2.name}", "embedded"),
        ]
