"""`chat-loop sessions fork|merge|compact|export|import`: what makes a session or a document."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from msgspec.structs import replace

from chat_loop.agent.agent import Agent
from chat_loop.commands.session import settle
from chat_loop.commands.transfer import take_in, write_document
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.options import options_of
from chat_loop.conversation.resume import fork_stored
from chat_loop.display.plain import err, out, out_bytes, tell
from chat_loop.display.text import one_line
from chat_loop.errors import NoProvider, SaveError, SessionError, UsageError, os_reason
from chat_loop.events import Event
from chat_loop.export import exporting, importing
from chat_loop.sessions.files import take_lock
from chat_loop.sessions.records import Header
from chat_loop.subcommands.sessions import SessionActions, confirmed
from chat_loop.tokens import TokenCounter
from chat_loop.values import Request, Window
from chat_loop.wording import counted


def fork(run: SessionActions, options: argparse.Namespace) -> int:
    """Begin a session that goes on from a query of another one; it is resumed later."""
    loaded = run.load(options.reference)
    numbers = [exchange.query.number for exchange in loaded.session.exchanges]
    number = options.at or (numbers[-1] if numbers else 0)
    identity = fork_stored(run.sessions, loaded, number)
    out(f"{identity}\n")
    text = f"Forked after query {number} of {loaded.session.header.id}."
    err(f"{text} Resume with: chat-loop --resume {identity}")
    return 0


def merge(run: SessionActions, options: argparse.Namespace) -> int:
    """Begin a session that goes on from two; the user decides where they contradict each other."""
    first, second = run.load(options.first), run.load(options.second)

    def show(number: int, of: int, lines: tuple[str, str]) -> None:
        if not options.prefer:
            err(f"Contradiction {number} of {of}:\n  1  {lines[0]}\n  2  {lines[1]}")

    async def ask(question: str) -> str:
        if options.prefer:
            return str(options.prefer)
        if not sys.stdin.isatty():
            text = "The sessions contradict each other, and nobody is there to decide."
            raise UsageError(text, "--prefer decides.")
        err(question)
        return sys.stdin.readline().strip().lower()

    async def work(conversation: Conversation) -> str:
        offers = conversation.offers()
        draft = await offers.merge(first, second)
        dropped = await settle(draft, show, ask)
        if dropped is None:
            raise UsageError("Not merged.")
        await conversation.accept(offers.merged(draft, dropped), acknowledge=False)
        return conversation.live.header.id

    identity = _in_conversation(run, first.session.header, work, optional=True)
    out(f"{identity}\n")
    err(f"Merged. Resume with: chat-loop --resume {identity}")
    return 0


def compact(run: SessionActions, options: argparse.Namespace) -> int:
    """Make the summary of a stored session, or make it anew."""
    loaded = run.load_named(options)
    header, seal = loaded.session.header, loaded.session.seal
    try:  # before a model is paid for what cannot be kept
        take_lock(loaded.path.parent, loaded.path.stem).close()
    except OSError as error:
        raise SaveError(f"{loaded.path} cannot be written to: {os_reason(error)}.") from error

    async def work(conversation: Conversation) -> int:
        offers = conversation.offers()
        if not options.anyway and (seal is None or seal.summary is None):
            before, after = offers.sizes(loaded)
            sizes = f"{before:,} tokens now, about {after:,} after."
            if after >= before and not sys.stdin.isatty():
                err(f"Not compacted: {sizes} --force compacts all the same.")
                return 1
            if after >= before and not confirmed(f"{sizes} Compact anyway? [y/N] "):
                err("Not compacted.")
                return 1
        made = await offers.summarize(loaded, " ".join(options.focus))
        how = {"model": "by a model", "extracted": "without a model", "none": ""}[made.source]
        tokens = f", {made.usage.total:,} tokens" if made.usage else ""
        out(f"{header.id}: summary made {how}{tokens}.\n")
        return 0

    optional = not run.config.auto_compact.use_ai_summary
    return int(_in_conversation(run, header, work, optional=optional))


class _NoModel:
    """Stands for a model where there is none and none is needed: it has a name, and refuses."""

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


def _in_conversation(
    run: SessionActions,
    header: Header,
    work: Callable[[Conversation], Coroutine[Any, Any, Any]],
    *,
    optional: bool,
) -> Any:
    """Do `work` with a conversation that only makes summaries and begins sessions, in the name of
    the agent of `header`. Raises NoProvider without a model, unless that is `optional`.
    """
    config = run.config
    try:
        agent, summarizer = run.models()
        settings = options_of(config, summarizer)
    except NoProvider as error:
        if not optional:
            raise
        agent = Agent(
            name=config.agent.name,
            system_prompt=config.agent.system_prompt,
            provider=_NoModel(header.model, error),
        )
        settings = replace(options_of(config, None), use_ai_summary=False)
    agent = replace(agent, name=header.agent or agent.name, path=header.agent_path)
    count = TokenCounter().count

    async def carry_out() -> Any:
        conversation = Conversation(agent, run.sessions, count=count, show=tell, options=settings)
        try:
            return await work(conversation)
        finally:
            conversation.close()
            await agent.provider.close()

    return asyncio.run(carry_out())


def export(run: SessionActions, options: argparse.Namespace) -> int:
    """Write a conversation as one document: to a file, or (-) to standard output."""
    loaded, secrets = run.load(options.reference), options.secrets
    if options.file != "-":
        report, complaints = write_document(
            run.sessions, loaded, options.file, options.form, one=options.one, secrets=secrets
        )
        err(report)
    else:
        form = exporting.form_of(options.form, "")
        chain, broken = exporting.chain_of(run.sessions, loaded, whole=not options.one)
        images, lost = exporting.images_of(chain)
        out_bytes(exporting.exported(chain, form, secrets=secrets, images=images))
        complaints = [*([broken] if broken else []), *lost]
        if images and form == "markdown":
            count = counted(len(images), "image")
            complaints.append(f"{count} cannot be in it: export to a file, or as json.")
    for complaint in complaints:
        err(one_line(complaint, 300))
    return 0


def import_(run: SessionActions, options: argparse.Namespace) -> int:
    """Take in what was exported, or a folder of basic-agent-chat-loop; sessions of several files
    belong together.
    """
    parts = []
    for name in options.files:
        try:
            if name == "-":
                data = sys.stdin.buffer.read(importing.LARGEST + 1)
                parts.append(importing.imported(data, "standard input"))
            else:
                parts.append(importing.read_import(importing.file_path(name)))
        except SessionError as error:
            parts.append(importing.Imported(complaints=(error.message,)))
    stored, complaints = take_in(run.sessions, parts)
    for complaint in complaints:
        err(one_line(complaint, 300))
    for one in stored:
        state = "imported" if one.written else "there already"
        out(f"{one.was}  {state}{f' as {one.id}' if one.id != one.was else ''}\n")
    return int(not all(part.sessions for part in parts))
