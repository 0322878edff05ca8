"""Words for searching: the terms of a query, the relation of two words, and lines of texts."""

from __future__ import annotations

import pytest

from chat_loop.library.terms import MAX_TERMS, Term, is_question, lines, related, terms


def test_a_long_query_has_few_terms() -> None:
    assert (
        len(terms("where is 10.1.1.1? " + "\x00 ".join(f"word{at}x" for at in range(100_000))))
        == MAX_TERMS
    )
    assert [term.text for term in terms("“Port 5433”, l'école: /etc/hosts -- e-mail!")] == [
        "port", "5433", "l", "ecole", "etc/hosts", "etc", "hosts", "email", "e", "mail",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other", "least", "most"),
    [
        ("ports", "port", 0.9, 0.9),
        ("portal", "port", 0.0, 0.5),
        ("datenbank", "stagingdatenbank", 0.6, 0.6),
        ("publicite", "publicitaire", 0.5, 0.6),
        ("house", "mouse", 0.0, 0.0),
        ("data", "date", 0.0, 0.9),
    ],
)
def test_how_surely_words_are_related(one: str, other: str, least: float, most: float) -> None:
    assert least <= related(Term(one, (one,)), other) <= most
    assert related(Term(one, (one,)), other) == related(Term(other, (other,)), one)


def test_the_lines_of_texts() -> None:
    assert (
        lines("Which port? Port 5433 it is.", "Fine.") == "? which port\n# port 5433 it is\n fine"
    )
    assert lines("", "") == ""
    assert [is_question(text) for text in ("Go on.", "Write a poem", "It is so.", "Is it?")] == [
        True, True, False, True,
    ]  # fmt: skip
