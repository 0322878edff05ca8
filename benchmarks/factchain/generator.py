"""generate(seed, profile): a conversation of ten segments that depends only on these two."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from benchmarks.factchain.composing import Composer
from benchmarks.factchain.planting import FACTS, Planter
from benchmarks.factchain.talk import SEGMENTS, Talk, Turn
from benchmarks.factchain.wording import language

EXCHANGES = (9, 14)
"""The lowest and the highest number of exchanges in a segment."""


def generate(seed: int, profile: str) -> Talk:
    """Generate the conversation for a seed and a profile."""
    random = Random(f"{profile} {seed}")
    planter = Planter(profile, random, shift=seed)
    composer = Composer(random)
    segments = tuple(
        tuple(_segment(number, profile, random, planter, composer))
        for number in range(1, SEGMENTS + 1)
    )
    return Talk(
        profile=profile, seed=seed, facts=tuple(planter.facts), segments=segments, pins=pins(random)
    )


def _segment(
    number: int, profile: str, random: Random, planter: Planter, composer: Composer
) -> Iterator[Turn]:
    """Yield the exchanges of a segment, one language after another in a random order."""
    sayings = planter.segment(number)
    count = random.randint(*EXCHANGES)
    first, *others = planter.room(number).items()
    shares = {code: round(count * facts / FACTS) for code, facts in others}
    shares[first[0]] = count - sum(shares.values())
    for code in random.sample(sorted(shares), len(shares)):
        mine = [saying for saying in sayings if saying.language == code]
        yield from composer.turns(language(profile, code), shares[code], mine)


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
