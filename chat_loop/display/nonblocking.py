"""Standard output that never waits for the terminal.

Bytes that a slow or stopped terminal does not accept are buffered, and the event loop writes them
later. Meanwhile a streaming reply is still read and saved, and Ctrl-C still stops it.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import sys
import time
from collections.abc import Iterator
from typing import Any, TextIO

CHUNK = 65536  # the most bytes in one write
PAUSE_SECONDS = 0.01  # before the next attempt to write the rest


class NonblockingTerminal(io.RawIOBase):
    """The terminal of `descriptor`, opened again because the shell shares that descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        try:
            self._output = _open_again(descriptor)
        except OSError:
            super().close()  # else the finalizer would close what was never opened
            raise
        self._buffer = bytearray()
        self._timer: asyncio.TimerHandle | None = None

    def fileno(self) -> int:
        """Return the original descriptor, through which others change the terminal's settings."""
        return self._descriptor

    def isatty(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Accept all of `data`. Raises OSError, possibly later, when the terminal is gone."""
        self._buffer += data
        if self._timer is None:
            self._write_rest()
        return len(data)

    def drain(self) -> None:
        """Wait until the terminal has taken everything, or is gone."""
        with contextlib.suppress(OSError):
            while self._buffer:
                self._write_some()
                time.sleep(PAUSE_SECONDS if self._buffer else 0)

    def close(self) -> None:
        """Close the descriptor that was opened here, and drop the buffered bytes."""
        if not self.closed:
            super().close()
            self._buffer.clear()
            os.close(self._output)

    def _write_rest(self) -> None:
        """Write as much as the terminal takes now; an event loop writes the rest a little later."""
        self._timer = None
        self._write_some()
        if self._buffer:
            with contextlib.suppress(RuntimeError):  # no loop: the next text or `drain` writes it
                loop = asyncio.get_running_loop()
                self._timer = loop.call_later(PAUSE_SECONDS, self._write_rest)

    def _write_some(self) -> None:
        try:
            while self._buffer:
                del self._buffer[: os.write(self._output, self._buffer[:CHUNK])]
        except BlockingIOError:
            pass
        except OSError:
            self._buffer.clear()
            raise


def _open_again(descriptor: int) -> int:
    """Return another descriptor of the same terminal. Raises OSError for anything else."""
    output = os.open(os.ttyname(descriptor), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    if os.fstat(output).st_rdev != os.fstat(descriptor).st_rdev:
        os.close(output)
        raise OSError("the terminal's name belongs to another one here")
    return output


@contextlib.contextmanager
def nonblocking_output() -> Iterator[None]:
    """Make standard output nonblocking if it is a terminal. Call `drain` before the end."""
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
    """Wait until the terminal has accepted all output."""
    stream.flush()
    raw = getattr(stream, "buffer", None)
    if isinstance(raw, NonblockingTerminal):
        raw.drain()
