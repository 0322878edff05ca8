"""Files that a text names: the words that are paths, and the completions of a path."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.conversation.mentions import (
    MAX_COMPLETIONS,
    MAX_PATH,
    completions,
    mention_of,
    mentions,
)
from chat_loop.conversation.reading import AS_TEXT, MAX_FILES, read_files
from chat_loop.errors import UsageError
from tests.support.limits import cpu_limit
from tests.support.strategies import texts


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a new working directory, which is also the home directory."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/a/b.png", "@/a/b.png"),
        ("b.png", "@b.png"),
        ("/a/my photo.png", '@"/a/my photo.png"'),
        ("/a/b (1)", '@"/a/b (1)"'),
        ("/a/it's.png", "@/a/it's.png"),
        ('/a/"b".png', ""),
        ("/a/b\n.png", ""),
        ("/a/`b`.png", ""),
    ],
)
def test_a_path_as_a_mention(path: str, text: str) -> None:
    assert mention_of(path) == text
    if text:
        assert [path] == first(f"see {text}")


def first(text: str) -> list[str]:
    """Return the name that each mention stands for if no file exists."""
    return [mention.names[-1] for mention in mentions(text)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("look at @notes.txt", ["notes.txt"]),
        ("@a.py and (@b.py), “@c.py”: @d.py!", ["a.py", "b.py", "c.py", "d.py"]),
        ("@a.py\n\t@b.py", ["a.py", "b.py"]),
        ("@a.py again @a.py", ["a.py"]),
        ('@"my file.txt" and @"it\'s.md",', ["my file.txt", "it's.md"]),
        ("@src/main.py:12 @src/main.py:12-40.", ["src/main.py"] * 2),
        ("@~/x.txt @/etc/hosts @../up.md", ["~/x.txt", "/etc/hosts", "../up.md"]),
        ("me@example.org, a@b, \\@notes.txt, x@y.py", []),
        ("`@a.py` and ``x ` @b.py`` but @c.py`", ["c.py`"]),
        ("```\n@a.py\n```\n@b.py\n~~~ py\n@c.py\n```\n@d.py\n~~~~\n@e.py", ["b.py", "e.py"]),
        ("    ```\n@a.py", ["a.py"]),
        ("``` not a fence ``` @a.py", ["a.py"]),
        ("@ @. @... @) @@", ["@"]),
        ('@"" @" @"open', [" @"]),
        (f"@{'x' * MAX_PATH}x", []),
        ("", []),
    ],
)
def test_mentions(text: str, names: list[str]) -> None:
    assert first(text) == list(dict.fromkeys(names)) or first(text) == names


@pytest.mark.parametrize(
    ("text", "is_path"),
    [
        ("@notes.txt", True),
        ("@notes.TXT:3,", True),
        ("@photo.png.", True),
        ("@a.tar.gz", True),
        ("@./x", True),
        ("@../x", True),
        ("@~/x", True),
        ("@/x", True),
        ('@"x"', True),
        ("@property", False),
        ("@app.route", False),
        ("@pytest.mark.parametrize", False),
        ("@angular/core", False),
        ("@v1.2", False),
    ],
)
def test_what_can_only_be_a_path(text: str, is_path: bool) -> None:
    [mention] = mentions(text)
    assert mention.is_path == is_path


@given(texts, st.integers(0, 3))
def test_no_text_is_too_strange(text: str, times: int) -> None:
    found = mentions(f"@notes.txt {f'@{text} ' * times}{text}")
    assert found[0].names[-1] == "notes.txt"
    for mention in found:
        assert mention.names
        assert all(len(name) <= MAX_PATH or mention.quoted for name in mention.names)


def test_hostile_texts_are_read_in_one_pass() -> None:
    for unit in ("@", '@"', "`", "@`", "```\n", "@a:1", "@!", "(@", '@"x" '):
        text = unit * (400_000 // len(unit))
        with cpu_limit(60):
            found = first(f"@notes.txt\n{text}\n\n@last.txt")
        assert found[0] == "notes.txt", unit
        assert "last.txt" in found or text.startswith("```"), unit


def files(text: str) -> list[str]:
    return [file.attachment.name for file in read_files(text)]


def test_the_longest_name_that_exists_counts(here: Path) -> None:
    for name in ("notes.txt", "really?", "really", "main.py", "odd:12"):
        (here / name).write_text("x")
    assert files("@notes.txt. @really?! @main.py:7 @odd:12") == [
        "notes.txt",
        "really?",
        "main.py",
        "odd:12",
    ]
    assert files(f"@notes.txt @./notes.txt @{here}/notes.txt @~/notes.txt") == ["notes.txt"]
    assert files("@property @app.route @angular/core me@notes.txt") == []


@pytest.mark.parametrize(
    "text", ["@notse.txt", "(@notse.txt)", '@"notse"', "@./notse", "@sub/notse.md", "@~/notse"]
)
def test_a_path_without_a_file_is_not_sent_as_text(here: Path, text: str) -> None:
    (here / "sub").mkdir()
    with pytest.raises(UsageError) as error:
        read_files(f"Look at {text}")
    name = text.strip('()@"')
    assert (error.value.message, error.value.hint) == (f"No file named {name}.", AS_TEXT)
    assert read_files(f"Look at {text}".replace("@", "\\@")) == ()


def test_names_that_no_file_can_have(here: Path) -> None:
    assert files("@a\0b") == []
    assert files(f"@{'n' * 900}") == []
    assert files(f"@{'n/' * 300}") == []


def test_there_is_a_limit_of_files(here: Path) -> None:
    for number in range(MAX_FILES + 1):
        (here / f"{number}.txt").write_text("x")
    text = " ".join(f"@{number}.txt" for number in range(MAX_FILES))
    assert len(read_files(text)) == MAX_FILES
    with pytest.raises(UsageError, match="can have 20 files; this one names 21"):
        read_files(f"{text} @{MAX_FILES}.txt")


def completed(before: str) -> list[str]:
    return [f"{before[: len(before) - length]}{path}" for path, length in completions(before)]


def test_tab_completes_paths(here: Path) -> None:
    (here / "src").mkdir()
    (here / "my folder").mkdir()
    for name in (
        "notes.txt",
        "no way.txt",
        ".hidden",
        "src/main.py",
        "src/mirror.py",
        "my folder/a.txt",
        'q"uote',
        "a\nb",
    ):
        (here / name).write_text("x")
    assert completed("see @") == [
        'see @"my folder/',
        'see @"no way.txt"',
        "see @notes.txt",
        "see @src/",
    ]
    assert completed("see (@no") == ['see (@"no way.txt"', "see (@notes.txt"]
    assert completed('see @"no') == ['see @"no way.txt"', 'see @"notes.txt"']
    assert completed('see @"my folder/') == ['see @"my folder/a.txt"']
    assert completed("@src/mi") == ["@src/mirror.py"]
    assert completed("@~/src/ma") == ["@~/src/main.py"]
    assert completed(f"@{here}/src/ma") == [f"@{here}/src/main.py"]
    assert completed("@.") == ["@.hidden"]
    for before in (
        "",
        "see",
        "me@no",
        "@notes.txt ",
        '@"no way.txt"',
        "@nothing/x",
        "@a\0",
        "@notes.txt/",
    ):
        assert completed(before) == []


def test_a_large_folder_is_not_listed_to_its_end(here: Path) -> None:
    for number in range(MAX_COMPLETIONS + 50):
        (here / f"{number:04}.txt").touch()
    assert 0 < len(completed("@0")) <= MAX_COMPLETIONS
