"""Standard output that waits for no terminal.

A terminal that is slow, or has stopped to read, makes a write wait; and with it everything, were it
not for this: the reply that streams is still read and saved, and Ctrl-C still stops it. What the
terminal does not take at once is kept, in its order, and written as it takes it.
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

MOST = 65536
"""Bytes that are offered to the terminal at once."""
_PAUSE_SECONDS = 0.01
_LOOK_SECONDS = 1.0


class _Patient(io.RawIOBase):
    """The terminal behind `descriptor`, by a descriptor of its own that never blocks: the other is
    the shell's as well.

    Raises OSError when there is no terminal, or it cannot be opened again.
    """

    def __init__(self, descriptor: int) -> None:
        self._stated = descriptor
        self._own = os.open(os.ttyname(descriptor), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
        if (
            os.fstat(self._own).st_rdev != os.fstat(descriptor).st_rdev
        ):  # the name is another terminal's here
            os.close(self._own)
            raise OSError("not the same terminal")
        self._changing = threading.Condition()
        self._kept = bytearray()
        self._problem: OSError | None = None

    def fileno(self) -> int:
        """The descriptor that was given: what others do to it does not concern the one that is
        written to.
        """
        return self._stated

    def isatty(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Take all of `data`. Raises OSError when the terminal is gone, which may be known only
        with a later piece.
        """
        with self._changing:
            if self._problem is not None:
                raise self._problem
            if self._kept:
                self._kept += data
                return len(data)
            taken = 0
            with contextlib.suppress(BlockingIOError):
                taken = os.write(self._own, data)  # nearly always all of it
            if taken < len(data):
                self._kept += data[taken:]
                threading.Thread(target=self._go_on, daemon=True, name="terminal").start()
        return len(data)

    def settle(self) -> None:
        """Wait until the terminal has taken everything, or is gone."""
        with self._changing:
            self._changing.wait_for(lambda: not self._kept)

    def close(self) -> None:
        """Give the descriptor back; what is still kept is given up."""
        if not self.closed:
            super().close()
            with self._changing:
                self._kept.clear()
                os.close(self._own)

    def _pass_on(self) -> bool:
        """Write what the terminal takes now; whether it took anything. Raises OSError."""
        taken = False
        while self._kept:
            try:
                count = os.write(self._own, self._kept[:MOST])
            except BlockingIOError:
                break
            del self._kept[:count]
            taken = True
        return taken

    def _go_on(self) -> None:
        with (
            selectors.DefaultSelector() as selector
        ):  # not select(): that takes no descriptor above 1023
            with self._changing:
                if self.closed:
                    return
                selector.register(self._own, selectors.EVENT_WRITE)
            while True:
                selector.select(_LOOK_SECONDS)  # nothing wakes it when the descriptor is closed
                with self._changing:
                    try:
                        taken = self._pass_on()
                    except OSError as error:
                        self._problem = error
                        self._kept.clear()
                    if not self._kept:
                        self._changing.notify_all()
                        return
                if not taken:  # it says that it has room, and has not enough of it
                    time.sleep(_PAUSE_SECONDS)


@contextlib.contextmanager
def unhurried_output() -> Iterator[None]:
    """Standard output waits for no terminal, for as long as the context lasts; nothing is done
    where it is none.

    What is still kept at the end is given up: `settle` waits for it.
    """
    real = sys.stdout
    try:
        raw = _Patient(real.fileno())
    except (
        OSError,
        AttributeError,
    ):  # no terminal, one that cannot be opened again, or a system without them
        yield
        return
    stream = io.TextIOWrapper(raw, real.encoding, real.errors, write_through=True)  # type: ignore[type-var]
    try:
        with contextlib.redirect_stdout(stream):
            yield
    finally:
        with contextlib.suppress(OSError):
            stream.close()


def settle(stream: TextIO) -> None:
    """Wait until the terminal has taken what was written: something else is about to write to it,
    or it is the end.
    """
    stream.flush()
    raw = getattr(stream, "buffer", None)
    if isinstance(raw, _Patient):
        raw.settle()
