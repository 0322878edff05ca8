"""The keys that are typed before the editor is loaded: echoed at once, and kept for it.

A thread reads them while the main thread loads modules. It shows only what the editor will show in
the same place. The first key that does more than type ends the echo, until the editor draws.
"""

from __future__ import annotations

import _thread  # all that `threading` needs takes longer to load than the first keys may wait
import codecs
import contextlib
import os
import select
import sys

_PIECE = 4096  # bytes
_REST_SECONDS = 0.05
"""How long the rest of a character may take."""


class KeysAhead:
    """Reads the keys of the terminal `descriptor` until `take`. Echoes what is typed, as far as
    `room` columns have place for it.
    """

    def __init__(self, descriptor: int, room: int) -> None:
        self._descriptor = descriptor
        self._room = room
        encoding = sys.stdin.encoding
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogateescape")
        self._typed = ""
        self._shown = ""
        self._echoes = True
        self._echo_lock = _thread.allocate_lock()
        self._running = _thread.allocate_lock()
        self._woken, self._waker = os.pipe()
        self._running.acquire()
        try:
            _thread.start_new_thread(self._read, ())
        except RuntimeError:  # too many threads: the keys wait in the terminal
            self._running.release()

    @property
    def width(self) -> int:
        """The most columns that the echo may take."""
        return sum(_width(sign) for sign in self._shown)

    def stop_echo(self) -> None:
        """Echo nothing from now on."""
        with self._echo_lock:
            self._echoes = False

    def take(self) -> str:
        """Stop reading, and return what was typed, once. Later keys wait in the terminal."""
        if self._waker >= 0:
            os.close(self._waker)
            self._waker = -1
            self._running.acquire()
            os.close(self._woken)
        with contextlib.suppress(OSError):
            while self._decoder.getstate()[0] and self._has_keys():
                self._typed += self._decoder.decode(os.read(self._descriptor, 1))
        typed = self._typed
        self._typed = ""
        return typed

    def _has_keys(self) -> bool:
        return bool(select.select([self._descriptor], [], [], _REST_SECONDS)[0])

    def _read(self) -> None:
        """Read and echo until `take` closes the pipe, or the terminal is gone."""
        sources = (self._descriptor, self._woken)
        try:
            while self._woken not in select.select(sources, (), ())[0]:
                data = os.read(self._descriptor, _PIECE)
                if not data:
                    return
                text = self._decoder.decode(data)
                self._typed += text
                with self._echo_lock:
                    self._echo(text)
        except OSError:  # the editor will find out, too
            return
        finally:
            self._running.release()

    def _echo(self, text: str) -> None:
        """Show `text` behind what is shown, unless it is more than characters and Backspace."""
        output = ""
        for sign in text:
            if not self._echoes:
                break
            if sign in "\b\x7f" and self._shown[-1:].isascii():
                if self._shown:
                    output += "\b \b"
                self._shown = self._shown[:-1]
            elif sign.isprintable() and self.width + _width(sign) < self._room:
                output += sign
                self._shown += sign
            else:
                self._echoes = False
        os.write(sys.stdout.fileno(), output.encode(sys.stdout.encoding, "replace"))


def _width(sign: str) -> int:
    """Return the most columns of a character. The tables of widths are not loaded yet."""
    return 1 if sign.isascii() else 2
