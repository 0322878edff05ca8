"""An Azure Blob Storage server on loopback: azurite (npm install -g azurite), which needs Node.js."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import importlib.util
import os
import re
import shutil
import subprocess
import threading
from contextlib import ExitStack, suppress
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlencode
from urllib.request import Request, urlopen
from xml.etree import ElementTree

import pytest

from tests.support.ports import kept_port


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


CONTAINER = "chats"
ACCOUNT = "team"
KEY = base64.b64encode(b"the key of a server on loopback").decode()


class AzureServer:
    """A server behind a proxy. After `kill` and `start` its port and objects are the same."""

    scheme = "az"

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._upstream = 0
        self._port = 0
        self._proxy: DyingProxy | None = None

    @staticmethod
    def require() -> None:
        """Skip the test without the server."""
        if shutil.which("azurite-blob") is None:
            pytest.skip("No Azure server: azurite-blob is not on the PATH.")
        if importlib.util.find_spec("obstore") is None:
            pytest.skip("No Azure client: obstore is not installed (the extra test has it).")

    def start(self, dies_at: int = 0, stage: int = 0) -> None:
        """Let clients reach the server, until request number `dies_at` at `stage`, as S3Server."""
        self._proxy = DyingProxy(self._port, self._upstream, dies_at, stage)

    @property
    def is_dead(self) -> bool:
        """Return True when nobody reaches the server."""
        return self._proxy is None or self._proxy.is_dead

    def kill(self) -> None:
        """Let nobody reach the server."""
        if self._proxy is not None and not self._proxy.is_dead:
            self._proxy.kill()

    def __enter__(self) -> AzureServer:
        command = shutil.which("azurite-blob")
        assert command is not None
        process = subprocess.Popen(
            [command, "--blobPort", "0", "--inMemoryPersistence", "--disableTelemetry"],
            stdout=subprocess.PIPE,
            env=os.environ | {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}"},
            text=True,
        )
        self._stack.callback(process.communicate)
        self._stack.callback(process.kill)
        assert process.stdout is not None
        lines = (re.search(r"listens on http://\S+:([1-9]\d*)", line) for line in process.stdout)
        self._upstream = int(next(match[1] for match in lines if match))
        _request(self._upstream, "PUT", CONTAINER, restype="container")
        self._port = self._stack.enter_context(kept_port())
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._stack.close()

    def environment(self) -> dict[str, str]:
        """Return the environment variables that a program needs to use the server."""
        return {
            "AZURE_STORAGE_USE_EMULATOR": "true",
            "AZURITE_BLOB_STORAGE_URL": f"http://127.0.0.1:{self._port}",
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": KEY,
        }

    def objects(self, prefix: str = "") -> dict[str, bytes]:
        """Return the objects whose keys begin with `prefix`, by the rest of their keys."""
        listing = _request(self._upstream, "GET", CONTAINER, comp="list", restype="container")
        names = [name.text or "" for name in ElementTree.fromstring(listing).iter("Name")]
        return {
            name.removeprefix(prefix): _request(self._upstream, "GET", f"{CONTAINER}/{name}")
            for name in names
            if name.startswith(prefix)
        }


def _request(port: int, method: str, resource: str, **query: str) -> bytes:
    """Return the answer to a request that is signed as Azure documents Shared Key:
    https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
    """
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    signed = "".join(f"{name}:{value}\n" for name, value in headers.items())
    signed = f"{method}{12 * chr(10)}{signed}/{ACCOUNT}/{ACCOUNT}/{resource}"
    signed += "".join(f"\n{name}:{value}" for name, value in sorted(query.items()))
    code = hmac.new(base64.b64decode(KEY), signed.encode(), hashlib.sha256).digest()
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(code).decode()}"
    headers["Content-Length"] = "0"
    url = f"http://127.0.0.1:{port}/{ACCOUNT}/{resource}?{urlencode(query)}"
    with urlopen(Request(url, method=method, headers=headers)) as answer:
        return bytes(answer.read())
