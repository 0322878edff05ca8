"""What a line of the ledger is worth (pure), in points that are compared when not all of them have
room.
"""

from __future__ import annotations

from chat_loop.facts.extract import Found
from chat_loop.facts.passing import in_passing, only_advice
from chat_loop.facts.reading import Reading
from chat_loop.tokens import estimate

_TOKENS_A_POINT = 30
"""A line has to weigh one more for every so many tokens it takes."""
_VALUE_POINTS = 0.6
RECENT_POINTS = 1.0
_PASSING_POINTS = 6.0
"""What a line loses that tells an episode, an example or general advice."""
_UPDATE_POINTS = 2.0
"""What a line gains that gives a newer value: without it an older one would stand as if it were
true.
"""
_BARE_POINTS = 2.0
"""What a decision or task loses that has neither a reason nor anything exact, and was not
announced.
"""
_REPLY_POINTS = 2.0
"""What a reply's fact gains: nobody says it again, where the user remembers what the user said."""
DOUBT_POINTS = 100.0
"""What a line loses of which a newer one may say something else: it goes before all others."""
MOST_VALUES = 3


def worth(found: Found, reading: Reading, weight: float, *, bare: bool) -> float:
    """The points of a sentence: its kind's `weight`, what it holds, who said it, less what it
    takes.

    `bare`: it is a decision or task, which is judged by its reason when it holds nothing exact.
    """
    reply = found.speaker == "reply"
    light = in_passing(reading) or (reply and only_advice(reading))
    empty = bare and not (found.values or reading.label or "reason" in reading.cues)
    newer = "update" in reading.cues and bool(reading.measured)
    points = (
        weight
        + _VALUE_POINTS * min(MOST_VALUES, len(found.values))
        - estimate(found.text) / _TOKENS_A_POINT
    )
    points += _REPLY_POINTS * reply + _UPDATE_POINTS * newer
    return points - _PASSING_POINTS * light - _BARE_POINTS * empty
