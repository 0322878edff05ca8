"""The type and the size of an image, read from its bytes alone, which may be damaged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.conversation.image_headers import image_size
from tests.support.images import gif, jpeg, png, webp


@pytest.mark.parametrize(
    "data", [png(), jpeg(), gif(), webp(), webp(kind=b"VP8L"), webp(kind=b"VP8 ")]
)
def test_what_is_cut_off_is_damaged_wherever_it_is_cut(data: bytes) -> None:
    assert all(image_size(data))
    for end in range(16, len(data) - (data[:4] == b"RIFF")):
        assert image_size(data[:end]) == (0, 0)


@given(
    st.binary(max_size=80),
    st.sampled_from([png()[:8], b"\xff\xd8\xff", b"GIF89a", b"RIFF....WEBPVP8X"]),
)
def test_no_bytes_are_too_strange(data: bytes, start: bytes) -> None:
    width, height = image_size(start + data)
    assert (width > 0) == (height > 0)


def test_a_jpeg_of_nothing_but_markers_ends() -> None:
    for unit in (b"\xff", b"\xff\xd0", b"\xff\xe0\0\0", b"\xff\xe0\0\2"):
        assert image_size(b"\xff\xd8\xff\xd0" + unit * 200_000) == (0, 0)
