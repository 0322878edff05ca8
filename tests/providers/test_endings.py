"""The recorded endings themselves: no value means two things, and no service is left out."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from tests.support.endings import Endings, endings

ALL = endings()


def test_each_entry_has_a_value() -> None:
    assert [entry.source for entry in ALL if not list(entry.meanings())] == []


def test_a_service_gives_a_value_one_meaning() -> None:
    values = Counter(
        (entry.service, entry.wire, entry.field, value)
        for entry in ALL
        for value, _ in entry.meanings()
    )
    assert [value for value, count in values.items() if count > 1] == []


def test_the_services_that_matter_have_endings() -> None:
    services = {entry.service for entry in ALL}
    assert services >= {
        "anthropic",
        "openai",
        "gemini",
        "mistral",
        "deepseek",
        "openrouter",
        "vllm",
        "llama.cpp",
        "ollama",
        "lmstudio",
        "bedrock",
    }


@pytest.mark.parametrize(
    "wrong", [{"source": "seen somewhere"}, {"happy": ["stop"]}, {"length": [3]}]
)
def test_an_entry_that_breaks_the_rules_is_refused(wrong: dict[str, object]) -> None:
    entry = msgspec.to_builtins(ALL[0])
    msgspec.convert(entry, Endings)
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(entry | wrong, Endings)
