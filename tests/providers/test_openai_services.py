"""Differences between services with OpenAI's protocol: Azure, reasoning, errors, parameters."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, Reply, failing
from chat_loop.config import Config
from chat_loop.errors import AuthenticationFailed, ModelNotFound, NoProvider, ProviderError
from chat_loop.events import Event, Finished, OpaqueArrived, TextDelta, ThinkingDelta
from chat_loop.providers.choose import create, this_machine
from chat_loop.values import Message, Request, ToolCall, ToolResult, ToolSpec, Usage
from tests.support.catalogue import ALL, AZURE
from tests.support.providers import events_of, failure_of

TALK = Request(system="Be brief.", messages=(Message("user", "Hello"),), max_tokens=100)
TOOL = ToolSpec("look", "Look it up.", {"type": "object", "properties": {}})
BY_NAME = {service.name: service for service in ALL}


pytestmark = pytest.mark.usefixtures("services")


# --- Azure


def test_azure_takes_a_token_in_the_place_of_a_key(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("AZURE_OPENAI_API_KEY")
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", "token-1")

    events_of(AZURE.at(server.url, tmp_path), TALK)

    assert server.requests[0].headers["authorization"] == "Bearer token-1"


def test_azure_says_that_its_endpoint_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    with pytest.raises(NoProvider, match="The address of Azure OpenAI is not set") as caught:
        create("azure:our-gpt", Config(), this_machine(tmp_path))

    assert caught.value.hint == "Set AZURE_OPENAI_ENDPOINT, as https://NAME.openai.azure.com."


def test_openrouter_hands_the_marks_of_the_cache_on_to_claude(
    server: Loopback, tmp_path: Path
) -> None:
    claude = replace(BY_NAME["openrouter"], model="anthropic/claude-sonnet-5-5").at(
        server.url, tmp_path
    )
    messages = (
        Message("user", "One"),
        Message("assistant", "1"),
        Message("user", "Two"),
        Message("user", " "),
    )
    events_of(claude, replace(TALK, messages=messages))
    events_of(claude, replace(TALK, grammar="root ::= [a-z]"))
    events_of(BY_NAME["openrouter"].at(server.url, tmp_path), TALK)

    kept = {"cache_control": {"type": "ephemeral"}}
    assert server.requests[0].body["messages"] == [
        {"role": "system", "content": [{"type": "text", "text": "Be brief.", **kept}]},
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": "1"},
        {"role": "user", "content": [{"type": "text", "text": "Two", **kept}]},
        {"role": "user", "content": " "},
    ]
    assert "cache_control" not in f"{server.requests[1].body} {server.requests[2].body}"


# --- Errors, stop reasons and counts

HINTS = {
    "gemini": "Set GEMINI_API_KEY or GOOGLE_API_KEY to a valid key.",
    "anthropic": "Set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN to a valid key.",
    "openai": "Set OPENAI_API_KEY to a valid key.",
    "bedrock": (
        "Check AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
        "AWS_PROFILE; sign in again if it has expired."
    ),
}
MODEL_HINTS = {
    "mistral": "Check the model's name; --model mistral:NAME.",
    "azure": "The model is the name of a deployment of yours; --model azure:DEPLOYMENT.",
    "bedrock": (
        "Check the id, and that the region has it for this account; many models are called by the "
        "id of an inference profile, such as us.anthropic.NAME."
    ),
    "ollama": (
        "Check the model's name; --model ollama:NAME. The server's address usually ends in /v1."
    ),
}


@pytest.mark.parametrize(
    ("status", "hints", "kind"),
    [(401, HINTS, AuthenticationFailed), (404, MODEL_HINTS, ModelNotFound)],
)
def test_hints_name_what_each_provider_needs(
    server: Loopback, tmp_path: Path, status: int, hints: dict[str, str], kind: type[ProviderError]
) -> None:
    for name, hint in hints.items():
        server.enqueue(failing(status))
        error = failure_of(BY_NAME[name].at(server.url, tmp_path), TALK)
        assert (type(error), error.hint) == (kind, hint)


REASONED = {"completion_tokens_details": {"reasoning_tokens": 7}}
HIT = {"prompt_cache_hit_tokens": 6, "prompt_cache_miss_tokens": 3}
WROTE = {"prompt_tokens_details": {"cache_write_tokens": 5}}


@pytest.mark.parametrize(
    ("more", "usage"),
    [
        ({"total_tokens": 20}, Usage(input=9, output=11, reasoning=7)),  # Gemini
        ({"total_tokens": 20, **REASONED}, Usage(input=9, output=11, reasoning=7)),  # xAI
        ({"total_tokens": 13, **HIT}, Usage(input=9, output=4, cached=6)),  # DeepSeek
        ({"total_tokens": 13, "cached_tokens": 6}, Usage(input=9, output=4, cached=6)),
        (WROTE, Usage(input=9, output=4, written=5)),
        ({"total_tokens": 0}, Usage(input=9, output=4)),
    ],
)
def test_counts_in_the_words_of_each_service(
    server: Loopback, tmp_path: Path, more: dict[str, object], usage: Usage
) -> None:
    counts = {"prompt_tokens": 9, "completion_tokens": 4, **more}
    raw = json.dumps({"choices": [], "usage": counts})
    server.enqueue(Reply(chunks=("Hi",), raw=(raw,), usage=None))

    *_, last = events_of(BY_NAME["gemini"].at(server.url, tmp_path), TALK)

    assert last == Finished(stop="end", usage=usage)


# --- Reasoning


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_whatever_it_is_called(server: Loopback, tmp_path: Path, field: str) -> None:
    server.enqueue(Reply(thinking=("Hm",), chunks=("Hi",), reasoning_field=field))

    assert events_of(BY_NAME["vllm"].at(server.url, tmp_path), TALK)[:-1] == [
        ThinkingDelta("Hm"),
        TextDelta("Hi"),
    ]


KEEP_APART = {"anthropic", "openai", "azure", "bedrock", "grok", "deepseek"}
"""Services that never send reasoning in the text of a reply, so that it may be about the tags."""


@pytest.mark.parametrize("name", [name for name in BY_NAME if name != "bedrock"])
def test_reasoning_in_the_text_is_no_part_of_the_answer_unless_it_comes_apart(
    server: Loopback, tmp_path: Path, name: str
) -> None:
    server.enqueue(Reply(chunks=("<thi", "nk>H", "m.</", "think>\n", "\nHi", " <think>")))

    events = events_of(BY_NAME[name].at(server.url, tmp_path), TALK)[:-1]

    if name in KEEP_APART:
        assert events == [TextDelta("<think>Hm.</think>\n\nHi <think>")]
    else:
        assert events == [ThinkingDelta("Hm."), TextDelta("Hi <think>")]


def test_reasoning_and_answer_as_parts_of_a_list(server: Loopback, tmp_path: Path) -> None:
    """Mistral's reasoning models send such lists."""

    def parts(*content: object) -> str:
        return json.dumps({"choices": [{"index": 0, "delta": {"content": [*content]}}]})

    server.enqueue(
        Reply(
            raw=(
                parts(
                    {
                        "type": "thinking",
                        "thinking": [{"type": "text", "text": "Hm"}, 3, {"type": "x"}],
                    }
                ),
                parts(
                    {"type": "text", "text": "Hi"}, "odd", {"type": "thinking", "thinking": "odd"}
                ),
            )
        )
    )

    assert events_of(BY_NAME["mistral"].at(server.url, tmp_path), TALK)[:-1] == [
        ThinkingDelta("Hm"),
        TextDelta("Hi"),
    ]


