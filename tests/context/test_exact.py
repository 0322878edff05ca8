"""Exact values: finding them in a text, whole and in order, and comparing different spellings of
one value.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.context.exact import find, normalize
from tests.support.strategies import texts


def values(text: str) -> tuple[str, ...]:
    """Return the exact values of a text as they are written."""
    return tuple(value.text for value in find(text))


PIECES = st.lists(
    st.sampled_from(
        ["12 km ", "3 May", "`x` ", "a/b.py:3", " €", "1.2.3", "“q”", "Ann Lee", "#4711 ", "\n"]
    )
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The timeout is 30 seconds.", ("30 seconds",)),
        ("Die Miete ist 1 200 €, das sind 1.200,50 € und 45 %.", ("1 200 €", "1.200,50 €", "45 %")),
        ("CHF 1'200, USD 45, $19.99, £3.5 million, 5k", ("CHF 1'200", "USD 45", "$19.99", "£3.5", "5k")),
        ("3 Stunden, -18 °C, 120 x 80 cm, 25-30 minutes", ("3 Stunden", "-18 °C", "120 x 80 cm", "25-30 minutes")),
        ("Mix 1/2 cup with 1920x1080 and 311 kWh.", ("1/2 cup", "1920x1080", "311 kWh")),
        ("It serves 6 guests with 3 retries, at 90 km/h", ("6", "3", "90 km/h")),
        ("am 3. Mai 2026 um 17.25 Uhr", ("3", "2026", "17.25 Uhr")),
        ("Thursday at 15:40, June 3rd, 14/03/2026, 14.3.", ("15:40", "3rd", "14/03/2026", "14.3.")),
        ("le jeudi 14 mars à 15h30", ("14", "15h30")),
        ("de 7 h 35 à 9\u00a0h\u00a005, ou 19 h 30 min", ("7 h 35", "9\u00a0h\u00a005", "19 h", "30 min")),
        ("2026-03-14T10:00:00Z, in March 2026, 3 pm, at 7", ("2026-03-14T10:00:00Z", "2026", "3 pm", "7")),
        ("see src/net/retry.py:88 and ~/notes.md", ("src/net/retry.py:88", "~/notes.md")),
        (r"C:\Users\x\a.txt, /etc/fstab, config.yaml", (r"C:\Users\x\a.txt", "/etc/fstab", "config.yaml")),
        ("https://example.com/a?x=1. And www.foo.org/b_(c).", ("https://example.com/a?x=1", "www.foo.org/b_(c)")),
        ("Mail bob.s+x@example.co.uk!", ("bob.s+x@example.co.uk",)),
        ("a3f9c1e, 550e8400-e29b-41d4-a716-446655440000", ("a3f9c1e", "550e8400-e29b-41d4-a716-446655440000")),
        ("ABC-123, #4711, B-2219-A, X7K2QP, LH 438", ("ABC-123", "#4711", "B-2219-A", "X7K2QP", "LH 438")),
        ("v1.2.3, 3.11.4-rc1, 10.0.0.5:8080, db:5432", ("v1.2.3", "3.11.4-rc1", "10.0.0.5:8080", "5432")),
        ("+49 30 1234567 or (555) 123-4567", ("+49 30 1234567", "(555) 123-4567")),
        ("IBAN DE89 3704 0044 0532 0130 00", ("DE89 3704 0044 0532 0130 00",)),
        ("\"so\" „gut“ «oui» ‘x y’ `git push --force`", ('"so"', "„gut“", "«oui»", "‘x y’", "`git push --force`")),
        ("snake_case camelCase MAX_SIZE --dry f() K=v", ("snake_case", "camelCase", "MAX_SIZE", "--dry", "f()", "K=v")),
        ("We met Clara Winter and Dr. Said in Lisbon.", ("Clara Winter", "Dr. Said")),
        ("On platform 7, at Gleis 3, in 14 Baker Street", ("7", "3", "14", "Baker Street")),
        ("Lot 12 marca o 8:05, Halina Wróbel da 45 zł", ("12", "8:05", "Halina Wróbel", "45 zł")),
        ("会議は3月14日の15時30分、予算は5000円です。", ("3月14日", "15時30分", "5000円")),
    ],
)  # fmt: skip
def test_values_are_found_whole_and_in_order(text: str, found: tuple[str, ...]) -> None:
    assert values(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "and/or, he/she, e.g. this, i.e. that",
        "It is done.Then we go.",
        "Hello there! How are you?",
        "One of these days, maybe.",
        "At the end of the day we all sat down (as always) - and laughed.",
    ],
)
def test_ordinary_words_are_no_values(text: str) -> None:
    assert values(text) == ()


def test_a_lone_german_noun_is_no_name() -> None:
    text = "Am Montag kommt Herr Brandt mit Marlene Krause zum Essen in die Küche, das ist schön."
    assert values(text) == ("Herr Brandt", "Marlene Krause")


@pytest.mark.parametrize(
    "same",
    [
        ("1 200 €", "€1,200", "EUR 1200", "1.200 Euro", "1'200 euros"),
        ("30 s", "30 seconds", "30 Sekunden", "30 SECONDS"),
        ("45%", "45 %", "45 Prozent"),
        ("`Git Push`", "git push"),
        ("0171 5550142", "0171/555 01 42"),
        ("ＡＢＣ-１２３", "abc-123"),
    ],
)
def test_spellings_of_one_value_are_the_same(same: tuple[str, ...]) -> None:
    assert {normalize(value) for value in same} == {normalize(same[0])}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("30 s", "30 min"),
        ("1.2.3", "123"),
        ("12:30", "1230"),
        ("3 May", "5 March"),
        ("v1.2", "v1.20"),
        ("1,5 l", "15 l"),
    ],
)
def test_different_values_stay_different(one: str, other: str) -> None:
    assert normalize(one) != normalize(other)


@given(
    st.one_of(texts, PIECES.map("".join), st.text(alphabet="aA1.,:/-@_`\"'()€ #\n", max_size=60))
)
def test_values_stand_in_the_text_one_behind_the_other(text: str) -> None:
    whole = f"{text}\n\nIt takes 30 min."
    found = find(whole)
    assert found[-1].text == "30 min"
    end = 0
    for value in found:
        assert value.start >= end
        assert whole[value.start : value.end] == value.text
        end = value.end


HOSTILE = ["x", "(", "1", "a.", '"', "`", "1 ", "Ab ", "/", "a@", "-", "12:", "0-", "_a", "\n"]


@pytest.mark.parametrize(
    ("piece", "times"),
    [
        *((piece, 10_000) for piece in HOSTILE),
        *(pytest.param(piece, 60_000, marks=pytest.mark.slow) for piece in HOSTILE),
    ],
)
def test_a_hostile_text_is_read_in_one_pass(piece: str, times: int) -> None:
    """A pattern that backtracks over the whole text would not finish."""
    assert isinstance(values(piece * times), tuple)
