"""Servers with TLS, and whose certificates the program trusts."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path

import pytest

from chat_loop.errors import ConnectionFailed, NoProvider
from chat_loop.events import TextDelta
from chat_loop.providers import Provider
from tests.support.providers import anthropic_at, compatible_at, events_of, failure_of, openai_at

OPENAI = b'data: {"choices": [{"delta": {"content": "Hi."}, "finish_reason": "stop"}]}\n\n'
ANTHROPIC = (
    b'data: {"type": "content_block_delta", "index": 0, "delta": {"text": "Hi."}}\n\n'
    b'data: {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}\n\n'
    b'data: {"type": "message_stop"}\n\n'
)


class Answers(BaseHTTPRequestHandler):
    """Answers each request with a reply in the form of its wire."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body = ANTHROPIC if self.path.endswith("/messages") else OPENAI
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *arguments: object) -> None:
        pass


def self_signed(folder: Path) -> tuple[Path, Path]:
    """Write a certificate for 127.0.0.1 and its key; return their files."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    )
    encoding = serialization.Encoding.PEM
    certificate, secret = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(encoding))
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    secret.write_bytes(key.private_bytes(encoding, form, plain))
    return certificate, secret


@contextmanager
def serving(certificate: Path, key: Path) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(name="tls")
def _tls(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Yield the address of a server, and the file with its certificate, which no one signed."""
    certificate, key = self_signed(tmp_path)
    with serving(certificate, key) as url:
        yield url, certificate


def said(provider: Provider) -> object:
    return events_of(provider)[0]


def test_a_certificate_is_trusted_when_its_file_is_named_and_only_then(
    tls: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, certificate = tls
    address = url.removeprefix("https://")
    refused = f"Cannot reach {address}: self-signed certificate."

    before = failure_of(openai_at(url))
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    trusted = [said(make(url)) for make in (openai_at, compatible_at, anthropic_at)]
    monkeypatch.delenv("SSL_CERT_FILE")
    after = failure_of(openai_at(url))

    assert [type(error) for error in (before, after)] == [ConnectionFailed] * 2
    assert [error.message for error in (before, after)] == [refused] * 2
    assert trusted == [TextDelta("Hi.")] * 3


def test_a_file_of_certificates_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))

    error = failure_of(openai_at("https://127.0.0.1:1"))

    assert type(error) is NoProvider
    assert error.hint == "Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR."
