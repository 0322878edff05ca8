"""A server with fixed answers for its paths, and a record of the requests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@contextmanager
def serving(answers: Mapping[str, object]) -> Iterator[tuple[str, list[str]]]:
    """Yield the address of a server and the list of paths that were requested. `answers` maps a
    path to JSON, to bytes, to a status with either, or to a function of the requests so far that
    returns one of these. Other paths get 404.
    """
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", "0")))
            asked.append(self.path)
            said = answers.get(self.path)
            said = said(asked) if callable(said) else said
            status, said = said if isinstance(said, tuple) else (404 if said is None else 200, said)
            body = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header(
                "Content-Type",
                "text/event-stream" if isinstance(said, bytes) else "application/json",
            )
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the standard library's name

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
            """Print nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Ignore errors: a client may leave."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join(60)
