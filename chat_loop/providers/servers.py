"""Which servers listen, and what they serve: asked before there is a conversation, in at most a few seconds."""

from __future__ import annotations

import socket
from typing import TypeGuard
from urllib.parse import urlsplit, urlunsplit

CONNECT_SECONDS = 0.2
"""For a server on this machine, which answers at once or not at all."""
FAR_SECONDS = 2.0
LONGEST_NAME = 200
"""Characters of a model's name."""
EMBEDS = "embed"
"""In the names of models that answer nothing."""
_MAX_ANSWER = 1 << 20


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


def listens(address: str) -> bool:
    """Whether anybody accepts a connection there."""
    host, port = place_of(address)
    if not host:
        return False
    near = host in ("127.0.0.1", "localhost", "::1")
    try:
        socket.create_connection((host, port), timeout=CONNECT_SECONDS if near else FAR_SECONDS).close()
    except (OSError, UnicodeError):
        return False
    return True


def served_model(address: str) -> str:
    """The first model to talk to that an OpenAI-compatible server offers, or ""; `address` usually ends in /v1."""
    if not listens(address):
        return ""
    import json  # only when something listens
    from http.client import HTTPConnection, HTTPException, HTTPSConnection

    parts = urlsplit(address)
    host, port = place_of(address)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(host, port, timeout=1.0)
    try:
        connection.request("GET", f"{parts.path.rstrip('/')}/models")
        answer = json.loads(connection.getresponse().read(_MAX_ANSWER))
    except (OSError, HTTPException, ValueError, RecursionError):
        return ""
    finally:
        connection.close()
    models = answer.get("data") if isinstance(answer, dict) else None
    names = (model.get("id") for model in models if isinstance(model, dict)) if isinstance(models, list) else ()
    return next((name for name in names if _is_sayable(name) and EMBEDS not in name.lower()), "")


def _is_sayable(name: object) -> TypeGuard[str]:
    return isinstance(name, str) and name.isprintable() and 0 < len(name) <= LONGEST_NAME
