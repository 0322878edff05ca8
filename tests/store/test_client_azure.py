"""Azure Blob Storage says what is wrong in its own way."""

from __future__ import annotations

import pytest

from chat_loop.errors import StoreUnavailable
from chat_loop.store.client import ObjectStore


@pytest.mark.slow
@pytest.mark.parametrize("server", ["azure"], indirect=True)
def test_what_is_wrong_is_one_sentence_without_keys(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StoreUnavailable, match=r"^az://none/team does not exist\.$"):
        ObjectStore("az://none/team").list()
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "AAAA")
    with pytest.raises(StoreUnavailable, match=r"^az://chats/\S+ refused the credentials\.$"):
        ObjectStore(url).list()
