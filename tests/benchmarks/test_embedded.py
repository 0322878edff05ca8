"""The benchmark of a real embedded model: its script and its scoring."""

from __future__ import annotations

import pytest

from benchmarks.embedded.answers import gives, judge
from benchmarks.embedded.script import SEEDS, write_script

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
