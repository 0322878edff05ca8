"""Providers over HTTP. The SDKs send requests, but events are read here. The SDKs' own streams hide
whether the end mark came, keep lines of any length in memory, and take several times the CPU.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, suppress
from functools import cache, reduce
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec.structs import replace

from chat_loop import errors
from chat_loop.config import WantedField
from chat_loop.errors import NoProvider, ProviderError
from chat_loop.events import Event, OpaqueArrived, ToolCalled, Warned
from chat_loop.providers import capabilities, wanted
from chat_loop.providers.adaptations import Adaptations
from chat_loop.providers.capabilities import Capabilities
from chat_loop.providers.catalogue import ProviderSpec, owner_of_key
from chat_loop.providers.effort import (
    TEMPLATE,
    effort_names,
    is_about_effort,
    nearest,
    offered_in,
)
from chat_loop.providers.endings import error_in, protocol_of
from chat_loop.providers.pasted import check_address, check_header, clean_key
from chat_loop.providers.prices import listed_window
from chat_loop.providers.refusals import Service
from chat_loop.providers.replies import ReplyStream, Wanted, find_refused_tool
from chat_loop.providers.servers import (
    LARGEST_ANSWER,
    capabilities_at,
    host_and_port,
    is_local_address,
    without_credentials,
)
from chat_loop.providers.stream import (
    LARGEST_REPLY,
    PIECE,
    EventStream,
    OversizedBody,
    batches_of,
    pieces_of,
    read_body,
)
from chat_loop.providers.upstream import short
from chat_loop.tasks import report_bug
from chat_loop.values import EFFORTS, USUAL_EFFORT, Request, Window, size_text

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpx2 import Response

CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")  # variables that say which certificates to trust
OPAQUE = "opaque parts"  # the part of a request that `chat_loop.providers.wanted` describes
OPAQUE_KINDS = ("order", "content", "parameter", "role", "tool", "other")
"""The kinds of refusals that may be about it."""
EFFORT = "effort"  # the part of a request that the user's effort makes
SAMPLING = ("temperature", "top_p")  # parameters that have this name on every wire
LIST_SECONDS = 10.0  # for a list of all models
GRACE_SECONDS = 1.0  # after the reason why the model stopped, for the token counts and the end mark


class Refusal(Exception):
    """An answer that is not a reply: its status, its body as JSON or text, and its headers."""

    def __init__(self, status: int, body: object, headers: Mapping[str, str]) -> None:
        super().__init__(status)
        self.status = status
        self.body = body
        self.headers = headers


Connection = tuple[ModuleType, Any, type[Exception]]
"""An SDK, a client of it, and its error."""


class AnswerStream(AsyncIterable[object], Protocol):
    """What is used of an SDK's stream: the answer, and its events where the SDK decodes them."""

    response: Response


