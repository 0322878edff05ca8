"""Python functions as tools: the signature becomes the schema, the docstring what the model is
told.

    from chat_loop import changes

    def due(invoice: int, unpaid: bool = True) -> list[str]:
        '''Lists what is due.

        Args:
            invoice: Its number.
        '''

    @changes
    async def cancel(invoice: int) -> str:
        '''Cancels an invoice.'''

A function that is marked with `changes` runs only after the user was shown the call and allowed it.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar, cast

import msgspec

from chat_loop.agent.isolation import Caught, in_thread, on_loop
from chat_loop.agent.tools import Tool
from chat_loop.errors import ChatLoopError

LONGEST_COMPLAINT = 2_000
"""Characters of what a function raised."""

_MARK = "__chat_loop_changes__"
F = TypeVar("F", bound=Callable[..., object])


def changes(function: F) -> F:
    """Mark a function that changes something: each call is shown to the user, who allows it or
    not.
    """
    setattr(function, _MARK, True)
    return function


def tool_of(
    function: Callable[..., object],
    *,
    asks: bool | Callable[[Mapping[str, object]], str] | None = None,
    seconds: float | None = None,
    here: bool = False,
) -> Tool:
    """The tool that a function is.

    What it returns is the result: text as it is, everything else as JSON; what it prints follows.
    What it raises is a sentence for the model. `asks`: whether the user is asked first, whatever
    the function is marked with, or what the user is shown instead of the call. `seconds`: as for a
    tool. `here`: a coroutine function that may run on the program's own loop, and ends when it is
    cancelled. Raises ConfigError with a sentence for the user when it cannot be a tool.
    """
    from chat_loop.agent.signatures import signature_of  # loads msgspec

    signature = signature_of(function)
    name = signature.spec.name
    awaited = inspect.iscoroutinefunction(function)

    async def run(given: Mapping[str, object]) -> str:
        ahead, named = signature.bound(given)
        if here:
            return text_of(await cast("Awaitable[object]", function(*ahead, **named)))
        if awaited:
            result, printed, error = await on_loop(lambda: _text_later(function(*ahead, **named)))
        else:
            result, printed, error = await in_thread(lambda: text_of(function(*ahead, **named)))
        if error is not None:
            raise ChatLoopError(_joined(_complaint(name, error), printed)) from error
        return _joined(str(result), printed)

    if asks is None:
        asks = bool(getattr(function, _MARK, False))
    shown = (lambda given: call_text(name, given)) if asks is True else asks or None

    def asked(given: Mapping[str, object]) -> str:
        signature.bound(given)  # what cannot run is not asked about
        return shown(given) if shown is not None else ""

    return Tool(
        signature.spec, run, asked if shown is not None else None, seconds=seconds, stops=awaited
    )


def call_text(name: str, given: Mapping[str, object]) -> str:
    """A call whole, as the user is shown it: a line for each argument, texts of several lines below
    their names.
    """
    lines = [f"{name}:"]
    for key, value in given.items():
        if isinstance(value, str) and "\n" in value:
            lines += [f"  {key}:", *(f"    {line}" for line in value.split("\n"))]
        else:
            lines.append(
                f"  {key}: "
                f"{value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
            )
    return "\n".join(lines)


async def _text_later(result: Any) -> str:
    return text_of(await result)


def text_of(result: object) -> str:
    """What a function returned, for the model."""
    if result is None:
        return ""
    if isinstance(result, str):
        return str(result)
    try:
        return msgspec.json.encode(result, enc_hook=str).decode()
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return str(result)


def _joined(text: str, printed: str) -> str:
    return f"{text}\n\nIt printed:\n{printed.rstrip()}".lstrip("\n") if printed.strip() else text


def _complaint(name: str, error: BaseException) -> str:
    """What a function raised, as a sentence for the model; even that may fail."""
    if isinstance(error, ChatLoopError):
        return f"{error.message} {error.hint}".strip()
    text = ""
    with Caught():
        text = str(error)[:LONGEST_COMPLAINT].strip()
    return f"{name} failed: {type(error).__name__}{': ' if text else ''}{text}"
