"""Ask servers who they are, what they serve and what their models take, each in at most a few
seconds.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeGuard
from urllib.parse import quote, urlsplit, urlunsplit

from msgspec import Struct

from chat_loop.providers.capabilities import (
    NOTHING,
    Capabilities,
    described,
    listed,
    loaded,
    running,
)

CONNECT_SECONDS = 0.2
"""For a server on this machine, which answers at once or not at all."""
FAR_SECONDS = 2.0
LONGEST_NAME = 200
"""Characters of a model's name."""
EMBEDS = "embed"
"""In the names of models that answer nothing."""
ANSWER_SECONDS = 2.0
"""For one answer of a server of this machine, from the first byte to the last."""
LOADING = 503
"""The status of a llama-server that loads its model."""
OLLAMA, LM_STUDIO, LLAMA, VLLM = "Ollama", "LM Studio", "llama.cpp", "vLLM"
_OWNERS = {"library": OLLAMA, "organization_owner": LM_STUDIO, "llamacpp": LLAMA, "vllm": VLLM}
"""What servers say whose a model is -> their software."""
_MARKS = {"llama.cpp": LLAMA, "ollama": OLLAMA, "vllm": VLLM}
"""What the header Server begins with, in lower case -> the software."""
_MAX_ANSWER = 4 << 20


def place_of(address: str) -> tuple[str, int]:
    """Host and port of a server's address; ("", 0) when it is none."""
    try:
        parts = urlsplit(address)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return "", 0
    return (parts.hostname or "", port) if parts.scheme in ("http", "https") else ("", 0)


