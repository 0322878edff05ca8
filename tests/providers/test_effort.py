"""The effort and the sampling of a model on every wire, and what each service says of values that
its model does not take.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, Reply, failing
from chat_loop.config import Config, ModelConfig
from chat_loop.events import Finished, TextDelta, Warned
from chat_loop.providers import capabilities, local
from chat_loop.providers.choose import create, this_machine
from chat_loop.providers.wire import WireProvider
from chat_loop.values import Parameters, Request, ToolSpec
from tests.support.catalogue import ALL, BEDROCK, Service
from tests.support.providers import (
    REQUEST,
    anthropic_at,
    ask_through,
    compatible_at,
    events_of,
    openai_at,
)

pytestmark = pytest.mark.usefixtures("services")

HI = Reply(chunks=("Hi",), usage=None)
ANSWER = [TextDelta("Hi"), Finished(stop="end")]
ASKED = {  # what an effort makes, `high` and `off`, if it is not only `reasoning_effort`
    "openrouter": ({"reasoning": {"effort": "high"}}, {"reasoning": {"effort": "none"}}),
    "deepseek": ({"reasoning_effort": "high"}, {"thinking": {"type": "disabled"}}),
    "anthropic": (
        {
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": "high"},
        },
        {"thinking": {"type": "disabled"}},
    ),
    "bedrock": (
        {"thinking": {"type": "enabled", "budget_tokens": 16_000}},
        {"thinking": {"type": "disabled"}},
    ),
    **dict.fromkeys(
        ("vllm", "llama-server"),
        (
            {
                "reasoning_effort": "high",
                "chat_template_kwargs": {"enable_thinking": True, "reasoning_effort": "high"},
            },
            {
                "reasoning_effort": "none",
                "chat_template_kwargs": {"enable_thinking": False},
            },
        ),
    ),
}
USUAL = ({"reasoning_effort": "high"}, {"reasoning_effort": "none"})


def asking(effort: str = "", **more: Any) -> Request:
    return replace(REQUEST, parameters=Parameters(effort=effort, **more))


def added(server: Loopback) -> list[dict[str, Any]]:
    """The parameters that each request has beside those of the one without any."""
    bodies = [request.body for request in server.requests]
    plain = {"model", "messages", "stream", "stream_options", "system", "max_tokens", "tools"}
    plain |= {"max_completion_tokens", "anthropic_version"}
    return [{name: value for name, value in body.items() if name not in plain} for body in bodies]


@pytest.mark.parametrize("service", ALL, ids=str)
def test_each_service_gets_the_effort_in_its_words(
    service: Service, server: Loopback, tmp_path: Path
) -> None:
    provider = service.at(server.url, tmp_path)
    for effort in ("high", "off", "", "default"):
        events_of(provider, asking(effort, temperature=None))
    events_of(provider, asking(temperature=0.0, top_p=0.5))
    high, off = ASKED.get(service.name, USUAL)
    assert added(server) == [high, off, {}, {}, {"temperature": 0.0, "top_p": 0.5}]


def test_a_budget_leaves_half_of_the_reply_to_the_words(server: Loopback, tmp_path: Path) -> None:
    provider = BEDROCK.at(server.url, tmp_path)
    events_of(provider, replace(asking("low"), max_tokens=100_000))
    events_of(provider, replace(asking("max"), max_tokens=4_000))
    events_of(provider, replace(asking("max"), max_tokens=2_000))
    budgets = [body.get("thinking", {}).get("budget_tokens") for body in added(server)]
    assert budgets == [2_048, 2_000, None]


def test_claude_thinks_with_its_usual_sampling(server: Loopback) -> None:
    provider = anthropic_at(server.url)
    told = []
    for effort in ("off", "", "high", "high"):
        events = events_of(provider, asking(effort, temperature=0.2, top_p=0.5))
        told.append([event.message for event in events if isinstance(event, Warned)])
    assert [body.get("temperature") for body in added(server)] == [0.2, 0.2, None, None]
    sentence = "claude-test takes no temperature and no top_p while it thinks: none is sent."
    assert told == [[], [], [sentence], []]


def test_the_embedded_model_takes_the_sampling() -> None:
    usual = local._body(REQUEST, 10)
    body = local._body(asking("high", temperature=0.0, top_p=0.5), 10)
    assert body == usual | {"temperature": 0.0, "top_p": 0.5}


def test_a_summary_is_asked_without_the_effort(server: Loopback) -> None:
    events_of(openai_at(server.url), replace(REQUEST, grammar='root ::= "a"', max_tokens=100))
    assert added(server) == [{}]


REFUSED = {  # by a service: its words, the effort, what is sent then, and what the user is told
    "openai": (
        (
            "Unsupported value: 'reasoning_effort' does not support 'xhigh' with this model. Supported"
            " values are: 'minimal', 'low', 'medium', and 'high'."
        ),
        "xhigh",
        {"reasoning_effort": "high"},
        "The effort high is sent instead of xhigh.",
    ),
    "openai off": (
        (
            "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported"
            " values are: 'low', 'medium', and 'high'."
        ),
        "off",
        {"reasoning_effort": "low"},
        "The effort low is sent instead of off.",
    ),
    "gemini": (
        "Budget 0 is invalid. This model only works in thinking mode.",
        "off",
        {},
        "The effort off is left out for ten minutes.",
    ),
    "ollama word": (
        'invalid reasoning value: "minimal" (must be "high", "medium", "low", or "none")',
        "minimal",
        {"reasoning_effort": "low"},
        "The effort low is sent instead of minimal.",
    ),
    "deepseek": (
        (
            "Failed to deserialize the JSON body into the target type: reasoning_effort: unknown"
            " variant `xhigh`, expected one of `low`, `high`, `max`"
        ),
        "xhigh",
        {"reasoning_effort": "high"},
        "The effort high is sent instead of xhigh.",
    ),
    "anthropic": (
        "This model does not support effort level 'xhigh'. Supported levels: high, low, max, medium.",
        "xhigh",
        {
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": "high"},
        },
        "The effort high is sent instead of xhigh.",
    ),
    "anthropic adaptive": (
        "adaptive thinking is not supported on this model",
        "high",
        {"thinking": {"type": "enabled", "budget_tokens": 16_000}},
        "Thinking gets a budget of tokens for ten minutes.",
    ),
    "bedrock": (
        (
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and'
            ' "output_config.effort" to control thinking behavior.'
        ),
        "high",
        {
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": "high"},
        },
        "Thinking gets an effort instead of a budget for ten minutes.",
    ),
    "openrouter": (
        "Reasoning is mandatory for this endpoint and cannot be disabled.",
        "off",
        {},
        "The effort off is left out for ten minutes.",
    ),
    "vllm": (
        (
            "[{'type': 'literal_error', 'loc': ('body', 'reasoning_effort'), 'msg': \"Input should be"
            " 'low', 'medium' or 'high'\", 'input': 'max'}]"
        ),
        "max",
        {
            "reasoning_effort": "high",
            "chat_template_kwargs": {"enable_thinking": True, "reasoning_effort": "high"},
        },
        "The effort high is sent instead of max.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_value_that_a_model_refuses_is_changed_and_told(
    case: str, server: Loopback, tmp_path: Path
) -> None:
    said, effort, sent, told = REFUSED[case]
    [service] = [one for one in ALL if one.name == case.partition(" ")[0]]
    server.enqueue(failing(400, "invalid_request_error", said), HI, HI)
    provider = service.at(server.url, tmp_path)
    assert isinstance(provider, WireProvider)

    warned, *answer = ask_through(provider, asking(effort))
    assert ask_through(provider, asking(effort)) == ANSWER, "it is told once"

    assert isinstance(warned, Warned)
    assert warned.message.endswith(told)
    assert answer == ANSWER
    assert added(server)[1:] == [sent, sent]


def test_a_server_that_refuses_whatever_it_offers_gets_no_effort(server: Loopback) -> None:
    low = failing(400, "x", "reasoning_effort 'high' is not supported; supported values: 'low'")
    high = failing(400, "x", "reasoning_effort 'low' is not supported; supported values: 'high'")
    server.enqueue(low, high, low, HI)
    provider = compatible_at(server.url)
    events = ask_through(provider, asking("high"))
    assert events[-2:] == ANSWER
    efforts = [body.get("reasoning_effort") for body in added(server)]
    assert efforts == ["high", "low", "high", None]


def test_an_effort_that_excludes_tools_costs_no_tools(server: Loopback) -> None:
    words = "Function tools with reasoning_effort are not supported for gpt-5.4 in"
    words += " /v1/chat/completions. Please use /v1/responses instead."
    server.enqueue(failing(400, "invalid_request_error", words), HI)
    tool = ToolSpec("look", "Look.", {"type": "object", "properties": {}})
    provider = openai_at(server.url, model="gpt-5.4")

    warned, *_ = ask_through(provider, replace(asking("high"), tools=(tool,)))

    assert isinstance(warned, Warned)
    assert "The effort high is left out" in warned.message
    assert ["tools" in request.body for request in server.requests] == [True, True]
    assert added(server)[1] == {}


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("`temperature` is deprecated for this model.", {"top_p": 0.5, "top_k": 20}),
        (
            "`temperature` and `top_p` cannot both be specified for this model.",
            {"temperature": 0.2, "top_k": 20},
        ),
        ("top_k: Extra inputs are not permitted", {"temperature": 0.2, "top_p": 0.5}),
    ],
)
@pytest.mark.parametrize("at", [anthropic_at, openai_at], ids=["anthropic", "openai"])
def test_a_refused_parameter_is_left_out_alone(
    at: Any, words: str, left: Mapping[str, object], server: Loopback
) -> None:
    provider = at(server.url)
    provider.entry = replace(provider.entry, extra={"top_k": 20})
    server.enqueue(failing(400, "invalid_request_error", words), HI)
    warned, *answer = ask_through(provider, asking(temperature=0.2, top_p=0.5))
    assert isinstance(warned, Warned)
    assert "is left out for ten minutes" in warned.message
    assert answer == ANSWER
    assert added(server) == [{"temperature": 0.2, "top_p": 0.5, "top_k": 20}, left]


def test_extra_parameters_of_the_config_go_with_every_request(
    server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    extra = {"verbosity": "low", "provider": {"only": ["a"]}, "stream_options": None}
    config = Config(models={"gpt-x": ModelConfig(extra=extra)})
    provider = create("openai:gpt-x", config, this_machine(tmp_path, discover=False))
    events_of(provider, replace(REQUEST, grammar="root ::= [a-z]"))
    [request] = server.requests
    assert {name: request.body[name] for name in extra} == extra


@pytest.mark.parametrize(
    ("answer", "efforts"),
    [
        (
            {
                "capabilities": {
                    "effort": {
                        "supported": True,
                        **{word: {"supported": True} for word in ("low", "medium", "high", "max")},
                        "xhigh": {"supported": False},
                    },
                    "thinking": {"types": {"disabled": {"supported": True}}},
                }
            },
            ("off", "low", "medium", "high", "max"),
        ),
        ({"capabilities": {"reasoning_effort": ["low", "none", "xhigh"]}}, ("off", "low", "xhigh")),
        ({"reasoning": {"supported_efforts": ["high", "low"]}}, ("low", "high")),
        ({"reasoning": {"supported_efforts": [None, 3, {}, "hgih"]}}, ()),
        ({"capabilities": {"effort": 3}, "reasoning": []}, ()),
        (None, ()),
    ],
)
def test_what_services_say_that_a_model_takes(answer: object, efforts: tuple[str, ...]) -> None:
    assert capabilities.from_answer(answer).efforts == efforts


def test_known_levels_are_not_exceeded(server: Loopback) -> None:
    provider = openai_at(server.url)
    provider.learn(capabilities.Capabilities(efforts=("low", "medium")))
    for effort in ("off", "minimal", "low", "max"):
        events_of(provider, asking(effort))
    efforts = [body.get("reasoning_effort") for body in added(server)]
    assert efforts == ["low", "low", "low", "medium"]