class WireProvider:
    """A provider that speaks HTTP through an SDK. `warm` or the first request imports the SDK."""

    path: str  # where requests are sent
    protocol: str  # the name of what is spoken there
    list_path = "/models"  # where the service lists its models
    models_path = "/models"  # where the service describes its models, or the model {}
    address_variable = ""  # has the address unless the settings do
    official = ""  # the address without either
    usual_efforts: tuple[str, ...] = EFFORTS  # of the protocol, for an unknown model
    _service: Service
    _stream_class: object  # of the SDK
    _sdk_error: type[Exception]  # raised while it sends; network errors are its causes
    _credentials_errors: tuple[type[Exception], ...] = ()
    _failures: tuple[type[Exception], ...]  # from a refused request, or from reading a body

    def __init__(
        self,
        model: str,
        entry: ProviderSpec,
        *,
        window: Window,
        api_key: str | None = None,
        images: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Treat `images` as unknown if None, and leave the key to the SDK if `api_key` is None."""
        self.model = model
        self.entry = entry
        self.name = entry.name
        self._left_out = Adaptations(clock)
        self._asked_for: tuple[WantedField, ...] = ()  # what the server said that it wants back
        self.calls_tools = entry.tools and not model.startswith(entry.no_tools)
        # a server on this machine may have to load its model first
        self.first_event_seconds = 600.0 if is_local_address(entry.base_url) else 120.0
        self._api_key = api_key
        self._client: Any = None  # the SDK's
        self._client_lock = threading.Lock()
        self._sdk_headers: Mapping[str, object] = {}  # replace those that the SDK would send
        self._lookup_task: asyncio.Future[None] | None = None
        self._sources = {
            # set by the user, or learned from the server's refusals
            "set": Capabilities(window=0 if window.guessed else window.tokens, images=images),
            "server": Capabilities(),
            "genai-prices": Capabilities(),
            "guess": capabilities.guess_capabilities(model),
        }
        self.learn(Capabilities())

    @property
    def calls_tools(self) -> bool:
        """False for a model without tools, and for ten minutes after its server refused them."""
        return self._has_tools and "tools" not in self._left_out

    @calls_tools.setter
    def calls_tools(self, value: bool) -> None:
        self._has_tools = value

    @property
    def endpoint(self) -> str:
        """The address at which the model is asked."""
        address = self.entry.base_url or os.environ.get(self.address_variable, "")
        return without_credentials(self.entry.at(address).base_url) or self.official

    @property
    def wants_back(self) -> tuple[WantedField, ...]:
        """What requests contain of what the service sent with its steps."""
        if OPAQUE in self._left_out:
            return ()
        return (*(self.entry.wants_back or ()), *self._asked_for)

    @property
    def returns_opaque(self) -> bool:
        return bool(self.wants_back)

    def begin_session(self) -> None:
        """Send everything again that the server refused."""
        self._left_out.begin_session()

    def key_error(self, error: BaseException | None = None) -> ProviderError:
        """Return the error for a missing key, or for credentials that the SDK cannot read."""
        what = f"No key for {self.entry.title}."
        if error is not None:
            what = f"The credentials cannot be read: {short(str(error))}"
        return errors.AuthenticationFailed(what, self.entry.key_refused)

    def learn(self, learned: Capabilities, source: str = "server") -> None:
        """Store what a source says about the model. Earlier sources take precedence."""
        sources = self._sources
        sources[source] = learned.with_fallback(sources[source])
        merged = reduce(Capabilities.with_fallback, sources.values())
        guessed = not (self._window_is_known or sources["genai-prices"].window)
        self.window = Window(merged.window, guessed=guessed)
        self.takes_images = bool(merged.images)
        self.reply_tokens = merged.reply
        self.efforts = merged.efforts or self.usual_efforts

    @property
    def _window_is_known(self) -> bool:
        return bool(self._sources["set"].window or self._sources["server"].window)

    def look_up(self) -> None:
        """Learn the model's limits from a local server, which may be slow, or genai-prices."""
        if self._sources["set"].window:
            return
        url = self.entry.base_url
        if is_local_address(url) and self.entry.kind == "openai":
            self.learn(capabilities_at(url, self.model, self._api_key or ""))
        if not self._window_is_known:
            self.learn(Capabilities(window=listed_window(self.model, self.name)), "genai-prices")

    def _address(self) -> str:
        """Return the server's address from the settings or the variable. Raises NoProvider."""
        name = f"providers.{self.name}.base_url"
        address = self.entry.base_url
        if not address and self.address_variable:
            name = self.address_variable
            address = self.entry.at(os.environ.get(name, "")).base_url
        check_address(address, name)
        return address

    def _connect(self) -> Connection:
        """Return the SDK, a client, and its error. Raises `ProviderError`."""
        raise NotImplementedError

    def _body(self, request: Request) -> dict[str, object]:
        """Return the body of a request."""
        raise NotImplementedError

    def _effort_of(self, request: Request) -> str:
        """Return the effort that a request is sent with, which its model takes, or ""."""
        effort = request.parameters.effort
        if effort == USUAL_EFFORT or EFFORT in self._left_out:
            return ""
        return nearest(effort, self.efforts)

    def _with_parameters(self, body: dict[str, object], request: Request) -> dict[str, object]:
        """Return a body with what the user set for its model, but without what was refused."""
        for name in SAMPLING:
            value = getattr(request.parameters, name)
            if value is not None:
                body[name] = value
        body |= self.entry.extra
        return {name: value for name, value in body.items() if name not in self._left_out}

    def _encode(self, body: object) -> dict[str, object]:
        """Return the argument for a body: JSON, which the SDKs encode several times slower."""
        return {"content": msgspec.json.encode(body)}

    def _read(self, event: Mapping[str, object], reply: ReplyStream) -> None:
        """Add one event to `reply`."""
        raise NotImplementedError

    def _new_wanted(self) -> Wanted:
        """Return what collects the parts of a reply that may have to go back."""
        raise NotImplementedError

    async def _prepare(self, request: Request) -> None:
        """Prepare the service for `request`. Raises `ProviderError`."""

    def warm(self) -> None:
        """Import the SDK and build the client (0.3 to 1 s). The thread must have no event loop."""
        self._ensure_client()
        self.look_up()

    def _ensure_client(self) -> None:
        """Build the client unless there is one. Raises `ProviderError`."""
        with self._client_lock:
            if self._client is not None:
                return
            try:
                self._client = self._new_client()
            except ProviderError:
                raise
            except Exception as error:
                what = f"{type(error).__name__}: {short(str(error))}".rstrip(".: ")
                text = f"The package that reaches {self.entry.title} cannot be used: {what}."
                raise ProviderError(text, "chat-loop doctor checks the installation.") from error

    def _new_client(self) -> Any:
        """Import the SDK, and return a client that is ready for requests. Raises anything."""
        clean_key(self._api_key or "", "The key")
        sdk, client, self._sdk_error = self._connect()
        for name, value in client.default_headers.items():
            check_header(name, value)
        for name, value in self.entry.request_headers(os.environ).items():
            check_header(name, value)
        address = client.base_url
        if address.scheme not in ("http", "https") or not address.host:
            what = f"{short(str(address))} is not the address of a server."
            raise NoProvider(what, "Write it as http://HOST:PORT/v1.")
        is_local = is_local_address(self.entry.base_url) and not self.entry.needs_key
        model_hint = f"Check the model's name; --model {self.name}:NAME."
        if not self.entry.needs_key:
            model_hint += " The server's address usually ends in /v1."
        absent = f"Start {self.entry.title}, or set providers.{self.name}.base_url."
        self._service = Service(
            host=address.netloc.decode("ascii"),
            key_hint=self.entry.key_refused,
            model_hint=self.entry.model_hint or model_hint,
            absent_hint=absent if is_local else "",
        )
        http = http_library(sdk)
        self._stream_class = sdk.AsyncStream[object]
        http_errors = (http.HTTPError, http.InvalidURL)
        self._failures = (Refusal, ProviderError, *http_errors, ValueError, RecursionError)
        if self.entry.kind != "bedrock":  # it would read the credentials
            asyncio.run(self._warm_client(client, http))
        for library in (sdk.__name__, http.__name__):
            # their warnings would reach the terminal
            logging.getLogger(library).setLevel(logging.ERROR)
        return client

    async def _warm_client(self, client: Any, http: ModuleType) -> None:
        """Make a call that fails at once, to load everything for the first real one (70 ms)."""
        async with http.AsyncClient(verify=False, trust_env=False, timeout=1.0) as other:
            unreachable = client.with_options(base_url="http://127.0.0.1:0", http_client=other)
            with suppress(self._sdk_error):
                await self._open(unreachable, type(self).path, {"model": "-", "stream": True})

    async def _open(self, client: Any, path: str, body: object) -> AnswerStream:
        """Post a body, or get the path. Return the answer's stream. Raises Refusal, SDK errors."""
        headers = {**self._sdk_headers, **self.entry.request_headers(os.environ)}
        options = {
            "cast_to": object,
            "stream": True,
            "stream_cls": self._stream_class,
            "options": {"headers": headers},
        }
        try:
            if body is None:
                stream: AnswerStream = await client.get(path, **options)
            else:
                stream = await client.post(path, **self._encode(body), **options)
        except self._sdk_error as error:
            if isinstance(error.__cause__, Refusal):
                raise error.__cause__ from None
            raise
        return stream

    async def stream(self, request: Request) -> AsyncGenerator[Event]:
        """Yield deltas, calls, one Finished. Raises `ProviderError`."""
        if self._client is None:
            await asyncio.to_thread(self._ensure_client)
        whole = request
        tools = tuple(tool for tool in whole.tools if f"tool {tool.name}" not in self._left_out)
        request = replace(whole, tools=tools)
        collected = self._new_wanted() if self.entry.wants_back != () else None
        reply = ReplyStream(think_tags=self.entry.think_tags, wanted=collected)
        try:
            await self._prepare(request)
            async with aclosing(self._deltas(request, reply)) as deltas:
                async for delta in deltas:
                    yield delta
        except self._failures as cause:
            for delta in reply.take_deltas():
                yield delta
            error = self._failure(cause, reply)
            if error is not None and self._leave_out(error, request) and not reply.started:
                async with aclosing(self.stream(whole)) as again:
                    async for event in again:
                        yield event
                return
            if error is not None:
                raise error from (None if error is cause else cause)
        is_settled = self.entry.lists_names_only or self._window_is_known
        if not is_settled and self._lookup_task is None:
            self._lookup_task = asyncio.ensure_future(self._ask_service())
            self._lookup_task.add_done_callback(report_bug)
        for ending in self._endings(reply, whole, with_calls=bool(tools)):
            yield ending

    def _endings(
        self, reply: ReplyStream, request: Request, *, with_calls: bool
    ) -> Iterator[Event]:
        """Yield what may have to go back, if the turn uses tools, and the rest of the reply."""
        endings = [*reply.final_events(with_calls=with_calls)]
        uses_tools = any(isinstance(ending, ToolCalled) for ending in endings)
        if reply.wanted is not None and (uses_tools or request.messages[-1].results):
            yield from self._opaque_events(wanted.encoded(reply.wanted))
        yield from endings

    def _opaque_events(self, text: str) -> Iterator[Event]:
        """Yield an opaque part, or a warning if it is too much to keep."""
        if len(text) <= wanted.MAX_OPAQUE:
            if text:
                yield OpaqueArrived(text)
            return
        size = size_text(len(text))
        yield Warned(
            f"{self._service.host} sent {size} of reasoning and signatures with one reply.",
            f"More than {size_text(wanted.MAX_OPAQUE)} are not kept, and do not go back to it.",
        )

    async def _deltas(self, request: Request, reply: ReplyStream) -> AsyncGenerator[Event]:
        """Send a request, and yield the deltas of each read of the answer."""
        stream = await self._send(request)
        content_type = stream.response.headers.get("content-type", "")
        last: Mapping[str, object] = {}
        try:
            if content_type.startswith("text/html"):
                raise await self._page_error(stream.response, content_type)
            async with aclosing(self._batches(stream, reply)) as batches:
                async for events in batches:
                    last = self._read_all(events, reply) or last
                    for delta in reply.take_deltas():
                        yield delta
                        if len(delta.text) >= PIECE:
                            await asyncio.sleep(0)
                    if (sign := reply.sign_of_life(time.monotonic())) is not None:
                        yield sign
                    if reply.size > LARGEST_REPLY:
                        raise OversizedBody(f"more than {LARGEST_REPLY >> 20} MB in one reply")
            if not reply.has_begun:
                self._check_protocol(last)
            if (failure := reply.failure(self._service.host)) is not None:
                raise failure
            if reply.stop is None and not reply.done:
                raise self._service.incomplete_error(content_type, started=reply.started)
        finally:
            await stream.response.aclose()

    async def _send(self, request: Request) -> AnswerStream:
        """Send a request and return the stream of its answer. Raises ProviderError and Refusal."""
        try:
            return await self._open(self._client, self.path, self._body(request))
        except self._credentials_errors as error:
            raise self.key_error(error) from error
        except self._sdk_error as error:
            raise self._service.failure_error(error.__cause__ or error, started=False) from error

    def _read_all(
        self, events: Iterable[Mapping[str, object]], reply: ReplyStream
    ) -> Mapping[str, object] | None:
        """Add events to `reply`, and return the last one, if any. Raises ProviderError for one that
        is an error.
        """
        event = None
        for event in events:
            if (told := error_in(event)) is not None:
                raise self._service.refusal_error(None, told)
            self._read(event, reply)
            if reply.done:
                break
        return event

    def _check_protocol(self, event: Mapping[str, object]) -> None:
        """Raise RequestRejected if `event` belongs to another protocol."""
        protocol = protocol_of(event)
        if protocol and protocol != self.protocol:
            raise errors.RequestRejected(
                f"{self._service.host} answers in {protocol}, not in {self.protocol}.",
                "Choose a provider that speaks it, or another address of this server.",
            )

    async def _page_error(self, response: Response, content_type: str) -> ProviderError:
        """Return the error for a web page, with its title."""
        page = (await read_body(response, PIECE)).decode("utf-8", "replace")
        title = re.search(r"<title[^>]*>(.*?)</title>", page, re.IGNORECASE | re.DOTALL)
        error = self._service.incomplete_error(content_type, started=False)
        if title and (page_title := short(title[1])):
            error.message = error.message.replace("text/html", f"text/html (“{page_title}”)")
        return error

    def _failure(self, cause: Exception, reply: ReplyStream) -> ProviderError | None:
        """Learn from a broken call and return its error, or None if the reply was complete."""
        if isinstance(cause, Refusal):
            error = self._service.refusal_error(cause.status, cause.body, cause.headers)
        elif isinstance(cause, ProviderError):
            error = cause
        elif reply.stop is None or isinstance(cause, OversizedBody):
            return self._service.failure_error(cause, started=reply.started)
        else:
            return reply.failure(self._service.host)
        window = 0
        if isinstance(error, errors.ContextTooLong):
            window = error.window or 0
        if 0 < window < self.window.tokens:
            self.learn(Capabilities(window=window), "set")
        return error

    def _leave_out(self, error: ProviderError, request: Request) -> bool:
        """Leave out what was refused from now on, and say so in the error. Return True if the user
        knows it already.
        """
        part, sentence = self._refused_part(error, request)
        if not part:
            self._explain(error, request)
            return False
        error.message += sentence
        error.retryable = True
        error.adapted = True
        error.retry_after = 0.0
        return not self._left_out.add(part)

    def _refused_part(self, error: ProviderError, request: Request) -> tuple[str, str]:
        """Return the part of the request that was refused, and a sentence on what is done instead,
        both empty if there is nothing that can be left out.
        """
        has_opaque = any(message.opaque for message in request.messages)
        is_sent = has_opaque and self.returns_opaque and error.kind in OPAQUE_KINDS
        if is_sent and wanted.is_about_opaque(error.message):
            return OPAQUE, " Reasoning and signatures are left out for ten minutes."
        if error.kind in (*OPAQUE_KINDS, "model"):
            part, sentence = self._refused_parameter(error.message, request)
            if part:
                return part, sentence
        name = find_refused_tool(error.message, [tool.name for tool in request.tools])
        # a call is the model's own work, which it may do better
        is_about_a_call = re.search(r"\bcalls?\b", error.message)
        kinds = ("other", "tool", "parameter", "failure")
        if name and error.kind in kinds and not is_about_a_call:
            return f"tool {name}", f" The tool {name} is left out for ten minutes."
        return "", ""

    def _refused_parameter(self, message: str, request: Request) -> tuple[str, str]:
        """Return the parameter of the user's that was refused, as `_refused_part` does."""
        body = self._body(request)
        for name in (*reversed(SAMPLING), *TEMPLATE, *self.entry.extra):
            if name in body and re.search(rf"\b{re.escape(name)}\b", message):
                return name, f" {name} is left out for ten minutes."
        effort = self._effort_of(request)
        is_sent = any(name in body for name in effort_names(self.entry.extra))
        if not (effort and is_sent and is_about_effort(message)):
            return "", ""
        offered = offered_in(message, effort)
        other = nearest(effort, offered)
        part = f"{EFFORT} {effort}"
        if not other or part in self._left_out:
            return EFFORT, f" The effort {effort} is left out for ten minutes."
        self.learn(Capabilities(efforts=offered), "set")
        return part, f" The effort {other} is sent instead of {effort}."

    @property
    def _url(self) -> str:
        """The whole address of a request, without a password."""
        base = ""
        if "://" not in self.path:
            base = str(self._client.base_url).rstrip("/")
        return short(without_credentials(f"{base}{self.path}"))

    def _explain(self, error: ProviderError, request: Request) -> None:
        """Add what is known of the request to an error that is about its size or its images."""
        if error.kind == "too_large":
            size = size_text(len(msgspec.json.encode(self._body(request))))
            error.message += f" It has {size}."
        if error.kind == "key":
            key = str(self._client.api_key or "")
            owner = owner_of_key(key)
            if owner not in ("", self.entry.title):
                error.hint = f"It looks like a key for {owner}. {error.hint}"
        if error.kind in ("path", "page"):
            error.message += f" The address was {self._url}."
        if not any(message.images for message in request.messages):
            return
        words = ("image", "vision", "multimodal", "mmproj")
        is_named = any(word in error.message.lower() for word in words)
        is_about_images = error.kind in ("content", "parameter", "model", "other", "failure")
        if error.kind == "too_large" or (is_about_images and is_named):
            error.retryable = False
            error.hint = "/undo takes the message with the image out of the conversation."

    async def _batches(
        self, stream: AnswerStream, reply: ReplyStream
    ) -> AsyncGenerator[Iterable[Mapping[str, object]]]:
        """Yield the events of each read until the reply has ended, whatever the connection does.
        Raises ValueError and errors of httpx.
        """
        clock = asyncio.get_running_loop().time
        ends_at: float | None = None
        size = 0
        async with aclosing(self._reads(stream, reply)) as reads:
            with suppress(TimeoutError):
                while not reply.done:
                    async with asyncio.timeout_at(ends_at):
                        events = await anext(reads, None)
                    if events is None:
                        return
                    yield events
                    if reply.stop is not None and (ends_at is None or reply.size > size):
                        ends_at = clock() + GRACE_SECONDS
                        size = reply.size
            if reply.done:  # the connection is only reused after the whole body
                with suppress(TimeoutError, *self._failures):
                    async with asyncio.timeout(0.1):
                        async for _ in reads:
                            pass

    async def _reads(
        self, stream: AnswerStream, reply: ReplyStream
    ) -> AsyncGenerator[Iterable[Mapping[str, object]]]:
        """Yield the events of each read, of at most `PIECE` bytes. Other tasks get a turn after
        each. Raises ValueError and errors of httpx.
        """
        events = EventStream()
        body = pieces_of(stream.response)
        async with aclosing(batches_of(body, lambda: reply.started, len)) as batches:
            async for pieces in batches:
                data = b"".join(pieces)
                for start in range(0, len(data), PIECE):
                    if start:
                        await asyncio.sleep(0)
                    yield _fed(events, data[start : start + PIECE], reply)
        yield _fed(events, b"\n\n", reply)

    async def _ask_service(self) -> None:
        """Learn what the service says about the model, if anything."""
        with suppress(TimeoutError, self._sdk_error, *self._failures):
            async with asyncio.timeout(10.0):
                answer = await self._answer(self.models_path.format(self.model))
                entry = capabilities.entry_of_model(answer, self.model)
                self.learn(capabilities.from_answer(entry))

    async def _answer(self, path: str, body: object = None) -> object:
        """Return the JSON of a short answer. Raises ValueError if invalid, and as `_open` does."""
        stream = await self._open(self._client, path, body)
        return json.loads(await read_body(stream.response, LARGEST_ANSWER))

    async def models_answer(self) -> bytes:
        """Return what the service answers when it is asked for all of its models. Raises
        ProviderError.
        """
        await asyncio.to_thread(self._ensure_client)
        try:
            async with asyncio.timeout(LIST_SECONDS):
                stream = await self._open(self._client, self.list_path, None)
                return await read_body(stream.response, LARGEST_ANSWER)
        except TimeoutError as error:
            text = f"It did not answer within {LIST_SECONDS:.0f} seconds."
            raise errors.TimedOut(text) from error
        except self._credentials_errors as error:
            raise self.key_error(error) from error
        except Refusal as cause:
            refusal = self._service.refusal_error(cause.status, cause.body, cause.headers)
            raise refusal from cause
        except (self._sdk_error, *self._failures) as error:
            raise self._service.failure_error(error.__cause__ or error, started=False) from error

    async def close(self) -> None:
        """Close the connections. Another call would build a new client."""
        if self._lookup_task is not None and not self._lookup_task.done():
            self._lookup_task.cancel()
            await asyncio.wait({self._lookup_task})
        client = self._client
        self._client = None
        if client is not None:
            await client.close()


def _fed(events: EventStream, data: bytes, reply: ReplyStream) -> Iterator[Mapping[str, object]]:
    """Yield the events that `data` completes, and tell the reply if the end mark was among it."""
    yield from events.feed(data)
    reply.done = reply.done or events.done


def http_library(sdk: ModuleType) -> ModuleType:
    """Return the HTTP library that an SDK is built on, found by the base class of its client."""
    bases = {kind.__name__: kind.__module__ for kind in sdk.DefaultAsyncHttpxClient.__mro__}
    return import_module(bases["AsyncClient"].partition(".")[0])


def key_in(variable: str) -> str | None:
    """Return the key in a variable, or None if it is not set. Raises AuthenticationFailed."""
    value = os.environ.get(variable)
    if value is None:
        return value
    return clean_key(value, variable)


def http_client(sdk: ModuleType, address: str) -> Any:
    """Make an SDK's HTTP client for a server, without redirects, and without a proxy if it runs on
    this machine. Raises NoProvider.
    """
    http = http_library(sdk)
    try:
        http.URL(address)
    except http.InvalidURL as error:
        what = f"{short(address)} is not the address of a server: {short(str(error))}"
        raise NoProvider(what, "Write it as http://HOST:PORT/v1.") from error
    try:
        return sdk.DefaultAsyncHttpxClient(
            follow_redirects=False,
            headers={"Accept-Encoding": "gzip"},
            # longer than any wait the agent allows: this only frees a forgotten socket
            timeout=http.Timeout(600.0, connect=5.0, write=30.0),
            event_hooks={"response": [_refuse]},
            verify=_tls_context(http, *map(os.environ.get, CERTIFICATES)),
            **_way_to(address),
        )
    except ImportError as error:
        what = "A proxy of the SOCKS kind needs the package socksio, which is not installed."
        hint = "Install it next to chat-loop, or set HTTPS_PROXY to a proxy that begins with http."
        raise NoProvider(what, hint) from error
    except (ValueError, OSError, http.InvalidURL) as error:
        raise NoProvider(
            "The proxy or certificate settings of the environment cannot be used: "
            f"{short(str(error))}",
            "Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR.",
        ) from error


@cache
def _tls_context(http: ModuleType, *certificates: str | None) -> SSLContext:
    """Read the trusted certificates, which takes 20 ms, once for all clients. The library takes
    `certificates` from the environment; they are arguments because each of them needs its own.
    """
    context: SSLContext = http.create_ssl_context()
    return context


def _way_to(address: str) -> dict[str, object]:
    """Return the arguments of a client that concern the proxy. A proxy for all protocols is often
    written as socks://, as GNOME does, which means version 5.
    """
    from urllib.request import getproxies, proxy_bypass  # takes 20 ms; the SDK has loaded it

    is_local = is_local_address(address)
    proxies = getproxies()
    if not is_local and not any(value.startswith("socks://") for value in proxies.values()):
        return {}
    host, port = host_and_port(address)
    proxy = proxies.get(address.partition(":")[0]) or proxies.get("all")
    if is_local or not proxy or proxy_bypass(f"{host}:{port}"):
        # earlier SDKs read the environment by themselves: a mount goes before that
        pattern = f"all://{host}"
        if ":" in host:
            pattern = f"all://[{host}]"
        return {"trust_env": False, "mounts": {pattern: None}}
    proxy = re.sub("^socks://", "socks5://", proxy if "://" in proxy else f"http://{proxy}")
    return {"trust_env": False, "proxy": proxy}


async def _refuse(response: Response) -> None:
    """Raise Refusal for a status other than success, since the SDKs would read a body of any size.
    Raise OversizedBody for an encoding in which a few bytes can unpack to gigabytes at once.
    """
    coding = response.headers.get("content-encoding", "identity").lower()
    if coding not in ("identity", "gzip", "deflate"):  # br and zstd, or several in a row
        raise OversizedBody(f"an answer packed as {short(coding)}, which was not requested")
    if response.is_success:
        return
    content = await read_body(response, 1 << 20)  # more would not be shown
    body: object = content.decode(response.encoding or "utf-8", "replace")
    with suppress(ValueError, RecursionError):
        body = json.loads(content)
    raise Refusal(response.status_code, body, response.headers)


def headers_named_in(variable: str) -> list[str]:
    """Return the names of the headers that an SDK takes from a variable; they may contain keys."""
    lines = (line.partition(":") for line in os.environ.get(variable, "").split("\n"))
    return [name.strip() for name, colon, _ in lines if colon]
