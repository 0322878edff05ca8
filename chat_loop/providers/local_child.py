"""The process of one embedded model: loads a file and answers requests, one line of JSON each,
until its input ends.

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

from chat_loop.errors import ModelError, ModelNotFound, NoProvider, ProviderError, RequestRejected
from chat_loop.models.cpu import runs_embedded_models, usable_cores
from chat_loop.models.gguf import read_header


class Ask(msgspec.Struct, omit_defaults=True):
    """A line to the child: load this model unless it is loaded, and answer `body`, if there is one.

    `stop` is the number of an earlier request that is to end; nothing else then counts.
    """

    number: int = 0
    path: str = ""
    context: int = 0
    threads: int | None = None
    body: dict[str, Any] | None = None
    stop: int = 0


class Answer(msgspec.Struct, omit_defaults=True):
    """A line from the child: a `chunk` of the answer to a request, or its end.

    `context`: the tokens that are loaded. `error` names a class of `chat_loop.errors`.
    """

    context: int = 0
    chunk: Any = None
    ended: bool = False
    error: str = ""
    message: str = ""
    hint: str = ""


class _Child:
    def __init__(self, out: int) -> None:
        self._out = out
        self._asked: queue.SimpleQueue[Ask] = queue.SimpleQueue()
        self._stopped = 0
        """The number of the last request that is to end."""
        self._server: Any = None
        self._context = 0

    def listen(self) -> None:
        """Read what is asked. When the input ends, whoever asked has gone: the process goes too."""
        for line in sys.stdin.buffer:
            ask = msgspec.json.decode(line, type=Ask)
            if ask.stop:
                self._stopped = ask.stop
            else:
                self._asked.put(ask)
        os._exit(0)

    def answer(self) -> None:
        """Answer what is asked, one request after the other."""
        while True:
            ask = self._asked.get()
            end = Answer(ended=True)
            try:
                if self._server is None:
                    self._load(ask)
                self._send(Answer(context=self._context))
                if ask.body is not None and self._stopped != ask.number:
                    self._generate(ask.number, ask.body)
            except ProviderError as error:
                kind, message, hint = type(error).__name__, error.message, error.hint
                end = Answer(ended=True, error=kind, message=message, hint=hint)
            self._send(end)

    def _send(self, answer: Answer) -> None:
        data = msgspec.json.encode(answer) + b"\n"
        try:
            while data:
                data = data[os.write(self._out, data) :]
        except OSError:  # nobody listens any more
            os._exit(0)

    def _generate(self, number: int, body: dict[str, Any]) -> None:
        def callback(chunk: object) -> bool:
            """Return True to stop the generation at once."""
            if self._stopped != number:
                self._send(Answer(chunk=chunk))
            return self._stopped == number

        try:
            self._server.handle_chat_completions(body, callback)
        except (RuntimeError, ValueError) as error:
            raise RequestRejected(f"The embedded model's runtime failed: {error}") from error

    def _load(self, ask: Ask) -> None:
        path = Path(ask.path)
        if not path.is_file():
            hint = "chat-loop models list shows the embedded models."
            raise ModelNotFound(f"There is no model file {path}.", hint)
        try:
            header = read_header(path)
        except ModelError as error:
            raise ProviderError(error.message, error.hint) from error
        if not header.chat_template:
            raise ProviderError(
                f"{path} is a base model without a chat template: it cannot hold a conversation.",
                "Choose an instruct or chat variant of the model.",
            )
        self._context = min(ask.context, header.context or ask.context)
        runtime = _runtime()
        try:
            # Bring the file into the system's cache: meanwhile the end of the input is noticed,
            # while it is loaded not.
            with path.open("rb", buffering=0) as file:
                buffer = bytearray(4 << 20)
                while file.readinto(buffer):
                    pass
            self._server = runtime.Server(_params(runtime, ask, self._context))
        except OSError as error:
            raise ProviderError(f"{path} cannot be read: {error.strerror or error}.") from error
        except RuntimeError as error:
            raise ProviderError(
                f"The embedded model {path} cannot be loaded: the file is damaged or cut off, "
                f"its architecture ({header.architecture}) is unknown to the runtime, or memory is "
                "short.",
                "Install the model again, or choose a smaller one.",
            ) from error


def _runtime() -> Any:
    """Import xllamacpp, an optional package."""
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
    return xllamacpp


def _params(runtime: Any, ask: Ask, context: int) -> Any:
    params = runtime.CommonParams()
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


def main() -> None:
    """Take JSON on standard input and write JSON on what was standard output: nothing else can be
    printed there.
    """
    out = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    child = _Child(out)
    threading.Thread(target=child.listen, daemon=True, name="listen").start()
    child.answer()


if __name__ == "__main__":
    main()
