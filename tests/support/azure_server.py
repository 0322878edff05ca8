"""An Azure Blob Storage server on loopback: azurite (npm install -g azurite), which needs Node.js."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from urllib.request import Request, urlopen

import pytest

CONTAINER = "chats"
ACCOUNT = "team"
KEY = base64.b64encode(b"the key of a server on loopback").decode()


@contextmanager
def azure_server() -> Iterator[dict[str, str]]:
    """Run a server with an empty container; yield the variables of a program that uses it."""
    command = shutil.which("azurite-blob")
    if command is None:
        pytest.skip("No Azure server: azurite-blob is not on the PATH.")
    process = subprocess.Popen(
        [command, "--blobPort", "0", "--inMemoryPersistence", "--disableTelemetry"],
        stdout=subprocess.PIPE,
        env=os.environ | {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}"},
        text=True,
    )
    try:
        assert process.stdout is not None
        lines = (re.search(r"listens on (http://\S+:[1-9]\d*)", line) for line in process.stdout)
        url = next(match[1] for match in lines if match)
        _create_container(url)
        yield {
            "AZURE_STORAGE_USE_EMULATOR": "true",
            "AZURITE_BLOB_STORAGE_URL": url,
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": KEY,
        }
    finally:
        process.kill()
        process.communicate()


def _create_container(url: str) -> None:
    """Create the container with a request that obstore lacks, signed as Azure documents Shared Key:
    https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
    """
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
    signed = "".join(f"{name}:{value}\n" for name, value in headers.items())
    signed = f"PUT{12 * chr(10)}{signed}/{ACCOUNT}/{ACCOUNT}/{CONTAINER}\nrestype:container"
    code = hmac.new(base64.b64decode(KEY), signed.encode(), hashlib.sha256).digest()
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(code).decode()}"
    headers["Content-Length"] = "0"
    container = f"{url}/{ACCOUNT}/{CONTAINER}?restype=container"
    with urlopen(Request(container, method="PUT", headers=headers)) as answer:
        assert answer.status == 201
