"""What the adapters over HTTP share: the course of one call, reading server-sent events, and a
sentence per failure.

The SDKs send the request: they know keys, addresses, proxies and headers. The stream is read here,
since their own streams hide whether `[DONE]` came, take an error event for a reply with status 200,
and let errors of JSON out.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from msgspec.structs import replace

from chat_loop.errors import ContextTooLong, NoProvider, Overloaded, RequestRejected
from chat_loop.events import Event, Finished, ToolCalled
from chat_loop.providers.calls import Calls, refused_tool
from chat_loop.providers.capabilities import NOTHING, Capabilities, guessed
from chat_loop.providers.refusals import Oversized, Service, short
from chat_loop.providers.thinking import Tagged
from chat_loop.values import Request, StopReason, ToolCall, Usage, Window

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from ssl import SSLContext

    from httpx2 import URL, AsyncClient
    from httpx2 import Response as HttpResponse

CONNECT_SECONDS = 5.0
WRITE_SECONDS = 30.0
READ_SECONDS = 600.0
"""Longer than any wait the agent allows: silence is the agent's to judge, this only frees a
forgotten socket.
"""

DRAIN_SECONDS = 0.1
"""How long the rest of a body may take after the end mark; a body read to its end keeps its
connection open.
"""

LARGEST_COUNT = 1_000_000_000
"""Of the tokens that a server counts; a larger number is taken for none."""
LARGEST_EVENT = 8 << 20
"""Bytes of the data of one event. The largest real ones hold the arguments of a call."""
LARGEST_REPLY = 128 << 20
"""Bytes of a reply's body, unpacked: more than ten times what 128,000 tokens take."""
LARGEST_ANSWER = 4 << 20
"""Bytes of what a service says of its models."""
INQUIRY_SECONDS = 10.0
LISTING_SECONDS = 3.0
"""How long the service may take to say whether it knows a model, while the user waits."""
LARGEST_REFUSAL = 1 << 20
"""Bytes that are read of the body of a refusal."""
_SLICE = 1 << 16
"""Bytes that are read at once; keys are looked at between two slices."""

DONE = "[DONE]"
"""The end mark of Chat Completions, which is no JSON."""

NOWHERE = "http://127.0.0.1:0"
"""An address that refuses at once and sends nothing; the rehearsal of `warm` calls it."""


class Response(Protocol):
    """An answer whose body has not been read; both SDKs have it."""

    @property
    def headers(self) -> Mapping[str, str]: ...

    def iter_bytes(self) -> AsyncIterator[bytes]: ...


class Client(Protocol):
    """An SDK's client."""

    async def close(self) -> None: ...


T = TypeVar("T")
ClientT = TypeVar("ClientT", bound=Client)


class Reply:
    """What one stream has told so far. Adapters fill it from the data of their wire."""

    def __init__(self) -> None:
        self.stop: StopReason | None = None
        """Why the model stopped; None while it has not said so."""
        self.usage: Usage | None = None
        self.calls = Calls()
        self.tagged = Tagged()
        """Tells reasoning from the answer where both come as text; adapters of wires that keep them
        apart leave it.
        """
        self.reasoning: list[str] = []
        """What the service wants back with the calls of this reply; most want nothing."""
        self.done = False
        """The wire's own end mark has come."""
        self.started = False
        """Some text or reasoning has been passed on."""


