"""A bell or a notification for replies that took long; never unasked, and never where there is no terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from chat_loop.config import Config, NotifyConfig
from chat_loop.errors import Overloaded
from tests.screens import Screen, Terminal
from tests.talking import CALL_SECONDS, Says, Step
from tests.test_asking_again import QUIET

BROKEN = Says(("I",), then=Overloaded("It is down.", "Try later."))
STOPPED = Says(("I",), then="silence")


def shown(folder: Path, step: Step, notify: NotifyConfig, out: io.StringIO | None = None) -> str:
    return Screen(
        folder, ["Hi"], step, options=QUIET, config=Config(notify=notify), out=out or Terminal(), agent="S\x07y"
    ).text


@pytest.mark.parametrize("step", ["Hello.", BROKEN])
def test_a_reply_that_took_long_is_told_and_so_is_a_failure(tmp_path: Path, step: Step) -> None:
    assert shown(tmp_path / "a", step, NotifyConfig(after=CALL_SECONDS)).count("\x07") == 1
    told = shown(tmp_path / "b", step, NotifyConfig(after=1.0, how="osc9"))
    assert told.count("\x1b]9;chat-loop: S␇y has answered\x07") == told.count("\x07") == 1


@pytest.mark.parametrize(
    ("step", "notify"),
    [
        ("Hello.", NotifyConfig()),
        ("Hello.", NotifyConfig(after=CALL_SECONDS + 1)),
        ("Hello.", NotifyConfig(after=1.0, how="off")),
        (STOPPED, NotifyConfig(after=-1.0)),
    ],
)
def test_nothing_is_told_otherwise(tmp_path: Path, step: Step, notify: NotifyConfig) -> None:
    text = shown(tmp_path, step, notify)
    assert "\x07" not in text
    assert "\x1b]" not in text


@pytest.mark.parametrize("how", ["bell", "osc9"])
def test_a_pipe_hears_nothing(tmp_path: Path, how: str) -> None:
    text = shown(tmp_path, "Hello.", NotifyConfig(after=1.0, how=how), io.StringIO())
    assert "\x07" not in text
    assert "\x1b" not in text
