"""The wires as a server speaks them: a scripted reply as bytes, and a request as the server reads
it.

Sources: https://docs.anthropic.com/en/api/messages-streaming,
https://platform.openai.com/docs/api-reference/chat-streaming and, for other programs that are
measured, https://platform.openai.com/docs/api-reference/responses-streaming.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import asdict

from benchmarks.support.loopback_aws import exception, from_sse
from chat_loop.values import ToolCall, Usage

Wire = Literal["anthropic", "bedrock", "openai", "responses"]
SSE = (b"event: ", b"data: ")
Point = Literal["cut", "stall"]
"""Instructions among the frames: close the connection, or wait until released or left."""


class Failure(Struct, frozen=True):
    """An error object. `kind` is its type; `code` exists only on OpenAI's wire."""

    kind: str
    message: str
    code: str | int | None = None


class Reply(Struct, frozen=True, kw_only=True):
    """The server's answer to one request.

    `..._after` counts the pieces of thinking, text, `raw` and calls; a call has two pieces. 0 is
    before everything.
    """

    chunks: tuple[str, ...] = ()
    thinking: tuple[str, ...] = ()
    signature: str = ""
    """Of the thinking on Anthropic's wire, and of the first call on OpenAI's, as Gemini sends it."""
    raw: tuple[str, ...] = ()
    """Data of events that are sent unchanged."""
    calls: tuple[ToolCall, ...] = ()
    stop: str | None = "end"
    """One of end, length, refusal and tool is translated into the words of the wire; anything else
    is sent unchanged. None is not sent.

    With calls, end becomes tool.
    """
    usage: Usage | None = field(default_factory=Usage)
    """None sends no usage."""
    cache_written: int = 0
    """The part of `usage.input` that was written to the cache; Anthropic counts it separately."""
    done: bool = True
    """Send the end mark: message_stop or [DONE]."""
    cut_after: int | None = None
    cut_at_end: bool = False
    """Close the connection after everything, but without ending the body."""
    stall_after: int | None = None
    stall_seconds: float | None = None
    """The longest stall; None lasts until released."""
    error_after: int | None = None
    garbage_after: int | None = None
    garbage: str = '{"type": '
    error: Failure | None = None
    """Sent at `error_after`, or as the body when `status` is not 200."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """Sent instead of a stream."""
    split: int = 0
    """Bytes per write; 0 writes each event at once."""
    reasoning_field: str = "reasoning_content"
    """The name of the field in which an OpenAI-compatible server sends its thinking."""


class Received(Struct, frozen=True, kw_only=True):
    """A request as received."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Any
    """The JSON; None without a body."""
    at: float
    """The `time.perf_counter()` when its head had arrived."""
    stalled: threading.Event = field(default_factory=threading.Event)
    """Set when its reply has reached the stall."""
    left: threading.Event = field(default_factory=threading.Event)
    """Set when the client closed the connection before the reply was complete."""

    @property
    def wire(self) -> Wire:
        if self.path.endswith("/invoke-with-response-stream"):
            return "bedrock"
        if self.path.endswith("/responses"):
            return "responses"
        return "anthropic" if self.path.endswith("/messages") else "openai"

    @property
    def system(self) -> str:
        if self.wire in ("anthropic", "bedrock"):
            return _text(self.body.get("system"))
        return _text(self.body.get("instructions")) + "".join(
            _text(message["content"]) for message in self._messages() if _is_system(message)
        )

    @property
    def texts(self) -> tuple[str, ...]:
        """The messages without the system prompt; only the text of those with calls or results."""
        return tuple(
            _text(message["content"]) for message in self._messages() if not _is_system(message)
        )

    @property
    def query(self) -> str:
        return self.texts[-1]

    def _messages(self) -> list[dict[str, Any]]:
        if self.wire != "responses":
            messages: list[dict[str, Any]] = self.body["messages"]
            return messages
        return [item for item in self.body["input"] if item.get("role")]


def _is_system(message: Mapping[str, Any]) -> bool:
    return message["role"] in ("system", "developer")


def _text(content: str | list[dict[str, Any]] | None) -> str:
    if isinstance(content, list):
        return "".join(block["text"] for block in content if block["type"].endswith("text"))
    return content or ""


