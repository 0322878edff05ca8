"""The servers of object stores on this machine, with one interface."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from tests.support.azure_server import AzureServer
from tests.support.s3_server import S3Server, require_server


class StoreServer(Protocol):
    """A server with one container, `chats`. After `kill` and `start` its objects are the same."""

    scheme: str

    @property
    def is_dead(self) -> bool: ...

    def start(self, dies_at: int = 0, stage: int = 0) -> None: ...

    def kill(self) -> None: ...

    def environment(self) -> dict[str, str]: ...

    def objects(self, prefix: str = "") -> dict[str, bytes]: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


def server_of(name: str, folder: Path) -> StoreServer:
    """Return the server `s3` or `azure`; skip the test without what it needs."""
    if name == "s3":
        require_server()
        return S3Server(folder)
    AzureServer.require()
    return AzureServer()
