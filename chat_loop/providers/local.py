"""The provider of embedded models: a GGUF file that runs in a process of its own, through
xllamacpp.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from chat_loop.errors import ContextTooLong, ProviderError, RequestRejected, StreamBroken
from chat_loop.events import Event, Finished, TextDelta, ThinkingDelta, ToolCalled
from chat_loop.providers.local_engine import Engine
from chat_loop.providers.thinking import Tagged
from chat_loop.providers.written_calls import WrittenCalls, written
from chat_loop.values import Request, StopReason, ToolSpec, Usage, Window

REPLY_TOKENS = 2048
"""The ceiling of a reply when the request sets none: a small model that repeats itself would fill
the window.
"""
TEMPERATURE = 0.3
_REPEAT_PENALTY = 1.05

_LONE_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTROL_TOKENS = re.compile(r"<(?=\|[A-Za-z0-9_]+\|>)")
_STOPS: dict[str, StopReason] = {"length": "length"}


class _Delta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta = msgspec.field(default_factory=_Delta)
    finish_reason: str | None = None


class _PromptDetails(msgspec.Struct):
    cached_tokens: int = 0


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _PromptDetails = msgspec.field(default_factory=_PromptDetails)


class _Error(msgspec.Struct):
    message: str = "unknown error"
    type: str = ""
    n_prompt_tokens: int = 0
    n_ctx: int = 0


class _Chunk(msgspec.Struct):
    """What is read of a chunk in the form of OpenAI's chat completion stream."""

    choices: list[_Choice] = []
    usage: _Usage | None = None
    error: _Error | None = None


class LocalProvider:
    """An embedded model. One request runs at a time; a second one waits for the first to end.

    The model is loaded by `warm` or the first request, and runs in a process of its own
    (`local_engine`).
    """

    name = "local"
    first_event_seconds = 600.0

    takes_images = False

    def __init__(
        self,
        path: Path,
        *,
        name_of_model: str,
        window: Window,
        threads: int | None = None,
        calls_tools: bool = False,
    ) -> None:
        """`window` is the context to load, in tokens; a model trained for less loads less, and
        `window` says so then. `threads` overrides the number that fits this machine. `calls_tools`:
        offer it tools. The catalogue's models then call some for everything, a greeting too, and
        write the calls as plain text (`written_calls`).
        """
        self.model = name_of_model
        self.calls_tools = calls_tools
        self._engine = Engine(path, context=window.tokens, threads=threads)
        self.window = window

    def warm(self) -> None:
        """Load the model. Raises ProviderError: runtime not installed, processor too old, file
        missing or broken.
        """
        self._engine.load()
        self._note_window()

    def _note_window(self) -> None:
        if self._engine.context < self.window.tokens:
            self.window = Window(self._engine.context)

    def _offered(self, request: Request) -> Sequence[ToolSpec]:
        """The tools that the model is told of: none once it has results, or it calls the same ones
        until the end.
        """
        if not self.calls_tools or request.grammar is not None or request.messages[-1].results:
            return ()
        return request.tools

    async def stream(self, request: Request) -> AsyncIterator[Event]:  # noqa: C901 - one stream, read to its end
        """Yield what the model writes. Closing stops it within one token or 128 prompt tokens."""
        tools = self._offered(request)
        calls = WrittenCalls([tool.name for tool in tools])
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[object] = asyncio.Queue()
        cancelled = threading.Event()

        def forward(item: object) -> bool:
            """Hand over to the event loop; False when nobody listens any more."""
            if cancelled.is_set():
                return False
            try:
                loop.call_soon_threadsafe(queue.put_nowait, item)
            except RuntimeError:  # the loop is closed
                return False
            return True

        thread = threading.Thread(
            target=self._engine.run,
            args=(_body(request, tools), forward, cancelled),
            name="embedded-model",
            daemon=True,
        )
        thread.start()
        try:
            finish: str | None = None
            usage: Usage | None = None
            tagged = Tagged()
            while (item := await queue.get()) is not None:
                self._note_window()
                if isinstance(item, ProviderError):
                    raise item
                chunk = _decode(item)
                usage = _usage(chunk.usage) or usage
                for choice in chunk.choices:
                    finish = choice.finish_reason or finish
                    for event in _spoken(_deltas(choice, tagged), calls):
                        yield event
            for event in _spoken(tagged.rest(), calls):
                yield event
            rest, called = calls.finish()
            if rest:
                yield TextDelta(rest)
            if finish is None:
                raise StreamBroken("The embedded model stopped before its reply was complete.")
            for call in called:
                yield ToolCalled(call)
            yield Finished(stop="tool" if called else _STOPS.get(finish, "end"), usage=usage)
        finally:
            cancelled.set()

    async def close(self) -> None:
        """Stop a running reply and free the model's memory. A later request loads it again."""
        await asyncio.to_thread(self._engine.free)


def _deltas(choice: _Choice, tagged: Tagged) -> Iterator[Event]:
    if choice.delta.reasoning_content:
        yield ThinkingDelta(choice.delta.reasoning_content)
    if choice.delta.content:
        yield from tagged.split(choice.delta.content)


def _spoken(events: Iterable[Event], calls: WrittenCalls) -> Iterator[Event]:
    """The events without the text that could be a call."""
    for event in events:
        if not isinstance(event, TextDelta):
            yield event
        elif shown := calls.feed(event.text):
            yield TextDelta(shown)


def _body(request: Request, tools: Sequence[ToolSpec]) -> dict[str, object]:
    messages = [{"role": "system", "content": _clean(request.system)}] if request.system else []
    messages += [
        {"role": message.role, "content": _clean(written(message))} for message in request.messages
    ]
    body: dict[str, object] = {
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
        # a chunk for each batch of the prompt: there a cancelled request can end
        "return_progress": True,
        "cache_prompt": True,
        "max_tokens": REPLY_TOKENS if request.max_tokens is None else request.max_tokens,
        "temperature": TEMPERATURE if request.temperature is None else request.temperature,
        "repeat_penalty": _REPEAT_PENALTY,
    }
    if tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.parameters),
                },
            }
            for tool in tools
        ]
    if request.grammar is not None:
        body["grammar"] = request.grammar
    return body


def _clean(text: str) -> str:
    """The runtime refuses lone surrogates, and would read `<|im_end|>` in a text as the end of the
    turn.
    """
    return _CONTROL_TOKENS.sub("< ", _LONE_SURROGATES.sub("\ufffd", text))


def _decode(item: object) -> _Chunk:
    try:
        chunk = msgspec.convert(item, _Chunk)
    except msgspec.ValidationError as error:
        raise StreamBroken("The embedded model's runtime sent something unknown.") from error
    if chunk.error is not None:
        raise _refusal(chunk.error)
    return chunk


def _refusal(error: _Error) -> ProviderError:
    if error.type == "exceed_context_size_error":
        return ContextTooLong(
            f"The conversation has {error.n_prompt_tokens:,} tokens, the embedded model takes "
            f"{error.n_ctx:,}.",
            "Type compact to shorten the conversation.",
        )
    return RequestRejected(f"The embedded model refused the request: {error.message}")


def _usage(usage: _Usage | None) -> Usage | None:
    if usage is None:
        return None
    return Usage(
        input=usage.prompt_tokens,
        output=usage.completion_tokens,
        cached=usage.prompt_tokens_details.cached_tokens,
    )
