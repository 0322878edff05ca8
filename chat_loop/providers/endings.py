"""Why replies end: what the values of a stop reason mean, the errors that a stream can contain, and
the sentence for each ending that is no answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from chat_loop.errors import ProviderError, StreamBroken
from chat_loop.providers.capabilities import list_at, text_at, value_at
from chat_loop.values import StopReason

Meaning = Literal["complete", "length", "tools", "refusal", "failure", "pause", "unfinished"]
Ending = Literal["failure", "pause", "unknown", "restart"]
"""An ending that is no answer."""

STOPS: Mapping[Meaning, StopReason] = {
    "complete": "end",
    "tools": "end",  # the calls themselves say that the reply waits for tools
    "length": "length",
    "refusal": "refusal",
}


def _by_value(values: Mapping[Meaning, str]) -> dict[str, Meaning]:
    by_value: dict[str, Meaning] = {}
    for meaning, text in values.items():
        by_value |= dict.fromkeys(text.split(), meaning)
    return by_value


MEANINGS = _by_value(
    {
        # Chat Completions and Anthropic's Messages, and what gateways pass on from other protocols
        "complete": """stop eos eos_token stop_sequence end_turn complete completed
            eosfound stopstringfound word reason_stop""",
        "length": """length max_tokens max_output_tokens model_length limit
            model_context_window_exceeded maxpredictedtokensreached contextlengthreached
            reason_max_len reason_max_context""",
        "tools": "tool_calls tool_call function_call tool_use toolcalls reason_tool_calls",
        "refusal": """content_filter content_filtered refusal sensitive safety recitation
            blocklist prohibited_content spii image_safety image_prohibited_content
            image_recitation model_armor guardrail_intervened""",
        "failure": """error abort failed cancelled timeout time_limit network_error repetition
            insufficient_system_resource reason_time_limit language other no_image image_other
            finish_reason_unspecified malformed_function_call malformed_response
            unexpected_tool_call too_many_tool_calls missing_thought_signature
            malformed_model_output malformed_tool_use userstopped modelunloaded load unload""",
        "pause": "pause_turn compaction",
        "unfinished": "null none reason_invalid",
    }
)
"""The meaning of each `finish_reason` and `stop_reason`, in lower case, on every wire: gateways mix
their values, and no value has two meanings.
"""

_SENTENCES: Mapping[Ending, tuple[str, str]] = {
    "failure": ("{host} broke off the reply ({reason}).", "Send the message again."),
    "pause": (
        "{host} paused the reply ({reason}), and chat-loop cannot continue it.",
        "Ask the model to continue.",
    ),
    "unknown": (
        "{host} ended the reply for an unknown reason ({reason}). It may be incomplete.",
        "Send the message again, or choose another model.",
    ),
    "restart": ("{host} began the reply a second time.", "Send the message again."),
}


def ending_error(ending: Ending, reason: str, host: str) -> ProviderError:
    """Return the error for an ending that is no answer."""
    message, hint = _SENTENCES[ending]
    kind = ProviderError
    if ending in ("failure", "restart"):
        kind = StreamBroken
    return kind(message.format(host=host, reason=reason), hint)


_MESSAGES_OF_ERRORS = ("message", "Message", "msg", "error_msg", "error_message", "detail")
_CODES_OF_ERRORS = ("code", "error_code", "type")
_NO_ERROR = ("choices", "candidates", "usage", "delta", "content", "output")


def error_in(event: Mapping[str, object]) -> Mapping[str, object] | None:
    """Return the error that an event reports, as `{"error": …}`, or None. Servers have many forms:
    `{"error": …}`, `{"object": "error", "message": …}`, `{"text": …, "error_code": …}`,
    `{"detail": …}`, and an error beside the `finish_reason` of a choice.
    """
    if event.get("error"):
        return event
    if choices := list_at(event, "choices"):
        error = value_at(choices[0], "error")
        if error:
            return {"error": error}
        return None
    kind = event.get("type")
    says_so = "error" in (kind, event.get("object")) or bool(event.get("error_code"))
    if not says_so and (kind is not None or any(name in event for name in _NO_ERROR)):
        return None
    message = _first_text(event, (*_MESSAGES_OF_ERRORS, "text") if says_so else _MESSAGES_OF_ERRORS)
    if not (says_so or message or list_at(event, "errors")):
        return None
    described: dict[str, object] = {"message": message}
    if not message:
        described = dict(event)
    for name in _CODES_OF_ERRORS:
        code = event.get(name)
        if isinstance(code, str | int) and code != "error":
            described["type" if isinstance(code, str) else "code"] = code
    return {"error": described}


def _first_text(event: Mapping[str, object], names: Iterable[str]) -> str:
    return next(filter(None, (text_at(event, name) for name in names)), "")


def protocol_of(event: Mapping[str, object]) -> str:
    """Return the name of the protocol that an event belongs to, or "" for an unknown one."""
    kind = text_at(event, "type")
    if "choices" in event:
        return "Chat Completions"
    if kind.startswith("response."):
        return "OpenAI's Responses"
    if kind.startswith(("message", "content_block")) or kind == "ping":
        return "Anthropic's Messages"
    if "candidates" in event:
        return "Gemini's own protocol"
    if "done" in event and ("message" in event or "response" in event):
        return "Ollama's own protocol"
    return ""
