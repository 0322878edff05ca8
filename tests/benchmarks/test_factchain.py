"""The FactChain benchmark: its conversations, its scores, and their bounds."""

from __future__ import annotations

import asyncio
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from benchmarks.factchain import worst
from benchmarks.factchain.generator import generate
from benchmarks.factchain.run import End, reading
from benchmarks.factchain.scoring import Context, holds, invented, stale, survived
from benchmarks.factchain.summarisers import Lossy, Task
from benchmarks.factchain.talk import SEGMENTS, Fact, Talk
from benchmarks.factchain.wording import PROFILES
from benchmarks.support.results import Results

pytestmark = pytest.mark.slow

NUMBER = Fact(
    number=1,
    kind="number",
    language="en",
    speaker="user",
    announced=False,
    segment=1,
    sentence="The boiler in the cellar runs at 1.4 bar.",
    values=("1.4 bar",),
    keys=("boiler", "cellar"),
    question="What pressure does the heating want?",
    superseded_by=2,
    superseded_in=2,
)
NEWER = replace(
    NUMBER, number=2, segment=2, values=("1.7 bar",), superseded_by=None, superseded_in=None
)
RULE = replace(
    NEWER,
    number=3,
    kind="rule",
    values=("deploy billing on a Friday", "nobody is on call"),
    keys=(),
    segment=1,
)
FACTS = (NUMBER, NEWER, RULE)


@cache
def talk(profile: str, seed: int = 1) -> Talk:
    return generate(seed, profile)


def words(text: str) -> int:
    return len(text.split())


@pytest.mark.parametrize("profile", PROFILES)
class TestScores:
    def test_all_words_score_100_percent(self, profile: str) -> None:
        made = talk(profile)
        everything = Context(made.text())
        assert survived(everything, made.facts) == {fact.number for fact in made.facts}
        assert stale(everything, made.facts, SEGMENTS) == set()
        assert invented(made.text(), made.text()) == ()
        last = reading(made, SEGMENTS, made.text(), words)
        assert len(last.context) == len(last.live)

    def test_nothing_scores_0_percent(self, profile: str) -> None:
        made = talk(profile)
        for text in ("", "\n".join(made.pins), "\n".join(fact.question for fact in made.facts)):
            last = reading(made, SEGMENTS, text, words)
            assert not last.context | last.stale

    def test_what_was_not_yet_said_is_not_found(self, profile: str) -> None:
        made = talk(profile)
        for segment in range(1, SEGMENTS):
            later = [fact for fact in made.facts if fact.segment > segment]
            assert survived(Context(made.text(segment)), later) == set()

    def test_changed_values_are_not_found(self, profile: str) -> None:
        made = talk(profile)
        shifted = made.text().translate(str.maketrans("0123456789", "3456789012"))
        numbered = [fact for fact in made.facts if fact.kind in ("number", "id", "update")]
        assert survived(Context(shifted), numbered) == set()
        assert len(invented(shifted, made.text())) > 100

    def test_old_values_alone_are_stale(self, profile: str) -> None:
        made = talk(profile)
        old = [fact for fact in made.facts if fact.stale(SEGMENTS)]
        without = Context("\n".join(fact.sentence for fact in old))
        assert stale(without, made.facts, SEGMENTS) == {fact.number for fact in old}
        assert stale(without, made.facts, 1) == set()
        last = reading(made, SEGMENTS, without.text, words)
        assert len(last.stale) == last.superseded


