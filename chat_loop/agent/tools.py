"""Tools for the model, and how its calls run. Every failure becomes a sentence for the model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct, field

from chat_loop.agent.ask import CallLimits
from chat_loop.agent.automatic import users_of_arguments
from chat_loop.agent.secret_gate import MAX_NAME, SecretGate, judged, left_out_note
from chat_loop.characters import one_line
from chat_loop.errors import DENIED, ChatLoopError, ToolDenied, os_reason
from chat_loop.events import ToolReturned
from chat_loop.providers.replies import MAX_ARGUMENTS, arguments_of
from chat_loop.redact.key_places import paths_in_arguments
from chat_loop.redact.outgoing import Outgoing, TextSource
from chat_loop.tokens import estimate
from chat_loop.values import ALLOWED, FileChange, LeftOutText, ToolCall, ToolSpec

MAX_RESULT = 12_500  # tokens of a result for the model
MIN_RESULT = 250  # tokens that are left for each result to come, as far as there are any
KEPT_BYTES = 1_000_000  # of a result, in the session's file
NOTHING = "(nothing)"
OUTSIDE_PREFIX = "Outside of the working directory"
SENSITIVE_PREFIX = "This file can run code or steer later sessions"
COMMAND_PREFIX = "The command names a file that can run code or steer later sessions"
CALL_PREFIX = "The call names a file that can run code or steer later sessions"
ASKED_AGAIN = (OUTSIDE_PREFIX, SENSITIVE_PREFIX, COMMAND_PREFIX, CALL_PREFIX)
"""The beginnings of questions that offer no “project”; “always” covers only the same call."""
CALL_LIMIT_RESULT = "Not run: too many calls at once. Call the tool again if you need it."
STEP_LIMIT_RESULT = (
    "Not run: no more tools can be called for this answer. Answer now, with what you have."
)
_TYPES = {"string": str, "integer": int, "boolean": bool}  # of the built-in tools' arguments

Arguments = Mapping[str, Any]


Output = str | tuple[Outgoing, ...]
"""The result of a call: a text, or texts of files, each with what makes it secret."""


class ServerTool(ToolSpec, frozen=True):
    """A tool as an MCP server describes it. `traits` has its title and annotations, as JSON."""

    traits: str = ""


class PreparedCall(Struct, frozen=True):
    """The question about a call, if any, the function that runs it, and the files it changed."""

    question: str
    run: Callable[[], Awaitable[Output]]
    changes: list[FileChange] = []


class Tool(Struct, frozen=True):
    """A tool. `run` takes checked arguments and returns text, or raises ChatLoopError."""

    spec: ToolSpec
    run: Callable[[Arguments], Awaitable[str]]
    prepare: Callable[[Arguments], str | PreparedCall] | None = None
    """Returns the question for the user about a call, if any. It runs in a thread."""
    approval_scope: str = ""  # the calls that the user is asked about, if not all
    seconds: float | None = None  # replaces the agent's limit
    origin: Mapping[str, str] = {}
    """What defines it beside its `spec`, the program and the agent's file: texts by label."""
    source: Callable[[Arguments], TextSource] | None = None
    """Returns where the result of a call comes from. Without it, the arguments may be paths."""


Approve = Callable[[Tool, str], Awaitable[bool]]
"""Asks the user about a tool call, given a description of its effect. May raise ChatLoopError."""


