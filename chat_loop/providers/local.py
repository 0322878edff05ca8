"""Embedded models: a GGUF file that runs in a process of its own, as the runtime holds the
interpreter while it loads, and a crash is to end one reply, not the chat.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterator, Sequence
from contextlib import aclosing, suppress
from pathlib import Path

from chat_loop import errors
from chat_loop.errors import ProviderError
from chat_loop.events import Event, Finished, TextDelta, ToolCalled
from chat_loop.providers.answers import count_at, text_at, value_at
from chat_loop.providers.openai import read_chunk, tool_of
from chat_loop.providers.replies import Reply
from chat_loop.providers.wire import replace_surrogates
from chat_loop.values import Message, Request, ToolCall, ToolSpec, Window

REPLY_TOKENS = 2048  # a small model that repeats itself would fill the window
CALL_STARTS = ("", "{", "`", "<")  # the first character of a reply that may be calls
CALL_MARKS = re.compile(r"^[ \t]*(```json|```|</?tool_call>)[ \t]*$", re.MULTILINE)


class LocalProvider:
    """An embedded model, loaded by `warm` or the first request. Requests run one at a time."""

    name = "local"
    first_event_seconds = 600.0
    takes_images = False

    def __init__(
        self,
        path: Path,
        model: str,
        window: Window,
        *,
        threads: int = 0,
        calls_tools: bool = False,
        max_tokens: int = 0,
    ) -> None:
        """`window` is the context to load; the catalogue's models call tools for everything."""
        self.model, self.window, self.calls_tools = model, window, calls_tools
        self._path, self._threads = path, threads
        self._reply_tokens = max_tokens or REPLY_TOKENS
        self._request_lock = threading.Lock()  # held by the thread that speaks with the child
        self._child: subprocess.Popen[bytes] | None = None

    def warm(self) -> None:
        """Load the model. Raises ProviderError: no runtime, or a file that cannot be loaded."""
        for _ in self._chunks({}, threading.Event()):
            pass

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        """Yield what the model writes. Closing stops it within one token or 128 prompt tokens."""
        offered = self.calls_tools and request.grammar is None
        # with results at hand it would call the same tools again until the end
        tools = request.tools if offered and not request.messages[-1].results else ()
        reply, body = Reply(think_tags=True), _body(request, tools, self._reply_tokens)
        held, may_be_call = "", bool(tools)
        async with aclosing(self._deltas(body, reply)) as deltas:
            async for delta in deltas:
                if not (may_be_call and isinstance(delta, TextDelta)):
                    yield delta
                    continue
                held += delta.text
                may_be_call = held.lstrip()[:1] in CALL_STARTS
                if not may_be_call:
                    yield TextDelta(held)
                    held = ""
        if reply.stop is None:
            raise errors.StreamBroken("The embedded model stopped in the middle of its reply.")
        calls = written_calls(held, [tool.name for tool in tools])
        if held and not calls:
            yield TextDelta(held)
        calls = [*reply.calls.complete(), *calls]
        for call in calls:
            yield ToolCalled(call)
        yield Finished(stop="tool" if calls else reply.stop, usage=reply.usage)

    async def _deltas(self, body: dict[str, object], reply: Reply) -> AsyncGenerator[Event]:
        """Yield the deltas of an answer, which a thread of its own waits for."""
        loop, stopped = asyncio.get_running_loop(), threading.Event()
        chunks: asyncio.Queue[object] = asyncio.Queue()

        def put(chunk: object) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(chunks.put_nowait, chunk)

        def work() -> None:
            try:
                for chunk in self._chunks(body, stopped):
                    put(chunk)
                put(None)
            except ProviderError as error:
                put(error)

        threading.Thread(target=work, name="embedded-model", daemon=True).start()
        try:
            while (chunk := await chunks.get()) is not None:
                if isinstance(chunk, ProviderError):
                    raise chunk
                if error := value_at(chunk, "error"):
                    raise self._refusal(error)
                read_chunk(chunk, reply)
                for delta in reply.take_deltas():
                    yield delta
            for delta in reply.take_rest():
                yield delta
        finally:
            stopped.set()

    async def close(self) -> None:
        """Stop a running reply and free the model's memory. A later request loads it again."""
        await asyncio.to_thread(self._free)

    def _free(self) -> None:
        if (child := self._child) is not None:
            child.kill()  # it has nothing to save; the thread that asks it sees its end
        with self._request_lock:
            self._discard_child()

    def _chunks(self, body: dict[str, object], stopped: threading.Event) -> Iterator[object]:
        """Let the child load the model, and yield its answer to a body that is not empty."""
        with self._request_lock:
            if stopped.is_set():
                return
            child = self._start_child()
            stop_sent = False
            try:
                _send(child, body)
                while line := child.stdout.readline() if child.stdout else b"":
                    match json.loads(line):
                        case []:
                            return
                        case [name, message, hint]:
                            raise getattr(errors, name)(message, hint)
                        case chunk if not stopped.is_set():
                            yield chunk
                    if stopped.is_set() and not stop_sent:
                        stop_sent = True
                        _send(child, None)
            except OSError as error:  # its end of a pipe is closed
                raise self._exit_error(child) from error
            raise self._exit_error(child)

    def _start_child(self) -> subprocess.Popen[bytes]:
        """Return the child, started where there is none."""
        if self._child is not None and self._child.poll() is not None:
            self._discard_child()  # it ended while nobody asked
        if self._child is None:
            # The same places to import from, and never the working directory only because the child
            # is started in it.
            places = [*filter(None, sys.path), str(Path(__file__).parents[2])]
            arguments = (str(self._path), str(self.window.tokens), str(self._threads))
            try:
                self._child = subprocess.Popen(
                    (sys.executable, "-P", "-m", "chat_loop.providers.local_child", *arguments),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
                    start_new_session=True,  # Ctrl-C and Ctrl-Z of the terminal are not for it
                )
            except OSError as error:
                what = f"The embedded model cannot be started: {errors.os_reason(error)}."
                raise ProviderError(what) from error
            atexit.register(self._child.kill)
        return self._child

    def _exit_error(self, child: subprocess.Popen[bytes]) -> ProviderError:
        """Return the error for a child that ended while it was asked."""
        with suppress(subprocess.TimeoutExpired):
            child.wait(5.0)
        code = child.returncode
        self._discard_child()
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        hint = "The next question starts it again. If memory is short, choose a smaller model."
        return ProviderError(f"The embedded model's process ended unexpectedly ({how}).", hint)

    def _discard_child(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        atexit.unregister(child.kill)
        child.kill()
        with suppress(OSError), child:  # what was not sent is lost with its reader
            pass

    def _refusal(self, error: object) -> ProviderError:
        if text_at(error, "type") != "exceed_context_size_error":
            what = text_at(error, "message") or "unknown error"
            return errors.RequestRejected(f"The embedded model refused the request: {what}")
        # a model that was trained for less than the config says
        self.window = Window(count_at(error, "n_ctx") or self.window.tokens)
        return errors.ContextTooLong(
            f"The conversation has {count_at(error, 'n_prompt_tokens'):,} tokens, the embedded "
            f"model takes {self.window.tokens:,}.",
            "Type compact to shorten the conversation.",
        )


def _send(child: subprocess.Popen[bytes], body: dict[str, object] | None) -> None:
    assert child.stdin
    child.stdin.write(json.dumps(body).encode() + b"\n")
    child.stdin.flush()


def _body(
    request: Request, tools: Sequence[ToolSpec], limit: int = REPLY_TOKENS
) -> dict[str, object]:
    messages = [{"role": "system", "content": _clean(request.system)}] if request.system else []
    messages += [
        {"role": message.role, "content": _clean(message_text(message))}
        for message in request.messages
    ]
    body: dict[str, object] = {
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
        # a chunk for each batch of the prompt: there a cancelled request can end
        "return_progress": True,
        "cache_prompt": True,
        "max_tokens": limit if request.max_tokens is None else request.max_tokens,
        "temperature": 0.3 if request.temperature is None else request.temperature,
        "repeat_penalty": 1.05,
    }
    if tools:
        body["tools"] = [tool_of(tool) for tool in tools]
    if request.grammar is not None:
        body["grammar"] = request.grammar
    return body


def _clean(text: str) -> str:
    """Remove lone surrogates, which the runtime refuses, and `<|`, which ends its turns."""
    return re.sub(r"<(?=\|[A-Za-z0-9_]+\|>)", "< ", replace_surrogates(text))


def message_text(message: Message) -> str:
    """Return a message with its calls and results as the text that small models write and read."""
    if message.role == "assistant":
        calls = (
            f'{{"name": {json.dumps(call.name)}, "arguments": {call.arguments}}}'
            for call in message.calls
        )
        return "\n".join(filter(None, (message.text, *calls)))
    results = [f"<tool_response>\n{result.text}\n</tool_response>" for result in message.results]
    # without a query such models write the call once more
    query = "Answer now, in your own words, with what was found." if results else ""
    return "\n".join(filter(None, (*results, message.text or query)))


def written_calls(text: str, names: Collection[str]) -> list[ToolCall]:
    """Return the tool calls that a small model writes as text: a reply that is nothing but their
    JSON, bare, in a fence, or between the marks of its template; none for any other.
    """
    rest, decoder = CALL_MARKS.sub("", text).strip(), json.JSONDecoder()
    calls: list[ToolCall] = []
    while rest:
        try:
            value, end = decoder.raw_decode(rest)
        except (ValueError, RecursionError):
            return []
        name = text_at(value, "name")
        arguments = value.get("arguments", {}) if name else None
        if name not in names or not isinstance(arguments, dict):
            return []
        text = json.dumps(arguments, ensure_ascii=False)
        calls.append(ToolCall(f"call_{len(calls) + 1}", name, text))
        rest = rest[end:].lstrip()
    return calls
