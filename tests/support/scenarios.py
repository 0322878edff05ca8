"""Conversations for tests of the file layer: their steps, and the facts that they acknowledged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

from chat_loop.conversation import continuing
from chat_loop.conversation.reading import QueryFile
from chat_loop.errors import SessionError
from chat_loop.events import Event, SessionSealed, Warned
from chat_loop.export.importing import Importer
from chat_loop.library.library import Library
from chat_loop.sessions.files import Files
from chat_loop.sessions.images import is_image
from chat_loop.sessions.manager import LoadedSession, SessionManager
from chat_loop.sessions.organizing import move_to_trash, restore, set_name_and_tags
from chat_loop.sessions.records import (
    IMAGE_FOLDER,
    Attachment,
    Query,
    Reply,
    Session,
    Undo,
)
from chat_loop.sessions.writer import render
from chat_loop.values import Request
from tests.support.saved_sessions import simple
from tests.support.scripted_chat import START, SUMMARY, Clock, Says, Step, Talk

Fact = tuple[str, ...]
"""A piece of a file's content, such as ("query", ID, "Hello")."""

PHOTO = b"\x89PNG\r\n\x1a\n" + bytes(range(64))
LONG = tuple(f"word{number}\n<!-- is not a marker" for number in range(12))


def facts(session: Session) -> set[Fact]:
    """Return all facts in a session that a user may rely on once they are acknowledged."""
    identity = session.header.id
    found: set[Fact] = {("pin", identity, pin) for pin in session.pins}
    found |= {("tag", identity, tag) for tag in session.tags}
    for entry in session.entries:
        match entry:
            case Query():
                found.add(("query", identity, entry.text))
            case Reply():
                found.add(("reply", identity, entry.text, entry.stop))
            case Undo():
                found.add(("undone", identity, str(entry.number)))
            case Attachment():
                found.add(("file", identity, entry.name, entry.file or entry.text))
    if found and session.header.parent:
        found.add(("parent", identity, session.header.parent))
    if session.name:
        found.add(("name", identity, session.name))
    if session.seal is not None:
        found |= {
            ("seal", identity, session.seal.reason, session.seal.source),
            ("sealed", identity),
        }
    return found


def texts(session: Session) -> list[tuple[str, str]]:
    """Return the exchanges of a session as pairs of a query and a reply."""
    return [(one.query.text, one.reply.text if one.reply else "") for one in session.exchanges]


def facts_of_tree(tree: Mapping[str, bytes], read: Callable[[str, bytes], set[Fact]]) -> set[Fact]:
    """Return the facts in the files of a sessions folder, given by their paths in it. `read`
    returns the facts of a transcript.
    """
    found: set[Fact] = set()
    for name, data in tree.items():
        folder, _, file = name.rpartition("/")
        if folder == IMAGE_FOLDER and is_image(name, data):
            found.add(("image", name))
        elif folder in ("", ".trash") and file.endswith(".md") and not file.startswith("."):
            found |= read(name, data)
            if folder:
                found.add(("trashed", file.removesuffix(".md")))
    return found


def tree_of(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder by their paths in it, without locks and the index."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".lock" and not path.name.startswith(".index")
    }


def facts_in(folder: Path) -> set[Fact]:
    """Return the facts of a sessions folder as it is on the disk."""
    sessions = SessionManager(folder)

    def read(name: str, data: bytes) -> set[Fact]:
        try:
            return facts(sessions.load(folder / name).session)
        except SessionError:
            return set()

    return facts_of_tree(tree_of(folder), read)


