"""One session or a whole chain as one document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from msgspec.structs import replace

from chat_loop.export import document, jsonform
from chat_loop.export.importing import identified
from chat_loop.export.texts import without_secrets
from chat_loop.sessions.files import Files
from chat_loop.sessions.images import ImageGone, ImageStore
from chat_loop.sessions.manager import Loaded
from chat_loop.sessions.records import IMAGE_FOLDER, Attachment, Session

Form = Literal["markdown", "json", "html"]
SUFFIXES: Mapping[Form, str] = {"markdown": ".md", "json": ".json", "html": ".html"}


def images_of(chain: Sequence[Loaded]) -> tuple[dict[str, bytes], list[str]]:
    """Return the images of the sessions by `Attachment.file`, and a sentence for each that cannot
    be read.
    """
    found: dict[str, bytes] = {}
    gone: dict[str, str] = {}
    for loaded in chain:
        store = ImageStore(loaded.path.parent, Files())
        for entry in loaded.session.entries:
            if isinstance(entry, Attachment) and entry.is_image and entry.file not in found:
                try:
                    found[entry.file] = store.data(entry.file)
                except ImageGone as error:
                    gone[f"{entry.name}{entry.file}"] = (
                        f"{entry.name} is not in the export: {error}."
                    )
    return found, list(gone.values())


def exported(
    chain: Sequence[Loaded],
    form: Form,
    *,
    secrets: bool = False,
    images: Mapping[str, bytes] = MappingProxyType({}),
    folder: str = IMAGE_FOLDER,
) -> bytes:
    """Return the sessions of `chain`, the oldest first, as one document in UTF-8.

    Secrets are replaced by marks unless `secrets` says that they are to stay. From markdown and
    JSON the sessions can be imported again. JSON holds `images`; markdown links to them in
    `folder`, a part of a URL, where the caller puts them. The HTML page is complete in itself,
    loads nothing, and runs no script.
    """
    chain = [replace(loaded, session=_exportable(loaded.session, secrets)) for loaded in chain]
    match form:
        case "markdown":
            return document.joined([loaded.session for loaded in chain], folder)
        case "json":
            return jsonform.written([loaded.session for loaded in chain], images)
        case "html":
            from chat_loop.export import page  # loads the markdown reader and the colours

            return page.page(chain)


def _exportable(session: Session, secrets: bool) -> Session:
    """With an id that is one, which another program's file need not have as its name."""
    return identified(session if secrets else without_secrets(session), [])
