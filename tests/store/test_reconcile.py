"""Two machines on one store: each machine gets the other's sessions, and no word is lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import sha256
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from chat_loop.errors import SessionLocked, StoreUnavailable
from chat_loop.library.library import Library
from chat_loop.library.lineage import tree
from chat_loop.sessions.erasure import Eraser, without_text
from chat_loop.sessions.files import take_lock
from chat_loop.sessions.organizing import move_to_trash, restore, set_name_and_tags
from chat_loop.sessions.records import Attachment, Query, Seal, Session
from chat_loop.sessions.writer import render
from chat_loop.store.client import ObjectListing, ObjectStore
from chat_loop.store.state import FILE
from tests.support.s3_server import S3Server
from tests.support.saved_sessions import FIRST, OPEN, SECOND, at
from tests.support.shared_sessions import Machine, grown, said
from tests.support.store_servers import StoreServer

Machines = Callable[[str], Machine]
SEALED, CHILD, LIVING = FIRST.header.id, SECOND.header.id, OPEN.header.id
PNG = b"\x89PNG\r\n\x1a\n" + b"pixels" * 20


def _image() -> Attachment:
    digest = sha256(PNG).hexdigest()
    return Attachment(
        number=1, at=at(11, 10), name="a.png", media="image/png", size=len(PNG), sha256=digest
    )


def sharing(machine: Machines, *sessions: Session) -> tuple[Machine, Machine]:
    """Return two machines, after the first one has given its sessions to the other."""
    here, there = machine("here"), machine("there")
    for session in sessions:
        here.put(session)
    here.sync()
    there.sync()
    return here, there


def test_sessions_and_images_come_to_another_machine(
    machine: Machines, server: StoreServer, prefix: str
) -> None:
    here, there = machine("here"), machine("there")
    image = _image()
    here.put(FIRST)
    here.put(SECOND)
    here.put(replace(OPEN, entries=(*OPEN.entries, image)))
    here.sessions.images.keep(image.file, PNG)
    assert here.sync().sent == 3
    assert server.objects(prefix).keys() == {
        *(f"{name}.md" for name in (SEALED, CHILD, LIVING)),
        image.file,
    }
    assert there.sync().received == 3
    assert there.said() == here.said()
    assert there.sessions.images.data(image.file) == PNG
    for path in there.files():
        assert path.read_bytes() == (here.folder / path.name).read_bytes()
        assert path.stat().st_mode & 0o777 == 0o600
    assert (here.sync().sent, there.sync().received) == (0, 0)


@pytest.mark.slow
def test_what_was_said_later_comes_and_goes(machine: Machines) -> None:
    here, there = sharing(machine, OPEN)
    here.put(later := grown(OPEN, "And the cache?"))
    here.sync()
    assert there.sync().received == 1
    assert there.said() == {LIVING: said(later)}
    there.put(even_later := grown(later, "On which host?"))  # as after a crash here
    there.sync()
    here.sync()
    assert here.said() == {LIVING: said(even_later)}


@pytest.mark.slow
def test_a_session_of_another_machine_that_has_not_ended_is_not_sealed_here(
    machine: Machines,
) -> None:
    here, there = sharing(machine, OPEN, FIRST)
    assert not there.sessions.load(there.folder / f"{LIVING}.md").is_sealable
    assert there.sessions.load(there.folder / f"{SEALED}.md").is_sealable
    assert here.sessions.load(here.folder / f"{LIVING}.md").is_sealable


def test_two_that_go_on_from_one_parent_are_branches(machine: Machines) -> None:
    here, there = sharing(machine, FIRST)
    here.put(SECOND)
    header = replace(SECOND.header, id="sally_20261102_100000-9f3a")
    there.put(replace(SECOND, header=header))
    for each in (here, there, here, there):
        each.sync()
    assert here.said() == there.said()
    library = Library(there.folder)
    nodes = tree(SEALED, library.links().value)
    library.close()
    assert nodes[0].id == SEALED
    assert {node.id for node in nodes} == {SEALED, CHILD, header.id}


def test_one_session_with_other_words_on_each_machine_becomes_two(machine: Machines) -> None:
    here, there = sharing(machine, OPEN)
    here.put(ours := grown(OPEN, "Said here."))
    there.put(theirs := grown(OPEN, "Said there."))
    child = replace(SECOND, header=replace(SECOND.header, parent=LIVING))
    there.put(child)
    here.sync()
    outcome = there.sync()
    here.sync()
    branch = f"{LIVING}_2"
    assert outcome.sentences == [
        f"{LIVING} has other words in the store: the session here is {branch} now."
    ]
    assert outcome.waiting == set()
    for each in (here, there):
        assert each.said()[LIVING] == said(ours)
        assert each.said()[branch] == said(theirs)
        assert each.sessions.load(each.folder / f"{CHILD}.md").session.header.parent == branch
    assert (here.sync().sent, there.sync().sent) == (0, 0)


@pytest.mark.slow
def test_an_open_session_waits_until_it_has_ended(machine: Machines) -> None:
    here, there = sharing(machine, OPEN)
    here.put(grown(OPEN, "Said here."))
    here.sync()
    path = there.put(theirs := grown(OPEN, "Said there."))
    there.put(replace(SECOND, header=replace(SECOND.header, id="z_child", parent=LIVING)))
    lock = take_lock(there.folder, LIVING)
    before = path.read_bytes()
    assert there.sync().waiting == {LIVING, "z_child"}  # the child continues from these words
    assert path.read_bytes() == before
    lock.close()
    there.sync()
    assert there.said()[f"{LIVING}_2"] == said(theirs)
    child = there.sessions.load(there.folder / "z_child.md").session
    assert child.header.parent == f"{LIVING}_2"


@pytest.mark.slow
def test_of_two_summaries_or_names_the_first_in_the_store_stays(machine: Machines) -> None:
    here, there = sharing(machine, SECOND)
    for each, name in ((here, "From here"), (there, "From there")):
        loaded = each.sessions.load(each.folder / f"{CHILD}.md")
        set_name_and_tags(each.sessions, loaded, name=name)
    text = f"{CHILD} has another name, tags or summary in the store: those count."
    for each, sentences in ((here, []), (there, [text]), (here, []), (there, [])):
        assert each.sync().sentences == sentences
    assert here.files()[0].read_bytes() == there.files()[0].read_bytes()
    assert here.sessions.load(here.files()[0]).session.name == "From here"


@pytest.mark.slow
def test_a_seal_goes_over_the_same_words_without_one(machine: Machines) -> None:
    here = machine("here")
    here.put(replace(SECOND, seal=None))
    here.sync()
    (here.folder / FILE).unlink()
    here.put(SECOND)
    there = machine("there")
    here.sync()
    there.sync()
    assert there.sessions.load(there.files()[0]).session.seal == SECOND.seal


def test_a_text_that_was_taken_out_goes_everywhere(
    machine: Machines, server: StoreServer, prefix: str
) -> None:
    here, there = sharing(machine, FIRST)
    here.put(without_text(FIRST, Eraser("token bucket")))
    here.sync()
    assert b"token bucket" not in server.objects(prefix)[f"{SEALED}.md"]
    outcome = there.sync()
    assert b"token bucket" not in there.files()[0].read_bytes()
    assert outcome.sentences == [f"{SEALED} was changed elsewhere; as it was, it is in the trash."]
    there.sync()
    assert b"token bucket" not in server.objects(prefix)[f"{SEALED}.md"]


@pytest.mark.slow
def test_a_session_in_the_trash_stays_there_and_in_the_store(
    machine: Machines, server: StoreServer, prefix: str
) -> None:
    here = machine("here")
    path = here.put(FIRST)
    here.sync()
    move_to_trash(here.sessions, path)
    assert here.sync().received == 0
    assert here.files() == []
    assert [*server.objects(prefix)] == [path.name]
    restore(here.sessions, SEALED)
    assert here.sync().sent == 0


@pytest.mark.slow
def test_a_session_in_the_trash_stays_there_when_it_goes_on_elsewhere(machine: Machines) -> None:
    here, there = machine("here"), machine("there")
    here.put(OPEN)
    here.sync()
    there.sync()
    move_to_trash(here.sessions, here.folder / f"{LIVING}.md")
    there.put(grown(OPEN, "And the cache?"))
    assert there.sync().sent == 1
    assert here.sync().received == 0
    assert here.said() == {}


def test_a_purge_goes_through_when_the_store_is_back(
    machine: Machines, server: StoreServer, prefix: str
) -> None:
    here, there = machine("here"), machine("there")
    path = here.put(FIRST)
    here.put(SECOND)
    here.sync()
    there.sync()
    server.kill()
    with pytest.raises(StoreUnavailable, match="The store still has it"):
        here.purge(path)
    server.start()
    here.sync()
    assert [*server.objects(prefix)] == [f"{CHILD}.md"]
    there.put(grown(FIRST, "More."))
    outcome = there.sync()
    assert outcome.sentences == [f"{SEALED} is not in the store any more: it stays here only."]
    assert [*server.objects(prefix)] == [f"{CHILD}.md"]
    assert SEALED in there.said()
    assert here.sync().received == 0


@pytest.mark.slow
def test_while_a_session_is_purged_nobody_uploads_it_again(
    machine: Machines, server: StoreServer, prefix: str
) -> None:
    here = machine("here")
    path = here.put(FIRST)
    here.sync()
    with here.mirror.removal([path]):
        with pytest.raises(SessionLocked, match="Another process synchronizes"):
            here.sync()
        path.unlink()
    assert server.objects(prefix) == {}


@pytest.mark.slow
@pytest.mark.parametrize("server", ["s3"], indirect=True)
def test_a_store_that_keeps_everything_gets_and_gives_all_else(
    machine: Machines, server: S3Server, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = machine("here"), machine("there")
    path = here.put(FIRST)
    here.sync()
    there.put(OPEN)
    there.sync()
    for name, value in server.environment(user=2).items():
        monkeypatch.setenv(name, value)
    here = machine("here")
    with pytest.raises(StoreUnavailable, match="does not allow deleting"):
        here.purge(path)
    here.put(SECOND)
    with pytest.raises(StoreUnavailable, match="does not allow deleting"):
        here.sync()
    assert here.said() == {CHILD: said(SECOND), LIVING: said(OPEN)}
    assert server.objects(prefix).keys() == {f"{name}.md" for name in (SEALED, CHILD, LIVING)}


@pytest.mark.slow
def test_an_image_that_was_purged_and_sent_again_is_in_the_store(
    machine: Machines, server: StoreServer, prefix: str
) -> None:
    here, image = machine("here"), _image()
    here.put(replace(OPEN, entries=(*OPEN.entries, image)))
    here.sessions.images.keep(image.file, PNG)
    here.sync()
    with here.mirror.removal([here.folder / image.file]):
        pass
    assert image.file not in server.objects(prefix)
    here.put(replace(FIRST, entries=(*FIRST.entries, image)))
    here.sync()
    assert image.file in server.objects(prefix)


@pytest.mark.slow
@pytest.mark.parametrize("server", ["s3"], indirect=True)
def test_with_a_store_that_is_read_only_the_sessions_of_others_come(
    machine: Machines, server: S3Server, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = machine("here"), machine("there")
    here.put(FIRST)
    here.sync()
    there.put(OPEN)
    for name, value in server.environment(user=1).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(StoreUnavailable, match="does not allow writing"):
        there.sync()
    assert there.said() == {SEALED: said(FIRST), LIVING: said(OPEN)}
    assert [*server.objects(prefix)] == [f"{SEALED}.md"]


@pytest.mark.slow
def test_an_upload_whose_answer_was_lost_is_no_conflict(
    machine: Machines, server: StoreServer, prefix: str
) -> None:
    here = machine("here")
    here.put(FIRST)
    server.kill()
    server.start(dies_at=1, stage=2)
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        here.mirror.sync(both_ways=False)
    server.kill()
    server.start()
    assert [*server.objects(prefix)] == [f"{SEALED}.md"]
    path = here.put(without_text(FIRST, Eraser("token bucket")))
    report = here.sync()
    assert (report.sent, report.sentences, report.waiting) == (1, [], set())
    assert server.objects(prefix) == {path.name: path.read_bytes()}


@pytest.mark.slow
def test_a_listing_that_is_behind_changes_nothing(
    machine: Machines, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = machine("here")
    here.put(FIRST)
    here.put(OPEN)
    here.sync()
    listing = ObjectStore(url).list()
    behind = [listed for listed in listing.objects if listed.key == f"{LIVING}.md"]
    here.put(later := grown(OPEN, "And the cache?"))
    monkeypatch.setattr(ObjectStore, "list", lambda self: ObjectListing(behind, []))
    for _ in range(2):
        outcome = here.sync()
        assert (outcome.sentences, outcome.waiting) == ([], set())
        assert here.said() == {SEALED: said(FIRST), LIVING: said(later)}


@pytest.mark.slow
def test_a_listing_that_repeats_objects_changes_nothing(
    machine: Machines, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = machine("here"), machine("there")
    here.put(FIRST)
    here.put(OPEN)
    here.sync()
    objects, _ = ObjectStore(url).list()
    monkeypatch.setattr(ObjectStore, "list", lambda self: ObjectListing(objects * 2, []))
    for received in (2, 0):
        report = there.sync()
        assert (report.received, report.sentences, report.waiting) == (received, [], set())
    assert there.said() == here.said()


@pytest.mark.slow
def test_without_its_notes_nothing_is_lost_or_doubled(machine: Machines) -> None:
    here, there = sharing(machine, FIRST, OPEN)
    here.put(later := grown(OPEN, "And the cache?"))
    for each in (here, there):
        (each.folder / FILE).unlink()
    there.sync()
    outcome = here.sync()
    there.sync()
    assert outcome.sent == 1
    assert here.said() == there.said() == {SEALED: said(FIRST), LIVING: said(later)}


@pytest.mark.slow
def test_a_session_that_another_machine_seals_while_it_goes_on_keeps_its_words(
    machine: Machines,
) -> None:
    """The other machine lost the note that the session belongs to this one."""
    here, there = machine("here"), machine("there")
    live = here.sessions.begin(agent="Sally")
    live.add(Query(number=1, at=at(11, 21), text="Is it there?"))
    here.sync()
    there.sync()
    (there.folder / FILE).unlink()
    there.sync()
    identity = live.header.id
    seal = Seal(at=at(11, 22), reason="resume", source="none")
    there.sessions.seal_stored(there.sessions.load(there.files()[0]), seal)
    assert there.sync().sent == 1
    live.add(Query(number=2, at=at(11, 23), text="And now?"))
    assert here.sync().waiting == {identity}
    live.add(Query(number=3, at=at(11, 24), text="And then?"))
    live.seal(Seal(at=at(11, 25)))
    live.close()
    for each in (here, there):
        each.sync()
    assert here.said() == there.said()
    assert here.said() == {identity: ["Is it there?", "And now?", "And then?"]}


@pytest.mark.slow
def test_clocks_decide_nothing(machine: Machines) -> None:
    here, there = sharing(machine, OPEN)
    path = here.put(grown(OPEN, "And the cache?"))
    os.utime(path, (0, 0))  # a clock that is slow
    for file in there.files():
        os.utime(file, (4e9, 4e9))  # a clock that is fast
    there.sync()
    here.sync()
    there.sync()
    assert there.said() == here.said() == {LIVING: said(grown(OPEN, "And the cache?"))}


FOREIGN = (
    *("a/b.md", ".hidden.md", "-option.md", "é.md", f"{'a' * 65}.md", "agent.py", "a%2Fb.md"),
    *(".sync.sqlite", f"attachments/{'0' * 64}.png", f"attachments/{'0' * 64}.py"),
)


@pytest.mark.slow
@pytest.mark.parametrize("server", ["s3"], indirect=True)
def test_objects_that_are_no_sessions_or_images_stay_where_they_are(
    machine: Machines, server: S3Server, prefix: str
) -> None:
    here = machine("here")
    here.put(FIRST)
    here.sync()
    server.kill()
    for key in FOREIGN:
        path = server.folder / quote(prefix + key, safe="")
        path.write_bytes(b"#!/bin/sh\ntouch /tmp/evil\n")
    server.start()
    before = {file for file in here.folder.parent.rglob("*") if ".locks" not in file.parts}
    outcome = here.sync()
    after = {file for file in here.folder.parent.rglob("*") if ".locks" not in file.parts}
    assert (outcome.received, after) == (0, before)


def _add(s3: S3Server, *keys: str) -> None:
    """Put objects into the server that our client could not write."""
    s3.kill()
    for key in keys:
        (s3.folder / quote(key, safe="")).write_bytes(b"evil")
    s3.start()


@pytest.mark.slow
@pytest.mark.parametrize(
    "key", ["../evil.md", "./evil.md", "/evil.md", "\x07.md", "a//b.md", "b/../c"]
)
@pytest.mark.parametrize("server", ["s3"], indirect=True)
def test_invalid_names_where_no_session_can_be_are_passed_over(
    key: str, machine: Machines, server: S3Server, prefix: str
) -> None:
    here, there = machine("here"), machine("there")
    here.put(FIRST)
    here.put(SECOND)
    here.sync()
    _add(server, prefix + key)
    report = there.sync()
    assert (report.received, report.sentences) == (2, [])
    assert there.said() == here.said()
    assert not [*there.folder.parent.rglob("*evil*")]


@pytest.mark.slow
@pytest.mark.parametrize("server", ["s3"], indirect=True)
def test_an_invalid_name_among_sessions_is_named_and_passed_over(
    machine: Machines, server: S3Server, prefix: str, url: str
) -> None:
    here, there = machine("here"), machine("there")
    before = replace(FIRST, header=replace(FIRST.header, id="a_session"))
    here.put(before)
    here.put(FIRST)
    here.sync()
    _add(server, f"{prefix}bell\x07.md", f"{prefix}c//d.md")
    there.put(OPEN)
    report = there.sync()
    assert (report.sent, report.received) == (1, 1)
    assert report.sentences == [
        f"{url} has an object with an invalid name, {each}: remove it, it hides sessions before it."
        for each in (f"{prefix}bell\\u{{7}}.md", f"{prefix}c//d.md")
    ]
    assert there.said() == {SEALED: said(FIRST), LIVING: said(OPEN)}
    assert f"{LIVING}.md" in server.objects(prefix)
    server.kill()
    (server.folder / quote(f"{prefix}bell\x07.md", safe="")).unlink()
    server.start()
    assert there.sync().received == 1
    assert there.said()["a_session"] == said(before)


@pytest.mark.slow
def test_a_hostile_transcript_is_a_file_like_others(machine: Machines, url: str) -> None:
    here = machine("here")
    here.put(FIRST)
    here.sync()
    store = ObjectStore(url)
    hostile = b"\x1b]0;owned\x07<!-- chat:session id=../../x -->\n" + b"\x00" * 1000
    store.put("notes.md", hostile, None)
    found = store.get(f"{SEALED}.md")
    assert found is not None
    store.put(f"{SEALED}.md", b"<!-- chat:sealed -->\n", found[1])
    outcome = here.sync()
    assert (here.folder / "notes.md").read_bytes() == hostile
    library = Library(here.folder)
    states = {row.id: row.state for row in library.rows(everything=True).value.rows}
    library.close()
    assert states["notes"] in ("foreign", "damaged")
    trash = here.folder / ".trash" / f"{SEALED}.md"
    assert trash.read_bytes() == render(FIRST)  # the text is not lost
    assert outcome.sentences == [f"{SEALED} was changed elsewhere; as it was, it is in the trash."]


@pytest.mark.slow
def test_a_parent_is_uploaded_before_its_child(
    machine: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, keys = machine("here"), list[str]()
    parent, child = replace(FIRST.header, id="z_parent"), replace(SECOND.header, id="a_child")
    here.put(replace(FIRST, header=parent))
    here.put(replace(SECOND, header=replace(child, parent="z_parent")))
    put = ObjectStore.put

    def recorded(self: ObjectStore, key: str, *rest: object) -> object:
        keys.append(key)
        return put(self, key, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(ObjectStore, "put", recorded)
    here.sync()
    assert keys == ["z_parent.md", "a_child.md"]


@pytest.mark.slow
def test_a_query_is_in_the_store_as_it_is_on_disk(
    machine: Machines, server: StoreServer, prefix: str
) -> None:
    here = machine("here")
    live = here.sessions.begin(agent="Sally")
    live.add(Query(number=1, at=at(11, 21), text="Is it there?"))
    here.sync()
    assert server.objects(prefix) == {live.path.name: live.path.read_bytes()}
    live.add(Query(number=2, at=at(11, 21, 5), text="And now?"))
    here.sync()
    assert server.objects(prefix) == {live.path.name: live.path.read_bytes()}
    live.close()
    other = here.sessions.begin(agent="Sally")
    assert other.header.id != live.header.id


@pytest.mark.slow
def test_one_process_at_a_time(machine: Machines) -> None:
    here = machine("here")
    here.put(FIRST)
    lock = take_lock(here.folder, "sync")
    with pytest.raises(SessionLocked, match="Another process synchronizes"):
        here.sync()
    lock.close()
    assert here.sync().sent == 1


@pytest.mark.slow
def test_a_circle_of_parents_ends(machine: Machines) -> None:
    here = machine("here")
    for one, other in (("a", "b"), ("b", "a")):
        here.put(replace(FIRST, header=replace(FIRST.header, id=one, parent=other)))
    assert here.sync().sent == 2
