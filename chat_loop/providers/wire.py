"""The shared parts of the adapters over HTTP: one client of an SDK, the course of one call, and
bodies that are read within limits.

The SDK sends requests and knows keys, addresses and headers. Events are read here, from its raw
response: its own streams hide whether the end mark came, hold a line of any length in memory, and
take several times the CPU.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.errors import (
    AuthenticationFailed,
    ContextTooLong,
    NoProvider,
    Overloaded,
    ProviderError,
    RequestRejected,
)
from chat_loop.events import Event, Finished, ToolCalled
from chat_loop.providers.calls import Calls, ReplayedFields, refused_tool
from chat_loop.providers.capabilities import NOTHING, Capabilities, guessed
from chat_loop.providers.catalogue import CATALOGUE, Entry
from chat_loop.providers.refusals import Oversized, Service, short
from chat_loop.providers.servers import capabilities_at, is_near
from chat_loop.providers.thinking import Tagged
from chat_loop.values import Request, StopReason, Usage, Window

if TYPE_CHECKING:
    from httpx2 import URL, Response

LARGEST_EVENT = 8 << 20
"""Bytes of one event. The largest real ones hold the arguments of a call."""
LARGEST_REPLY = 128 << 20
"""Bytes of a reply's body, unpacked: more than ten times the size of 128,000 tokens."""
SLICE = 1 << 16
"""Bytes of a body between two looks at the keyboard."""
DONE = "[DONE]"
"""The end mark of Chat Completions, which is no JSON."""
_BLANKS = re.compile(rb"(?:\r?\n){3,}")


class Refusal(Exception):
    """An answer that is no reply: its status, its body as JSON or text, and its headers."""

    def __init__(self, status: int, body: object, headers: Mapping[str, str]) -> None:
        super().__init__(status)
        self.status, self.body, self.headers = status, body, headers


class Line(Struct, frozen=True):
    """A connection to a service: an SDK's client, and what of the SDK is used beside it."""

    client: Any
    service: Service
    http: Any
    """The HTTP library below the SDK: httpx2, or httpx for openai 2 and anthropic 0."""
    stream: Any
    """The class of its streams."""
    error: type[Exception]
    """What it raises while it sends a request; errors of the network are its causes."""
    credentials_errors: tuple[type[Exception], ...]


class Reply:
    """The state of one stream so far. Adapters fill it from the events of their wire."""

    def __init__(self) -> None:
        self.stop: StopReason | None = None
        """Why the model stopped; None while it has not said so."""
        self.usage: Usage | None = None
        self.calls = Calls()
        self.tagged = Tagged()
        """Tells reasoning from the answer where both come as text."""
        self.reasoning: list[str] = []
        """Reasoning that the service wants back with the calls of this reply."""
        self.done = False
        """The wire's own end mark has come."""
        self.started = False
        """Some text or reasoning has been passed on."""


