"""The benchmark of a real embedded model: its script and its scoring."""

from __future__ import annotations

import pytest

from benchmarks.embedded.answers import compare, gives, judge
from benchmarks.embedded.script import PLAN, SEED, write_script
from benchmarks.factchain.scoring import holds

pytestmark = pytest.mark.slow


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
