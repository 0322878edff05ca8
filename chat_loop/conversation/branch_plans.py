"""Branch plans (pure): forks, what /uncompact brings back, and merges. Sessions are read through an
argument `load`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from chat_loop.context import budget
from chat_loop.context.messages import Context
from chat_loop.context.request import Frame
from chat_loop.conversation.child_plan import ChildPlan, lengths_of
from chat_loop.conversation.resumption import verbatim
from chat_loop.conversation.stored_context import LoadFrom, check_resumable, context_of
from chat_loop.errors import UsageError
from chat_loop.sessions import records, summary_block
from chat_loop.sessions.chain import exchange_of
from chat_loop.sessions.manager import LoadedSession
from chat_loop.sessions.records import EPOCH, Exchange, Session, Summary, place_of_ref


def forked(loaded: LoadedSession, number: int) -> LoadedSession:
    """Return a session as it was after query `number`, even if that was undone. Raises UsageError
    if there is none.
    """
    session = loaded.session
    if _is_undone(session, number):
        session = replace(
            session, entries=(*session.entries, records.Redo(at=EPOCH, number=number))
        )
    number = exchange_of(session, number).number
    return replace(loaded, session=session.up_to(number), is_open=True)


def _is_undone(session: Session, number: int) -> bool:
    counting = (exchange.number for exchange in session.exchanges)
    return number != 0 and number not in counting and session.exchange(number) is not None


def fork_of(loaded: LoadedSession, plan: ChildPlan, number: int) -> ChildPlan:
    """Return the plan of a fork, which names the session and the place where it leaves it."""
    session = loaded.session
    standing = tuple(session.standing.values())
    if _is_undone(session, number):
        ref = f"{session.depth}.{number}"
        redo = records.Redo(at=EPOCH, number=0, ref=ref, session=session.id)
        standing = (*standing, redo)
    else:
        number = exchange_of(session, number).number
    until = f"{session.depth}.{number}"
    return replace(plan, parent=session, until=until, standing=standing)


def as_begun(session: Session, context: Context, parent: LoadedSession) -> ChildPlan:
    """Plan a child like `session` as it began, beside it. `context` has the exchanges that it
    carries, and `parent` is the session before it.
    """
    restoration = session.restoration
    assert restoration is not None
    begun = session.up_to(0)
    until = restoration.until
    if not until and parent.session.exchanges:
        until = parent.session.exchanges[-1].ref
    return ChildPlan(
        parent=parent.session,
        path=parent.path,
        block=restoration.block,
        carried=context.carried,
        unsummarized_from=restoration.unsummarized_from,
        pins=Context(begun).pins,
        until=until,
        merged=restoration.merged,
        merged_until=restoration.merged_until,
        depth=restoration.depth if restoration.merged else 0,
        standing=tuple(begun.standing.values()),
        lengths=lengths_of(context.carried, begun.shortened),
    )


def fork(loaded: LoadedSession, number: int, load: LoadFrom) -> ChildPlan:
    """Plan a fork with all exchanges, whatever fits."""
    cut_off = forked(loaded, number)
    context, _ = context_of(cut_off.session, load)
    return fork_of(loaded, verbatim(cut_off, context), number)


class Uncompacted(Struct, frozen=True):
    """The nearest ancestor with exchanges that the context lacks, the exchanges after it, and the
    reference at which its child forks, if any.
    """

    loaded: LoadedSession
    after: tuple[Exchange, ...]
    until: str


def uncompacted(
    context: Context, ancestors: Iterable[LoadedSession], load: LoadFrom
) -> Uncompacted:
    """Find what the last compaction took out of a context. The ancestors come parent first, and
    reading them may raise SessionError. Raises UsageError if there was no compaction.
    """
    session = context.session
    in_context = context.refs
    after: tuple[Exchange, ...] = ()
    for loaded in ancestors:
        restoration = session.restoration
        if restoration is None or restoration.merged:
            break
        after = (*session.exchanges, *after)
        until = restoration.until
        session = loaded.session
        earlier, missing = context_of(session, load)
        if missing or any(exchange.ref not in in_context for exchange in earlier.exchanges):
            return Uncompacted(replace(loaded, is_open=bool(until)), after, until)
    hint = "/tree shows the sessions before it."
    raise UsageError("This session was not compacted.", hint)


class Branches(Struct, frozen=True):
    """Two sessions to merge, the one with more of their common session first. `fork` is the depth
    of that session, 0 if they have none in common. `left_open` are the ids of those that somebody
    else goes on with.
    """

    first: LoadedSession
    second: LoadedSession
    fork: int
    left_open: frozenset[str] = frozenset()

    def until(self, branch: LoadedSession) -> str:
        """Return the reference where a branch is left, if it is left open."""
        session = branch.session
        if session.id not in self.left_open or not session.exchanges:
            return ""
        return session.exchanges[-1].ref


def branches_of(
    first: LoadedSession,
    second: LoadedSession,
    chains: Sequence[Sequence[Session]],
    left_open: frozenset[str] = frozenset(),
) -> Branches:
    """Return the order of two sessions to merge, given with their `chains`: each session, and its
    ancestors. Raises UsageError and SessionError.
    """
    if first.session.id == second.session.id:
        hint = "merge takes two sessions; /tree shows the branches of this one."
        raise UsageError(f"Both are {first.session.id}.", hint)
    check_resumable(first.session)
    check_resumable(second.session)
    ids = {session.id for session in chains[0]}
    common = next((session for session in chains[1] if session.id in ids), None)
    common_id = ""
    if common is not None:
        common_id = common.header.id
    branches = [
        (first, _last_shared_query(chains[0], common_id)),
        (second, _last_shared_query(chains[1], common_id)),
    ]
    branches.sort(key=lambda pair: (pair[0].session.id != common_id, -pair[1]))
    (first, _), (second, shared) = branches
    session = first.session
    last = 0
    if session.exchanges:
        last = session.exchanges[-1].number
    if session.id == common_id and last <= shared:
        whole = second.session.id
        text = f"{whole} continues {session.id}: there is nothing to merge."
        raise UsageError(text, f"/resume {whole} has both.")
    return Branches(first, second, common.depth if common is not None else 0, left_open)


def _last_shared_query(chain: Sequence[Session], common: str) -> float:
    """Return the last query of the `common` session in a branch, or infinity if it has all."""
    children = [session for session in chain if common and session.header.parent == common]
    numbers = [place_of_ref(child.until)[1] or float("inf") for child in children]
    return max(numbers, default=float("inf"))


def merged(frame: Frame, branches: Branches, summaries: tuple[Summary, Summary]) -> ChildPlan:
    """Plan the child of two sessions from their summaries."""
    from chat_loop.context import merge  # late: it loads the ledger

    session = branches.first.session
    second = branches.second.session
    fork = branches.fork
    depth = session.depth
    room = budget.ledger_room(frame.window.tokens, frame.limits)
    summary = merge.merge(*summaries, room, frame.count, fork=fork, shift=depth - fork)
    tags = tuple(dict.fromkeys((*session.tags, *second.tags)))
    tag_kinds = records.Tag | records.Untag
    entries = tuple(entry for entry in session.entries if not isinstance(entry, tag_kinds))
    return ChildPlan(
        parent=replace(session, header=replace(session.header, tags=tags), entries=entries),
        path=branches.first.path,
        block=summary_block.render(summary),
        until=branches.until(branches.first),
        merged=second.header.id,
        merged_until=branches.until(branches.second),
        depth=depth + second.depth - fork + 1,
    )
