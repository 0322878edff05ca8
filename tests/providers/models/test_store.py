"""The directory of embedded models, and their catalogue."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_loop.errors import ModelError
from chat_loop.providers.models.install import DEFAULT_INDEX, index_url
from chat_loop.providers.models.store import (
    SMOLLM2,
    installed_models,
    path_of,
    remove,
    resolve,
)


def put(directory: Path) -> Path:
    path = path_of(directory, SMOLLM2)
    with path.open("wb") as file:
        file.write(b"GGUF")
        file.truncate(SMOLLM2.size)
    return path


def test_only_whole_files_count_as_installed(tmp_path: Path) -> None:
    assert installed_models(tmp_path / "missing") == ()
    path = put(tmp_path)
    assert installed_models(tmp_path) == (SMOLLM2,)
    with path.open("r+b") as file:
        file.truncate(SMOLLM2.size - 1)
    assert installed_models(tmp_path) == ()


def test_a_removed_model_and_its_leftovers_are_gone(tmp_path: Path) -> None:
    put(tmp_path)
    (tmp_path / "smollm2-135m.gguf.partial").write_bytes(b"12345")
    assert remove(tmp_path, SMOLLM2.name) == SMOLLM2.size + 5
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ModelError, match="smollm2-135m is not installed"):
        remove(tmp_path, SMOLLM2.name)


def test_a_name_outside_the_catalogue_reaches_no_file(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="No embedded model named"):
        remove(tmp_path, "../../precious")


def test_resolve(tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF")
    assert resolve(tmp_path, str(own)) == own
    with pytest.raises(ModelError) as caught:
        resolve(tmp_path, SMOLLM2.name)
    assert caught.value.hint == "chat-loop models install smollm2-135m"
    path = put(tmp_path)
    assert resolve(tmp_path, SMOLLM2.name) == path


@pytest.mark.parametrize(
    ("ref", "reason"),
    [
        ("gpt-4", "is neither"),
        ("{}/none.gguf", "is neither"),
        ("{}/text.md", "is neither"),
        ("{}/a\0b.gguf", "is neither"),
        ("~nobody-at-all/x.gguf", "is neither"),
    ],
)
def test_what_is_no_model_is_refused(tmp_path: Path, ref: str, reason: str) -> None:
    (tmp_path / "text.md").write_text("hello")
    with pytest.raises(ModelError, match=reason):
        resolve(tmp_path, ref.format(tmp_path))


def test_the_environment_chooses_the_index() -> None:
    assert index_url({}) == DEFAULT_INDEX
    assert (
        index_url({"PIP_INDEX_URL": "https://pip.example/simple"}) == "https://pip.example/simple"
    )
    assert index_url({"PIP_INDEX_URL": "https://p", "UV_INDEX_URL": "https://u"}) == "https://u"
