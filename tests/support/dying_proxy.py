"""A proxy on loopback that dies in one of its requests, as a server or a network does."""

from __future__ import annotations

import http.client
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class DyingProxy(ThreadingHTTPServer):
    """Passes requests to the server at `upstream`. It dies in request number `dies_at` at `stage`:
    0 and 1 before the server gets it, 2 before the answer, 3 in the middle of the answer.
    """

    daemon_threads = True

    def __init__(self, port: int, upstream: int, dies_at: int = 0, stage: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.upstream = upstream
        self.is_dead = False
        self._death = (dies_at, max(stage, 1))
        self._number = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self.serve_forever, args=[0.01], daemon=True)
        self._thread.start()

    def next_number(self) -> int:
        """Return the number of the present request, from 1."""
        with self._lock:
            self._number += 1
            return self._number

    def reach(self, number: int, stage: int) -> None:
        """Die if it is time. Raises ConnectionAbortedError if the proxy is dead."""
        if self._death == (number, stage):
            self.kill()
        if self.is_dead:
            raise ConnectionAbortedError

    def kill(self) -> None:
        """Answer nobody from now on."""
        self.is_dead = True
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: DyingProxy

    def _pass_on(self) -> None:
        self.close_connection = True  # so that a dead proxy holds no connection
        number = self.server.next_number()
        with suppress(OSError):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.server.reach(number, 1)
            upstream = http.client.HTTPConnection("127.0.0.1", self.server.upstream, timeout=60)
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                upstream.putheader(name, value)
            upstream.endheaders(body)
            answer = upstream.getresponse()
            data = answer.read()
            upstream.close()
            self.server.reach(number, 2)
            self.send_response_only(answer.status, answer.reason)
            for name, value in answer.getheaders():
                if name.lower() not in ("connection", "transfer-encoding", "keep-alive"):
                    self.send_header(name, value)
            if "Content-Length" not in answer.headers and answer.status != 204:
                self.send_header("Content-Length", str(len(data)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(data[: len(data) // 2])
            self.server.reach(number, 3)
            self.wfile.write(data[len(data) // 2 :])

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _pass_on  # noqa: N815 - names of the library

    def log_message(self, *_: object) -> None:
        """Write nothing."""
