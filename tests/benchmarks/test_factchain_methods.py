"""The methods that FactChain compares with, their size and their price, and a run that goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from benchmarks.factchain.automatic import Case, Run, measure
from benchmarks.factchain.baselines import EVERYTHING, HALF, TRUNCATE, baselines, budget, have
from benchmarks.factchain.generator import generate
from benchmarks.factchain.meter import LEAST, Meter, Sent, dollars, money
from benchmarks.factchain.run import OURS
from benchmarks.factchain.summarisers import Lossy
from benchmarks.factchain.tools import with_tools

pytestmark = pytest.mark.slow

WINDOW = 4_096
SIZE = 2_000


def words(text: str) -> int:
    return len(text.split())


def test_every_method_stays_in_its_window_and_in_a_given_size() -> None:
    talk = with_tools(generate(1, "seen"))
    model = Lossy(talk.facts, 1, words)
    arms = baselines(model, words, WINDOW, ("system",))

    async def run() -> None:
        for name, arm in arms.items():
            for turn in talk.turns():
                await have(turn, arm)
                if name != EVERYTHING:
                    assert sum(map(words, arm.pieces)) <= budget(WINDOW).limit
            if name == EVERYTHING:
                assert arm.compactions == 0
                assert "\n\n".join(arm.pieces).count(talk.turns()[0].query) == 1
            else:
                assert arm.compactions > 1
                assert 0.4 * SIZE < words(await arm.sized(SIZE)) <= SIZE

    asyncio.run(run())
    requests = {len(arm.meter.sent) - arm.compactions for arm in arms.values()}
    assert len(talk.turns()) + sum(len(turn.calls) for turn in talk.turns()) in requests
    sums = {name: money(arm.meter.sent) for name, arm in arms.items()}
    shared = {name: one.same / one.input for name, one in sums.items()}
    assert shared[TRUNCATE] < shared[HALF] < shared[EVERYTHING]


def test_a_request_shares_the_beginning_of_the_one_before_with_the_same_system_prompt() -> None:
    meter = Meter(words, ("be brief",))
    meter.record(["one two", "three"], "yes")
    Meter(words).record(["another"], "no")
    meter.record(["one two", "four five"], "yes and no")
    assert meter.sent == [Sent(5, 0, 1), Sent(6, 4, 3)]
    both = Meter(words)
    for system in ("chat", "summarize", "chat"):
        both.record([system, "one two"], "yes")
    assert [one.same for one in both.sent] == [0, 0, 3]


@pytest.mark.parametrize("model", LEAST)
def test_a_cache_pays_when_a_beginning_is_read_again(model: str) -> None:
    first, again = Sent(100_000, 0, 10), Sent(100_100, 100_000, 10)
    assert dollars([first], model, caching=True) >= dollars([first], model, caching=False) > 0
    cached = dollars([first, again], model, caching=True)
    assert cached < 0.8 * dollars([first, again], model, caching=False)
    short = Sent(LEAST[model] + 9, LEAST[model] - 1, 10)
    assert dollars([short], model, caching=True) >= dollars([short], model, caching=False)
    with pytest.raises(LookupError):
        dollars([first], "no such model", caching=False)


def test_a_run_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    cases = (Case(WINDOW),)
    run = measure(path, cases, profiles=("seen",), seeds=1)
    ours, *others = run.found
    assert ours.method == OURS
    assert {one.given for one in others} == {"window", "size"}
    assert ours.attached is not None
    assert ours.reached is not None
    assert ours.context < ours.reached < 100
    assert all(one.tokens <= max(ours.tokens, budget(WINDOW).limit) for one in others)
    kept = msgspec.json.decode(path.read_bytes(), type=Run)
    kept.found[0].context = 1.5  # not measured again
    path.write_bytes(msgspec.json.encode(kept))
    assert measure(path, cases, profiles=("seen",), seeds=1).found[0].context == 1.5
    kept.settings["code"] = {}  # of another program
    path.write_bytes(msgspec.json.encode(kept))
    assert measure(path, cases, profiles=("seen",), seeds=1).found == run.found
