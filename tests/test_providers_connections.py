"""Connections of every provider over HTTP: where they go, when they close, what is made before the
first call.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.errors import (
    AuthenticationFailed,
    ConnectionFailed,
    NoProvider,
    RequestRejected,
)
from chat_loop.events import Event, Finished, TextDelta
from chat_loop.values import Usage
from tests.support.providers import (
    MakeProvider,
    anthropic_at,
    clear_environment,
    closing,
    compatible_at,
    events_of,
    failure_of,
    host,
    openai_at,
)

reply = partial(Reply, usage=Usage(input=3, output=2))
DONE = Finished(stop="end", usage=Usage(input=3, output=2))


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    clear_environment(monkeypatch, tmp_path)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as loopback:
        yield loopback


@pytest.fixture(params=[anthropic_at, openai_at, compatible_at])
def provider_at(request: pytest.FixtureRequest) -> MakeProvider:
    make: MakeProvider = request.param
    return make


@pytest.mark.parametrize("status", [301, 307, 308])
def test_a_redirect_is_not_followed(
    server: Loopback, provider_at: MakeProvider, status: int
) -> None:
    with Loopback() as other:
        target = f"{other.url}/v1/messages"
        server.enqueue(Reply(status=status, headers={"location": target}, body=b""))

        error = failure_of(provider_at(server.url))

        assert type(error) is RequestRejected
        assert (
            error.message
            == f"{host(server)} redirects to {target} ({status}), which is not followed."
        )
        assert other.requests == []


def test_nobody_listens(provider_at: MakeProvider) -> None:
    with Loopback() as gone:
        url = gone.url

    error = failure_of(provider_at(url))

    assert type(error) is ConnectionFailed
    assert error.message == f"Cannot reach {url.removeprefix('http://')}: connection refused."
    assert not error.retryable  # on this machine nobody will be there in a few seconds either


def test_a_key_that_no_header_can_carry_is_not_shown(
    server: Loopback, provider_at: MakeProvider
) -> None:
    error = failure_of(provider_at(server.url, "sk-secret\n"))

    assert type(error) is AuthenticationFailed
    assert "sk-secret" not in f"{error.message} {error.hint}"


@pytest.mark.parametrize("address", ["localhost:11434", "ftp://localhost", "http://"])
def test_an_address_that_is_none(provider_at: MakeProvider, address: str) -> None:
    error = failure_of(provider_at(address))

    assert type(error) is NoProvider
    assert error.hint == "Write it as http://HOST:PORT/v1."


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment_does_not_stand_between(
    server: Loopback, provider_at: MakeProvider, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:1")

    assert events_of(provider_at(server.url))[0] == TextDelta("You")


def test_a_proxy_that_makes_no_sense(
    server: Loopback, provider_at: MakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "gopher://127.0.0.1:1")

    error = failure_of(provider_at(server.url))

    assert type(error) is NoProvider
    assert error.hint == "Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR."


@pytest.mark.parametrize("after", [0, 1])
def test_cancelling_the_task_closes_the_connection(
    server: Loopback, provider_at: MakeProvider, after: int
) -> None:
    server.enqueue(reply(chunks=("Hel", "lo"), stall_after=after))

    async def run() -> list[Event]:
        provider = provider_at(server.url)
        seen: list[Event] = []
        enough = asyncio.Event()

        async def read() -> None:
            async with closing(provider) as stream:
                async for event in stream:
                    seen.append(event)
                    enough.set()

        task = asyncio.create_task(read())
        if after == 0:
            enough.set()
        await asyncio.to_thread(server.stalled)
        await enough.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.to_thread(server.left)
        await provider.close()
        return seen

    assert asyncio.run(run()) == [TextDelta("Hel")][:after]


def test_closing_the_iterator_closes_the_connection_and_the_next_call_works(
    server: Loopback, provider_at: MakeProvider
) -> None:
    server.enqueue(reply(chunks=("Hel", "lo"), stall_after=1), reply(chunks=("Hi",)))

    async def run() -> list[Event]:
        provider = provider_at(server.url)
        async with closing(provider) as stream:
            assert await anext(stream) == TextDelta("Hel")
        await asyncio.to_thread(server.left)
        async with closing(provider) as stream:
            events = [event async for event in stream]
        await provider.close()
        return events

    assert asyncio.run(run()) == [TextDelta("Hi"), DONE]


def test_a_stall_ends_when_the_server_goes_on(server: Loopback, provider_at: MakeProvider) -> None:
    server.enqueue(reply(chunks=("Hel", "lo"), stall_after=1))

    async def run() -> list[Event]:
        provider = provider_at(server.url)
        async with closing(provider) as stream:
            events = [await anext(stream)]
            await asyncio.to_thread(server.stalled)
            server.release()
            events += [event async for event in stream]
        await provider.close()
        return events

    assert asyncio.run(run()) == [TextDelta("Hel"), TextDelta("lo"), DONE]


def test_calls_share_one_connection(server: Loopback, provider_at: MakeProvider) -> None:
    async def run() -> None:
        provider = provider_at(server.url)
        for _ in range(3):
            async with closing(provider) as stream:
                assert [event async for event in stream]
        await provider.close()

    asyncio.run(run())

    assert len(server.requests) == 3
    assert server.connections == 1


def test_warm_from_many_threads_builds_one_client(
    server: Loopback, provider_at: MakeProvider
) -> None:
    provider = provider_at(server.url)
    threads = [threading.Thread(target=provider.warm) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    built = provider._client

    provider.warm()

    assert built is not None
    assert provider._client is built
    assert server.requests == [], "warming sends nothing"
    assert events_of(provider)[0] == TextDelta("You")


def test_a_closed_provider_can_be_asked_again(server: Loopback, provider_at: MakeProvider) -> None:
    provider = provider_at(server.url)

    assert events_of(provider) == events_of(provider)


@pytest.mark.parametrize("name", ["anthropic", "openai"])
def test_importing_a_provider_imports_no_sdk(name: str) -> None:
    code = (
        f"import sys, chat_loop.providers.{name}; sys.exit(any(m in sys.modules for m in "
        f"('{name}', 'httpx2')))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
