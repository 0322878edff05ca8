"""The benchmark of a real embedded model: its script, its record of answers, and its scoring."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from benchmarks.embedded.answers import compare, gives, judge
from benchmarks.embedded.model import Recorded, complete
from benchmarks.embedded.run import ARMS, NEWEST, OURS, RECALL, SUMMARY, measure
from benchmarks.embedded.script import PLAN, SEED, Script, write_script
from benchmarks.factchain.scoring import holds
from chat_loop.errors import StreamBroken
from chat_loop.events import Event, TextDelta
from chat_loop.providers import Provider
from chat_loop.providers.scripted import EchoProvider
from chat_loop.sessions.manager import SessionManager
from chat_loop.tokens import estimate
from chat_loop.values import Message, Request, Window

SHORT = ((1, 2, 1, 0), (1, 2, 0, 0), (1, 1, 0, 1))
"""Three exchanges with seven facts, one of which is replaced."""
LONG = ((6, 5, 1, 0), (6, 5, 0, 0), (6, 5, 0, 1))


class Reader(EchoProvider):
    """A model that answers with a value if its context contains the value."""

    name = "local"

    def __init__(self, script: Script, window: int) -> None:
        super().__init__(Window(window))
        self._values = {fact.question: fact.values[0] for fact in script.live}
        self.asked = 0

    def reply(self, request: Request) -> Message:
        self.asked += 1
        last = request.messages[-1].text
        before = " ".join(" ".join(message.text for message in request.messages).split())
        for question, value in self._values.items():
            if question in last:
                known = holds(before, value)
                return Message("assistant", f"It is {value}." if known else "I don't know.")
        if request.grammar is not None:
            return super().reply(request)
        return Message("assistant", "That is a good plan, go on with it.")


class Broken(EchoProvider):
    """A model that stops in the middle of its reply."""

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        yield TextDelta("It")
        raise StreamBroken("The model stopped.")


def ask(model: Provider, text: str) -> str:
    request = Request(system="", messages=(Message("user", text),))
    return asyncio.run(complete(model, request))[0]


def test_the_script_states_fifty_facts_and_replaces_twelve() -> None:
    script = write_script(SEED)
    said = " ".join(" ".join(script.queries).split())
    live = [fact.values[0] for fact in script.live]
    assert len(script.queries) == 60 == sum(exchanges for exchanges, *_ in PLAN)
    assert len(live) == len(set(live)) == 50
    assert sum(len(script.replaced(fact)) for fact in script.live) == 12
    assert [value for value in live if not holds(said, value)] == []
    assert script == write_script(SEED)


@pytest.mark.parametrize(
    ("answer", "value", "right"),
    [
        ("The **£1,234** includes drinks.", "£1,234", True),
        ("It costs 1234 pounds.", "£1,234", True),
        ("The Pi has 16GB of memory.", "16 GB", True),
        ("You have 16 of them.", "16 GB", True),
        ("The Pi has 160 GB of memory.", "16 GB", False),
        ("It is `lib/a/b.ts:42`.", "lib/a/b.ts:42", True),
        ("It is lib/a/b.ts:421.", "lib/a/b.ts:42", False),
        ("That is ezra LOCKHART.", "Ezra Lockhart", True),
        ("That is Ezra.", "Ezra Lockhart", False),
    ],
)
def test_an_answer_must_give_the_whole_value(answer: str, value: str, right: bool) -> None:
    assert gives(answer, value) == right


def test_an_answer_that_offers_two_values_is_wrong() -> None:
    script = write_script(SEED)
    new = next(fact for fact in script.live if script.replaced(fact))
    [old] = script.replaced(new)
    assert judge(f"It is {new.values[0]} now.", new, script.facts)
    assert not judge(f"It was {old}, now it is {new.values[0]}.", new, script.facts)
    assert not judge(f"It is {old}.", new, script.facts)


def test_contexts_are_compared_question_by_question() -> None:
    first = [True] * 9 + [False, True, False]
    second = [False] * 9 + [True, True, False]
    found = compare(first, second)
    assert found == {"both": 1, "only_first": 9, "only_second": 1, "neither": 1, "p": 0.02148}
    assert compare(first, first)["p"] == 1.0


def test_a_recorded_answer_is_not_asked_for_again(tmp_path: Path) -> None:
    model = Recorded(EchoProvider(), tmp_path)
    assert ask(model, "Which port?") == ask(Recorded(Broken(), tmp_path), "Which port?")
    with pytest.raises(StreamBroken):
        ask(Recorded(Broken(), tmp_path), "Which path?")
    assert ask(model, "Which path?") == "You said: Which path?"


def test_three_exchanges_are_played_and_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script, folder = write_script(SEED, SHORT), Path("talk")
    found = asyncio.run(measure(Reader(script, 4_096), folder, estimate, script))

    assert (found.exchanges, found.compactions, found.summaries) == (3, [], [])
    assert {found.contexts[arm]["right"] for arm in ARMS} == {len(script.live)} == {6}
    [saved] = (folder / "sessions").glob("*.md")
    exchanges = SessionManager(folder / "sessions").load(saved).session.exchanges
    assert [exchange.query.text for exchange in exchanges] == list(script.queries)
    for arm in (OURS, SUMMARY, NEWEST):
        assert (folder / f"{arm.replace(' ', '-')}.md").read_text("utf-8").startswith("# user\n")


def test_a_compacted_conversation_is_scored_and_goes_on_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script, folder = write_script(SEED, LONG), Path("talk")
    reader = Reader(script, 1_024)
    recorded = Recorded(reader, Path("answers"))
    found = asyncio.run(measure(recorded, folder, estimate, script))

    assert len(found.compactions) == len(found.summaries) > 0
    right = {arm: found.contexts[arm]["right"] for arm in ARMS}
    for arm in ARMS:
        answers = [question.answers[arm] for question in found.questions]
        assert right[arm] == sum(each.answer.startswith("It is") for each in answers)
        assert right[arm] == found.contexts[arm]["in_context"] < len(answers)
    assert right[RECALL] >= right[OURS] > right[SUMMARY]

    asked = reader.asked
    assert asyncio.run(measure(recorded, folder, estimate, script)) == found
    assert reader.asked == asked
