"""A long session that is resumed from its two ends gives the same result as the whole file."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from chat_loop.conversation import continuing
from chat_loop.conversation.conversation_options import Options
from chat_loop.errors import SessionError
from chat_loop.sessions import ends as module
from chat_loop.sessions.manager import LoadedSession, SessionManager
from chat_loop.sessions.records import (
    ALL,
    Answering,
    ModelChange,
    Query,
    QueryEntry,
    Seal,
    Session,
    Setting,
    Summary,
    Undo,
)
from chat_loop.values import Usage
from tests.support import strategies
from tests.support.scripted_chat import Talk
from tests.support.session_folders import START, session, write

SUMMARY = Summary(
    background="About bread.",
    topics=("Bread [1]",),
    key_facts=("220 °C [1 user]",),
    tools=("oven",),
)
SEALED = Seal(
    at=START,
    reason="exit",
    source="model",
    summary=SUMMARY,
    usage=Usage(input=5, output=2),
    seconds=1.5,
)


def long(
    queries: int = 400,
    *,
    parent: str = "",
    seal: Seal | None = SEALED,
    undone: int = 0,
    size: int = 1000,
    title: str = "",
) -> Session:
    """Return a session that by default is too long to be read whole."""
    made = session(
        "long", queries, parent=parent, seal=seal, undone=undone, title=title, tags=("food",)
    )
    entries = (
        replace(one, text=one.text + " word" * (size // 5)) if isinstance(one, Query) else one
        for one in made.entries
    )
    return replace(made, entries=tuple(entries), seal=seal)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the limits so that small sessions count as long."""
    monkeypatch.setattr(module, "SHORT", 20_000)
    monkeypatch.setattr(module, "_LONG_HEAD", 10_000)
    monkeypatch.setattr(module, "_TAIL", 2_000)


def both(folder: Path, made: Session, last: int = 1) -> tuple[Session, Session | None]:
    """Return the session as read whole and as read at its ends, which is None if impossible."""
    path = write(folder, made, 1)
    sessions = SessionManager(folder)
    whole, ends = sessions.load(path), sessions.load_ends(path, last)
    assert whole.damage == ()
    assert ends is None or (ends.path, ends.damage, ends.is_sealable) == (path, (), True)
    return whole.session, ends.session if ends is not None else None


@pytest.mark.parametrize(("number", "queries"), [(396, 5), (400, 1), (401, 400), (ALL, 0)])
def test_only_the_words_that_are_carried_are_read(
    tmp_path: Path, number: int, queries: int
) -> None:
    path = write(tmp_path, long(parent="before"), 1)
    sessions = SessionManager(tmp_path)
    whole = sessions.load(path).session
    part = sessions.load_from(path.stem, number).session
    assert (part.header, part.restoration) == (whole.header, whole.restoration)
    assert [*part.exchanges] == [*whole.exchanges[len(whole.exchanges) - queries :]]


def check_newest(newest: Session, whole: Session) -> None:
    """Check a session with only its newest queries against the whole one."""
    assert newest.exchanges == whole.exchanges[-len(newest.exchanges) :]
    assert newest.totals.queries == whole.totals.queries
    for part in ("header", "seal", "settings", "answering", "name", "tags", "pins"):
        assert getattr(newest, part) == getattr(whole, part)


