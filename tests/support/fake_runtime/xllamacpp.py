"""A replacement for the runtime of embedded models: it does what the last message says, and records
the id of each process.

If the folder FAKE_RUNTIME contains a named pipe `hold`, a model is loaded only when somebody opens
the pipe for writing. Until then the runtime keeps the interpreter's lock, as the real one does.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

FOLDER = Path(os.environ["FAKE_RUNTIME"])


class CommonParams(SimpleNamespace):
    def __init__(self) -> None:
        super().__init__(
            model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace()
        )


class Server:
    def __init__(self, params: CommonParams) -> None:
        with (FOLDER / "processes").open("a") as file:
            file.write(f"{os.getpid()}\n")
        if (FOLDER / "hold").exists():
            ctypes.PyDLL(None).open(
                os.fsencode(FOLDER / "hold"), os.O_RDONLY
            )  # PyDLL keeps the lock
        os.write(1, b"NOISE on standard output\n")
        os.write(2, b"NOISE on standard error\n")

    def handle_chat_completions(
        self, body: dict[str, Any], callback: Callable[[object], bool]
    ) -> None:
        wanted = body["messages"][-1]["content"]
        for word in ("You ", "said: ", wanted):
            if callback({"choices": [{"delta": {"content": word}}]}):
                return
        if wanted == "crash":
            os.kill(os.getpid(), signal.SIGKILL)
        if wanted == "stall":
            while not callback({"choices": []}):
                threading.Event().wait(0.01)
            return
        usage = {"prompt_tokens": 3, "completion_tokens": 3}
        callback({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage})
