"""Ports of this machine: closed and kept ones, and servers that give any answer."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

from benchmarks.support.loopback import Loopback


def port_of(server: Loopback) -> int:
    return int(server.url.rpartition(":")[2])


@cache
def closed_port() -> int:
    """Return a port at which nobody listens until this process ends. It stays bound, so that no
    other process can get it for a server or for a connection.
    """
    holder = socket.socket()
    holder.bind(("127.0.0.1", 0))
    port = int(holder.getsockname()[1])
    holder.detach()
    return port


@contextmanager
def kept_port() -> Iterator[int]:
    """Yield a port for servers of this test, which may start and stop. In between, a connection is
    refused, and no other process gets the port.
    """
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # the servers set it as well
        holder.bind(("127.0.0.1", 0))
        port = int(holder.getsockname()[1])
        if sys.platform != "linux":  # a server cannot listen at a port that is bound
            holder.close()
        yield port


@contextmanager
def answering(answer: bytes | None) -> Iterator[int]:
    """A server that sends `answer` to every client and then closes the connection. With None it
    sends nothing and keeps the first connection open until the end of the block, for a minute at
    most.
    """
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    if answer is None:
                        done.wait(60)
                        return
                    if connection.recv(4096):
                        with suppress(OSError):
                            connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            done.set()
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            thread.join(60)
            assert not thread.is_alive()
