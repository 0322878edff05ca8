"""Results that are too long for the model: cut, with a way to read the rest as long as the program
runs.
"""

from __future__ import annotations

from collections.abc import Mapping

from chat_loop.errors import ChatLoopError
from chat_loop.values import ToolCall, ToolSpec

READ_RESULT = "read_result"
MOST_KEPT = 20_000_000
"""Characters that are kept of all results together; the oldest go first."""
LONGEST_KEPT = MOST_KEPT // 2
"""Characters that are kept of one."""
READS = ToolSpec(
    READ_RESULT,
    "Reads on in the result of an earlier tool call that was cut because it was too long.",
    {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "The id that the cut result names."},
            "offset": {
                "type": "integer",
                "description": "How many characters of the result are skipped.",
            },
        },
        "required": ["id", "offset"],
        "additionalProperties": False,
    },
)
_NOTE = 200
"""Characters that the line about the cut may take."""


def cut(call: ToolCall, text: str, most: int, kept: dict[str, str]) -> str:
    """At most `most` characters of a call's result, then a line that says how to read on; `kept`
    gets the whole.

    Halves of surrogate pairs, which no request could carry, are replaced.
    """
    if call.name == READ_RESULT and len(text) <= most + _NOTE:  # it says itself how to read on
        return _sendable(text)
    kept.pop(call.id, None)
    if len(text) <= most:
        return _sendable(text)
    kept[call.id] = text[:LONGEST_KEPT]
    while sum(map(len, kept.values())) > MOST_KEPT:
        del kept[next(iter(kept))]
    return _sendable(text[:most]) + _note(call.id, most, len(text))


def read_on(given: Mapping[str, object], most: int, kept: Mapping[str, str]) -> str:
    """What stands after `offset` in a result that was cut. Raises ChatLoopError for one that is not
    kept.
    """
    identity, offset = str(given["id"]), given["offset"]
    text = kept.get(identity)
    if text is None:
        known = f"These can be read: {', '.join(kept)}." if kept else "Call the tool again."
        raise ChatLoopError(f"No result “{identity[:64]}” is kept.", known)
    if not isinstance(offset, int) or not 0 <= offset < len(text):
        raise ChatLoopError(f"The offset must be from 0 to {len(text) - 1}.")
    end = offset + most
    if end >= len(text):
        return text[offset:]
    return text[offset:end] + _note(identity, end, len(text))


def _note(identity: str, end: int, length: int) -> str:
    lost = f" ({LONGEST_KEPT:,} are kept)" if length > LONGEST_KEPT else ""
    further = f'{READ_RESULT} with id "{identity}" and offset {end} reads on'
    return f"\n[cut: up to character {end:,} of {length:,}{lost}; {further}]"


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
