"""The benchmark of the waits at exit and resume, and the wire of OpenAI's Responses."""

from __future__ import annotations

import pytest
from openai import OpenAI

from benchmarks import leaving
from benchmarks.leaving import OURS, Measurement
from benchmarks.support.loopback import Loopback

pytestmark = pytest.mark.slow


def test_each_wait_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "SLOW_SECONDS", 10.0)
    monkeypatch.setattr(leaving, "SETTLE_SECONDS", 0.5)
    openai = next(program for program in OURS if program.name == "openai")
    measurement = Measurement(openai)
    measurement.run("long")
    assert [*measurement.times] == [
        "exit, long",
        "resume, long -> restored",
        "exit, long, nothing new",
        "start with resume, long -> restored",
        "start with resume, long -> a key shows",
    ]
    times = {name: seconds[0] for name, seconds in measurement.times.items()}
    assert times["resume, long -> restored"] < 10.0
    assert (
        times["start with resume, long -> a key shows"]
        > times["start with resume, long -> restored"]
    )


def test_replies_in_the_wire_of_responses() -> None:
    with (
        Loopback() as server,
        OpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0) as client,
    ):
        stream = client.responses.create(
            model="m",
            instructions="Be brief.",
            input=[{"role": "user", "content": "Hello there"}],
            stream=True,
        )
        events = list(stream)
        deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
        assert "".join(deltas) == "You said: Hello there"
        end = events[-1]
        assert end.type == "response.completed"
        assert end.response.usage is not None
        assert end.response.usage.output_tokens == 4
        (request,) = server.requests
        assert (request.wire, request.system) == ("responses", "Be brief.")
