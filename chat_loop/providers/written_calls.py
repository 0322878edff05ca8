"""Tool calls that a small model writes as text instead of the form that its runtime reads (pure).

Such a reply is nothing but the JSON of one or several calls, bare, in a fence, or between the marks
of its template. Text that begins otherwise is shown as it comes; text that could be a call waits
until its end.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator

from chat_loop.values import Message, ToolCall

LONGEST = 100_000
"""Characters that are held back; what is longer is no call."""
_ANSWER = "Answer now, in your own words, with what was found."
"""Without it such models write the call once more."""
_OPENINGS = ("```json", "```", "<tool_call>")
_MARKS = frozenset({"```json", "```", "<tool_call>", "</tool_call>"})


class WrittenCalls:
    """The text of one reply, as it comes. `names` are the tools that can be called."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._held: str | None = "" if names else None

    def feed(self, text: str) -> str:
        """Take a piece; what can be shown of the reply now."""
        if self._held is None:
            return text
        self._held += text
        if len(self._held) <= LONGEST and _may_be_call(self._held):
            return ""
        shown, self._held = self._held, None
        return shown

    def finish(self) -> tuple[str, tuple[ToolCall, ...]]:
        """What was held back: the calls, or text when it was none."""
        held, self._held = self._held or "", None
        calls = tuple(_calls(held, self._names))
        return ("", calls) if calls else (held, ())


def written(message: Message) -> str:
    """A message with its calls and results as text, in the form in which such models write and read
    them.
    """
    calls = (
        f'{{"name": {json.dumps(call.name)}, "arguments": {call.arguments}}}'
        for call in message.calls
    )
    results = (f"<tool_response>\n{result.text}\n</tool_response>" for result in message.results)
    asked = message.text or (_ANSWER if message.results else "")
    texts = (*results, asked) if message.role == "user" else (message.text, *calls)
    return "\n".join(filter(None, texts))


def _may_be_call(text: str) -> bool:
    text = text.lstrip()
    if not text or text[0] == "{":
        return True
    for opening in _OPENINGS:
        if opening.startswith(text):
            return True
        rest = text.removeprefix(opening).lstrip()
        if text.startswith(opening) and (not rest or rest[0] == "{"):
            return True
    return False


def _calls(text: str, names: Collection[str]) -> Iterator[ToolCall]:
    """The calls that a text consists of; none when anything in it is something else."""
    rest = "\n".join(line for line in text.split("\n") if line.strip() not in _MARKS).strip()
    found: list[ToolCall] = []
    decoder = json.JSONDecoder()
    while rest:
        try:
            value, end = decoder.raw_decode(rest)
        except (ValueError, RecursionError):
            return
        name = value.get("name") if isinstance(value, dict) else None
        arguments = value.get("arguments", {}) if isinstance(value, dict) else None
        if name not in names or not isinstance(arguments, dict):
            return
        found.append(
            ToolCall(f"call_{len(found) + 1}", str(name), json.dumps(arguments, ensure_ascii=False))
        )
        rest = rest[end:].lstrip()
    yield from found