class Toolbox(Struct):
    """The tools of one reply. `room` is the number of tokens that are free for results: each may
    take half of them if enough is left for the `unfinished` calls, and never more than a quarter
    of the `window`.
    """

    tools: Mapping[str, Tool]
    window: int
    approve: Approve | None = None
    limits: CallLimits = field(default_factory=CallLimits)
    secrets: SecretGate = field(default_factory=SecretGate)
    room: int = 0
    unfinished: int = 0
    left_out: set[LeftOutText] = field(default_factory=set)  # what was reported in this reply
    approval_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    preparing: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self, calls: Sequence[ToolCall]) -> AsyncGenerator[ToolReturned]:
        """Run the calls concurrently; yield each result as it arrives. Closing cancels the rest."""
        self.unfinished = len(calls)
        tasks = [asyncio.ensure_future(self._run(call)) for call in calls]
        try:
            for task in asyncio.as_completed(tasks):
                returned = await task
                async with self.approval_lock:
                    pass  # show nothing while a question is on the screen
                yield returned
        finally:
            for unfinished in tasks:
                unfinished.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, call: ToolCall) -> ToolReturned:
        started = self.limits.clock()
        failed = True
        denied = False
        allowed = False
        asked = 0.0
        changes: Sequence[FileChange] = ()
        output: Output
        source = TextSource(f"the result of {call.name}")
        try:
            tool, arguments = self._resolve(call)
            async with self.preparing:  # so that the questions come in the order of the calls
                prepared = await _prepare(tool, arguments)
            if prepared.question:
                async with self.approval_lock:
                    prepared = await _prepare(tool, arguments)  # files may have changed meanwhile
                    question = prepared.question
                    asked_at = self.limits.clock()
                    agrees = not question or (self.approve and await self.approve(tool, question))
                    asked = self.limits.clock() - asked_at
                    if not agrees:
                        raise ToolDenied(f"{DENIED}the user did not allow it.")
                allowed = bool(question)
                if allowed:
                    started = self.limits.clock()
            changes = prepared.changes
            source = _source(tool, arguments)
            output = await self._run_in_time(tool, prepared.run)
            failed = False
        except ChatLoopError as error:
            denied = isinstance(error, ToolDenied)
            output = f"{error.message} {error.hint}".strip()
        except OSError as error:
            output = f"{call.name} failed: {os_reason(error)}."
        seconds = round(self.limits.clock() - started, 2)
        if isinstance(output, str):
            output = (await judged(output, source),)
        released_at = self.limits.clock()
        text, left_out = await self._release(output)
        asked += self.limits.clock() - released_at
        text = text.encode("utf-8", "replace").decode()  # no request can carry lone surrogates
        text = f"{ALLOWED}\n{text or NOTHING}" if allowed else text or NOTHING
        tokens = estimate(text)
        most = self._most()
        self.room -= min(tokens, most)
        self.unfinished -= 1
        kept = text.encode()[:KEPT_BYTES].decode("utf-8", "ignore")
        return ToolReturned(
            id=call.id,
            name=call.name,
            text=kept,
            failed=failed,
            denied=denied,
            seconds=seconds,
            changes=tuple(changes),
            left_out=left_out,
            given=most if tokens > most else None,
            not_kept=len(text.encode()) - len(kept.encode()),
            asked=round(asked, 2),
        )

    def _most(self) -> int:
        """Return the maximum tokens of the next result."""
        share = min(MIN_RESULT, self.room // self.unfinished)
        spare = self.room - MIN_RESULT * (self.unfinished - 1)
        return min(MAX_RESULT, self.window // 4, max(share, min(self.room // 2, spare)))

    async def _release(self, texts: Sequence[Outgoing]) -> tuple[str, tuple[LeftOutText, ...]]:
        """Return the text that the model gets, and what is left out of it for the first time."""
        if self.secrets.asks(texts):
            async with self.approval_lock:
                released = await self.secrets.release(texts)
        else:
            released = await self.secrets.release(texts)
        lines = []
        noted = []
        reported = []
        for outgoing, sent in zip(texts, released, strict=True):
            if sent.text:
                lines.append(sent.text)
            if not sent.left_out:
                continue
            left_out = LeftOutText(one_line(outgoing.source.name, MAX_NAME), sent.left_out)
            # The note must not tell the model whether a search found something in a secret.
            if outgoing.place or outgoing.marked:
                noted.append(left_out)
            if outgoing.text and left_out not in self.left_out:
                self.left_out.add(left_out)
                reported.append(left_out)
        lines.append(left_out_note(noted))
        return "\n".join(filter(None, lines)), tuple(reported)

    async def _run_in_time(self, tool: Tool, run: Callable[[], Awaitable[Output]]) -> Output:
        seconds = tool.seconds
        if tool.seconds is None:
            seconds = self.limits.tool
        try:
            async with asyncio.timeout(seconds) as limit:
                return await run()
        except TimeoutError as error:
            if not limit.expired():
                raise  # the tool's own
            stopped = f"{tool.spec.name} took longer than {seconds:.0f} seconds and was stopped."
            raise ChatLoopError(stopped) from error

    def _resolve(self, call: ToolCall) -> tuple[Tool, dict[str, object]]:
        """Return the tool and the arguments of a call. Raises ChatLoopError."""
        tool = self.tools.get(call.name)
        if tool is None:
            hint = f"The tools are: {', '.join(self.tools)}."
            raise ChatLoopError(f"No tool named {call.name}.", hint)
        arguments = arguments_of(call.arguments)
        if arguments is None:
            is_cut = len(call.arguments) >= MAX_ARGUMENTS
            size = ""
            if is_cut:
                size = f" of less than {MAX_ARGUMENTS:,} characters"
            again = f"Call the tool again with valid JSON{size}."
            raise ChatLoopError("The arguments are not a JSON object.", again)
        if wrong := argument_error(arguments, tool.spec.parameters):
            raise ChatLoopError(wrong, "Call the tool again.")
        return tool, arguments


def call_question(title: str, arguments: Arguments) -> str:
    """Return the question about a call: its full text. It begins with CALL_PREFIX if an argument is
    the path of a file that programs use by themselves.
    """
    used_by = users_of_arguments(arguments)
    heading = ""
    if used_by:
        heading = f"{CALL_PREFIX} (used by {used_by}):\n"
    return f"{heading}{call_text(title, arguments)}"


async def _prepare(tool: Tool, arguments: Arguments) -> PreparedCall:
    """Return the question about a call, if any, and its action. Raises ChatLoopError."""
    run = partial(tool.run, arguments)
    if tool.prepare is None:
        return PreparedCall("", run)
    prepared = await asyncio.to_thread(tool.prepare, arguments)
    if isinstance(prepared, PreparedCall):
        return prepared
    return PreparedCall(prepared, run)


def _source(tool: Tool, arguments: Arguments) -> TextSource:
    """Return where the result of a call comes from."""
    if tool.source is not None:
        return tool.source(arguments)
    call = call_text(tool.spec.name, arguments)
    name = f"the result of {one_line(call, MAX_NAME)}"
    return TextSource(name, paths_in_arguments(arguments), call)


def call_text(title: str, arguments: Arguments) -> str:
    """Return the full text of a call: a line per argument, multi-line texts below their names."""
    lines = [f"{title}:"]
    for key, value in arguments.items():
        name = key if key.isidentifier() else json.dumps(key)  # so that it cannot forge a line
        if isinstance(value, str) and "\n" in value:
            lines.append(f"  {name}:")
            lines += [f"    {line}" if line else "" for line in value.split("\n")]
        else:
            text = value
            if not isinstance(value, str):
                text = json.dumps(value, ensure_ascii=False)
            lines.append(f"  {name}: {text}" if text else f"  {name}:")
    return "\n".join(lines)


def argument_error(arguments: Arguments, schema: Mapping[str, Any]) -> str:
    """Return a sentence about the first argument that breaks the schema, if any."""
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in arguments:
            return f"The argument “{name}” is missing."
    for name, value in arguments.items():
        if name not in properties and schema.get("additionalProperties") is False:
            return f"No argument named “{name[:64]}”; there are: {', '.join(properties)}."
        kind = properties.get(name, {}).get("type")
        if type(value) is not _TYPES.get(str(kind), type(value)):
            return f"The argument “{name}” must be of type {kind}."
    return ""
