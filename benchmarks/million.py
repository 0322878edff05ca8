"""A million sessions: what `benchmarks.team` measures, for which they take most of an hour."""

from __future__ import annotations

from functools import partial

from benchmarks import team

SIZES = (1_000_000,)

run = partial(team.run, sizes=SIZES)
