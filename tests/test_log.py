"""The log of unexpected errors: small, private, without secrets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chat_loop.errors import ChatLoopError, InternalError, UsageError
from chat_loop.log import MAX_BYTES, Log
from tests.support.injected_bugs import KEY


def raised(error: Exception) -> Exception:
    """Return an error with a traceback."""
    try:
        raise error
    except type(error) as caught:
        return caught


def test_old_entries_make_room_for_new_ones(tmp_path: Path) -> None:
    path = tmp_path / "state" / "log"
    log = Log(path)
    for number in range(30):
        log.report(raised(ValueError(f"number {number} " + "x" * 70_000)))
        assert path.stat().st_size <= MAX_BYTES
    text = path.read_text()
    assert len(text) > MAX_BYTES // 2
    assert "number 29 " in text
    assert "number 0 " not in text
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_sentence_and_a_traceback_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "log"
    told = Log(path).report(raised(ValueError(f"the key {KEY}\nis refused")), "All is saved.")
    assert told.message == (
        "Something went wrong in chat-loop: ValueError: the key [REDACTED:anthropic:1] is refused."
    )
    assert told.hint == f"All is saved. The traceback is in {path}."
    assert KEY not in path.read_text()
    assert (
        "raise error\nValueError: the key [REDACTED:anthropic:1]\nis refused\n" in path.read_text()
    )


class Hostile(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_an_error_without_a_text_is_reported(tmp_path: Path) -> None:
    told = Log(tmp_path / "log").report(raised(Hostile()))
    assert told.message.startswith("Something went wrong in chat-loop: ")
    assert "Hostile" in told.message
    assert "Hostile" in (tmp_path / "log").read_text()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("mine\n")
    (tmp_path / "log").symlink_to(other)
    told = Log(tmp_path / "log").report(raised(ValueError()))
    assert told.hint == f"Its traceback is lost: {tmp_path / 'log'} cannot be written."
    assert other.read_text() == "mine\n"


def test_only_what_is_unexpected_becomes_another_error(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    for expected in (UsageError("wrong"), FileNotFoundError("gone"), MemoryError()):
        with pytest.raises(type(expected)), log.reporting():
            raise expected
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - names
    with pytest.raises(InternalError) as caught, log.reporting(lambda: "It is saved."):
        raise KeyError("x")
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.hint.startswith("It is saved. ")


def test_the_same_error_is_reported_once(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    first = log.report_once(raised(ValueError("again")))
    assert isinstance(first, ChatLoopError)
    assert log.report_once(raised(ValueError("again"))) is None
    assert (tmp_path / "log").read_text().count("Traceback") == 1
    refused = UsageError("Not so.", "But so.")
    assert log.report_once(refused) is refused
    assert log.report_once(UsageError("Not so.")) is None
    lost = log.report_once(PermissionError(13, "Permission denied", "/a/b"))
    assert lost is not None
    assert lost.message == "/a/b cannot be used: permission denied."
    assert (tmp_path / "log").read_text().count("Traceback") == 1
