"""What a service wants back with its calls: it is kept, and goes back to where it came from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Received, Reply, failing
from chat_loop.values import ToolCall
from tests.support.chats import ONE_WIRE_QUICK, WIRES, Answer, Asked, Chats, Wire

THOUGHT = ("Perhaps a ", "lantern.")
SIGNATURE = "c2lnbmVkIGJ5IHRoZSBzZXJ2aWNl" * 4
SEALED = re.compile(r"c2lnbmVk|lantern")
READ = ToolCall("call_1", "read_file", json.dumps({"path": "notes.txt"}))
SIGNED = Reply(thinking=THOUGHT, chunks=("I look.",), calls=(READ,), signature=SIGNATURE)
LONG = Reply(thinking=("It may be in there. " * 2_000,), calls=(READ,), signature="c2ln")
FIELDS = ["reasoning_content", "extra_content"]


def settings_of(window: int) -> dict[str, Any]:
    return {
        "agent": {"tools": ["read_file"]},
        "restoration": {"acknowledge": False},
        "providers": {"openai": {"wants_back": FIELDS}},
        "models": {name: {"window": window} for name in ("test-model", "other-model")},
    }


def noting(folder: Path, wire: Wire) -> Chats:
    """Return chats with a model that signs its calls."""
    chats = Chats(folder, wire)
    chats.configure(**settings_of(32_000))
    (chats.project / "notes.txt").write_text("The port is 8443.\n")
    chats.replies["port"] = [SIGNED, "It is 8443."]
    return chats


def office(chats: Chats, **more: object) -> None:
    """Configure a server of the user's own."""
    settings = {"base_url": f"{chats.server.url}/v1", "tools": True, **more}
    chats.configure(agent={"tools": ["read_file"]}, providers={"office": settings})
    (chats.project / "notes.txt").write_text("The port is 8443.\n")


def sent_back(body: Any) -> Iterator[object]:
    """Yield what a request sends back of what the service sent."""
    for message in body["messages"]:
        for block in message["content"] if isinstance(message["content"], list) else ():
            if "thinking" in block["type"]:
                yield block
        if "reasoning_content" in message:
            yield message["reasoning_content"]
        yield from (
            call["extra_content"] for call in message.get("tool_calls", ()) if len(call) > 3
        )


def signed(wire: Wire) -> list[object]:
    """Return what goes back with the signed call."""
    thought = "".join(THOUGHT)
    if wire == "anthropic":
        return [{"type": "thinking", "thinking": thought, "signature": SIGNATURE}]
    return [thought, {"google": {"thought_signature": SIGNATURE}}]


def returned(requests: tuple[Asked, ...]) -> list[list[object]]:
    return [[*sent_back(request.body)] for request in requests]


@pytest.mark.parametrize("wire", ONE_WIRE_QUICK)
def test_it_goes_back_with_its_step_in_every_later_request(tmp_path: Path, wire: Wire) -> None:
    with noting(tmp_path, wire) as chats:
        first = chats.play("Which port?", "Go on.", "exit")
        transcript = chats.transcripts()["session-1"]
        later = chats.play(
            *("/resume session-1 --full", "Go on.", "/fork", "Go on."),
            *("/resume session-1 --last 2", "Go on.", "exit"),
        )
        printed = chats.run("-c", "-p", "Which port?", "--json", "--model", chats.model)
        found = chats.run("sessions", "search", "--text", "lantern")
    back = signed(wire)
    assert returned(first.requests) == [[], back, back]
    assert returned(later.requests) == [back, back, back]
    assert later.requests[-1].block
    assert returned(printed.requests) == [back, back + back]
    for before, after in pairwise(first.requests):
        assert after.messages[: len(before.messages)] == before.messages

    [marker] = re.findall(r"<!-- chat:opaque .*", transcript)
    place = "/v1" if wire == "openai" else ""
    opening = f"<!-- chat:opaque n=1 model=test-model endpoint=http://SERVER{place}"
    assert marker.replace(" at=DATE", "") == f"{opening} -->"

    # nobody but the service sees it
    assert "opaque" not in printed.shown
    assert SIGNATURE not in printed.shown
    shown = "".join(played.shown + played.errors for played in (first, later))
    assert not SEALED.search(shown.replace("Perhaps a lantern.", ""))
    assert not any(SEALED.search(json.dumps(asked.body)) for asked in first.summaries)
    assert found.code == 1


@pytest.mark.parametrize("wire", ONE_WIRE_QUICK)
def test_it_counts_in_the_size_of_a_request(tmp_path: Path, wire: Wire) -> None:
    with noting(tmp_path, wire) as chats:
        chats.replies["port"] = [LONG, "It is 8443."]
        chats.play("Which port?", "exit")
        shown, served = sizes(chats, "--model", chats.model)
    assert served > 10_000
    assert 0.97 < shown / served < 1.03


