"""The process of one embedded model, which `local` starts and talks to.

It loads the model and answers requests, one line of JSON each, until its input ends. Each chunk of
an answer is a line; a list ends the answer, with an error's class, message and hint if it failed.

xllamacpp is llama.cpp's server as a library. Its settings were measured with release 2026.10:
OpenMP's spinning barriers make it 4 to 20 times slower as soon as another process wants a core;
`no_extra_bufts` saves a third of the memory at equal speed; without `fit_params` it loads in half
the time; batches of 128 tokens are as fast as 2048 and let a request be canceled between them.
"""

from __future__ import annotations

import json
import os
import queue
import secrets
import sys
import threading
from pathlib import Path
from typing import Any

from chat_loop.errors import NoProvider, ProviderError, RequestRejected, install_hint


def main() -> None:
    """Answer requests. Only JSON reaches standard output; the runtime's own output is discarded."""
    path = sys.argv[1]
    context = int(sys.argv[2])
    threads = int(sys.argv[3])
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    bodies = queue.SimpleQueue[dict[str, object]]()
    stop = threading.Event()

    def send(value: object) -> bool:
        """Write a line; return True to stop the generation at once."""
        data = json.dumps(value).encode() + b"\n"
        try:
            while data and not (stop.is_set() and isinstance(value, dict)):
                data = data[out.write(data) or 0 :]
        except OSError:  # nobody is reading anymore
            os._exit(0)
        return stop.is_set()

    threading.Thread(target=listen, args=(bodies, stop), daemon=True).start()
    server = None
    while True:
        body = bodies.get()
        end: tuple[str, ...] = ()
        try:
            server = server or load(path, context, threads)
            if body and not stop.is_set():
                server.handle_chat_completions(body, send)
        except ProviderError as error:
            end = (type(error).__name__, error.message, error.hint)
        except (RuntimeError, ValueError) as error:
            message = f"The embedded model's runtime failed: {error}"
            end = (RequestRejected.__name__, message, "")
        send(end)


def listen(bodies: queue.SimpleQueue[dict[str, object]], stop: threading.Event) -> None:
    """Read requests from standard input. A null stops the running answer."""
    for line in sys.stdin.buffer:
        if (body := json.loads(line)) is None:
            stop.set()
        else:  # the last answer has ended, so a stop was meant for that one
            stop.clear()
            bodies.put(body)
    os._exit(0)  # the chat has ended


def load(path: str, context: int, threads: int) -> Any:
    """Load a model and return the runtime's server. If `threads` is 0, use as many as help."""
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    try:
        import xllamacpp
    except ImportError as error:
        what = "The runtime of embedded models is not installed."
        raise NoProvider(what, install_hint("local")) from error
    params = xllamacpp.CommonParams()
    params.model.path = path
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
    spare = cores if cores <= 2 else cores - 1  # to keep the terminal responsive
    params.cpuparams.n_threads = threads or min(spare, 8)  # more do not help
    params.cpuparams_batch.n_threads = threads or spare
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise ProviderError(
            f"The embedded model {path} cannot be loaded: the file is damaged or cut off, the "
            "runtime does not know its architecture, or memory is short.",
            "Install the model again, or choose a smaller one.",
        ) from error


def usable_cores() -> int:
    """Return the number of physical cores that affinity and cgroup quota allow this process."""
    siblings = Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology/thread_siblings_list")
    limits = [os.cpu_count() or 1, len({path.read_text("utf-8") for path in siblings})]
    if hasattr(os, "sched_getaffinity"):
        limits.append(len(os.sched_getaffinity(0)))
    quota = Path("/sys/fs/cgroup/cpu.max")  # such as "150000 100000" or "max 100000"
    share, _, period = (quota.read_text("utf-8") if quota.is_file() else "").partition(" ")
    if share.isdigit():
        limits.append(-(-int(share) // int(period)))
    return min(filter(None, limits))


if __name__ == "__main__":
    main()
