"""Loads behind the prompt, in one thread, what the first request and the first reply need."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
from collections.abc import Callable
from functools import partial
from importlib import import_module

from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import registry
from chat_loop.errors import ChatLoopError
from chat_loop.library.indexer import Indexer
from chat_loop.library.library import Library
from chat_loop.sessions.organizing import remove_leftovers
from chat_loop.tokens import TokenCounter
from chat_loop.values import Usage

SWITCH_SECONDS = 0.0005
"""The longest time that the loader may delay the echo of a key; Python's default is 5 ms."""

UNLOADABLE = (OSError, ImportError)
"""Errors of modules on a disk that fails. The code that needs the modules reports them."""


class Loader:
    """Does its jobs one after the other; each has its own guard. `sync` starts the synchronization
    with the store. `report` gets the errors that are not expected.
    """

    def __init__(
        self,
        chat: Chat,
        indexer: Indexer,
        counter: TokenCounter,
        sync: Callable[[], None],
        report: Callable[[Exception], None],
    ) -> None:
        self._chat = chat
        self._indexer = indexer
        self._counter = counter
        self._sync = sync
        self._report = report
        self._thread = threading.Thread(target=self._load, daemon=True, name="loader")
        self._is_used = threading.Event()
        """Set when the user first waits for something. From then on slow things may load."""
        self._needs_encoding = threading.Event()
        """Set when the server's token counts and the estimate are no longer enough."""
        self._is_closed = False

    def start(self) -> None:
        """Start the thread, once."""
        if self._thread.ident is None:
            gc.disable()
            self._thread.start()

    def go_on(self) -> None:
        """Load slow things, too."""
        self._is_used.set()

    def load_encoding(self) -> None:
        """Load the token encoding, too."""
        self._needs_encoding.set()

    def close(self) -> None:
        """End the thread after its current job; return at once."""
        self._is_closed = True
        self._is_used.set()
        self._needs_encoding.set()

    def _load(self) -> None:
        chat = self._chat
        self._load_modules()
        if chat.servers is not None and chat.conversation.agent.provider.calls_tools:
            self._do(chat.servers.start)
        self._do(self._indexer.start)
        self._do(self._sync, expected=UNLOADABLE)
        self._do(partial(registry.add_plugins, chat.plugins))
        self._is_used.wait()
        if "cost" in chat.config.status:
            self._do(self._load_prices)
        self._do(partial(remove_leftovers, chat.sessions))
        if not chat.sessions.pointers.read().complete:
            self._do(self._point, expected=(*UNLOADABLE, ChatLoopError))
        if chat.reader.has_editor:  # else nobody sees a status line
            self._needs_encoding.wait()  # it takes 45 MB
        self._do(self._counter.load)

    def _load_modules(self) -> None:
        """Load what the first request and reply need."""
        chat = self._chat
        switch_seconds = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_SECONDS)
        try:
            # certifi and importlib.metadata would deadlock if they first import it in two threads
            self._do(partial(import_module, "importlib.resources"), expected=UNLOADABLE)
            warm = chat.conversation.agent.provider.warm
            self._do(warm, expected=(*UNLOADABLE, ChatLoopError))  # the first request reports it
            self._do(chat.reader.refresh)  # the model's window is known now
            self._do(chat.display.load, expected=UNLOADABLE)
        finally:
            gc.freeze()  # modules are never garbage, so no collection needs to scan them
            gc.enable()
            sys.setswitchinterval(switch_seconds)

    def _load_prices(self) -> None:
        conversation = self._chat.conversation
        conversation.options.cost(conversation.agent.model, Usage())

    def _point(self) -> None:
        """Find the newest sessions of all projects, for the next start."""
        sessions = self._chat.sessions
        with contextlib.closing(Library(sessions.directory)) as library:
            (rows, _), _ = library.rows(everything=True)
        sessions.pointers.remake(rows)

    def _do(self, job: Callable[[], object], *, expected: tuple[type[Exception], ...] = ()) -> None:
        """Do a job, unless the chat has ended. Report an error that is not `expected`; no other job
        ends.
        """
        if self._is_closed:
            return
        try:
            job()
        except expected:
            return
        except Exception as error:  # noqa: BLE001 - each job has its own guard
            self._report(error)