def shown(address: str) -> str:
    """An address as it may be shown: without the name, password and query that it may hold."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return address.partition("?")[0].rpartition("@")[2]
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def is_near(address: str) -> bool:
    """Whether an address is on this machine."""
    return place_of(address)[0] in ("127.0.0.1", "localhost", "::1")


def is_foreign(address: str, sockets: Path) -> bool:
    """Whether another user of this machine listens at an address of it, as far as the system tells.

    `sockets` is the folder where Linux tells: each listening socket with its user's id. Root and
    the users of services are others as well.
    """
    port, own = place_of(address)[1], getattr(os, "getuid", int)()
    owners: dict[bool, set[str]] = {True: set(), False: set()}
    for name in ("tcp", "tcp6"):
        try:
            lines = (sockets / name).read_bytes().decode("ascii", "replace").splitlines()[1:]
        except OSError:
            continue  # another system
        for fields in map(str.split, lines):
            if len(fields) > 7 and fields[3] == _LISTENS:
                host, _, at = fields[1].rpartition(":")
                if at == f"{port:04X}" and (host in _LOOPBACK or not host.strip("0")):
                    owners[host in _LOOPBACK].add(fields[7])
    listening = (
        owners[True] or owners[False]
    )  # the socket of the very address counts before one of all addresses
    return bool(listening - {str(own)})


_LISTENS = "0A"
_LOOPBACK = ("0100007F", "7F000001", "0000000000000000FFFF00000100007F")
"""127.0.0.1 as Linux writes it, on machines of either byte order, and inside an address of IPv6."""


def listens(address: str) -> bool:
    """Whether anybody accepts a connection there."""
    host, port = place_of(address)
    if not host:
        return False
    try:
        socket.create_connection(
            (host, port), timeout=CONNECT_SECONDS if is_near(address) else FAR_SECONDS
        ).close()
    except (OSError, UnicodeError):
        return False
    return True


class Server(Struct, frozen=True, kw_only=True):
    """What an OpenAI-compatible server says of itself. `entries` are what it lists of its
    models.
    """

    entries: tuple[Mapping[str, object], ...] = ()
    software: str = ""
    """Its name, "" where it does not say it."""
    loading: bool = False
    """It runs, and loads its model still."""

    @property
    def models(self) -> tuple[str, ...]:
        """The names of those that one can talk to."""
        names = (entry.get("id") for entry in self.entries)
        return tuple(name for name in names if _is_sayable(name) and EMBEDS not in name.lower())

    def entry(self, model: str) -> Mapping[str, object]:
        """What it lists of `model`; a server with one model answers with it, whatever name is asked
        for.
        """
        return next((entry for entry in self.entries if entry.get("id") == model), self._only)

    @property
    def _only(self) -> Mapping[str, object]:
        return self.entries[0] if len(self.entries) == 1 and self.software == LLAMA else {}


def server_at(address: str, key: str = "") -> Server | None:
    """Ask who listens at `address`, which usually ends in /v1; None when nobody does or it is no
    such server.
    """
    if not listens(address):
        return None
    status, software, answer = _answer(address, "/models", key)
    models = answer.get("data") if isinstance(answer, dict) else None
    if status == LOADING:
        return Server(software=software, loading=True)
    if not isinstance(models, list):
        return None
    entries = tuple(model for model in models if isinstance(model, dict))
    owners = {str(entry.get("owned_by")) for entry in entries}
    told = next((name for owner, name in _OWNERS.items() if owner in owners), "")
    return Server(entries=entries, software=told or software)


def served_model(address: str) -> str:
    """The first model to talk to that an OpenAI-compatible server offers, or ""."""
    server = server_at(address)
    return next(iter(server.models), "") if server is not None else ""


def capabilities_at(address: str, model: str, provider: str, key: str = "") -> Capabilities:
    """Ask a server of this machine what `model` takes there; nothing where it does not say it."""
    server = server_at(address, key)
    if server is None:
        return NOTHING
    root = root_of(address)
    told = listed(server.entry(model))
    if provider == "ollama" or server.software == OLLAMA:
        shown = described(_answer(root, "/api/show", key, {"model": model})[2])
        return running(_answer(root, "/api/ps", key)[2], model).over(shown).over(told)
    if provider == "lmstudio" or server.software == LM_STUDIO:
        return listed(_answer(root, f"/api/v0/models/{quote(model)}", key)[2]).over(told)
    if provider == "llama-server" or server.software == LLAMA:
        return loaded(_answer(root, "/props", key)[2]).over(told)
    return told


def root_of(address: str) -> str:
    """The address without /v1: servers have interfaces of their own there."""
    return address.rstrip("/").removesuffix("/v1")


def _answer(address: str, path: str, key: str, body: object = None) -> tuple[int, str, object]:
    """Status, software and JSON of an answer; (0, "", None) for none. Takes at most
    `ANSWER_SECONDS`.
    """
    import json  # only when something listens
    from http.client import HTTPConnection, HTTPException, HTTPSConnection
    from threading import Timer

    parts = urlsplit(address)
    host, port = place_of(address)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(host, port, timeout=1.0)
    headers = {"Authorization": f"Bearer {key}"} if key else {}

    def give_up() -> None:
        with suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)

    limit = Timer(
        ANSWER_SECONDS, give_up
    )  # a server that sends a byte now and then would never time out
    limit.daemon = True
    try:
        connection.connect()
        limit.start()
        data = None if body is None else json.dumps(body).encode()
        connection.request(
            "GET" if data is None else "POST", f"{parts.path.rstrip('/')}{path}", data, headers
        )
        response = connection.getresponse()
        said = response.headers.get("Server", "").partition("/")[0].lower()
        software = next((name for mark, name in _MARKS.items() if said.startswith(mark)), "")
        answer = json.loads(response.read(_MAX_ANSWER))
    except (OSError, HTTPException, ValueError, RecursionError):
        return 0, "", None
    finally:
        limit.cancel()
        connection.close()
    return response.status, software, answer


def _is_sayable(name: object) -> TypeGuard[str]:
    return isinstance(name, str) and name.isprintable() and 0 < len(name) <= LONGEST_NAME
