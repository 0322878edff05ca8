"""`chat-loop sessions fork|merge|compact|export|import`: what makes a session or a document."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator

from msgspec.structs import replace

from chat_loop.agent.agent import Agent
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
    told = f"Forked after query {number} of {loaded.session.header.id}."
    err(f"{told} Resume with: chat-loop --resume {identity}")
    return 0


def merge(run: SessionActions, options: argparse.Namespace) -> int:
    """Begin a session that goes on from two; the user decides where they contradict each other."""
    first, second = run.load(options.first), run.load(options.second)

    async def work() -> str:
        conversation = _conversation(run, first.session.header, optional=True)
        try:
            offers = conversation.offers()
            draft = await offers.merge(first, second)
            dropped: list[str] = []
            for number, pair in enumerate(draft.contradictions, 1):
                answer = options.prefer
                if not answer:
                    err(f"Contradiction {number} of {len(draft.contradictions)}:")
                    err(f"  1  {pair.first}\n  2  {pair.second}")
                    answer = _answer()
                dropped += {"1": [pair.second], "2": [pair.first], "both": []}[answer]
            await conversation.accept(offers.merged(draft, dropped), acknowledge=False)
            return conversation.live.header.id
        finally:
            conversation.close()
            await conversation.agent.provider.close()

    identity = asyncio.run(work())
    out(f"{identity}\n")
    err(f"Merged. Resume with: chat-loop --resume {identity}")
    return 0


def _answer() -> str:
    """Ask which of two lines holds. Raises UsageError when nobody answers."""
    if not sys.stdin.isatty():
        text = "The sessions contradict each other, and nobody is there to decide."
        raise UsageError(text, "--prefer decides.")
    while True:
        err("Which one holds? (1, 2, b for both) ")
        line = sys.stdin.readline()
        answers = {"1": "1", "2": "2", "b": "both", "both": "both"}
        if answer := answers.get(line.strip().lower()):
            return answer
        if not line:
            raise UsageError("Not merged.")


def compact(run: SessionActions, options: argparse.Namespace) -> int:
    """Make the summary of a stored session, or make it anew."""
    loaded = run.chosen(options)
    header, seal = loaded.session.header, loaded.session.seal
    try:  # before a model is paid for what cannot be kept
        take_lock(loaded.path.parent, loaded.path.stem).release()
    except OSError as error:
        raise SaveError(f"{loaded.path} cannot be written to: {os_reason(error)}.") from error

    async def work() -> int:
        optional = not run.config.auto_compact.use_ai_summary
        conversation = _conversation(run, header, optional=optional)
        try:
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
        finally:
            conversation.close()
            await conversation.agent.provider.close()
        how = {"model": "by a model", "extracted": "without a model", "none": ""}[made.source]
        tokens = f", {made.usage.total:,} tokens" if made.usage else ""
        out(f"{header.id}: summary made {how}{tokens}.\n")
        return 0

    return asyncio.run(work())


class _Nobody:
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


def _conversation(run: SessionActions, header: Header, *, optional: bool) -> Conversation:
    """Return a conversation that only makes summaries and begins sessions, in the name of the agent
    of `header`. Raises NoProvider without a model, unless that is `optional`.
    """
    config = run.config
    try:
        agent, summarizer = run.models()
        options = options_of(config, summarizer)
    except NoProvider as error:
        if not optional:
            raise
        agent = Agent(
            name=config.agent.name,
            system_prompt=config.agent.system_prompt,
            provider=_Nobody(header.model, error),
        )
        options = replace(options_of(config, None), use_ai_summary=False)
    agent = replace(agent, name=header.agent or agent.name, path=header.agent_path)
    return Conversation(agent, run.sessions, count=TokenCounter().count, show=tell, options=options)


def export(run: SessionActions, options: argparse.Namespace) -> int:
    """Write a conversation as one document: to a file, or (-) to standard output."""
    loaded = run.load(options.reference)
    to_output = options.file == "-"
    form = exporting.form_of(options.form, "" if to_output else options.file)
    chain, broken = exporting.chain_of(run.sessions, loaded, whole=not options.one)
    if broken:
        err(broken)
    if to_output:
        images, complaints = exporting.images_of(chain)
        out_bytes(exporting.exported(chain, form, secrets=options.secrets, images=images))
        if images and form == "markdown":
            count = counted(len(images), "image")
            complaints.append(f"{count} cannot be in it: export to a file, or as json.")
    else:
        made = exporting.write_export(chain, options.file, form, secrets=options.secrets)
        complaints = made.complaints
        err(made.report)
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
    found = importing.united(parts)
    stored = importing.store(run.sessions, found.sessions)
    for complaint in (*found.complaints, *importing.keep_images(run.sessions.images, found)):
        err(one_line(complaint, 300))
    for one in stored:
        what = "imported" if one.written else "there already"
        out(f"{one.was}  {what}{f' as {one.id}' if one.id != one.was else ''}\n")
    return int(not all(part.sessions for part in parts))
