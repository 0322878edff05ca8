"""Keys, addresses and proxies as people paste them: what stands around is dropped, what stands
inside is named, and nothing ends in a traceback.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.config import Config, ProviderConfig
from chat_loop.errors import AuthenticationFailed, NoProvider, ProviderError
from chat_loop.events import Event, TextDelta, Warned
from chat_loop.providers.choose import Machine, choose, create
from chat_loop.providers.wire import WireProvider
from tests.support.providers import (
    REQUEST,
    ask_through,
    clear_environment,
    events_of,
    failure_of,
    joined,
)

HELLO = TextDelta("You said: Hello")
NOT_FOUND = Reply(
    status=404, headers={"content-type": "application/json"}, body=b'{"detail": "Not Found"}'
)


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    clear_environment(monkeypatch, tmp_path)
    return monkeypatch


def made(reference: str, environment: dict[str, str], patch: pytest.MonkeyPatch) -> WireProvider:
    """The provider of a reference, with variables that the SDKs see too."""
    for name, value in environment.items():
        patch.setenv(name, value)
    machine = Machine(environment=environment, models=Path("/nonexistent"), servers=())
    provider = create(reference, Config(), machine)
    assert isinstance(provider, WireProvider)
    return provider


def error_of(
    reference: str, environment: dict[str, str], patch: pytest.MonkeyPatch
) -> ProviderError:
    try:
        return failure_of(made(reference, environment, patch))
    except ProviderError as error:
        return error


SERVICES = [
    ("openai:gpt-4o", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1"),
    ("anthropic:claude-test", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", ""),
    ("anthropic:claude-test", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", ""),
    ("azure:gpt-4o", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", ""),
]


AROUND = ["\u201c{}\u201d", "\u200b{}\ufeff", ' "{}"\n', "<{}>", "{}\r\n"]


@pytest.mark.parametrize(
    ("reference", "key", "address", "path", "around"),
    [
        *((*SERVICES[0], around) for around in AROUND),
        *((*service, AROUND[0]) for service in SERVICES[1:]),
    ],
)
def test_what_stands_around_a_key_and_an_address_is_dropped(
    own_environment: pytest.MonkeyPatch,
    server: Loopback,
    reference: str,
    key: str,
    address: str,
    path: str,
    around: str,
) -> None:
    values = {key: around.format("sk-secret"), address: around.format(f"{server.url}{path}")}

    assert events_of(made(reference, values, own_environment))[0] == HELLO

    headers = server.requests[-1].headers
    assert "sk-secret" in (headers.get("x-api-key"), headers.get("authorization", "")[7:])


@pytest.mark.parametrize(("reference", "key", "address", "path"), SERVICES)
def test_what_stands_inside_of_a_key_is_named_and_not_the_key(
    own_environment: pytest.MonkeyPatch, reference: str, key: str, address: str, path: str
) -> None:
    values = {key: "sk-se\u2019cret", address: f"http://127.0.0.1:1{path}"}

    error = error_of(reference, values, own_environment)

    assert type(error) is AuthenticationFailed
    what = "U+2019 (right single quotation mark) as character 6"
    assert error.message == f"{key} has {what}, which no key has."
    assert "sk-se" not in f"{error.message}{error.hint}"


@pytest.mark.parametrize(
    ("inside", "named"),
    [("\n", "U+000A (line feed)"), ("\u200b", "U+200B (zero width space)"), ("?", "U+003F")],
)
def test_what_stands_inside_of_an_address_is_named(
    own_environment: pytest.MonkeyPatch, inside: str, named: str
) -> None:
    values = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"http://127.0.0.1{inside}:1/v1"}

    error = error_of("openai:gpt-4o", values, own_environment)

    assert type(error) is NoProvider
    assert error.message.startswith(f"OPENAI_BASE_URL has {named}")
    assert error.hint == "Write it as http://HOST:PORT/v1."


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:port/v1",
        "http://[::1/v1",
        "http://a\u0001b/",
        "localhost:11434",
        "ftp://localhost",
        "http://",
    ],
)
def test_an_address_that_is_none_ends_in_a_sentence(
    own_environment: pytest.MonkeyPatch, address: str
) -> None:
    values = {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": address}

    error = error_of("anthropic:claude-test", values, own_environment)

    assert type(error) is NoProvider
    assert error.hint == "Write it as http://HOST:PORT/v1."


def test_a_header_that_cannot_be_sent_is_named(
    own_environment: pytest.MonkeyPatch, server: Loopback
) -> None:
    values = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.url, "OPENAI_ORG_ID": "org-\u00e9"}

    error = error_of("openai:gpt-4o", values, own_environment)

    named = "The header OpenAI-Organization has U+00E9 (latin small letter e with acute)"
    assert error.message == f"{named} as character 5."


def test_a_wrong_key_explains_why_no_model_is_available() -> None:
    machine = Machine(
        environment={"OPENAI_API_KEY": "sk\u00a0x"}, models=Path("/nonexistent"), servers=()
    )
    with pytest.raises(AuthenticationFailed, match="OPENAI_API_KEY has U\\+00A0"):
        choose("", Config(), machine)


@pytest.mark.parametrize(
    ("reference", "variable", "suffix", "asked"),
    [
        ("anthropic:claude-test", "ANTHROPIC_BASE_URL", "/v1", "/v1/messages"),
        ("anthropic:claude-test", "ANTHROPIC_BASE_URL", "/", "/v1/messages"),
        ("openai:gpt-4o", "OPENAI_BASE_URL", "", "/v1/chat/completions"),
        ("openai:gpt-4o", "OPENAI_BASE_URL", "/v1/chat/completions", "/v1/chat/completions"),
        ("openai:gpt-4o", "OPENAI_BASE_URL", "/x/v1/models", "/x/v1/chat/completions"),
        (
            "azure:gpt-4o",
            "AZURE_OPENAI_ENDPOINT",
            "/openai/deployments/gpt-4o/chat/completions?api-version=2024-06-01",
            "/openai/v1/chat/completions",
        ),
    ],
)
def test_an_address_works_with_and_without_its_end(
    own_environment: pytest.MonkeyPatch,
    server: Loopback,
    reference: str,
    variable: str,
    suffix: str,
    asked: str,
) -> None:
    values = {variable: f"{server.url}{suffix}"}
    values |= dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY"), "k")

    events_of(made(reference, values, own_environment))

    assert [request.path for request in server.requests] == [asked]


def at(address: str) -> WireProvider:
    config = Config(providers={"office": ProviderConfig(base_url=address)})
    machine = Machine(environment={}, models=Path("/nonexistent"), servers=())
    provider = create("office:m", config, machine)
    assert isinstance(provider, WireProvider)
    return provider


@pytest.mark.parametrize(("given", "works"), [("", ""), ("/v1", ""), ("/x", "/x/v1")])
def test_the_other_form_of_an_address_is_tried_once(
    server: Loopback, given: str, works: str
) -> None:
    server.enqueue(NOT_FOUND)
    provider = at(f"{server.url}{given}")

    events: list[Event] = ask_through(provider, REQUEST)

    url = f"{server.url}{works}/chat/completions"
    assert isinstance(events[0], Warned)
    assert f"{url} is asked from now on" in events[0].message
    assert joined(events[1:])[0] == HELLO
    assert server.requests[1].path == f"{works}/chat/completions"


def test_the_address_that_was_asked_is_in_the_message(server: Loopback) -> None:
    server.enqueue(NOT_FOUND, NOT_FOUND)
    provider = at(f"{server.url}/v1")

    asked = [failure_of(provider).message for _ in range(2)]

    assert all(f"{server.url}/chat/completions" in message for message in asked)
    assert "address" in asked[1]


@pytest.mark.parametrize("name", ["all_proxy", "ALL_PROXY", "HTTP_PROXY", "https_proxy"])
def test_a_proxy_does_not_matter_for_a_server_on_this_machine(
    own_environment: pytest.MonkeyPatch, server: Loopback, name: str
) -> None:
    own_environment.setenv(name, "socks://127.0.0.1:1/")

    assert events_of(at(f"{server.url}/v1"))[0] == HELLO


def test_the_proxies_of_a_desktop_are_used(
    own_environment: pytest.MonkeyPatch, server: Loopback
) -> None:
    """GNOME sets a proxy for each protocol, and one for all, which it calls socks://."""
    own_environment.setenv("all_proxy", "socks://127.0.0.1:1/")
    own_environment.setenv("http_proxy", f"{server.url}/")

    assert events_of(at("http://models.test/v1"))[0] == HELLO
    assert server.requests[0].path == "http://models.test/v1/chat/completions"


def test_a_proxy_that_needs_a_package_says_so(own_environment: pytest.MonkeyPatch) -> None:
    own_environment.setenv("all_proxy", "socks://127.0.0.1:1/")

    error = failure_of(at("http://models.test/v1"))

    assert type(error) is NoProvider
    assert "socksio" in error.message


def test_a_key_for_another_service_is_recognized(
    own_environment: pytest.MonkeyPatch, server: Loopback
) -> None:
    server.enqueue(Reply(status=401, body=b'{"error": {"message": "Incorrect API key provided"}}'))
    values = {"OPENAI_API_KEY": "sk-ant-x", "OPENAI_BASE_URL": server.url}

    error = error_of("openai:gpt-4o", values, own_environment)

    assert error.hint.startswith("It looks like a key for Anthropic.")
