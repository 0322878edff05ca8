"""An Azure Blob Storage server on loopback: azurite (npm install -g azurite), which needs Node.js."""

from __future__ import annotations

import base64
import hashlib
import hmac
import importlib.util
import os
import re
import shutil
import subprocess
from contextlib import ExitStack
from email.utils import formatdate
from urllib.parse import urlencode
from urllib.request import Request, urlopen
from xml.etree import ElementTree

import pytest

from tests.support.dying_proxy import DyingProxy
from tests.support.ports import kept_port

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
