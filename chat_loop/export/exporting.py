"""One session or a whole chain as one document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from chat_loop.export import document, jsonform
from chat_loop.export.importing import identified
from chat_loop.export.texts import without_secrets
from chat_loop.sessions.manager import Loaded
from chat_loop.sessions.records import Session

Form = Literal["markdown", "json", "html"]
SUFFIXES: Mapping[Form, str] = {"markdown": ".md", "json": ".json", "html": ".html"}


def exported(chain: Sequence[Loaded], form: Form, *, secrets: bool = False) -> bytes:
    """Return the sessions of `chain`, the oldest first, as one document in UTF-8.

    Secrets are replaced by marks unless `secrets` says that they are to stay. From markdown and JSON the sessions can
    be imported again without loss; the HTML page is complete in itself, loads nothing, and runs no script.
    """
    chain = [replace(loaded, session=_exportable(loaded.session, secrets)) for loaded in chain]
    match form:
        case "markdown":
            return document.joined([loaded.session for loaded in chain])
        case "json":
            return jsonform.written([loaded.session for loaded in chain])
        case "html":
            from chat_loop.export import page  # loads the markdown reader and the colours

            return page.page(chain)


def _exportable(session: Session, secrets: bool) -> Session:
    """With an id that is one, which another program's file need not have as its name."""
    return identified(session if secrets else without_secrets(session), [])