class WireProvider(ABC, Generic[ClientT]):
    """A provider that speaks HTTP through an SDK; the SDK is imported by `warm` and not before."""

    name: str
    model: str
    window: Window
    first_event_seconds: float
    calls_tools: bool
    takes_images: bool
    _tells = True
    """Whether its service says more of its models than their names."""
    reply_tokens: int
    """The most tokens of a reply, as far as is known; 0 where it is not."""

    def __init__(self, model: str, window: Window, images: bool | None = None) -> None:
        """`window` is a guess, or what the user says; `images` is None where the user says
        nothing.
        """
        self.model = model
        self._line: tuple[ClientT, Service] | None = None
        self._refused_tools: set[str] = set()
        self._building = threading.Lock()
        self._inquiry: asyncio.Future[bool | None] | None = None
        self._set = Capabilities(window=0 if window.guessed else window.tokens, images=images)
        """What the user says, and what the server has refused."""
        self._told = self._listed = NOTHING
        """What the server says; what genai-prices lists."""
        self._guessed = Capabilities(window=window.tokens).over(guessed(model))
        self._looked_up = False
        self._weigh()

    def learn(self, told: Capabilities) -> None:
        """Take what the server says of the model, where the user says nothing."""
        self._told = told.over(self._told)
        self._weigh()

    def _limit(self, told: Capabilities) -> None:
        """Take what a refusal says, which the server knows best."""
        self._set = told.over(self._set)
        self._weigh()

    def _weigh(self) -> None:
        known = self._set.over(self._told).over(self._listed)
        self.window = Window(known.window or self._guessed.window, guessed=not known.window)
        known = known.over(self._guessed)
        self.takes_images, self.reply_tokens = bool(known.images), known.reply

    def look_up(self) -> None:
        """Find out what the model takes without asking a service: from a server of this machine,
        and genai-prices.

        Call it from a thread: it may take a second.
        """
        if self._looked_up or self._set.window:
            return
        self._looked_up = True
        self.learn(self._here())
        if not self._told.window:
            from chat_loop.providers.prices import known_window  # loads the library

            self._listed = Capabilities(window=known_window(self.model, self.name))
            self._weigh()

    def _here(self) -> Capabilities:
        """What a server of this machine says of the model; nothing when it is elsewhere."""
        return NOTHING

    async def is_listed(self) -> bool | None:
        """Return whether the service knows the model, None when it does not say. Raises
        `ProviderError`.
        """
        client, _ = await asyncio.to_thread(self._ready)
        return await self._inquire(client, LISTING_SECONDS)

    async def _ask_about(self, client: ClientT) -> Capabilities | None:
        """Return what the service says of the model, None when it does not know it. Raises as HTTP
        does, and Refusal, ValueError.
        """
        return NOTHING

    async def _prepare(self, client: ClientT, request: Request) -> None:
        """Do what has to be done before `request` is sent. Raises `ProviderError`."""

    @abstractmethod
    def _build(self) -> tuple[ClientT, Service]:
        """Import the SDK, make a client, rehearse. Raises `ProviderError` without a key or a usable
        address.
        """

    @abstractmethod
    def _open(
        self, client: ClientT, service: Service, request: Request
    ) -> AbstractAsyncContextManager[Response]:
        """Send `request`; the answer is good (2xx) and its body unread. Raises `ProviderError`."""

    def _data(self, pieces: AsyncIterator[bytes]) -> AsyncGenerator[str]:
        """The data of each event of a body. Raises ValueError on nonsense."""
        return server_sent(pieces)

    @abstractmethod
    def _read(self, data: str, reply: Reply, service: Service) -> Iterator[Event]:
        """Put one event's data into `reply` and yield its deltas. Raises `ProviderError`, or
        ValueError on nonsense.
        """

    def _called(self, reply: Reply, calls: tuple[ToolCall, ...]) -> None:
        """Told of the calls of a reply before they are passed on."""

    def warm(self) -> None:
        """Import the SDK and build the client, 0.3 to 1 s. Call it from a thread that runs no event
        loop.

        Raises `AuthenticationFailed` without a key and `NoProvider` without a usable address or
        proxy.
        """
        self._ready()
        self.look_up()

    def _ready(self) -> tuple[ClientT, Service]:
        with self._building:
            if self._line is None:
                self._line = self._build()
                for library in ("anthropic", "openai", "httpx2"):
                    logging.getLogger(library).setLevel(
                        logging.ERROR
                    )  # what they warn of would reach the terminal
            return self._line

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        """Yield deltas, calls, one Finished. Raises `ProviderError`; a cut after the first delta is
        `StreamBroken`.
        """
        if self._refused_tools:
            request = replace(
                request,
                tools=tuple(one for one in request.tools if one.name not in self._refused_tools),
            )
        try:
            async with aclosing(self._events(request)) as events:
                async for event in events:
                    yield event
        except (RequestRejected, Overloaded) as error:
            name = refused_tool(error.message, [tool.name for tool in request.tools])
            if name:
                self._refused_tools.add(name)
                error.message += f" The tool {name} is left out from now on."
                error.retryable, error.adapted, error.retry_after = True, True, 0.0
            raise
        except ContextTooLong as error:
            if error.window is not None and error.window < self.window.tokens:
                self._limit(Capabilities(window=error.window))
            raise

    async def _events(self, request: Request) -> AsyncGenerator[Event]:
        line = self._line
        client, service = await asyncio.to_thread(self._ready) if line is None else line
        import httpx2

        await self._prepare(client, request)
        reply = Reply()
        try:
            async with self._open(client, service, request) as response:
                async with aclosing(limited(response.iter_bytes())) as pieces:
                    async with aclosing(self._data(pieces)) as items:
                        async for data in items:
                            for event in self._read(data, reply, service):
                                reply.started = True
                                yield event
                            if reply.done:
                                break
                    if reply.done:
                        await drain(pieces)
                if reply.stop is None and not reply.done:
                    raise service.unfinished(
                        response.headers.get("content-type", ""), started=reply.started
                    )
        except (httpx2.HTTPError, ValueError) as error:
            # A server may drop the line instead of ending the body; the reply is whole once the
            # model has stopped.
            if reply.stop is None:
                raise service.failed(error, started=reply.started) from error
        stop = reply.stop or "end"
        for event in self._ending(reply, calls=bool(request.tools) and stop == "end"):
            if isinstance(
                event, ToolCalled
            ):  # some servers say `stop` where they mean `tool_calls`
                stop = "tool"
            yield event
        self._begin_inquiry(client)
        yield Finished(stop=stop, usage=reply.usage)

    def _begin_inquiry(self, client: ClientT) -> None:
        """Ask the service about the model behind the first reply, unless its window is known for
        sure.
        """
        if self._tells and self._inquiry is None and not (self._set.window or self._told.window):
            self._inquiry = asyncio.ensure_future(self._inquire(client, INQUIRY_SECONDS))

    async def _inquire(self, client: ClientT, seconds: float) -> bool | None:
        """Learn what the service says of the model, and return whether it knows it; None where that
        fails.
        """
        import httpx2

        with suppress(TimeoutError, httpx2.HTTPError, Refusal, ValueError):
            async with asyncio.timeout(seconds):
                told = await self._ask_about(client)
            self.learn(told or NOTHING)
            return (
                None if told is NOTHING else told is not None
            )  # a list may say nothing but the name
        return None

    def _ending(self, reply: Reply, *, calls: bool) -> Iterator[Event]:
        """What is still to be passed on of a reply that is complete; `calls`: with its calls."""
        yield from reply.tagged.rest()
        if calls:
            complete = reply.calls.complete()
            self._called(reply, complete)
            yield from map(ToolCalled, complete)

    async def close(self) -> None:
        """Close the connections. Another call would build a new client."""
        if self._inquiry is not None and not self._inquiry.done():
            self._inquiry.cancel()
            await asyncio.wait({self._inquiry})
        line, self._line = self._line, None
        if line is not None:
            await line[0].close()


