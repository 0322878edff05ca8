"""`chat-loop sessions fork|merge|compact`: what makes a session or a summary, without a chat."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator

from msgspec.structs import replace

from chat_loop.agent.agent import Agent
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.options import options_of
from chat_loop.display.plain import TextOutput, err, out
from chat_loop.errors import NoProvider, SaveError, UsageError, os_reason
from chat_loop.events import Event
from chat_loop.sessions.files import take_lock
from chat_loop.sessions.manager import Loaded
from chat_loop.sessions.records import Header
from chat_loop.subcommands.changing import reference_of
from chat_loop.subcommands.shelf import Shelf
from chat_loop.tokens import TokenCounter
from chat_loop.values import Request, Window


def fork(shelf: Shelf, options: argparse.Namespace) -> int:
    """Begin a session that goes on from a query of another one; it is resumed later."""
    from chat_loop.conversation.resume import fork_stored

    loaded = shelf.load(options.reference)
    numbers = [exchange.query.number for exchange in loaded.session.exchanges]
    number = options.at or (numbers[-1] if numbers else 0)
    identity = fork_stored(shelf.sessions, loaded, number)
    out(f"{identity}\n")
    err(
        f"Forked after query {number} of {loaded.session.header.id}. Resume with: chat-loop "
        f"--resume {identity}"
    )
    return 0


def merge(shelf: Shelf, options: argparse.Namespace) -> int:
    """Begin a session that goes on from two; the user decides where they contradict each other."""
    return asyncio.run(_merge(shelf, options))


async def _merge(shelf: Shelf, options: argparse.Namespace) -> int:
    first, second = shelf.load(options.first), shelf.load(options.second)
    conversation = _conversation(shelf, first.session.header, optional=True)
    try:
        offers = conversation.offers()
        draft = await offers.merge(first, second)
        dropped = []
        for number, pair in enumerate(draft.contradictions, 1):
            answer = options.prefer
            if not answer:
                err(
                    f"Contradiction {number} of {len(draft.contradictions)}:\n  1  "
                    f"{pair.first}\n  2  {pair.second}"
                )
                answer = _answer()
            dropped += {"1": [pair.second], "2": [pair.first], "both": []}[answer]
        await conversation.accept(offers.merged(draft, dropped), acknowledge=False)
        identity = conversation.live.header.id
    finally:
        conversation.close()
        await conversation.agent.provider.close()
    out(f"{identity}\n")
    err(f"Merged. Resume with: chat-loop --resume {identity}")
    return 0


def _answer() -> str:
    if not sys.stdin.isatty():
        raise UsageError(
            "The sessions contradict each other, and nobody is there to decide.",
            "--prefer decides.",
        )
    while True:
        err("Which one holds? (1, 2, b for both) ")
        line = sys.stdin.readline()
        answer = {"1": "1", "2": "2", "b": "both", "both": "both"}.get(line.strip().lower())
        if answer:
            return answer
        if not line:
            raise UsageError("Not merged.")


def compact(shelf: Shelf, options: argparse.Namespace) -> int:
    """Make the summary of a stored session, or make it anew: with another model (--model), or with
    other wishes.
    """
    return asyncio.run(_compact(shelf, options))


async def _compact(shelf: Shelf, options: argparse.Namespace) -> int:
    loaded = shelf.load(reference_of(options))
    _free(loaded)
    conversation = _conversation(
        shelf, loaded.session.header, optional=not shelf.config.auto_compact.use_ai_summary
    )
    try:
        if not (
            options.anyway
            or (loaded.session.seal and loaded.session.seal.summary)
            or _gains(conversation, loaded)
        ):
            return 1
        seal = await conversation.offers().summarize(loaded, " ".join(options.focus))
    finally:
        conversation.close()
        await conversation.agent.provider.close()
    how = {"model": "by a model", "extracted": "without a model", "none": ""}[seal.source]
    tokens = f", {seal.usage.total:,} tokens" if seal.usage else ""
    out(f"{loaded.session.header.id}: summary made {how}{tokens}.\n")
    return 0


def _gains(conversation: Conversation, loaded: Loaded) -> bool:
    """Return True when the first summary of a session is smaller than its words, or the user wants
    it all the same.
    """
    before, after = conversation.offers().sizes(loaded)
    sizes = f"{before:,} tokens now, about {after:,} after."
    if after < before:
        return True
    if not sys.stdin.isatty():
        err(f"Not compacted: {sizes} --force compacts all the same.")
        return False
    err(f"{sizes} Compact anyway? [y/N] ")
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return True
    err("Not compacted.")
    return False


def _free(loaded: Loaded) -> None:
    """Raises SessionLocked while the session is open elsewhere, before a model is paid for what
    cannot be kept.
    """
    try:
        take_lock(loaded.path.parent, loaded.path.stem).release()
    except OSError as error:
        raise SaveError(f"{loaded.path} cannot be written to: {os_reason(error)}.") from error


class _Nobody:
    """In place of a model where there is none and none is needed: it has the name of the session's,
    and refuses.
    """

    first_event_seconds = 1.0
    calls_tools = takes_images = False
    window = Window(128_000)

    def __init__(self, reference: str, error: NoProvider) -> None:
        self.name, _, self.model = reference.partition(":")
        self._error = error

    def warm(self) -> None:
        raise self._error

    def stream(self, request: Request) -> AsyncIterator[Event]:
        raise self._error

    async def close(self) -> None:
        """There is nothing to give back."""


def _conversation(shelf: Shelf, header: Header, *, optional: bool) -> Conversation:
    """A conversation that only makes summaries and begins sessions, in the name of the agent that
    `header` names.
    """
    config = shelf.config
    try:
        agent, summarizer = shelf.models()
        options = options_of(config, summarizer)
    except NoProvider as error:
        if not optional:
            raise
        nobody = _Nobody(header.model, error)
        agent = Agent(
            name=config.agent.name, system_prompt=config.agent.system_prompt, provider=nobody
        )
        options = replace(options_of(config, None), use_ai_summary=False)
    agent = replace(agent, name=header.agent or agent.name, path=header.agent_path)
    return Conversation(
        agent, shelf.sessions, count=TokenCounter().count, show=TextOutput().show, options=options
    )
