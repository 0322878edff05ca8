"""The keys in bytes that terminals sent, recorded in recorded_keys.toml with their programs."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

if sys.platform == "win32":
    pytest.skip("the input of POSIX terminals", allow_module_level=True)

from tests.input.test_sequences import keys_of

TABLE = tomllib.loads(Path(__file__).with_name("recorded_keys.toml").read_text("utf-8"))
RECORDINGS = TABLE["recordings"]


def sent_by(text: str) -> str:
    return text.replace("\n", "").encode("latin-1").decode("unicode_escape")


def pairs(text: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in text.split())


def expected(recording: dict[str, Any]) -> dict[str, list[str]]:
    found = pairs(TABLE["expected"]) | pairs(recording.get("differs", ""))
    return {name: keys.split("+") if keys else [] for name, keys in found.items()}


@pytest.mark.parametrize(
    "recording", RECORDINGS, ids=lambda recording: f"{recording['program']}, {recording['mode']}"
)
def test_each_recorded_key_is_what_was_pressed(recording: dict[str, Any]) -> None:
    keys = {name: keys_of(sent_by(text)) for name, text in pairs(recording["keys"]).items()}
    assert keys == {name: expected(recording)[name] for name in keys}


@pytest.mark.parametrize("answers", TABLE["answers"], ids=lambda answers: answers["program"])
def test_no_answer_of_a_terminal_is_a_key(answers: dict[str, str]) -> None:
    assert keys_of(sent_by(answers["sent"])) == []


def test_keys_of_all_protocols_in_one_read() -> None:
    sent = ""
    keys = []
    for recording in RECORDINGS:
        for name, text in pairs(recording["keys"]).items():
            if text != r"\x1b":  # Escape alone is Alt before what follows at once
                sent += sent_by(text)
                keys += expected(recording)[name]
        sent += "".join(sent_by(answers["sent"]) for answers in TABLE["answers"])
    assert keys_of(sent) == keys