class Run:
    """One conversation on a file layer, with the facts that have been acknowledged so far."""

    def __init__(self, folder: Path, files: Files, clock: Clock | None = None) -> None:
        self.folder = folder
        self.talk = Talk(folder, files=files, clock=clock)
        self.acknowledged: set[Fact] = set()
        self.words = ["**You:** ", "**Sally:** "]
        """All texts that were said, and the labels; a torn record may contain a part of one."""
        self.told: list[str] = []
        """The messages that told the user that something was not saved."""
        self.number = 0
        self.task: asyncio.Future[None] | None = None  # the running step
        self.disturbed = ""  # the id of a session whose file another program changed
        self._stream = self.talk.model.stream
        self.talk.model.stream = self._watched  # type: ignore[method-assign]
        self.talk.screen = self._shown

    def steps(self, *steps: Step) -> None:
        """Set the steps that the model's next calls follow."""
        self.talk.model.steps[:] = steps
        for step in steps:
            if isinstance(step, str):
                self.words.append(step)
            elif isinstance(step, Says):
                self.words.append("".join(step.pieces))

    async def ask(self, text: str, *steps: Step, files: tuple[QueryFile, ...] = ()) -> None:
        """Ask `text`; the model follows the steps."""
        self.words.append(text)
        self.steps(*steps)
        await self.talk.conversation.ask(text, files)
        self.acknowledge()

    async def act(self, act: Callable[[], Awaitable[object] | None]) -> None:
        """Do something that counts as acknowledged when it returns."""
        waiting = act()
        if waiting is not None:
            await waiting
        self.acknowledge()

    def acknowledge(self, *others: Fact) -> None:
        """Remember that the user was told that the live session is saved in its current state."""
        self.acknowledged.update(others)
        live = self.talk.conversation.live
        if not live.is_empty and live.problem is None:
            self.acknowledged |= facts(live.session)

    def _shown(self, event: Event) -> None:
        if isinstance(event, SessionSealed) and event.saved:
            self.acknowledge(("sealed", event.id))
        elif isinstance(event, Warned) and "saved: " in event.message:
            self.told.append(event.message)

    async def _watched(self, request: Request) -> AsyncIterator[Event]:
        self.acknowledge()  # the query that is sent now
        async for event in self._stream(request):
            yield event

    @property
    def next(self) -> str:
        """Return a number for the next text, so that no two texts are the same."""
        self.number += 1
        return str(self.number)


async def ask(run: Run) -> None:
    number = run.next
    await run.ask(f"Query {number}\n<!-- chat:end -->\nstill the query", f"Reply {number}")


async def ask_at_length(run: Run) -> None:
    number = run.next
    await run.ask(f"Query {number}", Says((f"Reply {number} {LONG[0]}", *LONG[1:])))


async def pin(run: Run) -> None:
    await run.act(lambda: run.talk.conversation.pin(f"Keep {run.next}."))


async def name(run: Run) -> None:
    """Name the conversation; the previous name no longer counts as acknowledged."""
    run.acknowledged = {fact for fact in run.acknowledged if fact[0] != "name"}
    await run.act(lambda: run.talk.conversation.describe(name=f"Name {run.next}"))


async def tag(run: Run) -> None:
    tags = (*run.talk.conversation.session.tags, f"tag{run.next}")
    await run.act(lambda: run.talk.conversation.describe(tags=tags))


async def undo(run: Run) -> None:
    conversation = run.talk.conversation
    if conversation.session.exchanges:
        last = conversation.session.exchanges[-1]
        await run.act(lambda: conversation.undo(last))


async def compact(run: Run) -> None:
    """Compact; the child has the parent's name and tags."""
    conversation, number = run.talk.conversation, run.next
    if conversation.context.unsummarized:
        run.steps(SUMMARY, f"Understood {number}.")
        if await conversation.compact():
            parent = conversation.live.header.parent
            run.acknowledge(("seal", parent, "compact", "model"))


async def fork(run: Run) -> None:
    conversation, number = run.talk.conversation, run.next
    if conversation.session.exchanges:
        first = conversation.session.exchanges[0].query.number
        live = LoadedSession(conversation.session, conversation.live.path, is_open=True)
        plan = await continuing.fork(conversation.planning(), live, first)
        await conversation.accept(plan, acknowledge=False)
        await run.ask(f"Query {number}", f"Reply {number}")


async def leave(run: Run) -> None:
    """Seal the session and begin a new one, as /clear does."""
    await run.talk.conversation.leave("clear")


async def seal(run: Run) -> None:
    """End the conversation with a summary."""
    run.steps(SUMMARY)
    identity, conversation = run.talk.path.stem, run.talk.conversation
    await conversation.end()
    if conversation.live.is_saved:
        run.acknowledge(("seal", identity, "exit", "model"))


async def resume(run: Run) -> None:
    """Resume the interrupted session; wait for the summary that is made in the background."""
    if not (path := run.folder / f"{INTERRUPTED}.md").is_file():
        return
    run.steps(SUMMARY)
    await run.talk.resume(path.stem)
    loaded = run.talk.sessions.load(path)
    seal = loaded.session.seal
    if seal is not None:
        run.acknowledge(("seal", path.stem, seal.reason, seal.source), ("sealed", path.stem))
    run.acknowledge()


async def describe_stored(run: Run) -> None:
    """Name and tag a session that has ended."""
    path, number = run.folder / f"{STORED.header.id}.md", run.next
    if path.is_file():
        loaded = run.talk.sessions.load(path)
        run.acknowledged -= {
            fact
            for fact in run.acknowledged
            if fact[:2] in (("name", path.stem), ("tag", path.stem))
        }
        set_name_and_tags(run.talk.sessions, loaded, name=f"Name {number}", tags=(f"tag{number}",))
        run.acknowledge(("name", path.stem, f"Name {number}"), ("tag", path.stem, f"tag{number}"))


