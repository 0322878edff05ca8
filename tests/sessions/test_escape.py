"""Escaping of text: a bijection that hides every marker."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.sessions.escape import StreamEncoder, decode, decode_line, encode, encode_line
from tests.support.strategies import texts


@given(texts)
def test_escaping_is_a_bijection_and_hides_every_marker(text: str) -> None:
    encoded = encode(text)
    assert decode(encoded) == text
    assert not any(line.lstrip(" \t").startswith("<!--") for line in encoded.split("\n"))
    assert decode_line(encode_line(text)) == text
    assert "\n" not in encode_line(text)
    encoded.encode()


@given(st.lists(texts, max_size=6))
def test_escaping_a_stream_equals_escaping_the_whole(pieces: list[str]) -> None:
    encoder = StreamEncoder()
    assert "".join(encoder.feed(piece) for piece in pieces) + encoder.feed("", last=True) == encode(
        "".join(pieces)
    )


@pytest.mark.parametrize("token", ["⟦U+110000⟧", "⟦U+0041⟧", "⟦U+00001B⟧"])
def test_a_token_that_is_never_written_is_text(token: str) -> None:
    assert decode(token) == decode_line(token) == token
    assert decode(encode(token)) == token


def test_a_token_in_two_pieces_is_escaped_like_one() -> None:
    encoder = StreamEncoder()
    assert encoder.feed("a ⟦") == "a "
    assert encoder.feed("U+001B⟧") + encoder.feed("", last=True) == encode("⟦U+001B⟧")