class WireProvider:
    """A provider that speaks HTTP through an SDK, which is imported by `warm` and not before.

    Key and address come from the arguments, else from the environment as the SDK reads it.
    """

    name = ""
    path: str
    """Where requests are sent."""
    stream_type = "text/event-stream"

    def __init__(
        self,
        model: str,
        *,
        window: Window,
        name: str = "",
        base_url: str | None = None,
        api_key: str | None = None,
        calls_tools: bool | None = None,
        entry: Entry | None = None,
        images: bool | None = None,
    ) -> None:
        """`window` is a guess or the user's; `calls_tools` and `images` are None where the user
        says nothing. `entry` is the catalogue's by default.
        """
        self.model = model
        self.name = name or (entry.name if entry else self.name)
        self.entry = (
            entry or CATALOGUE.get(self.name) or Entry(name=self.name, title=self.name, tools=False)
        )
        quirks = self.entry.quirks
        self.calls_tools = self.entry.tools if calls_tools is None else calls_tools
        self.calls_tools = self.calls_tools and not model.startswith(quirks.no_tools)
        self._unknown = {"temperature"} if model.startswith(quirks.fixed_temperature) else set()
        """Parameters that the server does not know."""
        self._replayed = ReplayedFields()
        self._base_url = base_url
        self._api_key = api_key
        # a server of this machine may load its model first
        own = os.environ.get("OPENAI_BASE_URL", "") if self.name == "openai" else ""
        near = is_near(base_url or own)
        self.first_event_seconds = 600.0 if near else 120.0
        self._line: Line | None = None
        self._building = threading.Lock()
        self._refused_tools: set[str] = set()
        self._inquiry: asyncio.Future[bool | None] | None = None
        self._looked_up = False
        self._sources = {
            # what the user says, and what the server has refused
            "set": Capabilities(window=0 if window.guessed else window.tokens, images=images),
            "server": NOTHING,
            "genai-prices": NOTHING,
            "guess": Capabilities(window=window.tokens).over(guessed(model)),
        }
        self.learn(NOTHING)

    @property
    def key_hint(self) -> str:
        """Return what to do when the key is missing or refused."""
        if self.entry.keys:
            return f"Set {' or '.join(self.entry.keys)} to a valid key."
        return f"Set a valid key for {self.name}: providers.{self.name}.api_key_env names it."

    @property
    def model_hint(self) -> str:
        """Return what to do when the model is not known."""
        hint = f"Check the model's name; --model {self.name}:NAME."
        return hint if self.entry.needs_key else f"{hint} The server's address usually ends in /v1."

    def _keyless(self) -> AuthenticationFailed:
        return AuthenticationFailed(f"There is no key for {self.entry.title}.", self.key_hint)

    def _unreadable(self, error: BaseException) -> AuthenticationFailed:
        what = f"The credentials cannot be read: {short(str(error))}"
        return AuthenticationFailed(what, self.key_hint)

    def learn(self, told: Capabilities, source: str = "server") -> None:
        """Take what a source says of the model; the earlier source counts."""
        self._sources[source] = told.over(self._sources[source])
        known = NOTHING
        for name, said in self._sources.items():
            if name == "guess":
                self.window = Window(known.window or said.window, guessed=not known.window)
            known = known.over(said)
        self.takes_images, self.reply_tokens = bool(known.images), known.reply

    @property
    def _window_is_known(self) -> bool:
        return bool(self._sources["set"].window or self._sources["server"].window)

    def look_up(self) -> None:
        """Ask a server of this machine what the model takes, then genai-prices; up to a second."""
        if self._looked_up or self._sources["set"].window:
            return
        self._looked_up = True
        url = self._base_url or ""
        if is_near(url) and self.entry.kind == "openai":
            self.learn(capabilities_at(url, self.model, self.name, self._api_key or ""))
        if not self._window_is_known:
            from chat_loop.providers.prices import known_window  # loads the library

            self.learn(Capabilities(window=known_window(self.model, self.name)), "genai-prices")

    def _connect(self) -> tuple[Any, Any, type[Exception], tuple[type[Exception], ...]]:
        """Import the SDK. Return it, a client, its error, and the errors that say that credentials
        cannot be read. Raises `ProviderError` without a key or an address.
        """
        raise NotImplementedError

    def _body(self, request: Request) -> dict[str, object]:
        """Return the body of a request."""
        raise NotImplementedError

    def _read(self, event: Mapping[str, object], reply: Reply, service: Service) -> Iterator[Event]:
        """Put one event into `reply` and yield its deltas. Raises `ProviderError`."""
        raise NotImplementedError

    async def _ask(self, line: Line) -> Capabilities | None:
        """Return what the service says of the model, None when it does not know it."""
        raise NotImplementedError

    def _headers(self, line: Line) -> Mapping[str, object]:
        """Return the headers of a request besides the SDK's."""
        return self.entry.sent_headers(os.environ)

    async def _prepare(self, line: Line, request: Request) -> None:
        """Do what has to be done before `request` is sent. Raises `ProviderError`."""

    def _refused(self, status: int, error: ProviderError, request: Request) -> None:
        """Learn from a refusal, and say in `error` what helps."""

    def warm(self) -> None:
        """Import the SDK and build the client, 0.3 to 1 s, in a thread without an event loop.

        Raises `AuthenticationFailed` without a key and `NoProvider` without a usable address.
        """
        self._ready()
        self.look_up()

    def _ready(self) -> Line:
        with self._building:
            if self._line is not None:
                return self._line
            sdk, client, error, credentials_errors = self._connect()
            address: URL = client.base_url
            if address.scheme not in ("http", "https") or not address.host:
                what = f"{short(str(address))} is not the address of a server."
                raise NoProvider(what, "Write it as http://HOST:PORT/v1.")
            absent = f"Start {self.entry.title}, or set providers.{self.name}.base_url."
            service = Service(
                host=address.netloc.decode("ascii"),
                key_hint=self.key_hint,
                model_hint=self.model_hint,
                absent_hint=absent if self.entry.here else "",
                stream=self.stream_type,
            )
            http, stream = http_library(sdk), sdk.AsyncStream[object]
            line = Line(client, service, http, stream, error, credentials_errors)
            if self.entry.kind != "bedrock":  # whose credentials would be read
                asyncio.run(self._rehearse(line))
            for library in (sdk.__name__, http.__name__):
                # what they warn of would reach the terminal
                logging.getLogger(library).setLevel(logging.ERROR)
            self._line = line
            return line

    async def _rehearse(self, line: Line) -> None:
        """Make one call that fails at once: the first real one finds everything loaded (70 ms)."""
        async with line.http.AsyncClient(verify=False, trust_env=False, timeout=1.0) as http:
            nobody = line.client.with_options(base_url="http://127.0.0.1:0", http_client=http)
            with suppress(line.error):
                more = {"cast_to": object, "stream": True, "stream_cls": line.stream}
                await nobody.post(self.path, body={"model": "-", "stream": True}, **more)

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        """Yield deltas, calls, one Finished. Raises `ProviderError`; `StreamBroken` for a cut after
        the first delta.
        """
        line = self._line
        if line is None:
            line = await asyncio.to_thread(self._ready)
        kept = tuple(tool for tool in request.tools if tool.name not in self._refused_tools)
        request = replace(request, tools=kept)
        await self._prepare(line, request)
        reply = Reply()
        with self._translated(line, request, reply):
            async with self._sent(line, "post", self.path, self._body(request)) as stream:
                async with aclosing(self._events(line, stream, reply)) as events:
                    async for event in events:
                        for delta in self._read(event, reply, line.service):
                            reply.started = True
                            yield delta
                if reply.stop is None and not reply.done:
                    kind = stream.response.headers.get("content-type", "")
                    raise line.service.unfinished(kind, started=reply.started)
        asked = self.entry.silent or self._inquiry is not None
        if not asked and not self._window_is_known:
            self._inquiry = asyncio.ensure_future(self.is_listed(10.0))
        for ending in self._ending(reply, calls=bool(request.tools)):
            yield ending

    def _ending(self, reply: Reply, *, calls: bool) -> Iterator[Event]:
        """Yield what is still to be passed on of a reply that is complete; `calls`: its calls."""
        yield from reply.tagged.rest()
        stop = reply.stop or "end"
        if calls and stop == "end":  # some servers say `stop` where they mean `tool_calls`
            complete = reply.calls.complete()
            self._replayed.keep(complete, reply.calls.extras, "".join(reply.reasoning))
            yield from map(ToolCalled, complete)
            stop = "tool" if complete else stop
        yield Finished(stop=stop, usage=reply.usage)

    @contextmanager
    def _translated(self, line: Line, request: Request, reply: Reply) -> Iterator[None]:
        """Raise what goes wrong in a call as a `ProviderError`, and learn from it."""
        service = line.service
        try:
            yield
        except (
            *(Refusal, ProviderError, line.http.HTTPError, line.http.InvalidURL),
            *(ValueError, RecursionError),
        ) as cause:
            error = cause if isinstance(cause, ProviderError) else None
            if isinstance(cause, Refusal):
                error = service.refused(cause.status, cause.body, cause.headers)
                self._refused(cause.status, error, request)
            elif error is None and reply.stop is not None:
                return  # the line was dropped, but the model has stopped: the reply is whole
            error = error or service.failed(cause, started=reply.started)
            if isinstance(error, ContextTooLong) and 0 < (error.window or 0) < self.window.tokens:
                self.learn(Capabilities(window=error.window or 0), "set")
            elif isinstance(error, RequestRejected | Overloaded) and not error.adapted:
                name = refused_tool(error.message, [tool.name for tool in request.tools])
                if name:
                    self._refused_tools.add(name)
                    adapt(error, f"The tool {name} is left out from now on.")
            raise error from (None if error is cause else cause)

    @asynccontextmanager
    async def _sent(
        self, line: Line, method: str, path: str, body: object = None
    ) -> AsyncIterator[Any]:
        """Send a request; the answer is good (2xx) and its body unread.

        Raises Refusal and `ProviderError`; while the body is read, as httpx does.
        """
        more = {} if body is None else {"body": body}
        try:
            stream = await getattr(line.client, method)(
                path,
                options={"headers": self._headers(line)},
                cast_to=object,
                stream=True,
                stream_cls=line.stream,
                **more,
            )
        except (line.error, *line.credentials_errors) as error:
            if isinstance(error.__cause__, Refusal):
                raise error.__cause__ from error
            if isinstance(error, line.credentials_errors):
                raise self._unreadable(error) from error
            raise line.service.failed(error.__cause__ or error, started=False) from error
        try:
            yield stream
        finally:
            await stream.response.aclose()

    async def _events(
        self, line: Line, stream: Any, reply: Reply
    ) -> AsyncGenerator[Mapping[str, object]]:
        """Yield the events of a stream. Raises ValueError on nonsense, and as httpx does."""
        async with aclosing(server_sent(stream.response.aiter_bytes())) as events:
            async for data in events:
                if data == DONE:
                    reply.done = True
                else:
                    event = json.loads(data)
                    if not isinstance(event, dict):
                        raise ValueError("not a JSON object")
                    yield event
                if reply.done:  # a body that is read to its end keeps its connection
                    with suppress(TimeoutError, line.http.HTTPError, ValueError):
                        async with asyncio.timeout(0.1):
                            async for _ in events:
                                pass

    async def is_listed(self, seconds: float = 3.0) -> bool | None:
        """Ask the service about the model and learn what it says. Return whether it knows it, None
        when it does not say. Raises `ProviderError` for a missing key or address.
        """
        line = await asyncio.to_thread(self._ready)
        with suppress(TimeoutError, line.http.HTTPError, Refusal, ProviderError, ValueError):
            async with asyncio.timeout(seconds):
                told = await self._ask(line)
            self.learn(told or NOTHING)
            return None if told is NOTHING else told is not None
        return None

    async def _answer(self, line: Line, method: str, path: str, body: object = None) -> object:
        """Return the JSON of a short answer. Raises as `_sent`."""
        read = bytearray()
        async with self._sent(line, method, path, body) as stream:
            async for piece in stream.response.aiter_bytes():
                read += piece
                if len(read) > 4 << 20:
                    raise Oversized("more than 4 MB about its models")
        try:
            return await asyncio.to_thread(json.loads, bytes(read))
        except RecursionError as error:
            raise ValueError("nested too deep") from error

    async def close(self) -> None:
        """Close the connections. Another call would build a new client."""
        if self._inquiry is not None and not self._inquiry.done():
            self._inquiry.cancel()
            await asyncio.wait({self._inquiry})
        line, self._line = self._line, None
        if line is not None:
            await line.client.close()