class Refusal(Exception):
    """An answer that is no reply: its status, its body as JSON or text, and its headers."""

    def __init__(self, status: int, body: object, headers: Mapping[str, str]) -> None:
        super().__init__(status)
        self.status, self.body, self.headers = status, body, headers


async def _refuse(response: HttpResponse) -> None:
    """Raise Refusal for a status that is no success. The SDKs would read a body of any size."""
    if response.is_success:
        return
    read = bytearray()
    async with aclosing(response.aiter_bytes()) as pieces:
        async for piece in pieces:
            read += piece[: LARGEST_REFUSAL - len(read)]
            if len(read) >= LARGEST_REFUSAL:
                break
    body: object = read.decode(response.encoding or "utf-8", "replace")
    with suppress(ValueError, RecursionError):
        body = json.loads(read)
    raise Refusal(response.status_code, body, response.headers)


def http_client(make: Callable[..., AsyncClient]) -> AsyncClient:
    """An HTTP client by an SDK's `DefaultAsyncHttpxClient`. Raises `NoProvider` for a proxy or
    certificate setting.

    No redirect is followed: key and conversation are meant for one host. Loopback addresses are
    reached without the proxy of the environment. A refusal raises `Refusal`, or an SDK's error that
    it is the cause of.
    """
    import httpx2

    try:
        return make(
            verify=_certificates(os.getenv("SSL_CERT_FILE"), os.getenv("SSL_CERT_DIR")),
            follow_redirects=False,
            timeout=httpx2.Timeout(READ_SECONDS, connect=CONNECT_SECONDS, write=WRITE_SECONDS),
            event_hooks={"response": [_refuse]},
            mounts={f"all://{host}": None for host in ("127.0.0.1", "localhost", "[::1]")},
        )
    except (ValueError, ImportError, OSError, httpx2.InvalidURL) as error:
        raise NoProvider(
            "The proxy or certificate settings of the environment cannot be used: "
            f"{short(str(error))}",
            "Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR.",
        ) from error


@lru_cache(maxsize=1)
def _certificates(file: str | None, directory: str | None) -> SSLContext:
    """Return the certificates that are trusted, read again (30 ms) when the environment names
    others. Raises OSError.
    """
    import httpx2

    return httpx2.create_ssl_context()


def host_of(address: URL) -> str:
    """Host and, if given, port of a base URL. Raises `NoProvider` when it is not an HTTP
    address.
    """
    if address.scheme not in ("http", "https") or not address.host:
        raise NoProvider(
            f"{short(str(address))} is not the address of a server.",
            "Write it as http://HOST:PORT/v1.",
        )
    return address.netloc.decode("ascii")


