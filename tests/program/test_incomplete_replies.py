"""A reply that is cut short is reported: on the screen, on standard error, by the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.sessions.records import Reply as Answer
from chat_loop.values import ToolCall, Usage
from tests.support.headless import run, saved

LENGTH = "The reply was cut off at the token limit."
REFUSED = "The reply was refused, by the model or by a filter of its service."
STEPS = "The model reached the limit of tool calls for one reply (1)."


def at(server: Loopback) -> tuple[str, ...]:
    return ("--model", "vllm:m", "--base-url", f"{server.url}/v1")


@pytest.mark.parametrize(("stop", "sentence"), [("length", LENGTH), ("refusal", REFUSED)])
def test_a_reply_that_was_cut_is_said_and_exits_with_3(
    tmp_path: Path, server: Loopback, stop: str, sentence: str
) -> None:
    server.enqueue(Reply(chunks=("Half a",), stop=stop), Reply(chunks=("Half a",), stop=stop))

    plain = run(tmp_path, *at(server), "-p", "one")
    as_json = run(tmp_path, *at(server), "--json", "-p", "one")

    assert (plain.returncode, plain.stdout) == (3, b"Half a\n")
    assert plain.stderr.decode().startswith(sentence)
    told = [json.loads(line) for line in as_json.stdout.splitlines()]
    assert as_json.returncode == 3
    assert [event["message"] for event in told if event["event"] == "warned"] == [sentence]
    assert [event["stop"] for event in told if event["event"] == "reply_ended"] == [stop]


def test_in_a_chat_both_are_said(tmp_path: Path, server: Loopback) -> None:
    (tmp_path / "config.yaml").write_text(
        "tools: {max_steps: 1}\nauto_compact: {summary_on_exit: false}\n"
    )
    call = ToolCall("a", "list_files", "{}")
    server.enqueue(
        Reply(calls=(call,)),
        Reply(chunks=("I give up.",)),
        Reply(chunks=("Half a",), stop="length"),
    )

    result = run(tmp_path, *at(server), "--tools", "list_files", stdin=b"one\ntwo\n")

    shown = " ".join(result.stdout.decode().split())
    assert result.returncode == 0
    assert STEPS in shown
    assert "Cut off at the token limit" in shown


def test_a_call_without_an_offer_is_named_and_exits_with_1(
    tmp_path: Path, server: Loopback
) -> None:
    server.enqueue(Reply(calls=(ToolCall("a", "list_files", "{}"),)))

    result = run(tmp_path, *at(server), "-p", "one")

    sentence = "The model only called list_files, where it was to answer."
    assert (result.returncode, result.stdout) == (1, b"")
    assert sentence in " ".join(result.stderr.decode().split())


EMPTY = "The model returned an empty reply."
THOUGHTS = "The model returned only reasoning, and no answer."


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (Reply(), EMPTY),
        (Reply(chunks=("\n", " \n")), EMPTY),
        (Reply(stop=None, usage=None), EMPTY),
        (Reply(thinking=("It is 42.",)), THOUGHTS),
        (Reply(chunks=("Half",), stop="abort"), "broke off the reply (abort)."),
        (Reply(chunks=("Half",), stop="shrug"), "for an unknown reason (shrug)."),
    ],
)
def test_a_reply_that_is_no_answer_is_said_and_exits_with_1(
    tmp_path: Path, server: Loopback, reply: Reply, sentence: str
) -> None:
    server.enqueue(reply)

    result = run(tmp_path, *at(server), "-p", "one")

    assert result.returncode == 1
    assert sentence in result.stderr.decode()


def test_in_a_chat_retry_takes_an_empty_reply(tmp_path: Path, server: Loopback) -> None:
    (tmp_path / "config.yaml").write_text("auto_compact: {summary_on_exit: false}\n")
    used = Usage(input=7, output=5)
    server.enqueue(Reply(thinking=("Hm.",), usage=used), Reply(chunks=("At last.",)))

    result = run(tmp_path, *at(server), stdin=b"one\n/retry\n")

    shown = " ".join(result.stdout.decode().split())
    assert THOUGHTS in shown
    assert "/retry resends it" in shown
    assert "At last." in shown
    assert [request.query for request in server.requests] == ["one", "one"]
    [session] = saved(tmp_path)
    first = next(entry for entry in session.entries if isinstance(entry, Answer))
    assert (first.stop, first.failed, first.usage) == ("error", True, used)
