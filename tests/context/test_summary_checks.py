"""The exact claims of a narrative must occur in its source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.context.summary import verify
from chat_loop.sessions.records import Summary
from tests.support.sentences import CHATTER, FACTS
from tests.support.strategies import lines

SOURCE = """\
[1] User: The timeout is 30 seconds, the config is in src/net/retry.py:88. We meet at 3 pm on 12 March 2026.
[1] Assistant: Fine. The budget of 1 200 € is enough for three hours, and 2,5 Mio. Euro for the rest.
[2] User: It is version v1.2.3 from https://example.com/a, ticket ABC-123, for 14 Gäste at 180.5 °C. "We start on time."
[2] Assistant: Call 030 1234567 or run `make serve`, says Clara Winter."""


@pytest.mark.parametrize(
    "line",
    [
        "The timeout is 30 seconds [1]",
        "A timeout of 30 s [2.14 reply]",
        "The config lives in `src/net/retry.py:88`",
        "They meet on 2026-03-12 at 15:00",
        "They meet on March 12",
        "12.03.2026 it is",
        "The budget is 1,200 EUR [1, 2]",
        "2.5 million euros",
        "It uses v1.2.3, or 1.2.3",
        "See https://example.com/a.",
        "ABC-123 is open [12-14]",
        "14 guests are coming",
        "3 recipes were discussed",
        "5 recipes were discussed",
        '"We start on time." [2]',
        "“we start on time”",
        "Clara Winter was named",
        "Call 030/1234567",
        "Run `make serve` on the `server`",
        "180.5 °C",
        "Nothing exact at all",
    ],
)
def test_what_the_source_says_is_kept(line: str) -> None:
    narrative = Summary(background=line, topics=(line,), decisions=(line,), pending=(line,))
    assert verify(narrative, SOURCE) == (narrative, ())


@pytest.mark.parametrize(
    "line",
    [
        "A timeout of 30 minutes",
        "A timeout of 35 seconds [1]",
        "The config lives in src/net/other.py:88",
        "The config lives in src/net/retry.py:8",
        "They meet on 13 March",
        "They meet at 16:00",
        "The budget is 1,300 EUR",
        "The budget is 1,200 USD",
        "It uses v1.2.4",
        "It uses v1.2",
        "See https://example.com/b",
        "ABC-12 is open",
        "15 guests are coming",
        '"We start on Monday." [2]',
        "31 people",
        "Run `make test`",
        "80.5 °C",
        "180 °C",
    ],
)
def test_what_the_source_does_not_say_is_taken_out(line: str) -> None:
    narrative = Summary(
        background="They met.", topics=("Tea", line), decisions=(line,), pending=("Buy tea",)
    )
    checked = Summary(background="They met.", topics=("Tea",), pending=("Buy tea",))
    assert verify(narrative, SOURCE) == (checked, (line, line))


@pytest.mark.parametrize(
    "line",
    [
        "They chose Redis for its stability",
        "MariaDB is used",
        "Clara Winter and Boris Nobody decide",
        "Wir nehmen PostgreSQL",
    ],
)
def test_a_decision_names_only_what_somebody_named(line: str) -> None:
    assert verify(Summary(topics=("Tea",), decisions=(line,)), SOURCE) == (
        Summary(topics=("Tea",)),
        (line,),
    )


def test_other_forms_of_words_are_the_words() -> None:
    decisions = Summary(decisions=("We ask the Winters family",))
    assert verify(decisions, SOURCE) == (decisions, ())


def test_where_nouns_have_capitals_only_odd_words_tell() -> None:
    source = "Wir haben heute das Angebot der Firma mit der Post bekommen und lesen es am Abend."
    good = Summary(decisions=("Wir nehmen den Vorschlag nicht an",))
    assert verify(good, source) == (good, ())
    bad = Summary(decisions=("Wir nehmen PostgreSQL",))
    assert verify(bad, source) == (Summary(), bad.decisions)


def test_of_the_background_only_the_sentence_goes() -> None:
    narrative = Summary(background="They meet at 3 pm. It costs 99 euros. Tea is made.")
    checked, refused = verify(narrative, SOURCE)
    assert checked.background == "They meet at 3 pm. Tea is made."
    assert refused == ("It costs 99 euros.",)


@given(
    st.lists(lines.filter(str.strip), max_size=4),
    st.sampled_from([*CHATTER.split("\n"), *FACTS.split("\n")]),
)
def test_a_source_supports_its_own_words(said: list[str], more: str) -> None:
    bullets = (*(" ".join(line.split()) for line in said), more)
    narrative = Summary(topics=bullets)
    assert verify(narrative, "\n".join(bullets)) == (narrative, ())


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["1 ", "12:", "5 kg. ", "[2.14] ", "x", "3 May "])
def test_a_hostile_source_is_read_in_one_pass(piece: str) -> None:
    narrative = Summary(topics=("It is 6 kg at 12:31 on 3 May 2026",))
    assert verify(narrative, piece * (500_000 // len(piece)))[0].topics == ()
