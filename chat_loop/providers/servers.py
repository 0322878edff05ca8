"""Ask servers for their models and windows, each for at most a few seconds."""

from __future__ import annotations

import json
import re
import socket
from contextlib import suppress
from functools import reduce
from threading import Timer
from urllib.parse import quote, urlsplit

from msgspec import Struct

from chat_loop.providers import capabilities
from chat_loop.providers.capabilities import Capabilities, list_at, text_at, value_at

CONNECT_SECONDS = 1.0  # for a connection, and for each part of an answer
LARGEST_ANSWER = 32 << 20  # bytes: a list of 100,000 models has about 10 million
ANSWER_SECONDS = 2.0  # for one answer, from the first byte to the last


def host_and_port(address: str) -> tuple[str, int]:
    """Return the host and port of a server's address, or ("", 0) if it is not one."""
    try:
        parts = urlsplit(address)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return "", 0
    if parts.scheme in ("http", "https"):
        return (parts.hostname or "", port)
    return ("", 0)


def without_credentials(address: str) -> str:
    """Return an address without the name, password and query that it may contain."""
    return re.sub(r"(?s)\A([^/@]*//)?.*@", r"\1", address.partition("?")[0])


def is_local_address(address: str) -> bool:
    """Return True for an address on this machine."""
    return host_and_port(address)[0] in ("127.0.0.1", "localhost", "::1")


def accepts_connections(address: str) -> bool:
    """Return True if a server accepts connections at `address`."""
    host, port = host_and_port(address)
    try:
        socket.create_connection((host, port), timeout=CONNECT_SECONDS).close()
    except (OSError, UnicodeError):
        return False
    return bool(host)


class Server(Struct, frozen=True):
    """An OpenAI-compatible server as it describes itself."""

    models: tuple[str, ...] = ()  # the names of its chat models
    loading: bool = False  # it is running, but still loading its model


def server_at(address: str, key: str = "") -> Server | None:
    """Return the server at `address`, which usually ends in /v1, or None if there is none."""
    if not accepts_connections(address):
        return None
    status, answer = _answer(address, "/models", key)
    if status == 503:
        return Server(loading=True)
    if not isinstance(value_at(answer, "data"), list):
        return None
    names = [text_at(entry, "id") for entry in list_at(answer, "data")]
    names = [name for name in names if name.isprintable() and 0 < len(name) <= 200]
    return Server(tuple(name for name in names if "embed" not in name.lower()))


def capabilities_at(address: str, model: str, key: str = "") -> Capabilities:
    """Ask Ollama, LM Studio or llama-server on this machine what `model` takes there."""
    _, models = _answer(address, "/models", key)
    if not isinstance(value_at(models, "data"), list):
        return Capabilities()
    root = root_of(address)
    processes = list_at(_answer(root, "/api/ps", key)[1], "models")
    names = (model, f"{model}:latest")
    answers = (
        next((process for process in processes if text_at(process, "name") in names), None),
        _answer(root, "/api/show", key, {"model": model})[1],
        _answer(root, f"/api/v0/models/{quote(model)}", key)[1],
        _answer(root, "/props", key)[1],
        capabilities.entry_of_model(models, model),
    )
    return reduce(Capabilities.with_fallback, map(capabilities.from_answer, answers))


def root_of(address: str) -> str:
    """Return the address without /v1, where servers have their own interfaces."""
    return address.rstrip("/").removesuffix("/v1")


def _answer(address: str, path: str, key: str, body: object = None) -> tuple[int, object]:
    """Return the status and JSON of an answer, or (0, None) if there is none."""
    from http.client import HTTPConnection, HTTPException, HTTPSConnection  # if one listens

    parts = urlsplit(address)
    host, port = host_and_port(address)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(host, port, timeout=CONNECT_SECONDS)

    def give_up() -> None:
        with suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)

    # a server that sends a byte now and then would never time out
    limit = Timer(ANSWER_SECONDS, give_up)
    limit.daemon = True
    try:
        connection.connect()
        limit.start()
        data = None
        if body is not None:
            data = json.dumps(body).encode()
        headers = {}
        if key:
            headers = {"Authorization": f"Bearer {key}"}
        method = "GET" if data is None else "POST"
        connection.request(method, f"{parts.path.rstrip('/')}{path}", data, headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read(LARGEST_ANSWER))
    except (OSError, HTTPException, ValueError, RecursionError):
        return 0, None
    finally:
        limit.cancel()
        connection.close()
