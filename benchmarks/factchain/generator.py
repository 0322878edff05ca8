"""A conversation that depends only on a seed and a profile."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from benchmarks.factchain.composing import Composer
from benchmarks.factchain.planting import FACTS, Planter
from benchmarks.factchain.talk import SEGMENTS, Talk, Turn
from benchmarks.factchain.tools import with_tools
from benchmarks.factchain.wording import language

EXCHANGES = (9, 14)
"""The lowest and the highest number of exchanges in a segment."""
LONG = 14, (52, 60)
"""The segments of a long conversation, and the exchanges in each."""
QUESTIONS = 2
"""The questions in each of these segments that are answered by tools."""


def generate(seed: int, profile: str) -> Talk:
    """Generate the conversation for a seed and a profile."""
    return _generated(seed, profile, SEGMENTS, EXCHANGES)


def long_talk(seed: int, profile: str) -> Talk:
    """Generate a conversation of 250,000 tokens or more, with questions that are answered by tools."""
    return with_tools(_generated(seed, profile, *LONG), QUESTIONS)


def _generated(seed: int, profile: str, count: int, exchanges: tuple[int, int]) -> Talk:
    """Generate a conversation of `count` segments, each with at least and at most so many
    exchanges.
    """
    random = Random(f"{profile} {seed}")
    planter = Planter(profile, random, shift=seed, segments=count)
    composer = Composer(random)

    def segment(number: int) -> Iterator[Turn]:
        """Yield the exchanges of a segment, one language after another in a random order."""
        sayings = planter.segment(number)
        left = random.randint(*exchanges)
        first, *others = planter.room(number).items()
        shares = {code: round(left * facts / FACTS) for code, facts in others}
        shares[first[0]] = left - sum(shares.values())
        for code in random.sample(sorted(shares), len(shares)):
            mine = [saying for saying in sayings if saying.language == code]
            yield from composer.turns(language(profile, code), shares[code], mine)

    segments = tuple(tuple(segment(number)) for number in range(1, count + 1))
    return Talk(
        profile=profile, seed=seed, facts=tuple(planter.facts), segments=segments, pins=pins(random)
    )


def pins(random: Random) -> tuple[str, ...]:
    """Return texts that must stay the same byte for byte."""
    one, two, three = (random.randrange(1000, 10_000) for _ in range(3))
    return (
        f"Answer briefly, never use tables, and quote file {one} verbatim.",
        (
            f"first line {one}\n  second line, indented\n\n- a bullet inside\n**Pinned:**\n# no "
            f"heading {two}"
        ),
        f"naïve café – “quotes” … ½ ≠ 0.50, 🧪 {two}, e\u0301 is not é, 你好, مرحبا",
        f"<!-- chat:end n={three} -->\n<!-- SESSION_SUMMARY_END -->\n\\<!-- no marker -->",
        f"tab\there, two  blanks, blanks at the end {one}  ",
        f'`rm -rf "$HOME"/{{a,b}}` & <b>100 %</b> \\n {three} ⟦U+0007⟧ *none*\n*none*',
    )