def test_what_is_kept_for_an_unknown_server_does_not_count(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        office(chats)
        chats.replies["port"] = [LONG, "It is 8443."]
        chats.play("Which port?", "exit", options=("--model", "office:m"))
        assert chats.path("session-1").stat().st_size > 40_000
        shown, served = sizes(chats, "--model", "office:m")
    assert max(shown, served) < 1_000


def sizes(chats: Chats, *options: str) -> tuple[int, int]:
    """Resume, and return the size of the next request: as it is shown, and as the server counts."""
    lines = ("/resume session-1 --full", "/context", "Go on.", "exit")
    played = chats.play(*lines, options=options)
    shown = re.search(r"Context: ~([\d,]+) of ", played.after("/context"))
    assert shown, played.shown
    return int(shown[1].replace(",", "")), played.requests[-1].usage.input


@pytest.mark.parametrize("wire", ONE_WIRE_QUICK)
def test_a_loop_of_long_thoughts_stays_in_the_window(tmp_path: Path, wire: Wire) -> None:
    window = 16_000
    with noting(tmp_path, wire) as chats:
        chats.configure(**settings_of(window), tools={"max_steps": 12})
        chats.served_window = window
        step = replace(LONG, thinking=("It may be in there. " * 600,))
        answers: list[Answer] = [*[step] * 8, "It is 8443."]
        chats.replies[""] = iter(answers)
        played = chats.play("Which port?", "exit")
    assert "It is 8443." in played.shown
    assert "too long" not in played.shown
    *_, last = played.requests
    assert 1 <= len(returned((last,))[0]) < 8
    assert "session_archive_read" in last.text


@pytest.mark.parametrize("wire", WIRES)
def test_another_model_does_not_get_it(tmp_path: Path, wire: Wire) -> None:
    with noting(tmp_path, wire) as chats:
        played = chats.play(
            *("Which port?", f"/model {wire}:other-model", "Go on.", "Which port?"),
            *(f"/model {wire}:test-model", "Go on.", "exit"),
        )
    back = signed(wire)
    # without its own reasoning, a model gets a blank in the place of what the service requires
    blank: list[object] = [" "] if wire == "openai" else []
    assert returned(played.requests) == [*([], back), *(blank, blank, blank + back), back + blank]
    calls = [line for line in played.requests[-1].messages if line.startswith("call: ")]
    assert len(calls) == 2


@pytest.mark.slow
def test_a_server_that_misses_it_gets_it_from_then_on(tmp_path: Path) -> None:
    """A server of the user's own, of which nothing is known."""
    with Chats(tmp_path) as chats:
        office(chats)
        chats.replies["port"] = [SIGNED, "It is 8443."]
        answer = chats.server.handler

        def demand(request: Received) -> Reply:
            for number, message in enumerate(request.body["messages"]):
                if message.get("tool_calls") and not message.get("reasoning_content"):
                    return failing(400, message=f"reasoning_content is missing at index {number}")
            return answer(request)

        chats.server.handler = demand
        played = chats.play("/model office:m", "Which port?", "Go on.", "exit")
        office(chats, wants_back=["reasoning_content"])
        later = chats.run("-c", "-p", "Go on.", "--model", "office:m")
    thought = "".join(THOUGHT)
    assert returned(played.requests) == [[], [], [thought], [thought]]
    assert played.shown.count("wants_back: [reasoning_content] in the config.") == 1
    assert returned(later.requests) == [[thought]]


@pytest.mark.parametrize("wire", ONE_WIRE_QUICK)
def test_redaction_deletes_it(tmp_path: Path, wire: Wire) -> None:
    with noting(tmp_path, wire) as chats:
        chats.play("Which port?", "My cat is Mimi.", "exit")
        assert SIGNATURE in chats.path("session-1").read_text()
        done = chats.run("sessions", "redact", "session-1", "Mimi.", "--yes")
        assert done.code == 0
        assert not SEALED.search(chats.path("session-1").read_text())
        later = chats.run("-c", "-p", "Go on.", "--model", chats.model)
    assert SIGNATURE not in json.dumps(later.requests[-1].body)
    assert "result: The port is 8443." in later.requests[-1].text


@pytest.mark.parametrize("wire", ONE_WIRE_QUICK)
def test_more_than_is_kept_goes_nowhere(tmp_path: Path, wire: Wire) -> None:
    with noting(tmp_path, wire) as chats:
        huge = Reply(thinking=THOUGHT, calls=(READ,), signature="c2ln" * (5 << 18))
        chats.replies["port"] = [huge, "It is 8443."]
        played = chats.play("Which port?", "exit")
        size = chats.path("session-1").stat().st_size
    assert "sent 5.2 MB of reasoning and signatures with one reply." in played.shown
    assert "It is 8443." in played.shown
    assert size < 10_000
    blank: list[object] = [" "] if wire == "openai" else []
    assert returned(played.requests) == [[], blank]
