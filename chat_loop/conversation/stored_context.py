"""Stored context (pure): what the file of a session says of its context and its summary. Other
files are read through an argument `load`.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from chat_loop.context.messages import Context
from chat_loop.conversation.conversation_options import FEEDBACK
from chat_loop.errors import SessionError
from chat_loop.redact import Redactor
from chat_loop.sessions import records, summary_block
from chat_loop.sessions.chain import link_of
from chat_loop.sessions.manager import LoadedSession
from chat_loop.sessions.records import ALL, Exchange, Session, Summary, place_of_ref
from chat_loop.values import plural

LoadFrom = Callable[[str, int], LoadedSession]
"""Loads a session by its id, at least from the query with a number on. Raises SessionError."""

SEEN = "/show looks into a session."


def context_of(session: Session, load: LoadFrom) -> tuple[Context, str]:
    """Return a session as its model saw it, and a sentence about what is missing, if anything. Only
    what it carries is read.
    """
    restoration = session.restoration
    if restoration is None:
        return Context(session), ""
    since = (session.depth, 0)
    if restoration.verbatim_from:
        since = place_of_ref(restoration.verbatim_from)
    redone = {
        place_of_ref(entry.ref): entry.session
        for entry in session.changed.values()
        if isinstance(entry, records.Redo)
    }
    first = min((since, *redone))
    text = f"The words from {first[0]}.{first[1]} on are incomplete"
    problem = ""
    child = session
    carried: tuple[Exchange, ...] = ()
    for depth in range(session.depth - 1, first[0] - 1, -1):
        if not child.header.parent:
            return Context(session, carried), f"{text}: {child.header.id} names no parent."
        wanted = [at[1] for at in redone if at[0] == depth]
        if depth >= since[0]:
            wanted.append(since[1] if depth == since[0] else 0)
        number = min(wanted, default=ALL)
        try:
            loaded = load(child.header.parent, number)
        except SessionError as error:
            return Context(session, carried), f"{text}: {error.message}"
        parent = loaded.session
        problem = _missing_in(loaded, child, number) or problem
        seen = parent.as_continued(link_of(child).last_query, session.standing)
        found = []
        for exchange in seen.exchanges:
            at = depth, exchange.number
            if at >= since or redone.get(at) == exchange.session:
                found.append(replace(exchange, depth=depth))
        carried = (*found, *carried)
        child = parent
    return Context(session, carried), problem and f"{text}: {problem}"


def _missing_in(loaded: LoadedSession, child: Session, number: int) -> str:
    """Return a sentence if a session, from a query on, has not all that its child got of it."""
    identity = loaded.session.id
    if len(loaded.damage) > loaded.torn_records:
        return f"{identity} is damaged. {loaded.damage[0]}"
    queries_had = 0
    if child.restoration is not None:
        queries_had = child.restoration.queries
    queries = (entry for entry in loaded.session.entries if isinstance(entry, records.Query))
    last = max((query.number for query in queries), default=0)
    if number != ALL and last < queries_had:
        return f"{identity} had {plural(queries_had, 'message')}; its file ends after {last}."
    return ""


def check_resumable(session: Session, hint: str = SEEN) -> None:
    """Raise SessionError for an empty session; failed queries do not count."""
    if all(exchange.failed for exchange in session.exchanges) and not (
        session.restoration or session.pins
    ):
        text = f"Session {session.id} has no messages: it can't be resumed."
        raise SessionError(text, hint)


def finished(loaded: LoadedSession) -> LoadedSession:
    """Return a session that another process has open, up to the last exchange that has ended there:
    of a child, at least what it began with. Raises SessionError if there is nothing.
    """
    session = loaded.session
    ended = [exchange for exchange in session.exchanges if _has_ended(exchange, loaded)]
    if not ended and session.restoration is None:
        raise nothing_ended(session)
    is_torn = len(loaded.damage) <= loaded.torn_records  # its writer is still writing
    return replace(
        loaded,
        session=session.up_to(ended[-1].number if ended else 0),
        damage=() if is_torn else loaded.damage,
        is_open=True,
    )


def nothing_ended(session: Session) -> SessionError:
    """Return the error of a session that another process has open without a reply."""
    text = f"Session {session.id} is open in another process"
    parent = session.header.parent
    hint = f"Take {parent}, which it continues." if parent else "Try again in a moment."
    return SessionError(f"{text}, and no reply has ended there yet.", hint)


def _has_ended(exchange: Exchange, loaded: LoadedSession) -> bool:
    """Return False for the last exchange of a session if its reply is still being written."""
    if exchange is not loaded.session.exchanges[-1]:
        return True
    if exchange.reply is None or exchange.reply.stop == "tool":
        return False
    return not (exchange.reply.stop == "interrupted" and loaded.torn_records)


def stored_summary(session: Session) -> Summary | None:
    """Return the summary in a session's file; None when it is missing or empty. What a person wrote
    need not have any heading.
    """
    seal = session.seal
    summary = seal.summary if seal is not None else None
    if seal is None or summary is None:
        return None
    has_lists = summary.topics or summary.decisions or summary.pending or summary.pinned
    is_written = seal.edited and summary.background.strip() not in ("", Summary().background)
    if not (has_lists or is_written):
        return None
    if seal.edited:
        return without_secrets(summary)
    return summary


def without_secrets(summary: Summary) -> Summary:
    """Return a summary that a person edited, with a mark in the place of each secret. Pins stay."""
    redactor = Redactor()
    lists = (name for name in summary_block.LISTS if name != "pinned")
    return replace(
        summary,
        background=redactor(summary.background),
        **{name: tuple(map(redactor, getattr(summary, name))) for name in lists},
    )


def covering_summary(session: Session, *, covers_all: bool) -> Summary | None:
    """Return the summary in a session's file, or None if it is missing or covers too little."""
    seal = session.seal
    if covers_all and seal is not None and seal.covers is not None:
        return None
    return stored_summary(session)


def goes_by_summary(session: Session) -> bool:
    """Return True if a person edited the summary of a session, had it made again, or judged the one
    before: then it is used, however short its exchanges are. So is that of a child that does not
    record what its parent gave it, in the format of the first version.
    """
    seal = session.seal
    if seal is not None and (seal.edited or seal.remade):
        return True
    is_unrecorded = bool(session.header.parent) and session.restoration is None
    return stored_summary(session) is not None and (is_unrecorded or is_judged(session))


def is_judged(session: Session) -> bool:
    """Return True if the user said in a session that the summary before it is bad."""
    judged = f"{FEEDBACK}: bad"
    settings = (entry for entry in session.entries if isinstance(entry, records.Setting))
    return any(setting.text.startswith(judged) for setting in settings)


def after_summary(session: Session) -> tuple[Exchange, ...]:
    """Return the exchanges after the last one that a session's own summary covers."""
    seal = session.seal
    last = ALL
    if seal is not None and seal.covers is not None:
        last = seal.covers
    return tuple(each for each in session.exchanges if each.number > last and not each.failed)
