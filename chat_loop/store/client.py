"""An object store: the objects under a prefix, written only if they are in the expected state."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from chat_loop.errors import StoreUnavailable, install_hint
from chat_loop.store.state import ObjectTag

try:
    import obstore
    from obstore import exceptions, store

    IS_INSTALLED = True
except ImportError:  # `ObjectStore` reports it
    IS_INSTALLED = False

if TYPE_CHECKING:
    from obstore import ObjectMeta, PutResult
    from obstore.auth.boto3 import Boto3CredentialProvider

MAX_OBJECT = 256 << 20  # bytes; a larger object is not a session
CREDENTIALS = {
    "s3": "Check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION.",
    "gs": "Check GOOGLE_APPLICATION_CREDENTIALS.",
    "az": "Check AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY.",
}
LOCAL = "Sessions are saved here"


class ObjectChanged(Exception):
    """The object was not written, since it is not in the expected state."""


class ListedObject(NamedTuple):
    """An object in a listing."""

    key: str
    tag: ObjectTag
    size: int


class ObjectListing(NamedTuple):
    """The objects directly under the prefix, and a sentence for each name that hides some."""

    objects: list[ListedObject]
    warnings: list[str]


class ObjectStore:
    """The objects under a URL such as s3://bucket/prefix, with the environment's credentials. All
    methods may raise StoreUnavailable.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._prefix = f"{url.partition('://')[2].partition('/')[2].rstrip('/')}/".lstrip("/")
        if not IS_INSTALLED:
            text = f"The store {url} needs the s3 extra (obstore)."
            raise StoreUnavailable(text, install_hint("s3"))
        endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
        provider = None
        if url.startswith("s3:") and "AWS_PROFILE" in os.environ:
            provider = _profile(url)
        with self._translated():
            self._store = store.from_url(
                url,
                client_options={
                    "connect_timeout": "5s",
                    "timeout": "300s",  # a whole upload on a slow line
                    "allow_http": endpoint.startswith("http://"),
                },
                retry_config={"max_retries": 1, "retry_timeout": timedelta(seconds=20)},
                credential_provider=provider,
            )

    def list(self) -> ObjectListing:
        """Return the objects directly under the prefix."""
        with self._translated():
            try:
                found = obstore.list_with_delimiter(self._store)["objects"]
            except exceptions.InvalidPathError:
                return self._list_around()
            return ObjectListing([*map(_listed, found)], [])

    def _list_around(self) -> ObjectListing:
        """List around the names that obstore refuses, each with the thousand names at most that
        the store sends with it. Those that sort before `0`, such as `../a`, stand before sessions.
        """
        listing = ObjectListing([], [])
        offset = "0"
        while True:
            try:
                for page in obstore.list(self._store, offset=offset):
                    top = [meta for meta in page if "/" not in meta["path"]]
                    listing.objects.extend(map(_listed, top))
                return listing
            except exceptions.InvalidPathError as error:
                name = _invalid_name(error)
                after = _offset_after(name.removeprefix(self._prefix))
                if after <= offset:
                    raise
                offset = after
                text = f"{self._url} has an object with an invalid name, {name[:200]}"
                listing.warnings.append(f"{text}: remove it, it hides sessions before it.")

    def get(self, key: str, most: int = MAX_OBJECT) -> tuple[bytes, ObjectTag] | None:
        """Return an object, or None when it does not exist or has more than `most` bytes."""
        with self._translated():
            try:
                result = obstore.get(self._store, key)
                if result.meta["size"] > most:
                    return None
                return bytes(result.bytes()), _tag(result.meta)
            except FileNotFoundError:
                return None

    def put(self, key: str, data: bytes, expected: ObjectTag | None) -> ObjectTag:
        """Write an object if its state is `expected` (None: if it does not exist yet). Raises
        ObjectChanged.
        """
        values = {"e_tag": expected.e_tag, "version": expected.version} if expected else {}
        mode: Any = {name: value for name, value in values.items() if value} or "create"
        with self._translated("does not allow writing"):
            try:
                return _tag(obstore.put(self._store, key, data, mode=mode, use_multipart=False))
            except (exceptions.AlreadyExistsError, exceptions.PreconditionError) as error:
                raise ObjectChanged from error
            except FileNotFoundError as error:
                if expected is not None:
                    raise ObjectChanged from error
                raise

    def delete(self, key: str) -> None:
        """Delete an object, if it exists."""
        with self._translated("does not allow deleting"):
            try:
                obstore.delete(self._store, key)
            except FileNotFoundError:
                return

    @contextmanager
    def _translated(self, refusal: str = "refused the credentials") -> Iterator[None]:
        """Raise the store's errors as StoreUnavailable, without their text, which may have keys."""
        scheme = self._url.partition(":")[0]
        try:
            yield
        except (exceptions.BaseError, FileNotFoundError, ValueError) as error:
            text = str(error)
            signs = r"status code: (\d{3})|169\.254\.169\.254|Account must|AccessDenied"
            answer = re.search(signs, text)
            if isinstance(error, exceptions.InvalidPathError):
                what = f"has an object with an invalid name, {_invalid_name(error)[:200]}"
                hint = "Remove it: until then, sessions are uploaded, but not all are downloaded."
            elif answer and answer[1] == "404":
                what = "does not exist"
                hint = "Create it, or correct sessions.store in the config."
            elif answer and not (answer[1] or "").startswith("5"):
                what = refusal
                hint = CREDENTIALS.get(scheme, "")
                hint = f"{hint} {LOCAL} meanwhile."
            else:
                what = "cannot be reached"
                hint = f"{LOCAL} and sent later; chat-loop sync tries."
            raise StoreUnavailable(f"{self._url} {what}.", hint) from error


def _listed(meta: ObjectMeta) -> ListedObject:
    return ListedObject(meta["path"], _tag(meta), meta["size"])


def _invalid_name(error: Exception) -> str:
    """Return the name that obstore refuses, with escapes for what cannot be printed."""
    return "".join(re.findall(r'path: "(.+?)",\n', str(error))[:1])


def _offset_after(name: str) -> str:
    """Return a valid name that sorts behind an invalid one, but before each id behind it."""
    valid = re.split(r"[/\\]", name, maxsplit=1)[0]
    return f"{valid}0" if name[len(valid) :].startswith("/") else f"{valid}!"


def _tag(meta: ObjectMeta | PutResult) -> ObjectTag:
    """Return the state of an object. Azure's listings lack the quotes around the ETag."""
    e_tag = meta.get("e_tag") or ""
    e_tag = e_tag if '"' in e_tag or not e_tag else f'"{e_tag}"'
    return ObjectTag(e_tag, meta.get("version") or "")


def _profile(url: str) -> Boto3CredentialProvider:
    """Return the credentials of AWS_PROFILE, which boto3 reads. Raises StoreUnavailable."""
    try:
        boto3 = import_module("obstore.auth.boto3")
        provider: Boto3CredentialProvider = boto3.Boto3CredentialProvider()
    except ImportError as error:
        text = f"The package boto3 is missing, which reads AWS_PROFILE for {url}."
        raise StoreUnavailable(text, install_hint("bedrock")) from error
    return provider
