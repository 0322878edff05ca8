"""What replies of Chat Completions hold, whichever server they come from.

Servers differ in where they put reasoning and counts, and in which parameters they know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from chat_loop.errors import ContextTooLong, ProviderError
from chat_loop.events import TextDelta, ThinkingDelta
from chat_loop.providers.calls import refused_tool
from chat_loop.providers.catalogue import Quirks
from chat_loop.providers.wire import Reply, at, count_at, text_at
from chat_loop.values import StopReason, Usage

STOPS: Mapping[str, StopReason] = {"length": "length", "content_filter": "refusal"}
"""`finish_reason` -> why the reply ended, where it is not `end`. Gemini adds a colon and what it
filtered.
"""

TOOL_REFUSALS = (400, 404, 422, 500, 501)
"""Statuses with which servers refuse a request for its tools; the message then speaks of tools."""

UNKNOWN = (
    "unsupported",
    "not supported",
    "unrecognized",
    "unknown",
    "unexpected",
    "extra inputs",
    "not permitted",
)
"""What a server says of a parameter that it does not know."""

LIMITS = ("max_completion_tokens", "max_tokens")
"""The two names of the ceiling of a reply."""


class Manner:
    """What may be asked of one server, learnt from what it refuses."""

    def __init__(self, quirks: Quirks, model: str) -> None:
        self._limits = (quirks.limit, *LIMITS)
        self._refused = set() if quirks.counts else {"stream_options"}
        if quirks.fixed_temperature and model.startswith(quirks.fixed_temperature):
            self._refused.add("temperature")

    def takes(self, name: str) -> bool:
        """Whether a parameter may be sent."""
        return name not in self._refused

    @property
    def limit(self) -> str:
        """What the ceiling of a reply is called, "" where neither name is known."""
        return next((name for name in self._limits if self.takes(name)), "")

    def learn(self, status: int, refusal: ProviderError, sent: Mapping[str, object]) -> str:
        """What of `sent` the refusal was about, so that asking again without it helps; "" when it
        was about others.
        """
        said = refusal.message.lower()
        if isinstance(refusal, ContextTooLong):
            return ""
        if (tools := sent.get("tools")) and status in TOOL_REFUSALS and "tool" in said:
            names = (
                [text_at(tool, "function", "name") for tool in tools]
                if isinstance(tools, list)
                else []
            )
            if refused_tool(refusal.message, names) or "schema" in said:
                return ""  # the fault of one of them, which must not cost the others
            self._refused.add("tools")
            return "tools"
        if status not in (400, 422) or not any(word in said for word in UNKNOWN):
            return ""
        named = next(
            (
                name
                for name in ("stream_options", "temperature", *LIMITS)
                if name in sent and name in said
            ),
            "",
        )
        if named:
            self._refused.add(named)
        return named


def deltas(choice: object, reply: Reply, quirks: Quirks) -> Iterator[TextDelta | ThinkingDelta]:
    """The reasoning and the text that a choice of a chunk holds."""
    delta = at(choice, "delta")
    thinking = (
        text_at(delta, "reasoning_content")
        or text_at(delta, "reasoning")
        or text_at(delta, "thinking")
    )
    if thinking:
        yield ThinkingDelta(thinking)
    content = at(delta, "content")
    if isinstance(content, list):  # Mistral's reasoning models
        for part in content:
            inner = at(part, "thinking")
            for piece in inner if isinstance(inner, list) else ():
                if text := text_at(piece, "text"):
                    yield ThinkingDelta(text)
            if text := text_at(part, "text"):
                yield TextDelta(text)
    elif isinstance(content, str) and content:
        if quirks.tagged:
            yield from reply.tagged.split(content)
        else:
            yield TextDelta(content)


def stop_of(reason: str) -> StopReason:
    return STOPS.get(reason.partition(":")[0], "end")


def usage_of(counts: object) -> Usage:
    """A `usage` object as `Usage`; details that a server leaves out count as 0.

    Gemini and xAI leave reasoning out of the completion, but not out of the total.
    """
    asked, answered = count_at(counts, "prompt_tokens"), count_at(counts, "completion_tokens")
    more = max(0, count_at(counts, "total_tokens") - asked - answered)
    return Usage(
        input=asked,
        output=answered + more,
        cached=count_at(counts, "prompt_tokens_details", "cached_tokens")
        or count_at(counts, "prompt_cache_hit_tokens")  # DeepSeek
        or count_at(counts, "cached_tokens"),  # Moonshot
        written=count_at(counts, "prompt_tokens_details", "cache_write_tokens"),
        reasoning=count_at(counts, "completion_tokens_details", "reasoning_tokens") or more,
    )
