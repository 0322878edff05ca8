"""`chat-loop sessions fork|merge|compact|export|import`: write sessions and documents."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from msgspec.structs import replace

from chat_loop import assembly
from chat_loop.agent.agent import ModelAgent
from chat_loop.characters import one_line
from chat_loop.context.budget import Narration
from chat_loop.context.messages import Context
from chat_loop.context.request import frame_of
from chat_loop.conversation import branch_plans, continuing
from chat_loop.conversation.continuing import Planning
from chat_loop.conversation.conversation_options import FEEDBACK, Options, options_of
from chat_loop.conversation.summarizer import complete, writer_of
from chat_loop.display.plain import Meter, PlainDisplay, err, out
from chat_loop.errors import SaveError, SessionError, os_reason
from chat_loop.export import exporting, importing
from chat_loop.providers.recorded import Offer, difference
from chat_loop.sessions.chain import exchange_of
from chat_loop.sessions.files import lock_session
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Exchange, Session
from chat_loop.subcommands.stored import Action, StoredSessions
from chat_loop.tokens import Count, TokenCounter
from chat_loop.values import plural

T = TypeVar("T")
LATE_SECONDS = 120  # the time limit for a summary in the process that an exit starts


def fork(stored: StoredSessions, options: argparse.Namespace) -> int:
    """Begin a session that continues another one after a query, to be resumed later."""
    loaded = stored.load(options.reference)
    sessions = stored.sessions
    number = exchange_of(loaded.session, options.at).number
    plan = branch_plans.fork(loaded, number, sessions.load_from)
    answering = plan.parent.up_to(number).answering
    identity = continuing.write_child(sessions, plan, loaded.session.header, answering)
    out(f"{identity}\n")
    text = f"Forked after message {number} of {loaded.session.id}."
    err(f"{text} Resume with: chat-loop --resume {identity}")
    return 0


def merge(stored: StoredSessions, options: argparse.Namespace) -> int:
    """Begin a session that continues two others."""
    first = stored.load(options.first)
    second = stored.load(options.second)
    recorded = first.session.answering
    is_chosen = stored.parts.model_is_chosen

    async def work(planning: Planning) -> str:
        answering = planning.answering
        if recorded.model and not is_chosen:
            answering = recorded
        sentence = difference(answering, second.session.answering)
        if sentence and not is_chosen:
            hint = "-m MODEL says with which model to go on."
            raise SessionError(f"Not merged. {sentence}", hint)
        branches = continuing.branches_of(planning, first, second)
        plan = await continuing.merge(planning, branches)
        header = first.session.header
        return continuing.write_child(planning.sessions, plan, header, answering)

    identity = _planned(stored, work, first.session)
    out(f"{identity}\n")
    err(f"Merged. Resume with: chat-loop --resume {identity}")
    return 0


def compact(stored: StoredSessions, options: argparse.Namespace) -> int:
    """Make or remake the summary of a stored session."""
    loaded = stored.load(options.reference)
    header = loaded.session.header
    seal = loaded.session.seal
    if options.late:
        signal.alarm(LATE_SECONDS)  # even if something hangs
    try:  # before paying a model for a summary that cannot be saved
        lock_session(loaded.path.parent, loaded.path.stem).close()
    except OSError as error:
        raise SaveError(f"{loaded.path} cannot be written to: {os_reason(error)}.") from error

    async def work(planning: Planning) -> int:
        if options.late and (seal is None or seal.summary is not None):
            return 0
        focus = " ".join((*options.focus, _feedback(stored, header.id))).strip()
        made = await continuing.summarize(planning, loaded, focus, remade=not options.late)
        how = {"model": "by a model", "extracted": "without a model", "none": ""}[made.source]
        tokens = ""
        if made.usage:
            tokens = f", {made.usage.total:,} tokens"
        out(f"{header.id}: summary made {how}{tokens}.\n")
        return 0

    return _planned(stored, work, loaded.session)


def _feedback(stored: StoredSessions, identity: str) -> str:
    """Return the user's comment on a session's summary, from a child that begins with it."""
    for link in stored.told(stored.own.links()).values():
        if link.parent == identity:
            with suppress(SessionError):
                child = stored.sessions.load(stored.sessions.session_file(link.id)).session
                if feedback := child.settings.get(FEEDBACK):
                    return f"(said of the last summary: {feedback})"
    return ""


def _planned(
    stored: StoredSessions,
    work: Callable[[Planning], Awaitable[T]],
    session: Session | None = None,
) -> T:
    """Do `work` with the models that the options name, or else that of the `session`. Raises
    NoProvider and SessionError.
    """
    parts = stored.parts
    offer = Offer()
    if session is not None and not parts.model_is_chosen:
        offer = assembly.find_offer(parts, session.answering)
    if session is not None and offer.problem and not parts.config.auto_compact.summary_provider:
        offer = assembly.offer_for_script(parts, session)
    agent = assembly.make_agent(parts, None if offer.problem else offer.provider)
    has_model = parts.options.model or parts.options.local  # that model then also summarizes
    is_late = getattr(parts.options, "late", False)  # then the options are those of the chat
    summarizer = None
    if is_late or not has_model:
        summarizer = assembly.make_summarizer(parts, agent)
    options = options_of(parts.config, summarizer)
    if offer.problem and summarizer is not None:
        agent = replace(agent, provider=summarizer)  # the words go to no third one

    async def run() -> T:
        try:
            return await work(stored_planning(parts.sessions, agent, options, TokenCounter().count))
        finally:
            await agent.provider.close()

    return asyncio.run(run())


def stored_planning(
    sessions: SessionManager, agent: ModelAgent, options: Options, count: Count
) -> Planning:
    """Return what planning needs outside of a chat."""
    writer = writer_of(options, agent.provider, agent.limits, count)

    show = PlainDisplay().show

    async def narrate(
        context: Context,
        span: Sequence[Exchange],
        focus: str = "",
        fallback: str = "",
        *,
        optional: bool = False,
    ) -> Narration:
        asked = writer.asked(optional=optional)
        return await complete(
            Narration(), context, span, asked, show, focus=focus, fallback=fallback
        )

    frame = frame_of(agent, options.limits, count)
    return Planning(
        sessions=sessions,
        frame=frame,
        options=options,
        answering=agent.answering,
        acknowledges=False,
        narrate=narrate,
        report=show,
    )


def export(stored: StoredSessions, options: argparse.Namespace) -> int:
    """Write a conversation as one document to a file, or to standard output for `-`."""
    loaded = stored.load(options.reference)
    target = options.file
    to_output = options.file == "-"
    form = exporting.export_format(
        options.form or "markdown" * to_output, target, stored.parts.plugins
    )
    with Meter().clock("Exporting"):
        chain, problem = exporting.chain_of(stored.sessions, loaded, whole=not options.one)
        if to_output:
            images, complaints = exporting.images_of(chain)
            data = exporting.export_bytes(chain, form, secrets=options.secrets, images=images)
        else:
            report, complaints = exporting.write_export(
                chain, target, form, secrets=options.secrets
            )
    if to_output:
        out(data)
        if images and form == "markdown":
            count = plural(len(images), "image")
            complaints.append(f"{count} cannot be in it: export to a file, or as json.")
    else:
        err(report)
    for complaint in filter(None, (problem, *complaints)):
        err(one_line(complaint, 300))
    return 0


def import_(stored: StoredSessions, options: argparse.Namespace) -> int:
    """Import exports, or a folder of basic-agent-chat-loop. A file may contain part of a chain."""
    importer = importing.Importer()
    has_empty = False
    with Meter().clock("Importing"):
        for name in options.files:
            before = len(importer.sessions)
            if name == "-":
                document = sys.stdin.buffer.read(importing.MAX_BYTES + 1)
                importer.add_document(document, "standard input")
            else:
                importer.add_path(importing.file_path(name))
            has_empty = has_empty or len(importer.sessions) == before
        imported = importer.store(stored.sessions)
    for complaint in importer.complaints:
        err(one_line(complaint, 300))
    for session in imported:
        state = "there already"
        if session.is_new:
            state = "imported"
        if session.id != session.original_id:
            state += f" as {session.id}"
        out(f"{session.original_id}  {state}\n")
    return int(has_empty)


ACTIONS: dict[str, Action] = {
    "fork": fork,
    "merge": merge,
    "compact": compact,
    "export": export,
    "import": import_,
}