def test_the_newest_queries_are_read_with_all_that_was_set_before(tmp_path: Path) -> None:
    made = long()
    for place, entry in (
        (700, ModelChange(at=START, text="groq:second", endpoint="http://groq/v1")),
        (500, Setting(at=START, text="preserve_recent=4")),
    ):
        made = replace(made, entries=(*made.entries[:-place], entry, *made.entries[-place:]))
    path = write(tmp_path, made, 1)
    sessions = SessionManager(tmp_path)
    whole = sessions.load(path).session
    newest = sessions.load_newest(path, 10_000)
    assert newest is not None
    assert 3 < len(newest.session.exchanges) < 50
    assert whole.answering.model == "groq:second"
    check_newest(newest.session, whole)
    assert sessions.load_newest(path, path.stat().st_size // 2 + 1) is None  # that is no faster
    covers_little = write(tmp_path, long(seal=replace(SEALED, covers=100)), 1)
    assert sessions.load_newest(covers_little, 10_000) is None


def test_the_newest_queries_are_enough_only_if_the_block_covers_the_one_before(
    tmp_path: Path,
) -> None:
    sessions = SessionManager(tmp_path)

    def newest(covers: int) -> LoadedSession | None:
        path = write(tmp_path, long(seal=replace(SEALED, covers=covers)), 1)
        return sessions.load_newest(path, 10_000)

    loaded = newest(400)
    assert loaded is not None
    first = loaded.session.exchanges[0].query.number
    assert newest(first - 1) is not None
    assert newest(first - 2) is None


@given(strategies.sessions, st.integers(0, 9), st.integers(1, 5))
def test_the_ends_agree_with_the_whole_file(drawn: Session, undone: int, last: int) -> None:
    """They agree whatever the middle and the texts contain."""
    middle = long(60)
    seal = replace(
        drawn.seal or SEALED, summary=(drawn.seal or SEALED).summary or SUMMARY, covers=None
    )
    others = [entry for entry in drawn.entries if not isinstance(entry, QueryEntry)]
    undoings = [Undo(number=60 - number, at=START) for number in range(undone)]
    made = Session(
        header=replace(drawn.header, id="long"),
        entries=(*middle.entries, *others, *undoings),
        seal=seal,
    )
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SHORT", 20_000)
        patch.setattr(module, "_LONG_HEAD", 10_000)
        patch.setattr(module, "_TAIL", 2_000)
        path = write(Path(name), made, 1)
        sessions = SessionManager(Path(name))
        whole, found = sessions.load(path).session, sessions.load_ends(path, last)
        asked = sessions.load_queries(path).session
        assert [one.query for one in asked.exchanges] == [one.query for one in whole.exchanges]
        newest = sessions.load_newest(path, 2_000 * last)
        if newest is not None:
            check_newest(newest.session, whole)
        part = sessions.load_from(path.stem, 60 - 8 * last).session
        carried = [one for one in whole.exchanges if one.query.number >= 60 - 8 * last]
        assert [*part.exchanges][-len(carried) :] == carried
        if found is None:
            return
        ends = found.session
        assert (ends.header, ends.seal) == (whole.header, whole.seal)
        assert (ends.totals.queries, ends.totals.combined) == (
            whole.totals.queries,
            whole.totals.combined,
        )
        assert ends.exchanges[-last:] == whole.exchanges[-last:]


def test_the_ends_tell_which_model_answered_last(tmp_path: Path) -> None:
    made = long()
    for place, model in ((900, "openai:first"), (500, "groq:second"), (20, "grok:third")):
        switch = ModelChange(at=START, text=model, endpoint=f"http://{model}/v1")
        entries = (*made.entries[:-place], switch, *made.entries[-place:])
        made = replace(made, entries=entries)
        whole, ends = both(tmp_path, made)
        assert ends is not None
        assert whole.answering == Answering(model, f"http://{model}/v1")
        assert ends.answering == whole.answering


def test_a_switch_that_a_crash_cut_off_leaves_the_model_before_it(tmp_path: Path) -> None:
    made = long(30, seal=None)
    first = ModelChange(at=START, text="openai:first", endpoint="http://first")
    second = ModelChange(at=START, text="groq:second")
    path = write(tmp_path, replace(made, entries=(*made.entries, first, second)), 1)
    sessions = SessionManager(tmp_path)
    assert sessions.answering(path) == Answering("groq:second", "")
    data = path.read_bytes()
    begin = data.rfind(b"<!-- chat:model ")
    for end in range(begin, len(data) - len(b"<!-- chat:end -->\n")):
        path.write_bytes(data[:end])
        assert sessions.answering(path) == Answering("openai:first", "http://first")


def test_when_the_whole_file_is_needed(tmp_path: Path) -> None:
    assert both(tmp_path, long(seal=None))[1] is None  # it did not end
    assert both(tmp_path, long(seal=Seal(at=START, reason="exit")))[1] is None  # it has no summary
    assert both(tmp_path, long(5, size=100))[1] is None  # it is short
    assert both(tmp_path, long(), last=1000)[1] is None  # it has fewer exchanges
    assert both(tmp_path, long(seal=replace(SEALED, covers=0)))[1] is None
    assert both(tmp_path, long(undone=380), last=50)[1] is None  # too few exchanges are left
    assert both(tmp_path, long(1, size=100_000))[1] is None  # it has only one exchange


def test_ends_that_would_meet_are_not_put_together(tmp_path: Path) -> None:
    """The last tail that is tried begins within the header: it has the first exchange again."""
    whole, ends = both(tmp_path, long(25, size=1005), last=24)
    begin = (tmp_path / "long.md").stat().st_size - 16 * 2_000
    assert 0 < begin < (tmp_path / "long.md").read_bytes().find(b"<!-- chat:query")
    assert ends is None
    assert len(whole.exchanges) == 25


def test_what_other_programs_write_has_no_ends(tmp_path: Path) -> None:
    sessions = SessionManager(tmp_path)
    path = tmp_path / "notes.md"
    path.write_text("# Notes\n" + "Call Bob.\n" * 10_000)
    assert sessions.load_ends(path) is None
    assert sessions.answering(path) == Answering("", "")
    with pytest.raises(SessionError, match="is not a transcript"):
        sessions.load_queries(path)
    path.unlink()
    with pytest.raises(SessionError):
        sessions.answering(path)
    with pytest.raises(SessionError):
        sessions.load_queries(path)


def test_ends_that_are_damaged_or_gone(tmp_path: Path) -> None:
    path = write(tmp_path, long(), 1)
    data, sessions = path.read_bytes(), SessionManager(tmp_path)
    assert sessions.load_ends(path) is not None
    for changed in (
        data + b"by hand\n",
        data[:-20],
        data.replace(b"<!-- SESSION_SUMMARY_END -->", b""),
        data.replace(b"## Query 400", b"## Query\xff 400"),
        data.replace(b"queries=400", b"queries=x"),
        data[:500] + b"\n<!-- chat:end -->\nstray\n" + data[500:],
        b"x" + data,
        b"\x00" * 50_000,
    ):
        path.write_bytes(changed)
        found = sessions.load_ends(path)
        assert found is None or not sessions.load(path).damage, changed[-80:]
    for old, new in ((b"queries=400", b"queries=x"), (b"## Query 399", b"## Query\xff 399")):
        path.write_bytes(data)
        assert sessions.load_newest(path, 10_000) is not None
        path.write_bytes(data.replace(old, new))
        assert sessions.load_newest(path, 10_000) is None
    path.unlink()
    assert sessions.load_ends(path) is None
    path.symlink_to("/etc/hostname")
    assert sessions.load_ends(path) is None


@pytest.mark.parametrize("last", [1, 3])
@pytest.mark.parametrize("covers", [None, 398])
def test_a_child_of_the_ends_is_the_child_of_the_whole(
    tmp_path: Path, covers: int | None, last: int
) -> None:
    """The restoration, title, tags and resumed words are the same, byte for byte."""
    texts, requests = [], []
    for name, from_ends in (("whole", False), ("ends", True)):
        write(tmp_path / name, long(seal=replace(SEALED, covers=covers), title="Bread"), 1)
        talk = Talk(tmp_path / name, "Ready.", "Go on.", options=Options(attach_from_archive=False))

        async def resume(talk: Talk = talk, from_ends: bool = from_ends) -> None:
            path = talk.sessions.directory / "long.md"
            loaded = talk.sessions.load_ends(path, last) if from_ends else talk.sessions.load(path)
            assert loaded is not None
            assert loaded.is_partial == from_ends
            planning = talk.conversation.planning()
            resumed = await continuing.resume(planning, loaded, last=last)
            await talk.conversation.accept(resumed.plan)
            await talk.conversation.ask("And then?")
            await talk.conversation.background.wait()

        asyncio.run(resume())
        talk.conversation.close()
        texts.append(talk.text.replace(str(tmp_path / name), ""))
        requests.append(repr(talk.sent).replace(str(tmp_path / name), ""))
    assert texts[0] == texts[1]
    assert requests[0] == requests[1]