def adapt(error: ProviderError, message: str = "") -> None:
    """Mark an error whose request is sent again at once, without what was refused."""
    error.message += f" {message}" if message else ""
    error.retryable, error.adapted, error.retry_after = True, True, 0.0


def http_library(sdk: Any) -> Any:
    """Return the HTTP library that an SDK is built on, by the base of its client."""
    bases = {kind.__name__: kind.__module__ for kind in sdk.DefaultAsyncHttpxClient.__mro__}
    return import_module(bases["AsyncClient"].partition(".")[0])


def http_client(sdk: Any) -> Any:
    """Make an HTTP client of an SDK.

    No redirect is followed: key and conversation are meant for one host. Loopback addresses are
    reached without the proxy of the environment. A refusal raises `Refusal`, or an SDK's error that
    it is the cause of. Raises `NoProvider` for a proxy or certificate setting.
    """
    http = http_library(sdk)
    try:
        return sdk.DefaultAsyncHttpxClient(
            follow_redirects=False,
            # a read may take longer than any wait the agent allows: this only frees a forgotten
            # socket
            timeout=http.Timeout(600.0, connect=5.0, write=30.0),
            event_hooks={"response": [_refuse]},
            mounts={f"all://{host}": None for host in ("127.0.0.1", "localhost", "[::1]")},
        )
    except (ValueError, ImportError, OSError, http.InvalidURL) as error:
        raise NoProvider(
            "The proxy or certificate settings of the environment cannot be used: "
            f"{short(str(error))}",
            "Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR.",
        ) from error


