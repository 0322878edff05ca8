"""Embedded models: a GGUF file that runs in a process of its own, through xllamacpp.

The runtime holds the interpreter while it loads a model. In a process of its own (`local_child`) no
key waits for it, its memory is given back at once, and a crash ends one reply, not the chat.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Sequence,
)
from pathlib import Path

import msgspec

from chat_loop.errors import (
    ContextTooLong,
    ModelNotFound,
    NoProvider,
    ProviderError,
    RequestRejected,
    StreamBroken,
)
from chat_loop.events import Event, Finished, TextDelta, ThinkingDelta, ToolCalled
from chat_loop.providers.answers import at, count_at, list_at, text_at
from chat_loop.providers.local_child import Answer, Ask
from chat_loop.providers.openai import tool_of, usage_of
from chat_loop.providers.thinking import Tagged
from chat_loop.values import Message, Request, ToolCall, ToolSpec, Usage, Window

REPLY_TOKENS = 2048
"""The ceiling of a reply without one: a small model that repeats itself would fill the window."""
TEMPERATURE = 0.3
REPEAT_PENALTY = 1.05
LONGEST_HELD = 100_000
"""Characters of a reply that may be a call; a longer one is none."""
_ERRORS = {kind.__name__: kind for kind in (ModelNotFound, NoProvider, RequestRejected)}
_MARKS = ("```json", "```", "<tool_call>", "</tool_call>")
"""What small models write around their calls."""

Forward = Callable[[object], bool]
"""Takes a chunk, then at the end a ProviderError or None. Returns False to stop the generation."""


class LocalProvider:
    """An embedded model, loaded by `warm` or the first request. Requests run one at a time."""

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
        """`window` is the context to load, in tokens; a model that was trained for less loads less.
        `calls_tools`: offer it tools, which the catalogue's models call for everything, a greeting
        too.
        """
        self.model = name_of_model
        self.calls_tools = calls_tools
        self._engine = Engine(path, context=window.tokens, threads=threads)

    @property
    def window(self) -> Window:
        """The context that is loaded, or will be."""
        return Window(self._engine.context)

    def warm(self) -> None:
        """Load the model. Raises ProviderError: no runtime, processor too old, file broken."""
        self._engine.load()

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        """Yield what the model writes. Closing stops it within one token or 128 prompt tokens."""
        offered = self.calls_tools and request.grammar is None
        # with results at hand it would call the same tools again until the end
        tools = request.tools if offered and not request.messages[-1].results else ()
        calls, tagged = WrittenCalls([tool.name for tool in tools]), Tagged()
        usage: Usage | None = None
        finish = ""
        async with contextlib.aclosing(self._chunks(_body(request, tools))) as chunks:
            async for chunk in chunks:
                if isinstance(at(chunk, "usage"), dict):
                    usage = usage_of(at(chunk, "usage"))
                for choice in list_at(chunk, "choices"):
                    finish = text_at(choice, "finish_reason") or finish
                    for event in _deltas(at(choice, "delta"), tagged, calls):
                        yield event
        for event in _shown(tagged.rest(), calls):
            yield event
        rest, called = calls.finish()
        if rest:
            yield TextDelta(rest)
        if not finish:
            raise StreamBroken("The embedded model stopped before its reply was complete.")
        for call in called:
            yield ToolCalled(call)
        stop = "length" if finish == "length" else "end"
        yield Finished(stop="tool" if called else stop, usage=usage)  # type: ignore[arg-type]

    async def _chunks(self, body: dict[str, object]) -> AsyncGenerator[object]:
        """Yield the chunks of an answer, which a thread of its own waits for."""
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[object] = asyncio.Queue()
        cancelled = threading.Event()

        def forward(item: object) -> bool:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                if not cancelled.is_set():
                    loop.call_soon_threadsafe(queue.put_nowait, item)
                    return True
            return False

        given = (body, forward, cancelled)
        threading.Thread(
            target=self._engine.run, args=given, name="embedded-model", daemon=True
        ).start()
        try:
            while (item := await queue.get()) is not None:
                if isinstance(item, ProviderError):
                    raise item
                if error := at(item, "error"):
                    raise _refusal(error)
                yield item
        finally:
            cancelled.set()

    async def close(self) -> None:
        """Stop a running reply and free the model's memory. A later request loads it again."""
        await asyncio.to_thread(self._engine.free)


