"""The process of one embedded model: answers requests, one line of JSON each, until its input ends.

Run as `python -m chat_loop.providers.local_child`; `local` starts it and speaks with it. xllamacpp
is llama.cpp's server as a library. Its settings were measured with release 2026.10: OpenMP's
spinning barriers make it 4 to 20 times slower as soon as another process wants a core;
`no_extra_bufts` saves a third of the memory at equal speed; without `fit_params` it loads in half
the time; batches of 128 tokens are as fast as 2048 and let a request be cancelled between them.
"""

from __future__ import annotations

import os
import queue
import secrets
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec

from chat_loop.errors import ModelError, NoProvider, ProviderError, RequestRejected
from chat_loop.models.cpu import runs_embedded_models, usable_cores
from chat_loop.models.gguf import read_header


class Ask(msgspec.Struct, omit_defaults=True):
    """A line to the child: load this model and answer `body`, or `stop` the last answer."""

    path: str = ""
    context: int = 0
    threads: int | None = None
    body: dict[str, Any] | None = None
    stop: bool = False


class Answer(msgspec.Struct, omit_defaults=True):
    """A line from the child: the `context` that is loaded, a `chunk` of the answer, or its end."""

    context: int = 0
    chunk: Any = None
    ended: bool = False
    error: str = ""  # the name of a class of `chat_loop.errors`
    message: str = ""
    hint: str = ""


def main() -> None:
    """Answer one request after the other. JSON goes to the old standard output, prints nowhere."""
    out = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    asks: queue.SimpleQueue[Ask] = queue.SimpleQueue()
    stop = threading.Event()
    threading.Thread(target=_listen, args=(asks, stop), daemon=True, name="listen").start()

    def forward(chunk: object) -> bool:
        """Send a chunk; return True to stop the generation at once."""
        if not stop.is_set():
            _send(out, Answer(chunk=chunk))
        return stop.is_set()

    server, context = None, 0
    while True:
        ask = asks.get()
        end = Answer(ended=True)
        try:
            if server is None:
                server, context = _load(ask)
            _send(out, Answer(context=context))
            if ask.body is not None and not stop.is_set():
                server.handle_chat_completions(ask.body, forward)
        except ProviderError as error:
            kind, message, hint = type(error).__name__, error.message, error.hint
            end = Answer(ended=True, error=kind, message=message, hint=hint)
        except (RuntimeError, ValueError) as error:
            message = f"The embedded model's runtime failed: {error}"
            end = Answer(ended=True, error=RequestRejected.__name__, message=message)
        _send(out, end)


def _listen(asks: queue.SimpleQueue[Ask], stop: threading.Event) -> None:
    for line in sys.stdin.buffer:
        ask = msgspec.json.decode(line, type=Ask)
        if ask.stop:
            stop.set()
        else:  # it comes after the end of the last answer, so after a stop for that
            stop.clear()
            asks.put(ask)
    os._exit(0)  # the chat has gone


def _send(out: int, answer: Answer) -> None:
    data = msgspec.json.encode(answer) + b"\n"
    try:
        while data:
            data = data[os.write(out, data) :]
    except OSError:  # nobody listens any more
        os._exit(0)


def _load(ask: Ask) -> tuple[Any, int]:
    """Load a model; return the runtime's server and the tokens of its context."""
    path = Path(ask.path)
    try:
        header = read_header(path)
    except ModelError as error:
        raise ProviderError(error.message, error.hint) from error
    if not header.chat_template:
        raise ProviderError(
            f"{path} is a base model without a chat template: it cannot hold a conversation.",
            "Choose an instruct or chat variant of the model.",
        )
    if not runs_embedded_models():
        raise NoProvider(
            "This processor lacks the AVX2 instructions that the embedded models' runtime needs.",
            "Use a cloud provider, or a local server such as Ollama.",
        )
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        import xllamacpp
    except ImportError as error:
        raise NoProvider(
            "The runtime of embedded models is not installed.", "pip install 'chat-loop[local]'"
        ) from error
    context = min(ask.context, header.context or ask.context)
    try:
        return xllamacpp.Server(_params(xllamacpp.CommonParams(), ask, context)), context
    except RuntimeError as error:
        raise ProviderError(
            f"The embedded model {path} cannot be loaded: the file is damaged or cut off, its "
            f"architecture ({header.architecture}) is unknown to the runtime, or memory is short.",
            "Install the model again, or choose a smaller one.",
        ) from error


def _params(params: Any, ask: Ask, context: int) -> Any:
    params.model.path = ask.path
    params.n_ctx = context
    params.n_batch = params.n_ubatch = 128
    params.n_parallel = 1
    params.cache_ram_mib = 512
    params.no_extra_bufts = True
    params.fit_params = False
    params.warmup = False
    params.verbosity = -1
    # The server always opens a port on 127.0.0.1; nobody gets the key.
    params.api_keys = [secrets.token_urlsafe(32)]
    params.n_threads_http = 1
    params.endpoint_slots = False
    params.ui = False
    cores = usable_cores()
    spare = cores if cores <= 2 else cores - 1  # the terminal stays quick
    params.cpuparams.n_threads = ask.threads or min(spare, 8)  # more are of no use
    params.cpuparams_batch.n_threads = ask.threads or spare
    return params


if __name__ == "__main__":
    main()
