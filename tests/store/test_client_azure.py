"""Azure Blob Storage, if azurite is installed: the same conditions, and two machines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chat_loop.errors import StoreUnavailable
from chat_loop.store.client import ObjectChanged, ObjectStore
from tests.support.azure_server import CONTAINER, azure_server
from tests.support.saved_sessions import FIRST, OPEN
from tests.support.shared_sessions import Machine, grown

pytestmark = pytest.mark.slow

pytest.importorskip("obstore")
URL = f"az://{CONTAINER}/team"


@pytest.fixture(autouse=True)
def _server(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with azure_server() as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        yield


def test_an_object_is_created_once_and_replaced_only_as_it_is_known() -> None:
    store = ObjectStore(URL)
    first = store.put("a.md", b"one", None)
    with pytest.raises(ObjectChanged):
        store.put("a.md", b"other", None)
    second = store.put("a.md", b"two", first)
    with pytest.raises(ObjectChanged):
        store.put("a.md", b"late", first)
    assert store.get("a.md") == (b"two", second)
    assert store.list() == ([("a.md", second, 3)], [])
    store.delete("a.md")
    store.delete("a.md")
    assert store.get("a.md") is None
    with pytest.raises(ObjectChanged):
        store.put("a.md", b"late", second)


def test_two_machines_have_the_same_and_nothing_comes_twice(tmp_path: Path) -> None:
    here, there = Machine(tmp_path / "here", URL), Machine(tmp_path / "there", URL)
    here.put(FIRST)
    here.put(OPEN)
    assert here.sync().sent == 2
    assert there.sync().received == 2
    here.put(grown(OPEN, "And the cache?"))
    assert (here.sync().sent, there.sync().received) == (1, 1)
    assert here.said() == there.said()
    for each in (here, there):
        outcome = each.sync()
        assert (outcome.sent, outcome.received, outcome.sentences) == (0, 0, [])


def test_what_is_wrong_is_one_sentence_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StoreUnavailable, match=r"^az://none/team does not exist\.$"):
        ObjectStore("az://none/team").list()
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "AAAA")
    with pytest.raises(StoreUnavailable, match=r"^az://chats/team refused the credentials\.$"):
        ObjectStore(URL).list()