def _deltas(delta: object, tagged: Tagged, calls: WrittenCalls) -> Iterator[Event]:
    if thinking := text_at(delta, "reasoning_content"):
        yield ThinkingDelta(thinking)
    if text := text_at(delta, "content"):
        yield from _shown(tagged.split(text), calls)


def _shown(events: Iterable[Event], calls: WrittenCalls) -> Iterator[Event]:
    """Yield the events without the text that could be a call."""
    for event in events:
        if not isinstance(event, TextDelta):
            yield event
        elif shown := calls.feed(event.text):
            yield TextDelta(shown)


def _refusal(error: object) -> ProviderError:
    if text_at(error, "type") == "exceed_context_size_error":
        return ContextTooLong(
            f"The conversation has {count_at(error, 'n_prompt_tokens'):,} tokens, the embedded "
            f"model takes {count_at(error, 'n_ctx'):,}.",
            "Type compact to shorten the conversation.",
        )
    what = text_at(error, "message") or "unknown error"
    return RequestRejected(f"The embedded model refused the request: {what}")


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
        "repeat_penalty": REPEAT_PENALTY,
    }
    if tools:
        body["tools"] = [tool_of(tool) for tool in tools]
    if request.grammar is not None:
        body["grammar"] = request.grammar
    return body


def _clean(text: str) -> str:
    """Take out lone surrogates, which the runtime refuses, and `<|`, with which it ends turns."""
    text = re.sub("[\ud800-\udfff]", "\ufffd", text)
    return re.sub(r"<(?=\|[A-Za-z0-9_]+\|>)", "< ", text)


def written(message: Message) -> str:
    """Return a message with its calls and results as the text that small models write and read."""
    calls = (
        f'{{"name": {json.dumps(call.name)}, "arguments": {call.arguments}}}'
        for call in message.calls
    )
    if message.role == "assistant":
        return "\n".join(filter(None, (message.text, *calls)))
    results = [f"<tool_response>\n{result.text}\n</tool_response>" for result in message.results]
    # without a query such models write the call once more
    query = "Answer now, in your own words, with what was found." if results else ""
    return "\n".join(filter(None, (*results, message.text or query)))


