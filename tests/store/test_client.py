"""The object store: conditional writes, and a sentence for every failure."""

from __future__ import annotations

import pytest

from chat_loop.errors import StoreUnavailable
from chat_loop.store import client
from chat_loop.store.client import ObjectChanged, ObjectStore
from tests.support.ports import closed_port
from tests.support.s3_server import SECRET, S3Server


@pytest.mark.slow
def test_an_object_is_created_once_and_replaced_only_as_it_is_known(url: str) -> None:
    store = ObjectStore(url)
    first = store.put("a.md", b"one", None)
    with pytest.raises(ObjectChanged):
        store.put("a.md", b"other", None)
    second = store.put("a.md", b"two", first)
    with pytest.raises(ObjectChanged):
        store.put("a.md", b"late", first)
    assert store.get("a.md") == (b"two", second)
    assert [(key, tag.e_tag, size) for key, tag, size in store.list().objects] == [
        ("a.md", second.e_tag, 3)
    ]
    store.delete("a.md")
    store.delete("a.md")
    assert store.get("a.md") is None
    with pytest.raises(ObjectChanged):
        store.put("a.md", b"late", second)


@pytest.mark.parametrize("server", ["s3"], indirect=True)
def test_without_the_extra_it_says_what_to_install(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "IS_INSTALLED", False)
    with pytest.raises(StoreUnavailable, match="needs the s3 extra") as raised:
        ObjectStore(url)
    assert "chat-loop[s3]" in raised.value.hint


@pytest.mark.slow
def test_a_prefix_keeps_to_itself(url: str) -> None:
    ObjectStore(f"{url}/team").put("a.md", b"one", None)
    assert ObjectStore(f"{url}/tea").get("a.md") is None
    assert ObjectStore(f"{url}/tea").list() == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "bucket", "sentence", "hint"),
    [
        ({"AWS_SECRET_ACCESS_KEY": "wrong"}, "chats", "refused the credentials", "AWS_SECRET"),
        ({"AWS_ACCESS_KEY_ID": "AKIANOBODY0000000000"}, "chats", "refused", "AWS_ACCESS_KEY_ID"),
        ({}, "no-such-bucket", "does not exist", "sessions.store"),
        ({"AWS_ENDPOINT_URL": "closed"}, "chats", "cannot be reached", "chat-loop sync"),
    ],
)
@pytest.mark.parametrize("server", ["s3"], indirect=True)
def test_what_is_wrong_is_one_sentence_without_keys(
    variables: dict[str, str],
    bucket: str,
    sentence: str,
    hint: str,
    url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in variables.items():
        closed = f"http://127.0.0.1:{closed_port()}"
        monkeypatch.setenv(name, closed if value == "closed" else value)
    url = url.replace("chats", bucket, 1)
    store = ObjectStore(url)
    for act in (store.list, lambda: store.put("a.md", b"one", None)):
        with pytest.raises(StoreUnavailable) as raised:
            act()
        error = raised.value
        assert error.message.startswith(f"{url} ")
        assert error.message.count(".") == 1
        assert SECRET not in error.message + error.hint
        assert "\n" not in error.message + error.hint
    with pytest.raises(StoreUnavailable) as raised:
        store.list()
    assert sentence in raised.value.message
    assert hint in raised.value.hint


@pytest.mark.slow
@pytest.mark.parametrize("server", ["s3"], indirect=True)
def test_a_read_only_bucket_can_be_read(
    server: S3Server, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ObjectStore(url).put("a.md", b"one", None)
    for name, value in server.environment(user=1).items():
        monkeypatch.setenv(name, value)
    reader = ObjectStore(url)
    assert [listed.key for listed in reader.list().objects] == ["a.md"]
    with pytest.raises(StoreUnavailable, match=r"does not allow writing\.$") as raised:
        reader.put("b.md", b"two", None)
    assert "Sessions are saved here" in raised.value.hint


@pytest.mark.parametrize("server", ["s3"], indirect=True)
def test_a_profile_needs_boto3_only_when_it_is_asked_for(
    url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    (credentials := tmp_path / "credentials").write_text(  # type: ignore[operator]
        f"[team]\naws_access_key_id = AKIAWRITER0000000000\naws_secret_access_key = {SECRET}\n"
    )
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(credentials))
    monkeypatch.setenv("AWS_PROFILE", "team")
    store = ObjectStore(url)
    store.put("a.md", b"one", None)
    assert [listed.key for listed in store.list().objects] == ["a.md"]
