"""Exports a session, or its whole chain, as one document in a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import asdict, replace

from chat_loop.errors import SaveError, UsageError, os_reason
from chat_loop.export import documents
from chat_loop.export.importing import file_path, images_in, with_valid_ids
from chat_loop.plugins import Exporter, Plugins
from chat_loop.redact import Redactor
from chat_loop.sessions import marker, records
from chat_loop.sessions.chain import read_chain
from chat_loop.sessions.files import Files
from chat_loop.sessions.images import ImageStore, ImageUnavailable
from chat_loop.sessions.manager import LoadedSession, SessionManager, slug
from chat_loop.sessions.naming import name_of
from chat_loop.values import Compaction, plural, size_text

ExportFormat = Literal["markdown", "json", "html"]
SUFFIXES: Mapping[ExportFormat, str] = {"markdown": ".md", "json": ".json", "html": ".html"}
_STRUCTURE: Mapping[type, frozenset[str]] = {
    records.Header: frozenset({"id", "parent"}),
    **{kind.entry: frozenset((*kind.values, *kind.closing)) for kind in marker.KINDS.values()},
    records.Seal: frozenset({"reason", "source", "digest"}),
    Compaction: frozenset(marker.AUDIT),
}
"""The fields that are written in markers. Every other string in a record is a text."""


def chain_of(
    sessions: SessionManager, loaded: LoadedSession, *, whole: bool
) -> tuple[list[LoadedSession], str]:
    """Return a session, after its ancestors if `whole`, and the reason if some are missing."""
    if not whole:
        return [loaded], ""
    chain = read_chain(sessions, loaded.session)
    return [*reversed(chain.ancestors), loaded], chain.problem


def export_format(name: str, target: str, plugins: Plugins) -> ExportFormat | Exporter:
    """Return the format called `name`, else that of the target's suffix, else HTML for a folder or
    no target. Raises UsageError for an unknown one.
    """
    is_folder = os.path.isdir(file_path(target))  # noqa: PTH112 - is_dir raises for long names
    if not name and (not target or is_folder):
        name = "html"
    name = name or Path(target).suffix.lower()
    for form, suffix in SUFFIXES.items():
        if name in (form, suffix, suffix[1:]):
            return form
    for added, exporter in plugins.exporters().items():
        if name in (added, exporter.suffix, exporter.suffix[1:]):
            return exporter
    hint = f"Use {', '.join(SUFFIXES)}, or a file that ends in {', '.join(SUFFIXES.values())}."
    if not name:
        raise UsageError(f"“{target[:40]}” is no format, and no file with an ending.", hint)
    raise UsageError(f"Unknown export format “{name[:40]}”.", hint)


def images_of(chain: Sequence[LoadedSession]) -> tuple[dict[str, bytes], list[str]]:
    """Return the images of the sessions by `Attachment.file`, and a sentence on each lost one."""
    images: dict[str, bytes] = {}
    lost: dict[str, None] = {}
    for loaded in chain:
        store = ImageStore(loaded.path.parent, Files())
        for entry in images_in([loaded.session]):
            try:
                images[entry.file] = images.get(entry.file) or store.data(entry.file)
            except ImageUnavailable as error:
                lost[f"{entry.name} is not in the export: {error}."] = None
    return images, list(lost)


def export_bytes(
    chain: Sequence[LoadedSession],
    form: ExportFormat | Exporter,
    *,
    secrets: bool = False,
    images: Mapping[str, bytes] | None = None,
) -> bytes:
    """Return the sessions of `chain`, oldest first, as one document in UTF-8.

    Marks replace the secrets unless `secrets` is true. Markdown and JSON can be imported again.
    Markdown links to its images, as a transcript does; JSON and HTML contain them.
    """
    exportable = []
    for loaded in chain:
        session = loaded.session
        if not secrets:
            session = without_secrets(loaded.session, Redactor())
        exportable.append(replace(loaded, session=with_valid_ids(session)))
    sessions = [loaded.session for loaded in exportable]
    if isinstance(form, Exporter):
        return form.write(sessions)
    if form == "markdown":
        return documents.write_markdown(sessions)
    if form == "json":
        return documents.write_json(sessions, images or {})
    from chat_loop.export.html_page import html_page  # loads the markdown reader

    return html_page(exportable, images or {})


def without_secrets(value: Any, redactor: Redactor) -> Any:
    """Return a session, or a part of it, with each secret replaced by a mark. What a service wants
    back unchanged is left out if it has one.
    """
    if isinstance(value, str):
        return redactor(value)
    if isinstance(value, tuple):
        items = []
        for before in value:
            after = without_secrets(before, redactor)
            if after == before or not isinstance(after, records.Opaque):
                items.append(after)
        return tuple(items)
    if not isinstance(value, Struct):
        return value
    structure = _STRUCTURE.get(type(value), frozenset())
    texts = {}
    for name, content in asdict(value).items():
        if name not in structure:
            texts[name] = without_secrets(content, redactor)
    if isinstance(value, records.Seal) and texts["summary"] != value.summary:
        texts["digest"] = ""  # the block is no longer the one that was digested
    return replace(value, **texts)


def write_export(
    chain: Sequence[LoadedSession],
    target: str,
    form: ExportFormat | Exporter,
    *,
    secrets: bool = False,
) -> tuple[str, list[str]]:
    """Write a chain, oldest session first, to the file `target`.

    If the target is a folder, the file in it gets the conversation's name; without a target, the
    folder is the working directory. The images of a markdown document are stored beside it, like
    those of a session. No file is overwritten: a name that the program chose gets a number; if the
    user chose it, raise SaveError.
    """
    session = chain[-1].session
    path = file_path(target)
    images, complaints = images_of(chain)
    if not target or os.path.isdir(path):  # noqa: PTH112 - is_dir raises for long names
        stem = slug(name_of(session))
        if stem == "agent":  # the name has no letters for a file
            stem = session.id
        suffix = form.suffix if isinstance(form, Exporter) else SUFFIXES[form]
        paths = (path / f"{name}{suffix}" for name in records.free_ids(stem))
        path = next(free for free in paths if not os.path.lexists(free))
    data = export_bytes(chain, form, secrets=secrets, images=images)
    beside = images if form == "markdown" else {}
    folder = path.parent / records.IMAGE_FOLDER
    store = ImageStore(path.parent, Files())
    try:
        Files().write_new(path, data)
        for file, image in beside.items():
            store.keep(file, image)
    except OSError as error:
        problem = f"{error.filename or path} cannot be written: {os_reason(error)}."
        raise SaveError(problem) from error
    report = f"Exported {plural(len(chain), 'session')} to {path} ({size_text(len(data))})"
    if beside:
        report += f", with {plural(len(images), 'image')} in {folder}"
    return f"{report}.", complaints
