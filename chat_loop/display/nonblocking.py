"""Standard output that never waits for the terminal.

Bytes that a slow or stopped terminal does not take at once are buffered, and a thread writes them
when it does: the reply that streams is still read and saved, and Ctrl-C still stops it.
"""

from __future__ import annotations

import contextlib
import io
import os
import selectors
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, TextIO

CHUNK = 65536  # bytes that are offered to the terminal at once
_PAUSE_SECONDS = 0.01
_POLL_SECONDS = 1.0


class NonblockingTerminal(io.RawIOBase):
    """The terminal behind `descriptor`, opened again, since the shell shares that one."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        try:
            self._output = _open_again(descriptor)
        except OSError:
            super().close()  # or the finalizer closes what was not opened
            raise
        self._changed = threading.Condition()
        self._buffer = bytearray()
        self._problem: OSError | None = None

    def fileno(self) -> int:
        """Return the descriptor that was given: settings that others change belong to it."""
        return self._descriptor

    def isatty(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Take all of `data`. Raises OSError, maybe later, when the terminal is gone."""
        with self._changed:
            if self._problem is not None:
                raise self._problem
            if self._buffer:
                self._buffer += data
                return len(data)
            written = 0
            with contextlib.suppress(BlockingIOError):
                written = os.write(self._output, data)  # nearly always all of it
            if written < len(data):
                self._buffer += data[written:]
                threading.Thread(target=self._write_rest, daemon=True, name="terminal").start()
        return len(data)

    def drain(self) -> None:
        """Wait until the terminal has taken everything, or is gone."""
        with self._changed:
            self._changed.wait_for(lambda: not self._buffer)

    def close(self) -> None:
        """Close the own descriptor; what is still buffered is dropped."""
        if not self.closed:
            super().close()
            with self._changed:
                self._buffer.clear()
                os.close(self._output)

    def _write_rest(self) -> None:
        # Not select(): that takes no descriptor above 1023.
        with selectors.DefaultSelector() as selector:
            with self._changed:
                if self.closed:
                    return
                selector.register(self._output, selectors.EVENT_WRITE)
            while True:
                selector.select(_POLL_SECONDS)  # nothing wakes it when the descriptor is closed
                before = len(self._buffer)
                with self._changed:
                    try:
                        while self._buffer:
                            del self._buffer[: os.write(self._output, self._buffer[:CHUNK])]
                    except BlockingIOError:
                        pass
                    except OSError as error:
                        self._problem = error
                        self._buffer.clear()
                    if not self._buffer:
                        self._changed.notify_all()
                        return
                if len(self._buffer) >= before:  # it says that it has room, and has too little
                    time.sleep(_PAUSE_SECONDS)


def _open_again(descriptor: int) -> int:
    """Return another descriptor of the same terminal. Raises OSError for anything else."""
    output = os.open(os.ttyname(descriptor), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    if os.fstat(output).st_rdev != os.fstat(descriptor).st_rdev:
        os.close(output)
        raise OSError("the terminal's name belongs to another one here")
    return output


@contextlib.contextmanager
def nonblocking_output() -> Iterator[None]:
    """Make standard output nonblocking where it is a terminal; `drain` it before the end."""
    real = sys.stdout
    try:
        raw = NonblockingTerminal(real.fileno())
    except OSError:  # no terminal
        yield
        return
    stream = io.TextIOWrapper(raw, real.encoding, real.errors, write_through=True)  # type: ignore[type-var]
    try:
        with contextlib.redirect_stdout(stream):
            yield
    finally:
        with contextlib.suppress(OSError):
            stream.close()


def drain(stream: TextIO) -> None:
    """Wait until the terminal has taken what was written."""
    stream.flush()
    raw = getattr(stream, "buffer", None)
    if isinstance(raw, NonblockingTerminal):
        raw.drain()