def withheld(variable: str, omit: T) -> dict[str, T]:
    """The headers that an SDK takes from a variable, which may hold keys: left out for a server of
    somebody else's.
    """
    lines = os.environ.get(variable, "").split("\n")
    return {
        name.strip(): omit for name, colon, _ in (line.partition(":") for line in lines) if colon
    }


def rehearse(call: Callable[[AsyncClient], Awaitable[object]]) -> None:
    """Make one call that fails at once, so that the first real one finds everything imported and
    built (10 ms).

    `call` gets a throwaway HTTP client and must send to `NOWHERE`, where nothing listens and no
    packet goes.
    """
    import httpx2

    async def run() -> None:
        # Without certificates, whose loading takes longer than all the rest.
        async with httpx2.AsyncClient(verify=False, trust_env=False, timeout=1.0) as http:
            await call(http)

    asyncio.run(run())


async def limited(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Yield a body in slices, so that a large piece holds up no key. Raises Oversized for one that
    has no end.
    """
    size = 0
    async for piece in pieces:
        size += len(piece)
        if size > LARGEST_REPLY:
            raise Oversized(f"more than {LARGEST_REPLY >> 20} MB in one reply")
        yield piece[:_SLICE]
        for start in range(_SLICE, len(piece), _SLICE):
            await asyncio.sleep(0)
            yield piece[start : start + _SLICE]


async def server_sent(pieces: AsyncIterator[bytes]) -> AsyncGenerator[str]:
    """The `data` of each event of a `text/event-stream`
    (https://html.spec.whatwg.org/multipage/server-sent-events.html).

    Lines are cut in bytes, so that neither a character split between two pieces nor a U+2028 inside
    JSON breaks one. Fields other than `data` are skipped: both wires name an event's type inside
    the JSON. Some servers leave out the blank line between events, so an object that begins after
    the end of another one is an event of its own. Raises Oversized.
    """
    data: list[str] = []
    size = 0
    async for lines in _lines(pieces):
        for line in lines:
            text = line[5:].strip().decode("utf-8", "replace") if line.startswith(b"data:") else ""
            ends = (
                not line
                or text == DONE
                or (text.startswith("{") and data and data[-1].endswith("}"))
            )
            if data and ends:
                yield "\n".join(data)
                data, size = [], 0
            if text == DONE:
                yield text
            elif text:
                data.append(text)
                size += len(text)
                if size > LARGEST_EVENT:
                    raise _endless()
    if data:
        yield "\n".join(data)


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncGenerator[list[bytes]]:
    """The lines that each piece of a body completes, without their ends; of many blank lines two.
    Linear in time.
    """
    rest: list[bytes] = []
    size = 0
    async for piece in pieces:
        first, *more = _BLANKS.sub(b"\n\n", piece).split(b"\n")
        rest.append(first)
        size += len(first)
        if size > LARGEST_EVENT:
            raise _endless()
        if more:
            yield [line.rstrip(b"\r") for line in (b"".join(rest), *more[:-1])]
            rest, size = [more[-1]], len(more[-1])
    yield [b"".join(rest).rstrip(b"\r")]


_BLANKS = re.compile(rb"(?:\r?\n){3,}")


def _endless() -> Oversized:
    return Oversized(f"more than {LARGEST_EVENT >> 20} MB in one event")


async def drain(pieces: AsyncIterator[bytes]) -> None:
    """Read what is left of a body, if it comes soon."""
    import httpx2

    with suppress(TimeoutError, httpx2.HTTPError):
        async with asyncio.timeout(DRAIN_SECONDS):
            async for _ in pieces:
                pass


async def answer_of(pieces: AsyncIterator[bytes]) -> object:
    """The JSON of a short body. Raises ValueError."""
    read = bytearray()
    async for piece in pieces:
        read += piece
        if len(read) > LARGEST_ANSWER:
            raise Oversized(f"more than {LARGEST_ANSWER >> 20} MB about its models")
    try:
        return await asyncio.to_thread(json.loads, bytes(read))
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def parse(data: str) -> dict[str, object]:
    """The JSON object in `data`. Raises ValueError for anything else."""
    try:
        value = json.loads(data)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def at(value: object, *path: str) -> object:
    """The member of nested JSON objects at `path`, None where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_at(value: object, *path: str) -> str:
    """The string at `path`, empty when there is none."""
    found = at(value, *path)
    return found if isinstance(found, str) else ""


def count_at(value: object, *path: str) -> int:
    """The number of tokens at `path`; 0 when there is none, or one that cannot be."""
    found = at(value, *path)
    return found if type(found) is int and 0 <= found <= LARGEST_COUNT else 0


def sendable(text: str) -> str:
    """`text` as UTF-8 can carry it: halves of a surrogate pair joined, lone ones replaced by
    U+FFFD.
    """
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
