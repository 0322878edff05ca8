"""A team's library of a million sessions: what `benchmarks.team` measures, for which it takes half an
hour. A folder of as many is no use: its list looks at the state of each file.
"""

from __future__ import annotations

from benchmarks.support.results import Results, Settings
from benchmarks.team import ROUNDS, Pool, measure_team

SESSIONS = 1_000_000


def run(results: Results, settings: Settings) -> None:
    """Measure. Raises NotMeasured without a server."""
    measure_team(results, SESSIONS, Pool(), settings.rounds or ROUNDS)
