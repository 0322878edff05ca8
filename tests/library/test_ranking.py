"""Searching exchanges: the words that are found, their order, and the certainty of a hit; laws for
any text; planted facts.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.support.exchanges import ExchangeIndex
from benchmarks.support.planting import FACTS, NOTHING_TO_FIND, START, conversation, exchange
from chat_loop.library.hits import Hit
from chat_loop.library.ranking import MatchedSentence, RankedExchange, fuse
from chat_loop.library.terms import fold
from chat_loop.sessions.records import Call, Exchange, Result, Use
from tests.support.engines import open_index
from tests.support.strategies import texts as hostile

SYNTAX = st.sampled_from(
    ('"', "'", "*", "^", "NEAR(a b)", "AND", "OR NOT", "words:x", "{a b}:c", "-", "(", "a+b", "%")
)
QUERIES = st.one_of(
    hostile, st.lists(st.one_of(SYNTAX, hostile), max_size=6).map(" ".join), st.text()
)


OPEN: list[ExchangeIndex] = []


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    """Close each index that a test has opened."""
    yield
    while OPEN:
        OPEN.pop().close()


def opened() -> ExchangeIndex:
    OPEN.append(ExchangeIndex(open_index()))
    return OPEN[-1]


def index(*said: str | tuple[str, str]) -> ExchangeIndex:
    """Return an index with an exchange for each text or query-reply pair, ten per session."""
    pairs = [(one, "") if isinstance(one, str) else one for one in said]
    search = opened()
    search.add(exchange(at // 10 + 1, at % 10 + 1, *pair) for at, pair in enumerate(pairs))
    return search


def refs(hits: list[Hit]) -> list[str]:
    return [hit.exchange.ref for hit in hits]


def sentence(hit: Hit) -> str:
    """Return the best sentence of a hit."""
    match = hit.matches[0]
    return hit.texts[match.part][1][match.start : match.end].strip()


NOISE = (
    "Tell me about the weather.",
    "The sea is blue today.",
    "A short poem about boats, please.",
) * 4


def test_more_is_found_than_what_is_judged_with_the_exchanges_around() -> None:
    said = [f"The boat of harbor {number} is wet." for number in range(100)]
    hits = index(*said).search("boat", limit=200)
    assert len(hits) == len({hit.exchange.ref for hit in hits}) == len(said)


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("The staging database listens on port 5433.", "which ports do the databases have?"),
        ("Das Sicherungsskript läuft um halb drei.", "Wann läuft die Sicherung?"),
        ("Die Miete ist kalt 870 Euro.", "Wie hoch ist die Kaltmiete?"),
        ("Die Waldschule beginnt im September.", "Wann beginnt die Schule?"),
        ("Le café du COIN ferme à midi.", "cafe coin"),
        ("测试数据库使用端口 5533。", "数据库端口"),
        ("猫の薬は一日二回です。", "猫"),
        ("Моя сестра не ест орехи.", "сестру и орех"),
        ("고양이는 약을 먹습니다.", "고양이의 약"),
        ("The Wi-Fi of the cabin is slow.", "wifi"),
        ("Use client_max_body_size in /etc/nginx/nginx.conf for it.", "nginx.conf"),
        ("See commit 9f3c2ab for that.", "9f3c"),
        ("The repository is sftp:backup@nas.local:/srv/restic now.", "backup@nas"),
        ("It costs 18,500 euros.", "18,500"),
        ("Look at XOPS-22178-b today.", "xops-2217"),
        ("Réunion à 14 h 20.", "reunion"),
    ],
)
def test_other_forms_of_a_word_are_found(said: str, asked: str) -> None:
    search = index(*NOISE, said, *NOISE)
    assert refs(search.search(asked))[:1] == ["2.3"]


@pytest.mark.usefixtures("engine")
def test_an_exact_id_wins_over_many_words() -> None:
    search = index("The port of the database of the server is open.", "OPS-2217 is done.", *NOISE)
    assert refs(search.search("the port of the database of the server in OPS-2217")) == [
        "1.2",
        "1.1",
    ]
    assert refs(search.search("10.0.0.5")) == []
    search = index("Port 8080 is open.", "Port 80 is closed.", "It is 10-0-0-51.")
    assert refs(search.search("port 80"))[0] == "1.2"
    assert refs(search.search("10.0.0.5")) == []


@pytest.mark.usefixtures("engine")
def test_words_beside_an_exchange_count_less_than_those_in_it() -> None:
    search = index(
        *NOISE,
        ("We talk about the garden fence.", "Fine."),
        ("Dark green it is.", ""),
        *NOISE,
        "green fence",
    )
    assert refs(search.search("green garden fence")) == ["2.3", "3.7", "2.4"]
    assert refs(search.search("green garden fence", limit=1)) == ["2.3"]
    assert refs(search.search("green garden fence", without={"2.3", "9.9"})) == ["3.7", "2.4"]


@pytest.mark.usefixtures("engine")
def test_what_is_said_beside_it_helps() -> None:
    search = index("The fence, then.", "It is dark green.", *NOISE, "It is dark green.")
    assert refs(search.search("green fence")) == ["1.1", "1.2", "2.5"]
    assert refs(search.search("green")) == ["2.5", "1.2"]
    search = index(
        ("It is dark green.", "I mean the fence."),
        *NOISE,
        "It is dark green.",
        *NOISE,
        "I mean the fence.",
    )
    assert refs(search.search("green fence")) == ["1.1", "3.7", "2.4"]


@pytest.mark.usefixtures("engine")
def test_a_sentence_with_a_value_is_better_than_a_question() -> None:
    search = index(
        "Where is the invoice of the printer?", "The invoice of the printer is no. 771.", *NOISE
    )
    best, other = search.search("invoice of the printer")
    assert (sentence(best), sentence(other)) == (
        "The invoice of the printer is no. 771.",
        "Where is the invoice of the printer?",
    )
    assert best.strength > other.strength


@pytest.mark.usefixtures("engine")
def test_a_statement_is_better_than_a_newer_question() -> None:
    asked, told = "Does the ferry dock at the lighthouse?", "The ferry docks at the lighthouse."
    query = "ferry dock lighthouse"
    assert [sentence(hit) for hit in index(told, *NOISE, asked).search(query)] == [told, asked]
    # with fewer of the words it is worse
    told = "The ferry is late."
    assert [sentence(hit) for hit in index(asked, *NOISE, told).search(query)] == [asked, told]


@pytest.mark.usefixtures("engine")
def test_the_newest_comes_first() -> None:
    search = index(
        "The dentist appointment is on 14 March at 9:40.",
        *NOISE,
        "The dentist appointment is on 21 March at 8:15.",
        "When is the dentist appointment?",
        *NOISE,
    )
    first, second, question = search.search("dentist appointment")
    assert (first.exchange.ref, second.exchange.ref) == ("2.4", "1.1")
    assert sentence(question) == "When is the dentist appointment?"


@pytest.mark.usefixtures("engine")
def test_common_words_are_searched_for_only_when_there_are_no_others() -> None:
    search = index("What was it?", "The boat.", *NOISE[:1])
    assert refs(search.search("what was the boat")) == ["1.2"]
    [hit] = search.search("what was it")
    assert (hit.exchange.ref, hit.strength) == ("1.1", 0.0)
    assert search.search("") == search.search("?!") == search.search("boat", limit=0) == []


@pytest.mark.usefixtures("engine")
def test_tools_are_searched_too() -> None:
    call = Call(
        number=1,
        at=START,
        id="c1",
        name="shell",
        arguments='{"command": "systemctl restart harbor"}',
    )
    result = Result(number=1, at=START, id="c1", text="harbor.service: restarted in 12 ms")
    search = opened()
    search.add(
        [Exchange(exchange(1, 1, "Restart it.", "Done.").query, None, 1, (Use(call, result),))]
    )
    [hit] = search.search("systemctl")
    assert [(match.part, match.start > 0) for match in hit.matches] == [(2, False)]
    assert refs(search.search("harbor.service")) == ["1.1"]


SAID = st.lists(st.tuples(hostile, st.one_of(st.none(), hostile)), min_size=1, max_size=6)


@given(said=SAID, query=QUERIES, limit=st.integers(0, 4))
def test_no_query_raises_or_finds_what_is_not_there(
    said: list[tuple[str, str | None]], query: str, limit: int
) -> None:
    search = ExchangeIndex()
    exchanges = [exchange(2, number, *pair) for number, pair in enumerate(said, 1)]
    search.add(exchanges)
    hits = search.search(query, limit, without={"2.1"})
    assert len(hits) <= limit
    assert all(hit.exchange in exchanges[1:] for hit in hits)
    assert all(0.0 <= hit.strength <= 1.0 for hit in hits)
    for hit in hits:
        parts = hit.texts
        assert all(parts[match.part][1][match.start : match.end].strip() for match in hit.matches)
    search.close()


IDS = st.from_regex(
    r"[a-z]{1,5}[-_./:]?[0-9]{2,6}[a-z]{0,3}|[0-9]{3,9}|(?:[a-z]{2,6}/){1,3}[a-z]{2,6}",
    fullmatch=True,
)


@given(
    said=SAID, identity=IDS, place=st.integers(0, 5), in_reply=st.booleans(), upper=st.booleans()
)
def test_whatever_was_added_is_found_by_an_id_in_it(
    said: list[tuple[str, str | None]], identity: str, place: int, in_reply: bool, upper: bool
) -> None:
    place %= len(said)
    before, after = said[place]
    marked = f"{before} {identity.upper() if upper else identity} {after or ''}"
    pairs = [*said[:place], ("go on", marked) if in_reply else (marked, None), *said[place + 1 :]]
    search = ExchangeIndex()
    search.add(exchange(1, number, *pair) for number, pair in enumerate(pairs, 1))
    hits = search.search(f"what is {identity}?", limit=len(pairs))
    assert f"1.{place + 1}" in refs(hits)
    holding = {
        f"1.{number}"
        for number, pair in enumerate(pairs, 1)
        if fold(identity) in fold(" ".join(map(str, pair)))
    }
    assert hits[0].exchange.ref in holding
    search.close()


@pytest.fixture(scope="module")
def planted() -> Iterator[ExchangeIndex]:
    search = ExchangeIndex()
    search.add(conversation())
    yield search
    search.close()


@pytest.mark.slow
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize(
    ("facts", "first", "five"), [(FACTS[::2], 0.88, 0.95), (FACTS[1::2], 0.85, 0.88)]
)
def test_planted_facts_are_found(
    planted: ExchangeIndex, facts: tuple[object, ...], first: float, five: float
) -> None:
    """Search for 144 facts in seven languages among 1,000 exchanges. Every second fact was kept out
    of all tuning.
    """
    places = [
        [
            fact.statement in " ".join(text for _, text in hit.texts)
            for hit in planted.search(fact.question)
        ]
        for fact in FACTS
        if fact in facts
    ]
    assert sum(found[:1] == [True] for found in places) >= first * len(facts)
    assert sum(any(found) for found in places) >= five * len(facts)


def test_nothing_is_strong_for_chatter(planted: ExchangeIndex) -> None:
    strong = [
        query
        for query in NOTHING_TO_FIND
        if any(hit.strength >= 0.4 for hit in planted.search(query))
    ]
    assert strong == ["Explain password hashing to a beginner.", "What does a database index do?"]


def scored(position: int, coverage: float, exact: int = 0) -> RankedExchange:
    held = (MatchedSentence(0, "", [1.0]),) if coverage else ()
    return RankedExchange((1, position), exact, coverage, coverage, coverage, held)


def order(found: list[RankedExchange], near: dict[int, float]) -> list[int]:
    fused = fuse(found, {(1, position): nearness for position, nearness in near.items()})
    return [one.position[1] for one in fused]


def test_one_order_of_words_and_meaning() -> None:
    far, near = scored(1, 0.0), scored(2, 0.0)
    assert order([far, near], {1: 0.4, 2: 0.6}) == [2, 1]
    assert order([scored(1, 0.9), near], {1: 0.1, 2: 0.6}) == [1, 2], "most of the query"
    assert order([scored(1, 0.2), near], {1: 0.1, 2: 0.6}) == [2, 1], "hardly a word of it"
    assert order([near, scored(1, 0.1, exact=1)], {2: 0.9, 1: 0.1}) == [1, 2], "an id decides"
    assert order([near, scored(3, 0.2)], {2: 0.6}) == [3, 2], "3 has no vector yet"
    assert order([scored(1, 0.5), scored(2, 0.5)], {1: 0.5, 2: 0.5}) == [1, 2], "equals stay"
    assert order([], {}) == []


@pytest.mark.parametrize(("nearness", "first"), [(0.6, 1), (0.7, 2)])
def test_half_of_a_query_says_less_than_half_as_much_as_the_whole(
    nearness: float, first: int
) -> None:
    """Half of it counts 0.354 of the whole: more than a quarter, less than a half."""
    assert order([scored(1, 1.0), scored(2, 0.5)], {1: 0.0, 2: nearness})[0] == first


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 2), st.floats(0, 1)), max_size=12))
def test_nothing_is_lost_and_who_holds_most_ids_stays_first(
    drawn: list[tuple[float, int, float]],
) -> None:
    found = [scored(at, coverage, exact) for at, (coverage, exact, _) in enumerate(drawn)]
    fused = order(found, {at: near for at, (_, _, near) in enumerate(drawn)})
    assert sorted(fused) == list(range(len(drawn)))
    exact = [drawn[at][1] for at in fused]
    assert exact == sorted(exact, reverse=True)


def test_an_id_in_more_exchanges_than_are_scored_is_found_where_it_is_newest() -> None:
    search = opened()
    text = "Ticket OPS-2217 is with worker {} now."
    search.add(
        exchange(at // 10 + 1, at % 10 + 1, text.format(at), minutes=at) for at in range(340)
    )
    assert "34.10" in refs(search.search("OPS-2217", 5))
