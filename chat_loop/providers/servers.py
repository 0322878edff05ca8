"""Ask servers who they are and what they serve, each in at most a few seconds."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Timer
from urllib.parse import quote, urlsplit, urlunsplit

from msgspec import Struct

from chat_loop.providers.answers import list_at, text_at, value_at
from chat_loop.providers.capabilities import (
    NO_CAPABILITIES,
    Capabilities,
    from_listing,
    from_ollama,
    from_props,
)

ANSWER_SECONDS = 2.0  # for one answer, from the first byte to the last
OLLAMA, LM_STUDIO, LLAMA, VLLM = "Ollama", "LM Studio", "llama.cpp", "vLLM"
_OWNERS = {"library": OLLAMA, "organization_owner": LM_STUDIO, "llamacpp": LLAMA, "vllm": VLLM}
"""The owner of a model in a list -> the server's software."""
_HEADERS = {"llama.cpp": LLAMA, "ollama": OLLAMA, "vllm": VLLM}
"""The beginning of the header Server, in lower case -> the software."""


def host_and_port(address: str) -> tuple[str, int]:
    """Return host and port of a server's address; ("", 0) when it is none."""
    try:
        parts = urlsplit(address)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return "", 0
    return (parts.hostname or "", port) if parts.scheme in ("http", "https") else ("", 0)


def without_credentials(address: str) -> str:
    """Return an address without the name, password and query that it may hold."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return address.partition("?")[0].rpartition("@")[2]
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def is_local_address(address: str) -> bool:
    """Return True for an address on this machine."""
    return host_and_port(address)[0] in ("127.0.0.1", "localhost", "::1")


def belongs_to_other_user(address: str, sockets: Path) -> bool:
    """Return True when another user listens at a local address, as far as Linux tells."""
    # 127.0.0.1 on machines of either byte order, and inside an address of IPv6
    loopback = ("0100007F", "7F000001", "0000000000000000FFFF00000100007F")
    owners: dict[bool, set[str]] = {True: set(), False: set()}
    for name in ("tcp", "tcp6"):
        try:
            lines = (sockets / name).read_bytes().decode("ascii", "replace").splitlines()[1:]
        except OSError:
            continue
        for fields in map(str.split, lines):
            if len(fields) > 7 and fields[3] == "0A":  # it listens
                host, _, port = fields[1].rpartition(":")
                here = host in loopback
                if port == f"{host_and_port(address)[1]:04X}" and (here or not host.strip("0")):
                    owners[here].add(fields[7])
    # the socket of the very address counts before one of all addresses
    return bool((owners[True] or owners[False]) - {str(getattr(os, "getuid", int)())})


def accepts_connections(address: str) -> bool:
    """Return True when somebody accepts a connection there."""
    host, port = host_and_port(address)
    # on this machine it is accepted at once or not at all
    seconds = 0.2 if is_local_address(address) else 2.0
    try:
        socket.create_connection((host, port), timeout=seconds).close()
    except (OSError, UnicodeError):
        return False
    return bool(host)


class Server(Struct, frozen=True, kw_only=True):
    """An OpenAI-compatible server as it describes itself."""

    entries: tuple[Mapping[str, object], ...] = ()  # its list of models
    software: str = ""
    loading: bool = False  # it runs, and still loads its model

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models that chat."""
        names = (text_at(entry, "id") for entry in self.entries)
        names = (name for name in names if name.isprintable() and 0 < len(name) <= 200)
        return tuple(name for name in names if "embed" not in name.lower())


def server_at(address: str, key: str = "") -> Server | None:
    """Ask who listens at `address`, which usually ends in /v1; None for nobody and others."""
    if not accepts_connections(address):
        return None
    status, software, answer = _answer(address, "/models", key)
    if status == 503:
        return Server(software=software, loading=True)
    if not isinstance(value_at(answer, "data"), list):
        return None
    entries = tuple(entry for entry in list_at(answer, "data") if isinstance(entry, Mapping))
    owners = {text_at(entry, "owned_by") for entry in entries}
    owner = next((name for owner, name in _OWNERS.items() if owner in owners), software)
    return Server(entries=entries, software=owner)


def capabilities_at(address: str, model: str, provider: str, key: str = "") -> Capabilities:
    """Ask a server of this machine what `model` takes there, as far as it says."""
    root, server = root_of(address), server_at(address, key) or Server()
    usual = {"ollama": OLLAMA, "lmstudio": LM_STUDIO, "llama-server": LLAMA}
    software = server.software or usual.get(provider, "")
    # a llama-server with one model answers with it, whatever name is asked for
    only = server.entries[0] if len(server.entries) == 1 and software == LLAMA else {}
    named = (entry for entry in server.entries if entry.get("id") == model)
    details = NO_CAPABILITIES
    if software == OLLAMA:
        about = _answer(root, "/api/show", key, {"model": model})[2]
        details = from_ollama(about, _answer(root, "/api/ps", key)[2], model)
    elif software == LM_STUDIO:
        details = from_listing(_answer(root, f"/api/v0/models/{quote(model)}", key)[2])
    elif software == LLAMA:
        details = from_props(_answer(root, "/props", key)[2])
    return details.with_fallback(from_listing(next(named, only)))


def root_of(address: str) -> str:
    """Return the address without /v1: servers have interfaces of their own there."""
    return address.rstrip("/").removesuffix("/v1")


def _answer(address: str, path: str, key: str, body: object = None) -> tuple[int, str, object]:
    """Return status, software and JSON of an answer; (0, "", None) for none."""
    from http.client import HTTPConnection, HTTPException, HTTPSConnection  # for one that listens

    parts = urlsplit(address)
    host, port = host_and_port(address)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(host, port, timeout=1.0)

    def give_up() -> None:
        with suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)

    # a server that sends a byte now and then would never time out
    limit = Timer(ANSWER_SECONDS, give_up)
    limit.daemon = True
    try:
        connection.connect()
        limit.start()
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        method = "GET" if data is None else "POST"
        connection.request(method, f"{parts.path.rstrip('/')}{path}", data, headers)
        response = connection.getresponse()
        server = response.headers.get("Server", "").lower()
        software = next((name for mark, name in _HEADERS.items() if server.startswith(mark)), "")
        return response.status, software, json.loads(response.read(4 << 20))
    except (OSError, HTTPException, ValueError, RecursionError):
        return 0, "", None
    finally:
        limit.cancel()
        connection.close()
