"""What a text may mean that a terminal pastes when files are dropped on it."""

from __future__ import annotations

import pytest

from chat_loop.input.dropped import LONGEST, MOST, readings


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("/a/b.png", ("/a/b.png",)),
        ("/a/my photo.png", ("/a/my photo.png",)),
        ("'/a/my photo.png'", ("/a/my photo.png",)),
        ('"/a/my photo.png"', ("/a/my photo.png",)),
        (r"/a/my\ photo\(1\).png", ("/a/my photo(1).png",)),
        (r"'/a/it'\''s.png'", ("/a/it's.png",)),
        ("/a/b.png /c/d.png", ("/a/b.png", "/c/d.png")),
        ("/a/b c.png\n/d.png", ("/a/b c.png", "/d.png")),
        ("~/b.png", ("~/b.png",)),
        ("file:///a/b%20c.png", ("/a/b c.png",)),
        ("file://localhost/a.png\r\nfile:///b.png", ("/a.png", "/b.png")),
        (r"C:\Users\me\my photo.png", ("/mnt/c/Users/me/my photo.png",)),
        ("/it's.png", ("/it's.png",)),
    ],
)
def test_paths(text: str, paths: tuple[str, ...]) -> None:
    assert paths in readings(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "see /a/b.png",
        "https://a.example/b.png",
        "file://server/a.png",
        "\n".join(["/a"] * (MOST + 1)),
        "/" + "a" * LONGEST,
    ],
)
def test_other_text(text: str) -> None:
    assert readings(text) == []


def test_a_sentence_that_begins_with_a_path_has_one_meaning_that_no_file_has() -> None:
    assert readings("/etc/hosts is wrong") == [("/etc/hosts is wrong",)]