async def _refuse(response: Response) -> None:
    """Raise Refusal for a status that is no success. The SDKs would read a body of any size."""
    if response.is_success:
        return
    read = bytearray()
    async with aclosing(response.aiter_bytes()) as pieces:
        async for piece in pieces:
            read += piece[: (1 << 20) - len(read)]  # more of it would say no more
            if len(read) >= 1 << 20:
                break
    body: object = read.decode(response.encoding or "utf-8", "replace")
    with suppress(ValueError, RecursionError):
        body = json.loads(read)
    raise Refusal(response.status_code, body, response.headers)


async def server_sent(pieces: AsyncIterator[bytes]) -> AsyncGenerator[str]:
    """Yield the `data` of each event of a `text/event-stream`
    (https://html.spec.whatwg.org/multipage/server-sent-events.html). Raises Oversized.

    Other fields are skipped: both wires name an event's type inside the JSON.
    """
    rest, data, total = bytearray(), list[str](), 0
    async for piece in pieces:
        total += len(piece)
        if total > LARGEST_REPLY:
            raise Oversized(f"more than {LARGEST_REPLY >> 20} MB in one reply")
        for start in range(0, len(piece), SLICE):
            if start:
                await asyncio.sleep(0)  # so that a large piece holds up no key
            for event in _ended(piece[start : start + SLICE], rest, data):
                yield event
    for event in _ended(b"\n\n", rest, data):
        yield event


