"""The embedded model's process, seen from here: started when it is needed, asked, stopped, and
ended with the program.

The runtime holds the interpreter while it loads a model; in a process of its own (`local_child`) no
key waits for it, its memory is given back at once, and what makes it crash ends one reply, not the
chat.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO

import msgspec

from chat_loop.errors import ModelNotFound, NoProvider, ProviderError, RequestRejected, os_reason
from chat_loop.providers.local_child import Ask, Told

_COMMAND = (sys.executable, "-P", "-m", "chat_loop.providers.local_child")
_ERRORS = {kind.__name__: kind for kind in (ModelNotFound, NoProvider, RequestRejected)}
_END_SECONDS = 5.0
"""How long a child whose output has ended may take to end itself."""

Forward = Callable[[object], bool]
"""Takes a chunk, then at the end a ProviderError or None. Returns False to stop the generation."""


class Engine:
    """One model file. All methods may be called from any thread; one request or load runs at a
    time.
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
        """Answer one request of OpenAI's chat form; chunks and the end go to `forward`. Raises
        nothing.
        """
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
        ask = Ask(self._number, str(self._path), self.context, self._threads, body)
        child = self._running()
        assert child.stdin
        assert child.stdout
        stopped = False
        try:
            _send(child.stdin, ask)
            while line := child.stdout.readline():
                told = msgspec.json.decode(line, type=Told)
                if told.ended:
                    break
                if told.context:
                    self.context, self._loaded = told.context, True
                elif not stopped and (
                    cancelled.is_set() or not forward(told.chunk) or cancelled.is_set()
                ):
                    stopped = True
                    _send(child.stdin, Ask(stop=self._number))
            else:
                raise self._gone(child)
        except OSError as error:  # its end of a pipe is closed
            raise self._gone(child) from error
        except UnicodeEncodeError as error:
            raise RequestRejected(
                "The request holds half a character, which cannot be encoded."
            ) from error
        if told.error:
            if not self._loaded:
                self._drop()
            raise _ERRORS.get(told.error, ProviderError)(told.message, told.hint)

    def _running(self) -> subprocess.Popen[bytes]:
        """Return the child, started where there is none."""
        if (
            self._child is not None and self._child.poll() is not None
        ):  # it ended while nobody asked
            self._drop()
        child = self._child or self._start()
        if self._closing:  # looked at last: `free` kills only a child that it sees
            self._kill()
        return child

    def _start(self) -> subprocess.Popen[bytes]:
        # The same places to import from, and never the working directory only because the child is
        # started in it.
        places = [*filter(None, sys.path), str(Path(__file__).parents[2])]
        try:
            self._child = subprocess.Popen(
                _COMMAND,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
                start_new_session=True,  # Ctrl-C and Ctrl-Z of the terminal are not for it
            )
        except OSError as error:
            raise ProviderError(
                f"The embedded model cannot be started: {os_reason(error)}."
            ) from error
        atexit.register(self._leave)
        return self._child

    def _gone(self, child: subprocess.Popen[bytes]) -> ProviderError:
        """Return the error for a child that ended while it was asked."""
        closing = self._closing
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(_END_SECONDS)
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
        child = self._child
        if child is not None:
            child.kill()  # it has nothing to save; the thread that asks it sees its end

    def _drop(self) -> None:
        child, self._child, self._loaded = self._child, None, False
        if child is not None:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                with contextlib.suppress(OSError):  # what was not sent is lost with its reader
                    if pipe is not None:
                        pipe.close()
            atexit.unregister(self._leave)

    def _leave(self) -> None:
        """At exit: the lock may be held by a thread that waits for the child."""
        self._kill()
        if self._child is not None:
            self._child.wait()


def _send(pipe: IO[bytes], ask: Ask) -> None:
    pipe.write(msgspec.json.encode(ask) + b"\n")
    pipe.flush()
