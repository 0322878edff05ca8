"""Exports as files (act): a chain read, a document written where nothing stands yet."""

from __future__ import annotations

import os
from pathlib import Path

from chat_loop.errors import SaveError, UsageError
from chat_loop.export.exporting import SUFFIXES, Form
from chat_loop.sessions.chain import ChainReader
from chat_loop.sessions.files import Files
from chat_loop.sessions.manager import Loaded, SessionManager, slug
from chat_loop.sessions.naming import name_of
from chat_loop.sessions.records import Session


def chain_of(sessions: SessionManager, loaded: Loaded, *, whole: bool) -> tuple[list[Loaded], str]:
    """A session and, when `whole`, its ancestors, the oldest first; and why there are no more, as a sentence."""
    if not whole:
        return [loaded], ""
    chain = ChainReader(sessions).read(loaded.session)
    return [*reversed(chain.loaded), loaded], chain.broken


def place_of(text: str) -> Path:
    """The file or folder that is meant; `~` is the home directory. Raises UsageError."""
    if "\0" in text:
        raise UsageError("That is not the name of a file.")
    return Path(os.path.expanduser(text))  # noqa: PTH111 - Path's own fails where there is no home


def form_of(name: str, target: str) -> Form:
    """The form that is asked for by its name, or by the ending of the file. Raises UsageError."""
    if not name and target and not _is_folder(place_of(target)):
        ending = Path(target).suffix.lower()
        name = next((form for form, suffix in SUFFIXES.items() if suffix == ending), "")
        if ending and not name:
            raise UsageError(f"There is no export as {ending[:20]}.", f"It takes {', '.join(SUFFIXES.values())}.")
    form = next((form for form in SUFFIXES if form == (name or "markdown")), None)
    if form is None:
        raise UsageError(f"There is no export as “{name[:40]}”.", f"It takes {', '.join(SUFFIXES)}.")
    return form


def stem_of(session: Session) -> str:
    """What the file of an export is called, without its ending, when nobody says so."""
    stem = slug(name_of(session))
    return stem if stem not in ("", "agent") else session.header.id


def written(data: bytes, target: str, form: Form, last: Loaded) -> Path:
    """Write a document to the file `target`, into the folder `target`, or beside, under the conversation's name.

    Never over a file that is there: a name that the program chose gets a number.

    Raises SaveError.
    """
    path = place_of(target)
    named = bool(target) and not _is_folder(path)
    if not named:
        path = path / f"{last.session.header.id if target else stem_of(last.session)}{SUFFIXES[form]}"
    first, count = path, 1
    files = Files()
    while True:
        try:
            descriptor = files.create(path)
            break
        except FileExistsError:
            if named:
                raise SaveError(f"{path} is there already: nothing is written.", "Name another file.") from None
            count += 1
            path = first.with_name(f"{first.stem}-{count}{first.suffix}")
        except OSError as error:
            raise SaveError(f"{path} cannot be written: {(error.strerror or str(error)).lower()}.") from error
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[files.write(descriptor, bytes(rest[: 1 << 20])) :]
    except OSError as error:
        path.unlink(missing_ok=True)
        raise SaveError(f"{path} cannot be written: {(error.strerror or str(error)).lower()}.") from error
    finally:
        os.close(descriptor)
    return path


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - Path's own raises for a name that is too long
