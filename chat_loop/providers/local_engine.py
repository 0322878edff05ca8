"""The embedded model's runtime, blocking: loads a file, runs one request at a time, frees everything in time.

xllamacpp is llama.cpp's server as a library. What is set here and why was measured with release 2026.10: OpenMP's
spinning barriers make it 4 to 20 times slower as soon as another process wants a core; `no_extra_bufts` saves a third
of the memory at equal speed; without `fit_params` it loads in half the time; batches of 128 tokens are as fast as 2048
and let a request be cancelled between them.
"""

from __future__ import annotations

import atexit
import os
import secrets
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chat_loop.errors import ModelError, ModelNotFound, NoProvider, ProviderError, RequestRejected
from chat_loop.models.cpu import runs_embedded_models, usable_cores
from chat_loop.models.gguf import Header, read_header

if TYPE_CHECKING:
    import xllamacpp

_BATCH = 128
_PROMPT_CACHE_MIB = 512
_MOST_USEFUL_THREADS = 8
_EXIT_SECONDS = 30.0
_CHUNK = 4 << 20

Forward = Callable[[object], bool]
"""Takes a chunk, then at the end a ProviderError or None. Returns False to stop the generation."""


class Engine:
    """One model file. All methods may be called from any thread; one request or load runs at a time."""

    def __init__(self, path: Path, *, context: int, threads: int | None) -> None:
        self._path = path
        self._threads = threads
        self._lock = threading.Lock()
        self._leaving = threading.Event()
        self._server: Any = None
        self.context = context
        """Tokens to load; lowered to what the model was trained for once that is known."""

    def load(self) -> None:
        """Load the model unless it is loaded. Raises ProviderError."""
        with self._lock:
            self._load()

    def run(self, body: dict[str, object], forward: Forward, cancelled: threading.Event) -> None:
        """Answer one request of OpenAI's chat form; chunks and the end go to `forward`. Raises nothing."""
        with self._lock:
            try:
                if not cancelled.is_set():
                    self._load()
                    self._generate(body, forward, cancelled)
            except ProviderError as error:
                forward(error)
            else:
                forward(None)

    def free(self) -> None:
        """Stop what runs and give the memory back."""
        self._leaving.set()
        with self._lock:
            self._drop()
            self._leaving.clear()

    def _generate(self, body: dict[str, object], forward: Forward, cancelled: threading.Event) -> None:
        def callback(chunk: object) -> bool:
            """True stops the generation at once."""
            return cancelled.is_set() or self._leaving.is_set() or not forward(chunk)

        try:
            self._server.handle_chat_completions(body, callback)
        except RuntimeError as error:
            raise RequestRejected(f"The embedded model's runtime failed: {error}") from error

    def _load(self) -> None:
        if self._server is not None:
            return
        if self._leaving.is_set():
            raise ProviderError("The embedded model is being closed.")
        header = self._checked()
        self.context = min(self.context, header.context or self.context)
        runtime = _runtime()
        _read_ahead(self._path)
        try:
            server = runtime.Server(self._params(runtime))
        except RuntimeError as error:
            raise ProviderError(
                f"The embedded model {self._path} cannot be loaded: the file is damaged or cut off, its architecture"
                f" ({header.architecture}) is unknown to the runtime, or memory is short.",
                "Install the model again, or choose a smaller one.",
            ) from error
        # An answer proves that the server's own loop runs. Freed before that, it would wait for the loop forever.
        server.handle_metrics()
        self._server = server
        atexit.register(self._leave)

    def _checked(self) -> Header:
        if not self._path.is_file():
            raise ModelNotFound(
                f"There is no model file {self._path}.", "chat-loop models list shows the embedded models."
            )
        try:
            header = read_header(self._path)
        except ModelError as error:
            raise ProviderError(error.message, error.hint) from error
        if not header.chat_template:
            raise ProviderError(
                f"{self._path} is a base model without a chat template: it cannot hold a conversation.",
                "Choose an instruct or chat variant of the model.",
            )
        return header

    def _params(self, runtime: Any) -> xllamacpp.CommonParams:
        params = runtime.CommonParams()
        params.model.path = str(self._path)
        params.n_ctx = self.context
        params.n_batch = params.n_ubatch = _BATCH
        params.n_parallel = 1
        params.cache_ram_mib = _PROMPT_CACHE_MIB
        params.no_extra_bufts = True
        params.fit_params = False
        params.warmup = False
        params.verbosity = -1
        # The server always opens a port on 127.0.0.1; nobody gets the key.
        params.api_keys = [secrets.token_urlsafe(32)]
        params.n_threads_http = 1
        params.endpoint_slots = False
        params.endpoint_metrics = True
        params.ui = False
        cores = usable_cores()
        spare = cores if cores <= 2 else cores - 1  # the terminal stays quick
        params.cpuparams.n_threads = self._threads or min(spare, _MOST_USEFUL_THREADS)
        params.cpuparams_batch.n_threads = self._threads or spare
        return params

    def _drop(self) -> None:
        if self._server is not None:
            self._server = None  # the last reference: the library's destructor ends its threads
            atexit.unregister(self._leave)

    def _leave(self) -> None:
        """At exit: a generation still running in a thread would crash the dying interpreter."""
        self._leaving.set()
        if self._lock.acquire(timeout=_EXIT_SECONDS):
            self._server = None
            self._lock.release()


def _runtime() -> Any:
    """xllamacpp, imported late: it takes 60 ms and is an optional package."""
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


def _read_ahead(path: Path) -> None:
    """Bring the file into the system's cache: reading leaves the interpreter to others, loading from disk would not."""
    try:
        with path.open("rb", buffering=0) as file:
            buffer = bytearray(_CHUNK)
            while file.readinto(buffer):
                pass
    except OSError as error:
        raise ProviderError(f"{path} cannot be read: {error.strerror or error}.") from error
