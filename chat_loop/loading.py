"""What is loaded behind the prompt, while the user types."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from chat_loop.display.manager import DisplayManager
from chat_loop.errors import ChatLoopError
from chat_loop.library.indexer import Indexer
from chat_loop.providers import Provider
from chat_loop.tokens import TokenCounter

if TYPE_CHECKING:
    from chat_loop.agent.mcp_servers import Servers

SWITCH_SECONDS = 0.0005
"""How long a thread that loads may keep a key waiting for its echo, where Python's own 5 ms add up
to 20.
"""


class Loading:
    """Loads what the first request and the first reply need; failures come back with them.

    `provider()` is who answers. The tokenizer follows when the user waits for something, which
    `used` says: building it holds up every other thread for 0.1 s. `later()` comes after it, for
    what the prompt after the reply shows.
    """

    def __init__(
        self,
        *,
        provider: Callable[[], Provider],
        display: DisplayManager,
        indexer: Indexer,
        counter: TokenCounter,
        servers: Servers | None,
        later: Callable[[], object] = object,
    ) -> None:
        self.used = threading.Event()
        self._provider = provider
        self._display = display
        self._indexer = indexer
        self._counter = counter
        self._servers = servers
        self._later = later
        self._begun = False
        self._switch_seconds = 0.0

    def begin(self) -> None:
        """Begin, in a thread of its own; once."""
        if self._begun:
            return
        self._begun = True
        self._switch_seconds = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_SECONDS)
        gc.disable()
        threading.Thread(target=self._load, daemon=True, name="load-behind").start()

    def _load(self) -> None:
        provider = self._provider()
        try:
            _load_saving()
            with contextlib.suppress(
                ChatLoopError
            ):  # the first request says it again, to somebody who waits
                provider.warm()
            self._display.load()
            _load_compaction()
        finally:
            _collect_again()
            sys.setswitchinterval(self._switch_seconds)
        if self._servers is not None and provider.calls_tools:
            self._servers.start()
        self._indexer.start()
        self.used.wait()
        self._counter.load(self._provider().model)
        self._later()


def _load_saving() -> None:
    from chat_loop.sessions.files import load_lock_library

    load_lock_library()


def _load_compaction() -> None:
    from chat_loop.agent import tools  # noqa: F401 - the first request needs it
    from chat_loop.context import ledger, summary  # noqa: F401 - they are needed after the first reply


def _collect_again() -> None:
    """Modules are no garbage: set them aside, so that no collection holds up a key or a reply to
    look through them.
    """
    gc.freeze()
    gc.enable()