# --- Data that services want back


def opaque_of(events: list[Event]) -> str:
    """Return what the service wants back with a reply; empty if there is nothing."""
    return "".join(event.text for event in events if isinstance(event, OpaqueArrived))


@pytest.mark.parametrize("thinking", [("Hm, ", "look\ud83c\udf89."), ()])
def test_deepseek_s_reasoning_goes_back_with_the_calls(
    server: Loopback, tmp_path: Path, thinking: tuple[str, ...]
) -> None:
    call = ToolCall("x", "look", '{"what": "a"}')
    server.enqueue(
        Reply(thinking=tuple(map(_joined, thinking)), chunks=("I look.",), calls=(call,)), Reply()
    )
    provider = BY_NAME["deepseek"].at(server.url, tmp_path)
    asked = replace(TALK, tools=(TOOL,))

    opaque = opaque_of(events_of(provider, asked))
    known, unknown = replace(call, id="c1"), ToolCall("c0", "look", "{}")
    messages = (
        Message("user", "Before"),
        *(
            Message("assistant", "", (unknown,)),
            Message("user", "", results=(ToolResult("c0", "No."),)),
        ),
        *(
            Message("assistant", "I look.", (known,), opaque=opaque),
            Message("user", "", results=(ToolResult("c1", "Yes."),)),
        ),
    )
    events_of(provider, replace(asked, messages=messages))

    said = [message.get("reasoning_content") for message in server.requests[1].body["messages"]]
    reasoning = "".join(map(_joined, thinking)) or " "
    assert said == [None, None, " ", None, reasoning, None], "an empty text would be refused"


