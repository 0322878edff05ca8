"""Embedded models: a GGUF file that runs in its own process. While the runtime loads, it blocks the
interpreter, and if it crashes, it must only end one reply, not the chat.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, suppress
from pathlib import Path

from chat_loop import errors
from chat_loop.errors import ProviderError
from chat_loop.events import Event
from chat_loop.providers import Provider
from chat_loop.providers.capabilities import value_at
from chat_loop.providers.openai import read_chunk
from chat_loop.providers.refusals import Service
from chat_loop.providers.replies import ReplyStream, replace_surrogates
from chat_loop.values import Request, Window

REPLY_TOKENS = 2048  # otherwise, a small model that repeats itself would fill the window
SERVICE = Service(host="The embedded model", key_hint="", model_hint="")


class LocalProvider(Provider):
    """An embedded model, loaded by `warm` or the first request. Requests run one at a time."""

    name = "local"
    first_event_seconds = 600.0

    def __init__(
        self, path: Path, model: str, window: Window, *, threads: int = 0, max_tokens: int = 0
    ) -> None:
        """Prepare to load the context `window`. If 0, `threads` and `max_tokens` get defaults."""
        self.model = model
        self.window = window
        self._path = path
        self._threads = threads
        self._reply_tokens = max_tokens or REPLY_TOKENS
        self._request_lock = threading.Lock()  # held by the thread that talks to the child
        self._child: subprocess.Popen[bytes] | None = None

    def warm(self) -> None:
        """Load the model. Raises ProviderError without a runtime, or for an unusable file."""
        for _ in self._chunks({}, threading.Event()):
            pass

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        """Yield the model's reply. Closing stops it within one token or 128 prompt tokens."""
        reply = ReplyStream(think_tags=True)
        body = _body(request, self._reply_tokens)
        async with aclosing(self._answer(body)) as chunks:
            async for chunk in chunks:
                if value_at(chunk, "error"):
                    error = SERVICE.refusal_error(None, chunk)
                    if isinstance(error, errors.ContextTooLong) and error.window:
                        # it was trained for less than the config says
                        self.window = Window(error.window)
                    raise error
                read_chunk(chunk, reply)
                for delta in reply.take_deltas():
                    yield delta
                if (sign := reply.sign_of_life(time.monotonic())) is not None:
                    yield sign  # it reads the prompt
        if (failure := reply.failure(SERVICE.host)) is not None:
            raise failure
        if reply.stop is None:
            raise errors.StreamBroken("The embedded model stopped in the middle of its reply.")
        for event in reply.final_events(with_calls=False):
            yield event

    async def _answer(self, body: dict[str, object]) -> AsyncGenerator[object]:
        """Yield the chunks of an answer, which a separate thread waits for."""
        loop = asyncio.get_running_loop()
        stopped = threading.Event()
        chunks = asyncio.Queue[object]()

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
                yield chunk
        finally:
            stopped.set()

    async def close(self) -> None:
        """Stop a running reply and free the model's memory. A later request loads it again."""
        await asyncio.to_thread(self._free)

    def _free(self) -> None:
        if (child := self._child) is not None:
            child.kill()  # it has nothing to save, and the thread that waits for it sees its end
        with self._request_lock:
            self._discard_child()

    def _chunks(self, body: dict[str, object], stopped: threading.Event) -> Iterator[object]:
        """Let the child load the model. Yield its answer to `body`, unless that is empty."""
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
        """Return the child. Start one if there is none."""
        if self._child is not None and self._child.poll() is not None:
            self._discard_child()  # it ended between requests
        if self._child is None:
            # import as this process does, but never from the working directory
            folders = [*filter(None, sys.path), str(Path(__file__).parents[2])]
            arguments = (str(self._path), str(self.window.tokens), str(self._threads))
            try:
                self._child = subprocess.Popen(
                    (sys.executable, "-P", "-m", "chat_loop.providers.local_child", *arguments),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
                    start_new_session=True,  # keeps the terminal's Ctrl-C and Ctrl-Z away
                )
            except OSError as error:
                what = f"The embedded model cannot be started: {errors.os_reason(error)}."
                raise ProviderError(what) from error
        return self._child

    def _exit_error(self, child: subprocess.Popen[bytes]) -> ProviderError:
        """Return the error for a child that ended during a request."""
        with suppress(subprocess.TimeoutExpired):
            child.wait(5.0)
        code = child.returncode
        self._discard_child()
        how = f"exit code {code}"
        if code is not None and code < 0:
            how = f"signal {-code}"
        hint = (
            "The next question starts it again. If memory is short, choose a smaller model. "
            "Signal 4: embedded models need AVX2, which this processor lacks."
        )
        return ProviderError(f"The embedded model's process ended unexpectedly ({how}).", hint)

    def _discard_child(self) -> None:
        child = self._child
        self._child = None
        if child is None:
            return
        child.kill()
        with suppress(OSError), child:  # unsent data is lost with its reader
            pass


def _send(child: subprocess.Popen[bytes], body: dict[str, object] | None) -> None:
    assert child.stdin
    child.stdin.write(json.dumps(body).encode() + b"\n")
    child.stdin.flush()


def _body(request: Request, reply_tokens: int) -> dict[str, object]:
    messages = []
    if request.system:
        messages = [{"role": "system", "content": _clean(request.system)}]
    for message in request.messages:
        messages.append({"role": message.role, "content": _clean(message.whole)})
    body: dict[str, object] = {
        "messages": messages,
        "stream": True,
        "stream_options": {"include_usage": True},
        # a chunk for each batch of the prompt, after which a canceled request can end
        "return_progress": True,
        "cache_prompt": True,
        "max_tokens": reply_tokens if request.max_tokens is None else request.max_tokens,
        "temperature": 0.3,
        "repeat_penalty": 1.05,
    }
    for name in ("temperature", "top_p"):
        value = getattr(request.parameters, name)
        if value is not None:
            body[name] = value
    if request.grammar is not None:
        body["grammar"] = request.grammar
    return body


def _clean(text: str) -> str:
    """Remove lone surrogates, which the runtime refuses, and `<|`, which ends its turns."""
    return re.sub(r"<(?=\|[A-Za-z0-9_]+\|>)", "< ", replace_surrogates(text))