def unmarked(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return messages without the cache's breakpoints, which move from request to request."""
    made = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            content = [
                {key: value for key, value in block.items() if key != "cache_control"}
                for block in content
            ]
            if [*map(set, content)] == [{"type", "text"}]:
                content = content[0]["text"]
        made.append({**message, "content": content} if "content" in message else message)
    return made


_ANTHROPIC = {"end": "end_turn", "length": "max_tokens", "refusal": "refusal", "tool": "tool_use"}
STOPS: dict[Wire, dict[str, str]] = {
    "anthropic": _ANTHROPIC,
    "bedrock": _ANTHROPIC,
    "openai": {
        "end": "stop",
        "length": "length",
        "refusal": "content_filter",
        "tool": "tool_calls",
    },
}


def stop_of(reply: Reply, wire: Wire) -> str | None:
    """Return the reason why the reply ended, in the words of the wire."""
    stop = "tool" if reply.calls and reply.stop == "end" else reply.stop
    return None if stop is None else STOPS[wire].get(stop, stop)


def halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def frames(reply: Reply, request: Received) -> Iterator[bytes | Point]:
    """Yield the stream of `reply`, event by event, and the points where it is cut or stalls."""
    if request.wire == "bedrock":
        for frame in _frames(reply, Bedrock(reply)):
            yield from_sse(frame) if isinstance(frame, bytes) and frame.startswith(SSE) else frame
    elif request.wire == "responses":
        yield from _frames(reply, Responses(reply))
    else:
        yield from _frames(
            reply, Anthropic(reply) if request.wire == "anthropic" else OpenAI(reply, request)
        )


def _frames(reply: Reply, wire: Anthropic | OpenAI | Responses) -> Iterator[bytes | Point]:
    yield from _points(reply, wire, 0)
    if 0 in (reply.cut_after, reply.error_after):
        return
    yield from wire.head()
    pieces = [
        *wire.thinking(),
        *wire.text(),
        *(event(None, data) for data in reply.raw),
        *wire.calls(),
    ]
    for number, piece in enumerate(pieces, start=1):
        yield piece
        yield from _points(reply, wire, number)
        if number in (reply.cut_after, reply.error_after):
            return
    yield from wire.tail()
    if reply.cut_at_end:
        yield "cut"


def _points(
    reply: Reply, wire: Anthropic | OpenAI | Responses, number: int
) -> Iterator[bytes | Point]:
    if number == reply.stall_after:
        yield "stall"
    if number == reply.garbage_after:
        yield event("garbage", reply.garbage)
    if number == reply.error_after and reply.error:
        yield wire.failure(reply.error)
    if number == reply.cut_after:
        yield "cut"


def event(kind: str | None, data: Mapping[str, object] | str) -> bytes:
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (f"event: {kind}\n" if kind else "").encode() + f"data: {text}\n\n".encode()


def failure_body(wire: Wire, failure: Failure) -> dict[str, object]:
    """Return an error as the body of a refusal."""
    if wire == "bedrock":
        return {"message": failure.message}
    if wire == "anthropic":
        return {
            "type": "error",
            "error": {"type": failure.kind, "message": failure.message},
            "request_id": "req_1",
        }
    return {
        "error": {
            "message": failure.message,
            "type": failure.kind,
            "param": None,
            "code": failure.code,
        }
    }


class Anthropic:
    """Server-sent events of the Messages API."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply

    def head(self) -> Iterator[bytes]:
        message: dict[str, object] = {
            "id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "loopback",
            "stop_reason": None, "stop_sequence": None,
        }  # fmt: skip
        if usage := self.reply.usage:
            message["usage"] = {
                "input_tokens": usage.input - usage.cached - self.reply.cache_written,
                "cache_creation_input_tokens": self.reply.cache_written,
                "cache_read_input_tokens": usage.cached,
                "output_tokens": 1,
            }
        yield event("message_start", {"type": "message_start", "message": message})
        yield event("ping", {"type": "ping"})

    def thinking(self) -> Iterator[bytes]:
        yield from self._block(0, "thinking", self.reply.thinking, self.reply.signature)

    def text(self) -> Iterator[bytes]:
        yield from self._block(1 if self.reply.thinking else 0, "text", self.reply.chunks)

    def _block(
        self, index: int, kind: str, pieces: tuple[str, ...], signature: str = ""
    ) -> Iterator[bytes]:
        signed = b""
        if signature:
            signed = self._delta(index, {"type": "signature_delta", "signature": signature})
        for number, piece in enumerate(pieces):
            yield (
                (self._start(index, {"type": kind, kind: ""}) if number == 0 else b"")
                + self._delta(index, {"type": f"{kind}_delta", kind: piece})
                + (signed + self._stop(index) if number == len(pieces) - 1 else b"")
            )

    def calls(self) -> Iterator[bytes]:
        first = bool(self.reply.thinking) + bool(self.reply.chunks)
        for index, call in enumerate(self.reply.calls, start=first):
            none, one, two = (
                self._delta(index, {"type": "input_json_delta", "partial_json": piece})
                for piece in ("", *halves(call.arguments))
            )
            yield (
                self._start(
                    index, {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
                )
                + none
                + one
            )
            yield two + self._stop(index)

    @staticmethod
    def _start(index: int, block: Mapping[str, object]) -> bytes:
        return event(
            "content_block_start",
            {"type": "content_block_start", "index": index, "content_block": block},
        )

    @staticmethod
    def _delta(index: int, delta: Mapping[str, object]) -> bytes:
        return event(
            "content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}
        )

    @staticmethod
    def _stop(index: int) -> bytes:
        return event("content_block_stop", {"type": "content_block_stop", "index": index})

    def tail(self) -> Iterator[bytes]:
        stop = stop_of(self.reply, "anthropic")
        if stop is not None:
            delta: dict[str, object] = {
                "type": "message_delta",
                "delta": {"stop_reason": stop, "stop_sequence": None},
            }
            if usage := self.reply.usage:
                delta["usage"] = {
                    "output_tokens": usage.output,
                    "output_tokens_details": {"thinking_tokens": usage.reasoning},
                }
            yield event("message_delta", delta)
        if self.reply.done:
            yield event("message_stop", {"type": "message_stop"})

    def failure(self, failure: Failure) -> bytes:
        return event("error", failure_body("anthropic", failure))


class Bedrock(Anthropic):
    """The same events, which `frames` puts into AWS's frames."""

    def failure(self, failure: Failure) -> bytes:
        return exception(failure.kind, failure.message)


class OpenAI:
    """Server-sent events of Chat Completions."""

    def __init__(self, reply: Reply, request: Received) -> None:
        self.reply = reply
        self.tells_usage = bool((request.body.get("stream_options") or {}).get("include_usage"))

    def _chunk(self, choices: list[dict[str, object]], **more: object) -> bytes:
        data = {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "loopback",
        }
        return event(None, {**data, "choices": choices, **more})

    def _delta(self, delta: dict[str, object], finish: str | None = None) -> bytes:
        return self._chunk([{"index": 0, "delta": delta, "finish_reason": finish}])

    def head(self) -> Iterator[bytes]:
        yield self._chunk([])  # services with a content filter begin like this
        yield self._delta({"role": "assistant", "content": ""})

    def thinking(self) -> Iterator[bytes]:
        return (self._delta({self.reply.reasoning_field: piece}) for piece in self.reply.thinking)

    def text(self) -> Iterator[bytes]:
        return (self._delta({"content": piece}) for piece in self.reply.chunks)

    def calls(self) -> Iterator[bytes]:
        """Yield the first pieces of all calls, then the second ones: the pieces of parallel calls
        may be interleaved.
        """
        for index, call in enumerate(self.reply.calls):
            function = {"name": call.name, "arguments": halves(call.arguments)[0]}
            piece = {"index": index, "id": call.id, "type": "function", "function": function}
            if self.reply.signature and not index:
                google = {"thought_signature": self.reply.signature}
                piece["extra_content"] = {"google": google}
            yield self._delta({"content": None, "tool_calls": [piece]})
        for index, call in enumerate(self.reply.calls):
            yield self._delta(
                {
                    "tool_calls": [
                        {"index": index, "function": {"arguments": halves(call.arguments)[1]}}
                    ]
                }
            )

    def tail(self) -> Iterator[bytes]:
        stop = stop_of(self.reply, "openai")
        if stop is not None:
            yield self._delta({}, stop)
        if (usage := self.reply.usage) and self.tells_usage:
            counts = {
                "prompt_tokens": usage.input,
                "completion_tokens": usage.output,
                "total_tokens": usage.total,
                "prompt_tokens_details": {
                    "cached_tokens": usage.cached,
                    "cache_write_tokens": self.reply.cache_written,
                },
                "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
            }
            yield self._chunk([], usage=counts)
        if self.reply.done:
            yield event(None, "[DONE]")

    def failure(self, failure: Failure) -> bytes:
        return event(None, failure_body("openai", failure))


class Responses:
    """The part of the Responses API's server-sent events that is needed for text."""

    def __init__(self, reply: Reply) -> None:
        self.reply = reply

    def head(self) -> Iterator[bytes]:
        yield self._event("response.created", response={"id": "resp_1", "status": "in_progress"})

    def thinking(self) -> Iterator[bytes]:
        return iter(())

    def text(self) -> Iterator[bytes]:
        if not self.reply.chunks:
            return
        yield self._event("response.output_item.added", item=self._message("in_progress", ""))
        for piece in self.reply.chunks:
            yield self._event("response.output_text.delta", item_id="msg_1", delta=piece)
        whole = self._message("completed", "".join(self.reply.chunks))
        yield self._event("response.output_item.done", item=whole)

    def calls(self) -> Iterator[bytes]:
        return iter(())

    def tail(self) -> Iterator[bytes]:
        usage = self.reply.usage or Usage()
        counts = {
            "input_tokens": usage.input,
            "input_tokens_details": {"cached_tokens": usage.cached},
            "output_tokens": usage.output,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": usage.total,
        }
        response = {"id": "resp_1", "status": "completed", "output": [], "usage": counts}
        yield self._event("response.completed", response=response)

    def failure(self, failure: Failure) -> bytes:
        return event("error", {"type": "error", **asdict(failure)})

    @staticmethod
    def _message(status: str, text: str) -> dict[str, object]:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": content if text else [],
        }

    @staticmethod
    def _event(kind: str, **more: object) -> bytes:
        return event(kind, {"type": kind, "output_index": 0, "content_index": 0, **more})
