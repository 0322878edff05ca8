"""Exports as files (act): a chain read, a document written where nothing stands yet."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from chat_loop.errors import SaveError, UsageError
from chat_loop.export.exporting import SUFFIXES, Form, exported, images_of
from chat_loop.export.importing import Imported
from chat_loop.sessions.chain import ChainReader
from chat_loop.sessions.files import Files
from chat_loop.sessions.images import ImageGone, ImageStore
from chat_loop.sessions.manager import Loaded, SessionManager, slug
from chat_loop.sessions.naming import name_of
from chat_loop.sessions.records import IMAGE_FOLDER, Attachment, Session
from chat_loop.wording import counted


def chain_of(sessions: SessionManager, loaded: Loaded, *, whole: bool) -> tuple[list[Loaded], str]:
    """A session and, when `whole`, its ancestors, the oldest first; and why there are no more, as a
    sentence.
    """
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
            raise UsageError(
                f"There is no export as {ending[:20]}.", f"It takes {', '.join(SUFFIXES.values())}."
            )
    form = next((form for form in SUFFIXES if form == (name or "markdown")), None)
    if form is None:
        raise UsageError(
            f"There is no export as “{name[:40]}”.", f"It takes {', '.join(SUFFIXES)}."
        )
    return form


def stem_of(session: Session) -> str:
    """What the file of an export is called, without its ending, when nobody says so."""
    stem = slug(name_of(session))
    return stem if stem not in ("", "agent") else session.header.id


class Written(Struct, frozen=True):
    """An export on disk: its file, its bytes, how many images stand in `folder` beside it, and what
    is missing.
    """

    path: Path
    size: int
    folder: Path | None = None
    images: int = 0
    complaints: tuple[str, ...] = ()


def written(chain: Sequence[Loaded], target: str, form: Form, *, secrets: bool = False) -> Written:
    """Write a chain, the oldest session first, to the file `target`, into the folder `target`, or
    into the working directory, under the conversation's name. The images of a markdown document go
    into a folder beside it.

    Never over a file that is there: a name that the program chose gets a number. Raises SaveError.
    """
    last, path = chain[-1], place_of(target)
    named = bool(target) and not _is_folder(path)
    if not named:
        path = (
            path / f"{last.session.header.id if target else stem_of(last.session)}{SUFFIXES[form]}"
        )
    images, complaints = images_of(chain)
    first, count, files = path, 1, Files()
    try:
        while True:
            folder = path.with_name(f"{path.stem}-files") if form == "markdown" and images else None
            try:
                if os.path.lexists(path) or (
                    folder is not None and os.path.lexists(folder) and not named
                ):
                    raise FileExistsError
                beside = IMAGE_FOLDER if folder is None else quote(folder.name)
                data = exported(chain, form, secrets=secrets, images=images, folder=beside)
                files.put(path, data)
                break
            except FileExistsError:
                if named:
                    raise SaveError(
                        f"{path} is there already: nothing is written.", "Name another file."
                    ) from None
                count += 1
                path = first.with_name(f"{first.stem}-{count}{first.suffix}")
        if folder is not None:
            store = ImageStore(folder.parent, files, folder.name)
            for file, image in images.items():
                store.keep(file, image)
    except OSError as error:
        raise SaveError(
            f"{path} cannot be written: {(error.strerror or str(error)).lower()}."
        ) from error
    return Written(path, len(data), folder, len(images), tuple(complaints))


def beside(made: Written) -> str:
    """The images of an export, as the end of a sentence; empty where none stand beside it."""
    return (
        f", with {counted(made.images, 'image')} in {made.folder}"
        if made.folder is not None
        else ""
    )


def images_kept(store: ImageStore, found: Imported) -> list[str]:
    """Keep the images of what was imported; return a sentence for each that neither came nor was
    there.
    """
    missing: dict[str, str] = {}
    for session in found.sessions:
        for entry in session.entries:
            if not isinstance(entry, Attachment) or not entry.is_image:
                continue
            try:
                if entry.file in found.images:
                    store.keep(entry.file, found.images[entry.file])
                else:
                    store.data(entry.file)
            except ImageGone:
                missing[f"{entry.name}{entry.file}"] = (
                    f"The image {entry.name} did not come with it."
                )
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                missing[f"{entry.name}{entry.file}"] = (
                    f"The image {entry.name} is not kept: {reason}."
                )
    return list(missing.values())


def _is_folder(path: Path) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - Path's own raises for a name that is too long
