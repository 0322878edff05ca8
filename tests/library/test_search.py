"""Searching all sessions of a folder: the hits, their positions, the filters, and the secrets that
the index never contains.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from benchmarks.support.exchanges import ExchangeIndex
from benchmarks.support.planting import START, exchange
from chat_loop.errors import IndexUnavailable, SessionError
from chat_loop.library.filters import SessionFilter
from chat_loop.library.hits import Hit
from chat_loop.library.index import Index
from chat_loop.library.indexed import Position
from chat_loop.library.library import Library
from chat_loop.library.search import search_all, search_chain
from chat_loop.library.semantic import SemanticIndex
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import Summary
from tests.support.archives import write
from tests.support.engines import open_index, open_library
from tests.support.made_secrets import TOKENS

LIBRARIES: list[Library] = []


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    while LIBRARIES:
        LIBRARIES.pop().close()


def library(folder: Path) -> Library:
    LIBRARIES.append(open_library(folder))
    return LIBRARIES[-1]


def places(found: Sequence[Hit]) -> list[tuple[str, int]]:
    return [(one.row.id, one.exchange.query.number) for one in found]


def search(
    folder: Path, text: str, wanted: SessionFilter | None = None, limit: int = 5
) -> list[tuple[str, int]]:
    with closing(open_library(folder)) as opened:
        return places(search_all(opened, text, wanted or SessionFilter(), limit).value)


CHATTER = (
    "Tell me about the weather.",
    "The sea is blue today.",
    "A short poem about boats, please.",
)


def shelf(folder: Path) -> None:
    write(
        folder,
        "a",
        *CHATTER,
        ("Which port?", "The gateway listens on port 5432."),
        "XOPS-22178-b is done.",
    )
    write(
        folder,
        "b",
        "测试数据库使用端口 5533。",
        "Le café du COIN ferme à midi.",
        *CHATTER,
        agent="Ida",
    )
    write(
        folder,
        "c",
        *CHATTER,
        "Die Waschmaschinenreparatur kostet 120 Euro.",
        "See OPS-2217 there.",
        tags=("work",),
    )


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("on which port does the gateway listen?", [("a", 4)]),
        ("端口", [("b", 1)]),
        ("OPS-2217", [("c", 5)]),
        ("ops-22178-b", [("c", 5)]),
        ("22178", [("a", 5)]),
        ("nothing of the kind: zeppelins", []),
    ],
)
def test_what_is_found_and_under_which_number(
    tmp_path: Path, asked: str, expected: list[tuple[str, int]]
) -> None:
    shelf(tmp_path)
    assert search(tmp_path, asked, limit=len(expected) or 5) == expected


@pytest.mark.usefixtures("engine")
def test_the_number_is_that_of_the_file_whatever_stands_before_it(tmp_path: Path) -> None:
    path = write(tmp_path, "a", *CHATTER, "The gateway listens on port 5432.")
    data = path.read_bytes().replace(b"n=4", b"n=40")
    path.write_bytes(
        data.replace(
            b"<!-- chat:query n=2",
            b"<!-- chat:undo n=1 -->\n<!-- chat:end -->\n<!-- chat:query n=2",
        )
    )
    assert search(tmp_path, "gateway port") == [("a", 40)]
    [found] = search_all(library(tmp_path), "gateway port", SessionFilter(), 5).value
    session = parse(path.read_bytes()).session
    assert session is not None
    exchange = next(one for one in session.exchanges if one.query.number == 40)
    assert (found.exchange.query.text, found.exchange.ref) == (exchange.query.text, exchange.ref)


def test_of_an_ancestor_that_was_left_all_is_found_up_to_its_last_message(tmp_path: Path) -> None:
    shelf(tmp_path)

    def found(last: int) -> list[tuple[str, int]]:
        with closing(Library(tmp_path)) as opened:
            hits, _ = opened.ask(
                lambda index: search_chain(index, "gateway port", {"a": last}, depth=2, limit=5)
            )
        return places(hits)

    assert found(4) == [("a", 4)]
    assert found(3) == []


def test_what_the_context_has_makes_room_for_other_hits(tmp_path: Path) -> None:
    write(tmp_path, "a", *(f"Gateway {number} listens on port 54{number}." for number in range(6)))

    def found(without: set[str]) -> set[str]:
        with closing(Library(tmp_path)) as opened:
            hits, _ = opened.ask(
                lambda index: search_chain(index, "gateway port", {"a": 9}, 2, 2, without)
            )
        return {hit.exchange.ref for hit in hits}

    first = found(set())
    second = found(first)
    assert (len(first), len(second)) == (2, 2)
    assert first.isdisjoint(second)


@pytest.mark.usefixtures("engine")
def test_filters(tmp_path: Path) -> None:
    shelf(tmp_path)
    write(
        tmp_path,
        "d",
        "The sea is grey.",
        project="/home/ida/Boote",
        agent="ÉMILE",
        tags=("sea",),
        name="Ärger am Meer",
    )

    def ids(wanted: SessionFilter) -> list[str]:
        return sorted({identity for identity, _ in search(tmp_path, "sea", wanted, 20)})

    assert ids(SessionFilter()) == ["a", "b", "c", "d"]
    assert ids(SessionFilter(agent="ida")) == ["b"]
    assert ids(SessionFilter(agent="émile")) == ["d"]
    assert ids(SessionFilter(words="#work")) == ["c"]
    assert ids(SessionFilter(words="#Work")) == ["c"]
    assert ids(SessionFilter(project="boote")) == ["d"]
    assert ids(SessionFilter(words="ärger")) == ids(SessionFilter(words="ÄRGER")) == ["d"]
    assert ids(SessionFilter(words="#sea meer")) == ["d"]
    assert (
        ids(SessionFilter(words="%"))
        == ids(SessionFilter(words="_"))
        == ids(SessionFilter(agent="ida", words="#work"))
        == []
    )
    far = timedelta(days=365 * 1_900)
    assert ids(SessionFilter(since=START - far, before=START + far)) == ["a", "b", "c", "d"]
    assert ids(SessionFilter(since=START + far)) == ids(SessionFilter(before=START - far)) == []


@pytest.mark.usefixtures("engine")
def test_what_is_no_query_finds_nothing_and_nothing_breaks(tmp_path: Path) -> None:
    shelf(tmp_path)
    for text in (
        "",
        " ",
        "\x00",
        '"',
        "*",
        "NEAR(",
        "AND",
        "()",
        "'",
        "\ud800",
        "a:b OR c*",
        "^x",
        "{a}:b",
        "-",
    ):
        assert ":" in text or search(tmp_path, text) == [], text
    assert ("a", 5) in search(tmp_path, "a:b OR c*")
    assert search(tmp_path, 'gateway" OR "port 5432') == [("a", 4)]
    assert ("a", 4) in search(tmp_path, "gateway port " + "word " * 2_000)
    assert ("a", 4) in search(tmp_path, "x" * 10_000 + " gateway")


def test_no_secret_is_in_the_index(tmp_path: Path) -> None:
    rng = random.Random(5)
    secrets = [make(rng) for _, make in TOKENS.values()]
    for number, secret in enumerate(secrets):
        write(
            tmp_path,
            f"s{number}",
            (f"My key is {secret} now.", f"I see the key: {secret}"),
            name=f"Key {secret}"[:200],
            agent=f"A {secret}"[:200],
            summary=Summary(
                topics=(f"Key {secret}",), key_facts=(f"The key is {secret}. [1 user]",)
            ),
        )
    there = library(tmp_path)
    assert there.update_index() == len(secrets)
    there.close()
    data = (tmp_path / ".index.sqlite").read_bytes()
    assert [secret for secret in secrets if secret.encode() in data] == []
    assert [
        secret for secret in secrets if max(secret.split(), key=len).lower().encode() in data
    ] == []
    for secret in secrets:
        for found in search_all(there, secret, SessionFilter(), 3).value:
            assert secret not in str(found)


def test_what_is_written_meanwhile_changes_nothing(tmp_path: Path) -> None:
    shelf(tmp_path)
    ours = library(tmp_path)
    before = places(search_all(ours, "gateway port", SessionFilter(), 5).value)
    theirs = Index(tmp_path)
    refused: list[str] = []

    class Writing(SemanticIndex):
        def near(self, *_: object, **__: object) -> dict[Position, float]:
            try:
                theirs.drop([identity for identity, _ in before])
            except IndexUnavailable as error:
                refused.append(str(error))
            return {}

    try:
        found, _ = search_all(ours, "gateway port", SessionFilter(), 5, semantic=Writing())
        assert places(found) == before == [("a", 4)]
        assert len(refused) == 1
        assert refused[0].endswith("another process is writing to it.")
        theirs.drop(["a"])
    finally:
        theirs.close()


def test_without_an_index_one_sentence_says_so(tmp_path: Path) -> None:
    shelf(tmp_path)
    (tmp_path / ".index.sqlite").mkdir()
    with pytest.raises(SessionError) as caught:
        search(tmp_path, "sea")
    assert caught.value.message.startswith(
        f"The index {tmp_path}/.index.sqlite is not a regular file"
    )
    assert search(tmp_path / "none", "sea") == []


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("What did we say on 2 March?", True),
        ("what was that on March 2nd, 2026", True),
        ("Was haben wir am 2.3.2026 gesagt?", True),
        ("2026-03-02", True),
        ("What did we say on 3 March?", False),
        ("What did we say on March 2, 2025?", False),
        ("What did we say on 2 March 2025?", False),
        ("Does it need Python 2.3 or may 2 do?", False),
    ],
)
def test_a_day_that_a_query_names(query: str, found: bool) -> None:
    talks = ["The oven is warm.", "Bread needs time.", "We bake at night."]
    dated = ExchangeIndex(open_index())
    dated.add(
        exchange(1, number, text, "Fine.", minutes=(number - 1) * 9 * 24 * 60)
        for number, text in enumerate(talks, 1)
    )
    hits = dated.search(query)
    dated.close()
    assert [hit.exchange.query.number for hit in hits] == ([1] if found else [])