async def import_sessions(run: Run) -> None:
    """Import a conversation of two sessions and an image."""
    number, importer = run.next, Importer()
    first = simple(f"import_{number}_a", START, f"About boats {number}", "They float.")
    second = simple(
        f"import_{number}_b",
        START + timedelta(hours=1),
        "And ships?",
        "Too.",
        parent=first.header.id,
    )
    for session in (second, first):
        run.words += (text for pair in texts(session) for text in pair)
        importer.add_document(render(session), f"{session.header.id}.md")
    for stored in importer.store(run.talk.sessions):
        path = run.talk.sessions.session_file(stored.id)
        run.acknowledge(*facts(run.talk.sessions.load(path).session))


async def trash(run: Run) -> None:
    """Move a session to the trash, or out of it."""
    identity = STORED.header.id
    path = run.folder / f"{identity}.md"
    if path.is_file():
        move_to_trash(run.talk.sessions, path)
        run.acknowledge(("trashed", identity))
    else:
        run.acknowledged.discard(("trashed", identity))
        restore(run.talk.sessions, identity)


async def attach(run: Run) -> None:
    """Ask a question with a text file and an image attached."""
    number = run.next
    photo = PHOTO + number.encode()
    image = Attachment(
        number=1,
        at=START,
        name=f"photo{number}.png",
        media="image/png",
        size=len(photo),
        sha256=sha256(photo).hexdigest(),
        width=2,
        height=2,
    )
    text = Attachment(
        number=1,
        at=START,
        name=f"notes{number}.txt",
        media="text/plain",
        size=5,
        sha256=sha256(b"boats").hexdigest(),
        text="boats",
    )
    run.talk.model.takes_images = True
    warned = len(run.told)
    files = (QueryFile(text), QueryFile(image, photo))
    await run.ask(f"Query {number}", f"Reply {number}", files=files)
    if len(run.told) == warned:
        run.acknowledge(("image", image.file))


async def index(run: Run) -> None:
    """List all sessions, which brings the index up to date."""

    def listed() -> None:
        with closing(Library(run.folder)) as library:
            library.rows(everything=True)

    await asyncio.to_thread(listed)


INTERRUPTED, STORED = "sally_20261120_100000", simple("sally_20261119_100000", START - timedelta(2))


def before(folder: Path) -> None:
    """Write a session that a power failure interrupted, and one that has ended, into a folder."""
    folder.mkdir(mode=0o700, parents=True)
    open_session = simple(INTERRUPTED, START - timedelta(1), *("first", "Hello") * 8)
    data, _, _ = render(open_session).partition(b"\n<!-- SESSION_SUMMARY_START")
    torn = b"\n<!-- chat:query n=9 at=2026-11-21T22:31:15+01:00 -->\n**You:** sec"
    (folder / f"{INTERRUPTED}.md").write_bytes(data.rstrip(b"-\n") + b"\n" + torn)
    (folder / f"{STORED.header.id}.md").write_bytes(render(STORED))


@dataclass(frozen=True)
class Scenario:
    """A sequence of steps, and the kinds of new facts that they acknowledge."""

    name: str
    steps: tuple[Callable[[Run], Awaitable[None]], ...]
    kinds: frozenset[str]


def scenario(name: str, kinds: str, *steps: Callable[[Run], Awaitable[None]]) -> Scenario:
    return Scenario(name, steps, frozenset(kinds.split()))


SCENARIOS = (
    scenario("chat", "query reply pin name tag", ask, pin, name, tag, ask),
    scenario("stream", "query reply", ask_at_length, ask),
    scenario("compact", "query reply seal sealed parent", ask, compact, ask),
    scenario("seal", "query reply seal sealed", ask, seal),
    scenario("resume", "query reply seal sealed parent", resume, ask),
    scenario("fork", "query reply sealed parent", ask, ask, fork, ask),
    scenario("undo", "query reply undone", ask, ask, undo, ask),
    scenario(
        "rename",
        "query reply name tag seal sealed",
        ask,
        name,
        describe_stored,
        seal,
        describe_stored,
    ),
    scenario("import", "query reply seal sealed parent", ask, import_sessions, ask),
    scenario("index", "query reply seal sealed", ask, index, seal, index),
    scenario("trash", "query reply trashed", ask, trash, trash, trash, ask),
    scenario("attachments", "query reply file image", attach, ask, attach),
)