def _ended(piece: bytes, rest: bytearray, data: list[str]) -> Iterator[str]:
    """Yield the events that `piece` ends; keep the `rest` of a line and the `data` of an event."""
    for number, part in enumerate(_BLANKS.sub(b"\n\n", piece).split(b"\n")):
        if number:
            line = bytes(rest).rstrip(b"\r")
            text = line[5:].strip().decode("utf-8", "replace") if line[:5] == b"data:" else ""
            # some servers leave out the blank line between events
            begins = text == DONE or (text.startswith("{") and data and data[-1].endswith("}"))
            if data and (begins or not line):
                yield "\n".join(data)
                data.clear()
            if text == DONE:
                yield text
            elif text:
                data.append(text)
            rest.clear()
        rest += part
    if len(rest) + sum(map(len, data)) > LARGEST_EVENT:
        raise Oversized(f"more than {LARGEST_EVENT >> 20} MB in one event")


def headers_named_in(variable: str) -> list[str]:
    """Return the names of the headers that an SDK takes from a variable; they may hold keys."""
    lines = (line.partition(":") for line in os.environ.get(variable, "").split("\n"))
    return [name.strip() for name, colon, _ in lines if colon]


def sendable(text: str) -> str:
    """Return `text` as UTF-8 can carry it: halves of a surrogate pair joined, lone ones U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
