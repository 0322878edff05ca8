"""Synchronize a folder of sessions with its object store, without losing a word of either.

Clocks are ignored: a state of a session is newer when it has all records of the other one. When
each has records that the other lacks, the session here becomes a branch, under another id.
"""

from __future__ import annotations

import os
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter

from chat_loop.errors import Locked, os_reason
from chat_loop.sessions.copies import branch_off, contains_records_of, replace_session
from chat_loop.sessions.files import read_part
from chat_loop.sessions.images import IMAGE_PATH, MAX_IMAGE, is_image
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.mirror import SyncReport
from chat_loop.sessions.records import ID_PATTERN
from chat_loop.sessions.rows import clamp_time, newest_first, read_row
from chat_loop.store.client import MAX_OBJECT, ObjectChanged, ObjectStore
from chat_loop.store.state import ObjectTag, SyncEntry, SyncState
from chat_loop.values import sha256

TRIES = 5  # at an object that others keep changing


class Reconciliation:
    """One run: a folder, its store, and the state that both last had in common. A step may raise
    StoreUnavailable and OSError; `report` says what was done until then.
    """

    def __init__(self, sessions: SessionManager, store: ObjectStore, state: SyncState) -> None:
        self._sessions = sessions
        self._folder = sessions.directory
        self._store = store
        self._state = state
        self.report = SyncReport()

    def remove(self) -> None:
        """Delete from the store the files that were purged here."""
        for key in [key for key, known in self._state.entries.items() if known.removed]:
            self._store.delete(key)
            self._state.forget(key)

    def upload(self) -> None:
        """Upload the files that changed since the last synchronization, parents before children.
        If a session has to wait, its children wait, too.
        """
        changed = set[str]()
        for time, identity, size in newest_first(self._folder):
            known = self._state.entries.get(f"{identity}.md")
            if known is None or (known.size, known.changed) != (size, time):
                changed.add(identity)
        parents = {identity: {self._parent(identity)} & changed for identity in sorted(changed)}
        try:
            order = [*TopologicalSorter(parents).static_order()]
        except CycleError:  # sessions that continue each other
            order = [*parents]
        for identity in order:
            if parents[identity] & self.report.waiting or not self._send(identity):
                self.report.waiting.add(identity)

    def _parent(self, identity: str) -> str:
        """Return the parent of a session, read from its file."""
        return read_row(self._sessions.session_file(identity), quick=True).parent

    def _send(self, identity: str) -> bool:
        """Upload a session with its images. Return False when it has to wait."""
        key = f"{identity}.md"
        path = self._sessions.session_file(identity)
        for _ in range(TRIES):
            try:
                data, status = read_part(path)
            except OSError:
                return True  # it was just moved, or is unreadable
            if len(data) > MAX_OBJECT:
                return False
            known = self._state.entries.get(key, SyncEntry())
            digest = sha256(data)
            same = SyncEntry(known.tag, digest, *_stamp(status), known.theirs)
            if known.digest == digest:
                self._state.note(key, same)
                return True
            self._send_images(data)
            self._state.note(key, known.with_attempt(digest))
            try:
                tag = self._store.put(key, data, known.tag if known.tag.e_tag else None)
            except ObjectChanged:
                found = self._store.get(key)
                if found is not None and not self._reconcile(identity, data, *found):
                    return False
                if found is None and known.tag.e_tag:
                    self._state.note(key, same)
                    text = f"{identity} is not in the store any more: it stays here only."
                    self.report.sentences.append(text)
                    return True
                continue
            self._state.note(key, same._replace(tag=tag))
            self.report.sent += 1
            return True
        return False

    def _send_images(self, data: bytes) -> None:
        """Upload the images that a session names, unless they are in the store."""
        for key in _images_in(data) - self._state.entries.keys():
            with suppress(OSError):  # the image is not here
                image, _ = read_part(self._folder / key, MAX_IMAGE + 1)
                if is_image(key, image):
                    with suppress(ObjectChanged):  # it is in the store already
                        self._store.put(key, image, None)
                    self._state.note(key, SyncEntry())

    def _fetch_images(self, data: bytes) -> None:
        """Download the images that a session names. Raises Locked and OSError."""
        for key in _images_in(data) - self._state.entries.keys():
            found = self._store.get(key, MAX_IMAGE)
            if found is not None and is_image(key, found[0]):
                self._sessions.images.keep(key, found[0])
                self._state.note(key, SyncEntry())

    def _reconcile(self, identity: str, local: bytes, remote: bytes, tag: ObjectTag) -> bool:
        """Merge two states of a session into one, or make two sessions of them. Return False when
        that has to wait, for example while the session is open.
        """
        key = f"{identity}.md"
        digest = sha256(remote)
        known = self._state.entries.get(key, SyncEntry())
        has_theirs = contains_records_of(local, remote)
        has_ours = contains_records_of(remote, local)
        is_older = has_theirs and not has_ours
        if local == remote or is_older or digest in known.attempts:  # an upload not confirmed
            self._state.note(key, known._replace(tag=tag, digest=digest, size=-1))
            return True
        try:
            if not has_ours:
                branch = branch_off(self._sessions, identity, self._unsent_children(identity))
            self._receive(identity, local, remote, tag)
        except Locked:
            return False
        if not has_ours:
            text = f"{identity} has other words in the store: the session here is {branch} now."
            self.report.sentences.append(text)
            return self._send(branch)
        if has_theirs:
            text = f"{identity} has another name, tags or summary in the store: those count."
            self.report.sentences.append(text)
        return True

    def _unsent_children(self, identity: str) -> list[str]:
        """Return the children of a session that were never in the store."""
        sent = {key for key, entry in self._state.entries.items() if entry.tag.e_tag}
        ids = (stamp.id for stamp in newest_first(self._folder))
        return [each for each in ids if f"{each}.md" not in sent and self._parent(each) == identity]

    def _receive(
        self,
        identity: str,
        local: bytes | None,
        remote: bytes,
        tag: ObjectTag,
        *,
        keeps: bool = False,
    ) -> None:
        """Replace `local` with the session from the store. With `keeps`, save `local` in the trash
        first. Raises Locked and OSError.
        """
        self._fetch_images(remote)
        key = f"{identity}.md"
        known = self._state.entries.get(key, SyncEntry(theirs=local is None))
        status = replace_session(self._sessions, identity, local, remote, keeps=keeps)
        digest = sha256(remote)
        self._state.note(key, SyncEntry(tag, digest, *_stamp(status), known.theirs))
        self.report.received += 1

    def download(self) -> None:
        """Download the sessions that are new or changed in the store, with their images."""
        objects, warnings = self._store.list()
        self.report.sentences += warnings
        for key, tag, size in objects:
            identity = key.removesuffix(".md")
            if identity == key or not ID_PATTERN.fullmatch(identity) or size > MAX_OBJECT:
                continue
            known = self._state.entries.get(key)
            if known is not None and known.tag.e_tag in ("", tag.e_tag) and not known.attempts:
                continue
            try:
                self._fetch(identity)
            except Locked:
                pass  # it is in use here; it is compared when that has ended
            except OSError as error:
                text = f"{key} was not downloaded: {os_reason(error)}."
                self.report.sentences.append(text)

    def _fetch(self, identity: str) -> None:
        """Download a session, unless the user removed it here. Raises Locked and OSError."""
        key = f"{identity}.md"
        path = self._sessions.session_file(identity)
        known = self._state.entries.get(key)
        local = None
        with suppress(FileNotFoundError):
            local, _ = read_part(path)
        if (local is None and known is not None) or (found := self._store.get(key)) is None:
            return
        remote, tag = found
        if local is None:
            self._receive(identity, None, remote, tag)
        elif known is None or sha256(local) != known.digest:
            if not (self._reconcile(identity, local, remote, tag) and self._send(identity)):
                self.report.waiting.add(identity)
        else:
            keeps = not contains_records_of(remote, local)
            self._receive(identity, local, remote, tag, keeps=keeps)
            text = f"{identity} was changed elsewhere; as it was, it is in the trash."
            self.report.sentences += [text] * keeps


def _images_in(data: bytes) -> set[str]:
    """Return the images that a transcript names."""
    return {match[0] for match in IMAGE_PATH.finditer(data.decode("utf-8", "replace"))}


def _stamp(status: os.stat_result) -> tuple[int, int]:
    """Return the size of a file in bytes and its time in nanoseconds, as in `rows.Stamp`."""
    return status.st_size, clamp_time(status.st_mtime_ns)
