"""The benchmark of a real embedded model: its script and its scoring."""

from __future__ import annotations

import pytest

from benchmarks.embedded.answers import Answer, Question, gives, judge
from benchmarks.embedded.script import SEEDS, write_script
from benchmarks.embedded.table import ABSENT, ECHO, NONE, OLD, OTHER, PART, reason

pytestmark = pytest.mark.slow


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
    script = write_script(SEEDS[0])
    new = next(fact for fact in script.live if script.replaced(fact))
    [old] = script.replaced(new)
    assert judge(f"It is {new.values[0]} now.", new, script.facts)
    assert not judge(f"It was {old}, now it is {new.values[0]}.", new, script.facts)
    assert not judge(f"It is {old}.", new, script.facts)


@pytest.mark.parametrize(
    ("answer", "stale", "in_context", "expected"),
    [
        ("It is 7.", False, False, ABSENT),
        ("It is lib/old.ts:1.", True, True, OLD),
        ("Where does it fail?", False, True, ECHO),
        ("It is Ezra Lockhart.", False, True, OTHER),
        ("It is src/b.ts:42.", False, True, PART),
        ("Use `grep`.", False, True, NONE),
    ],
)
def test_why_an_answer_is_wrong(answer: str, stale: bool, in_context: bool, expected: str) -> None:
    given = Answer(answer=answer, right=False, stale=stale, in_context=in_context, prompt_tokens=0)
    question = Question(
        question="Remind me: Where does it fail?",
        expected="src/a/b.ts:42",
        replaced=("lib/old.ts:1",),
        kind="update",
        segment=1,
    )
    assert reason(question, given, ["src/a/b.ts:42", "lib/old.ts:1", "Ezra Lockhart"]) == expected