class WrittenCalls:
    """Tool calls that a small model writes as text instead of the form that its runtime reads.

    Such a reply is nothing but the JSON of one or several calls, bare, in a fence, or between the
    marks of its template. Text that begins otherwise is shown as it comes; text that could be a
    call waits until its end. `names` are the tools that can be called.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._held: str | None = "" if names else None

    def feed(self, text: str) -> str:
        """Take a piece; return what can be shown of the reply now."""
        if self._held is None:
            return text
        self._held += text
        begun = self._held.lstrip()
        may_be_call = not begun or begun[0] == "{"
        for mark in _MARKS[:3]:
            rest = begun[len(mark) :].lstrip()
            opened = begun.startswith(mark) and (not rest or rest[0] == "{")
            may_be_call = may_be_call or opened or mark.startswith(begun)
        if may_be_call and len(self._held) <= LONGEST_HELD:
            return ""
        shown, self._held = self._held, None
        return shown

    def finish(self) -> tuple[str, tuple[ToolCall, ...]]:
        """Return what was held back: the calls, or text when it was none."""
        held, self._held = self._held or "", None
        lines = (line for line in held.split("\n") if line.strip() not in _MARKS)
        rest, decoder = "\n".join(lines).strip(), json.JSONDecoder()
        calls: list[ToolCall] = []
        while rest:
            try:
                value, end = decoder.raw_decode(rest)
            except (ValueError, RecursionError):
                return held, ()
            name = text_at(value, "name")
            given = value.get("arguments", {}) if isinstance(value, dict) else None
            if name not in self._names or not isinstance(given, dict):
                return held, ()
            arguments = json.dumps(given, ensure_ascii=False)
            calls.append(ToolCall(f"call_{len(calls) + 1}", name, arguments))
            rest = rest[end:].lstrip()
        return ("", tuple(calls)) if calls else (held, ())


class Engine:
    """The process of one model file. All methods may be called from any thread; one request or load
    runs at a time.
    """

    def __init__(self, path: Path, *, context: int, threads: int | None) -> None:
        self._path = path
        self._threads = threads
        self._lock = threading.Lock()
        """Held by the thread that asks."""
        self._child: subprocess.Popen[bytes] | None = None
        self._loaded = False
        self._closing = False
        self._number = 0
        self.context = context
        """Tokens to load; lowered to what the model was trained for once that is known."""

    def load(self) -> None:
        """Load the model unless it is loaded. Raises ProviderError."""
        with self._lock:
            self._ask(None, lambda _: True, threading.Event())

    def run(self, body: dict[str, object], forward: Forward, cancelled: threading.Event) -> None:
        """Answer one request of OpenAI's chat form; chunks and the end go to `forward`."""
        with self._lock:
            try:
                if not cancelled.is_set():
                    self._ask(body, forward, cancelled)
            except ProviderError as error:
                forward(error)
            else:
                forward(None)

    def free(self) -> None:
        """End the process, whatever it does. A later request starts another one."""
        self._closing = True
        self._kill()
        with self._lock:
            self._drop()
            self._closing = False

    def _ask(
        self, body: dict[str, object] | None, forward: Forward, cancelled: threading.Event
    ) -> None:
        """Have the child load the model, and answer if there is a body. Raises ProviderError."""
        self._number += 1
        child = self._running()
        stopped = False
        try:
            _send(child, Ask(self._number, str(self._path), self.context, self._threads, body))
            while line := child.stdout.readline() if child.stdout else b"":
                answer = msgspec.json.decode(line, type=Answer)
                if answer.ended:
                    break
                if answer.context:
                    self.context, self._loaded = answer.context, True
                elif not stopped and (
                    cancelled.is_set() or not forward(answer.chunk) or cancelled.is_set()
                ):
                    stopped = True
                    _send(child, Ask(stop=self._number))
            else:
                raise self._gone(child)
        except OSError as error:  # its end of a pipe is closed
            raise self._gone(child) from error
        except UnicodeEncodeError as error:
            what = "The request holds half a character, which cannot be encoded."
            raise RequestRejected(what) from error
        if answer.error:
            if not self._loaded:
                self._drop()
            raise _ERRORS.get(answer.error, ProviderError)(answer.message, answer.hint)

    def _running(self) -> subprocess.Popen[bytes]:
        """Return the child, started where there is none."""
        if self._child is not None and self._child.poll() is not None:
            self._drop()  # it ended while nobody asked
        if self._child is None:
            # The same places to import from, and never the working directory only because the child
            # is started in it.
            places = [*filter(None, sys.path), str(Path(__file__).parents[2])]
            try:
                self._child = subprocess.Popen(
                    (sys.executable, "-P", "-m", "chat_loop.providers.local_child"),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
                    start_new_session=True,  # Ctrl-C and Ctrl-Z of the terminal are not for it
                )
            except OSError as error:
                what = f"The embedded model cannot be started: {error.strerror or error}."
                raise ProviderError(what) from error
            atexit.register(self._leave)
        if self._closing:  # looked at last: `free` kills only a child that it sees
            self._kill()
        return self._child

    def _gone(self, child: subprocess.Popen[bytes]) -> ProviderError:
        """Return the error for a child that ended while it was asked."""
        closing = self._closing
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(5.0)
        code = child.returncode
        self._drop()
        if closing:
            return ProviderError("The embedded model is being closed.")
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        return ProviderError(
            f"The embedded model's process ended unexpectedly ({how}).",
            "The next question starts it again. If memory is short, choose a smaller model or a "
            "smaller providers.local.context.",
        )

    def _kill(self) -> None:
        if (child := self._child) is not None:
            child.kill()  # it has nothing to save; the thread that asks it sees its end

    def _drop(self) -> None:
        child, self._child, self._loaded = self._child, None, False
        if child is None:
            return
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):  # what was not sent is lost with its reader
                if pipe is not None:
                    pipe.close()
        atexit.unregister(self._leave)

    def _leave(self) -> None:
        """End the child at exit: the lock may be held by a thread that waits for it."""
        self._kill()
        if (child := self._child) is not None:
            child.wait()


def _send(child: subprocess.Popen[bytes], ask: Ask) -> None:
    assert child.stdin
    child.stdin.write(msgspec.json.encode(ask) + b"\n")
    child.stdin.flush()