class TestPresence:
    @pytest.mark.parametrize(
        ("text", "there"),
        [
            ("The boiler in the cellar runs at 1.4 bar.", True),
            ("- **Boiler**: keep it at 1.4 bar, always [1.3]", True),
            ("the cellar wants\t1.4  bar", True),
            ("The boiler in the cellar runs at 11.4 bar.", False),
            ("The boiler in the cellar runs at 1.4 bars.", False),
            ("The boiler runs at 1.5 bar, not 2,1.4 bar.", False),
            ("Keep it at 1.4 bar.", False),
            ("The boiler in the cellar.\nKeep it at 1.4 bar.", False),
            ("x" * 300 + ". The boiler drips. Keep it at 1.4 bar.", False),
            ("x" * 300 + ". The boiler drips at 1.4 bar. Thanks.", True),
        ],
    )
    def test_a_value_must_be_whole_and_beside_its_subject(self, text: str, there: bool) -> None:
        assert Context(text).has(NUMBER) == there

    @pytest.mark.parametrize(
        ("text", "there"),
        [
            ("Please don't deploy billing on a Friday, because nobody is on call.", True),
            ("- Never Deploy billing on a Friday: nobody is on call [2.1]", True),
            ("Deploy billing on a Friday?\nNo, nobody is on call.", False),
            ("Nobody deploys billing on Fridays, as nobody is on call.", False),
        ],
    )
    def test_anchors_must_stand_in_one_line(self, text: str, there: bool) -> None:
        assert Context(text).has(RULE) == there

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ("src/a.py:4", "see src/a.py:42 there"),
            ("src/a.py", "see src/a.py:42 there"),
            ("a.py:4", "see src/a.py:4 there"),
            ("https://x.org/a", "see https://x.org/a/b there"),
            ("14:30", "at 14:30:05 there"),
            ("AB-1234", "see CAB-1234 there"),
            ("Ann Lee", "ask Joann Lee there"),
        ],
    )
    def test_a_part_of_a_longer_value_is_none(self, value: str, text: str) -> None:
        assert not holds(text, value)
        assert holds(f"see {value}, or so", value)
        assert holds(f"({value}).", value)

    @given(
        st.from_regex(r"[A-Za-z0-9][A-Za-z0-9./:-]{0,12}[A-Za-z0-9]", fullmatch=True),
        st.text("ab1 .,:", max_size=9),
    )
    def test_a_value_between_blanks_is_always_found(self, value: str, around: str) -> None:
        assert holds(f"{around} {value} {around}", value)
        assert not holds(f"{around}7{value}7{around}", value) or value in around

    def test_a_successor_anywhere_makes_an_old_value_harmless(self) -> None:
        assert stale(Context("The boiler runs at 1.4 bar."), FACTS, 2) == {1}
        assert stale(Context("The boiler runs at 1.4 bar."), FACTS, 1) == set()
        assert stale(Context("The boiler ran at 1.4 bar.\nNow 1.7 bar."), FACTS, 2) == set()
        assert stale(Context("Something at 1.4 bar."), FACTS, 2) == set()

    def test_inventions_are_values_that_nobody_said(self) -> None:
        source = "It took 42 ms at src/a.py:7 on 3.5.2026."
        assert invented("- 42 ms (src/a.py:7), 3.5.2026 [2.14 reply]", source) == ()
        assert invented("- 43 ms at src/a.py:77 [1.2]; 2026, 42ms", source) == (
            "43",
            "src/a.py:77",
            "2026",
            "42ms",
        )


class TestSummarisers:
    def test_the_lossy_one_loses_as_published(self) -> None:
        kept: list[int] = []
        once: list[int] = []
        facts = 0
        for seed in range(1, 5):
            made = talk("seen", seed)
            model = Lossy(made.facts, seed, words)
            facts += len(made.facts)
            answer = asyncio.run(
                model.write(Task(span=made.text(), style="free", max_tokens=100_000))
            )
            once += survived(Context(answer.text), made.facts)
            again = Task(span="Nothing new.", old=answer.text, style="free", max_tokens=100_000)
            kept += survived(Context(asyncio.run(model.write(again)).text), made.facts)
        assert len(once) / facts == pytest.approx(0.4 * 0.95, abs=0.04)
        assert len(kept) / len(once) == pytest.approx(0.77 * 0.95, abs=0.06)


class TestWorst:
    def test_goals_are_judged_both_ways(self) -> None:
        good = [
            End(
                profile=profile,
                seed=1,
                context=75,
                reached=95,
                resumed=75,
                stale=3,
                pins=100,
                invented=0,
                tokens=worst.TOKENS,
            )
            for profile in PROFILES
        ]
        results = Results()
        worst.judge(good, results)
        assert {one.met for one in results.measures.values()} == {True}
        assert len(results.measures) == len(PROFILES) * 7
        bad = [
            End(
                profile=profile,
                seed=1,
                context=74.9,
                reached=94.9,
                resumed=74.9,
                stale=3.1,
                pins=99.9,
                invented=1,
                tokens=worst.TOKENS + 1,
            )
            for profile in PROFILES
        ]
        results = Results()
        worst.judge(bad, results)
        missed = [name for name, one in results.measures.items() if one.met is False]
        assert len(missed) == len(PROFILES) * 7