def _joined(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


def test_deepseek_does_not_reason_about_a_summary(server: Loopback, tmp_path: Path) -> None:
    provider = BY_NAME["deepseek"].at(server.url, tmp_path)
    for request in (replace(TALK, grammar="root ::= [a-z]"), TALK):
        events_of(provider, request)

    assert [request.body.get("thinking") for request in server.requests] == [
        {"type": "disabled"},
        None,
    ]


# --- Parameters that a server does not know

UNKNOWN = [
    (
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead."
        ),
        "max_tokens",
    ),
    ("Unrecognized request argument supplied: stream_options", "stream_options"),
    ("stream_options: Extra inputs are not permitted", "stream_options"),
]


@pytest.mark.parametrize(("said", "name"), UNKNOWN)
def test_a_parameter_that_is_not_known_is_left_out_from_then_on(
    server: Loopback, tmp_path: Path, said: str, name: str
) -> None:
    server.enqueue(failing(400, "invalid_request_error", said))
    provider = BY_NAME["office"].at(server.url, tmp_path)

    error = failure_of(provider, TALK)
    events_of(provider, TALK)

    first, second = (dict(request.body) for request in server.requests)
    assert (error.retryable, error.retry_after) == (True, 0.0)
    assert name in first
    del first[name]
    assert second == (first | {"max_completion_tokens": 100} if name == "max_tokens" else first)


@pytest.mark.parametrize(
    "said",
    [
        "max_tokens is too large: 100",
        "The stream_options must be an object",
        "Unknown field max_token",
    ],
)
def test_a_refusal_of_a_value_changes_nothing(server: Loopback, tmp_path: Path, said: str) -> None:
    server.enqueue(failing(400, "invalid_request_error", said))
    provider = BY_NAME["office"].at(server.url, tmp_path)

    error = failure_of(provider, TALK)
    events_of(provider, TALK)

    assert not error.retryable
    assert server.requests[0].body == server.requests[1].body


def test_a_parameter_is_only_called_unknown_once(server: Loopback, tmp_path: Path) -> None:
    """The program stops retrying with a server that refuses every request."""
    for _ in range(3):
        server.enqueue(failing(400, "x", "stream_options is not supported"))
    provider = BY_NAME["office"].at(server.url, tmp_path)

    assert [failure_of(provider, TALK).retryable for _ in range(3)] == [True, False, False]


# --- Loading


def test_importing_the_providers_imports_no_sdk() -> None:
    names = ("anthropic", "bedrock", "catalogue", "choose", "openai", "servers")
    modules = ", ".join(f"chat_loop.providers.{name}" for name in names)
    code = (
        f"import sys, {modules}\n"
        "print({'anthropic', 'openai', 'httpx2', 'boto3', 'botocore'} & sys.modules.keys())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"set()\n"


def test_neither_name_of_the_ceiling_is_known(server: Loopback, tmp_path: Path) -> None:
    for name in ("max_tokens", "max_completion_tokens"):
        server.enqueue(failing(422, "x", f"{name}: extra inputs are not permitted"))
    provider = BY_NAME["office"].at(server.url, tmp_path)
    for _ in range(2):
        assert failure_of(provider, TALK).retryable
    events_of(provider, TALK)

    assert not {"max_tokens", "max_completion_tokens"} & set(server.requests[2].body)
