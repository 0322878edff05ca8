"""MCP servers over streamable HTTP on loopback."""

from __future__ import annotations

import asyncio
import gzip
import http.server
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from chat_loop.agent.mcp_servers import McpServers
from chat_loop.config import McpServer
from tests.support.mcp_descriptions import PATIENCE_SECONDS, SERVER, connected, until_recorded
from tests.support.ports import closed_port, kept_port

REDIRECT = (
    "Unexpected content type:."
    if Version(version("mcp")) < Version("2.2")
    else "Redirect to http://127.0.0.2/elsewhere not followed; use that URL as the endpoint if it is "
    "the intended server."
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def answers(port: int) -> bool:
    with socket.socket() as made:
        return made.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def running(port: int, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server made with the SDK until the end of the block."""
    environment = {"PATH": "/usr/bin:/bin", "RECORD": str(folder / "record")}
    process = subprocess.Popen(
        [sys.executable, SERVER, "http", str(port)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + PATIENCE_SECONDS
        while not answers(port) and time.monotonic() < end:
            time.sleep(0.01)
        yield process
    finally:
        process.kill()
        process.wait()


def at(port: int, **more: Any) -> McpServer:
    return McpServer(url=f"http://127.0.0.1:{port}/mcp", **more)


def test_a_server_that_runs_is_used_and_stays(tmp_path: Path) -> None:
    async def run(port: int) -> None:
        async with connected({"web": at(port)}) as offered:
            assert "web_echo" in offered.tools
            assert await offered.call("web_echo", text="hello") == "hello"
            assert await offered.call("web_add", a=1, b=2) == "3"
            assert await offered.call("web_fail", why="No.") == "FAILED Error executing tool fail"
            assert len(await offered.call("web_large", megabytes=3)) == 3 << 20
            broken = await offered.call("web_large", megabytes=20)
            sentence = "FAILED The MCP server web failed: it sent a message of more than 4 MB."
            assert broken == f"{sentence} The next call connects it again."
            call = asyncio.ensure_future(offered.call("web_hang"))
            await until_recorded(tmp_path, "hangs")
            call.cancel()
            await until_recorded(tmp_path, "was cancelled")
            before = list(offered.tools)
            assert await offered.call("web_learn", name="new") == "learned"
            await offered.servers.restart("web")
            assert await offered.again() == [*before, "web_new"]

    with kept_port() as port, running(port, tmp_path) as process:
        asyncio.run(run(port))
        assert process.poll() is None
        assert answers(port)


@pytest.mark.slow
def test_a_server_that_goes_away_and_comes_back(tmp_path: Path) -> None:
    async def run(port: int) -> None:
        with ExitStack() as stack:
            stack.enter_context(running(port, tmp_path))
            async with connected({"web": at(port, timeout=60.0)}) as offered:
                assert await offered.call("web_echo", text="hello") == "hello"
                stack.close()
                gone = await offered.call("web_echo", text="hello")
                assert gone.startswith("FAILED The MCP server web failed: ")
                assert gone.endswith("The next call connects it again.")
                with running(port, tmp_path):
                    assert await offered.call("web_echo", text="back") == "back"

    with kept_port() as port:
        asyncio.run(run(port))


class Answers:
    """The answer of a server to every request, and the headers of the requests that it got."""

    def __init__(self, status: int = 200, body: bytes = b"", **headers: str) -> None:
        self.status, self.body, self.headers = status, body, headers
        self.seen: list[dict[str, str]] = []


@contextmanager
def answering(answers: Answers) -> Iterator[int]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            answers.seen.append(dict(self.headers.items()))
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(answers.status)
            for name, value in answers.headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("content-length", str(len(answers.body)))
            self.end_headers()
            self.wfile.write(answers.body)

        def log_message(self, *args: object) -> None:
            """Log nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def problem_of(server: McpServer, environment: dict[str, str] | None = None) -> str:
    async def run() -> str:
        servers = McpServers({"web": server}, environment or {})
        try:
            await servers.wait_ready()
            return servers.state("web").problem
        finally:
            await servers.close()

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        (
            Answers(401, b"no"),
            (
                "cannot be connected: Server returned an error response (HTTP 401). "
                "mcp.NAME.headers in the config can "
                "hold a token."
            ),
        ),
        (Answers(500), "cannot be connected: Server returned an error response (HTTP 500)."),
        (Answers(404), "cannot be connected: Not Found (HTTP 404)."),
        (
            Answers(200, b"<html>", content_type="text/html"),
            "cannot be connected: Unexpected content type: text/html.",
        ),
        (
            Answers(
                200, gzip.compress(b"{}"), content_type="application/json", content_encoding="gzip"
            ),
            "cannot be connected: its answer is compressed, which was not requested.",
        ),
        (Answers(307, location="http://127.0.0.2/elsewhere"), f"cannot be connected: {REDIRECT}"),
        (
            Answers(200, b'{"x": "' + b"y" * (17 << 20) + b'"}', content_type="application/json"),
            "cannot be connected: it sent a message of more than 4 MB.",
        ),
    ],
)  # fmt: skip
def test_what_other_servers_answer_is_said(answers: Answers, problem: str) -> None:
    with answering(answers) as port:
        assert problem_of(at(port)) == f"The MCP server web {problem}"


def test_the_headers_come_from_the_environment() -> None:
    answers = Answers(401)
    with answering(answers) as port:
        problem_of(
            at(port, headers={"Authorization": "Bearer ${TOKEN}", "X-Plain": "as it is"}),
            {"TOKEN": "t0ken"},
        )
    assert {(seen["Authorization"], seen["X-Plain"]) for seen in answers.seen} == {
        ("Bearer t0ken", "as it is")
    }
    problem = problem_of(at(1, headers={"Authorization": "${TOKEN}"}))
    assert (
        problem
        == "The MCP server web: The environment variable TOKEN is not set. export TOKEN=… sets it."
    )


def test_nobody_there() -> None:
    assert (
        problem_of(at(closed_port()))
        == "The MCP server web cannot be connected: All connection attempts failed."
    )


def test_a_server_that_never_answers() -> None:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        made.listen()
        problem = problem_of(at(made.getsockname()[1], timeout=1.0))
    assert problem == "The MCP server web did not answer within 1 seconds."
