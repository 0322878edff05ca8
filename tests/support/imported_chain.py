"""The sessions and complaints that an importer takes from a document, as values to compare."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from chat_loop.export.importing import Importer, StoredImport
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Session


class Imported(NamedTuple):
    sessions: tuple[Session, ...] = ()
    complaints: tuple[str, ...] = ()


def imported(source: Path | bytes, name: str = "x") -> Imported:
    """Import a path, or a document called `name`."""
    importer = Importer()
    if isinstance(source, bytes):
        importer.add_document(source, name)
    else:
        importer.add_path(source)
    return Imported(tuple(importer.sessions), tuple(importer.complaints))


def store(manager: SessionManager, *sessions: Session) -> list[StoredImport]:
    """Store sessions as if they came from an import."""
    importer = Importer()
    importer.sessions += sessions
    return importer.store(manager)
