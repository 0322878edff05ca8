"""Names and tags of open and stored sessions, and the lines of the file that they change."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from chat_loop.errors import UsageError
from chat_loop.library.library import Library
from chat_loop.sessions.edits import change_metadata
from chat_loop.sessions.manager import LoadedSession, SessionManager
from chat_loop.sessions.naming import first_words, name_of, validate_name, validate_tag
from chat_loop.sessions.organizing import set_name_and_tags
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import (
    Header,
    Name,
    Query,
    Reply,
    Seal,
    Session,
    Summary,
    Tag,
    Undo,
    Untag,
)
from chat_loop.sessions.rows import read_rows
from chat_loop.sessions.writer import render
from tests.support.scripted_chat import START, SUMMARY, Talk
from tests.support.strategies import sessions as hostile_sessions
from tests.support.strategies import texts as hostile

HEAD = """\
<!-- chat:session v=1 minor=2 id=sally_20261121_223015 created=2026-11-21T22:30:15+01:00 -->
# {heading}

**Session ID:** sally_20261121_223015␠
**Date:** 2026-11-21T22:30:15+01:00␠
**Model:** scripted:test␠
{more}**Agent:** Sally
<!-- chat:end -->
""".replace("␠", "  ")
FIRST = """\

---

<!-- chat:query n=1 at=2026-11-21T22:30:15+01:00 -->
## Query 1 (22:30:15)
**You:** Which wood is hard?
<!-- chat:end -->

<!-- chat:reply n=1 -->
**Sally:** Oak.
<!-- chat:end -->

*Time: 2.0s | Tokens: 110 (in: 100, out: 10)*
"""
NOTES = """\

<!-- chat:name at=2026-11-21T22:30:17+01:00 -->
**Named:** Wood for the kitchen
<!-- chat:end -->

<!-- chat:tag at=2026-11-21T22:30:17+01:00 -->
**Tagged:** home
<!-- chat:end -->

<!-- chat:tag at=2026-11-21T22:30:17+01:00 -->
**Tagged:** wood
<!-- chat:end -->

<!-- chat:untag at=2026-11-21T22:30:17+01:00 -->
**Untagged:** home
<!-- chat:end -->
"""
SECOND = """\

---

<!-- chat:query n=2 at=2026-11-21T22:30:17+01:00 -->
## Query 2 (22:30:17)
**You:** And soft?
<!-- chat:end -->

<!-- chat:reply n=2 -->
**Sally:** Pine.
<!-- chat:end -->

*Time: 2.0s | Tokens: 110 (in: 100, out: 10)*

<!-- chat:undo n=2 at=2026-11-21T22:30:19+01:00 -->
*Undone: what was said with query 2.*
<!-- chat:end -->
"""
TAIL = """\

---

*No summary*
<!-- chat:sealed at=2026-11-21T22:30:19+01:00 reason=exit summary=none queries=2 tokens=220 -->
"""


async def told(talk: Talk) -> None:
    await talk.conversation.ask("Which wood is hard?")
    talk.conversation.describe(name="Wood for the kitchen")
    talk.conversation.describe(tags=("home", "wood"))
    talk.conversation.describe(tags=("wood",))
    await talk.conversation.ask("And soft?")
    await talk.conversation.undo(talk.conversation.session.exchanges[-1])


def test_a_session_that_is_named_tagged_and_undone_is_this_file(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Oak.", "Pine.")

    async def run() -> None:
        await told(talk)
        head = HEAD.format(heading="Sally Conversation", more="")
        assert talk.text == f"{head}{FIRST}{NOTES}{SECOND}"
        await talk.conversation.leave("exit")

    asyncio.run(run())
    [path] = tmp_path.glob("*.md")
    more = (
        "**Name:** Wood for the kitchen  \n**Tags:** wood  \n**Total Queries:** 2  \n"
        "**Session Tokens:** 220 (in: 200, out: 20)  \n"
    )
    head = HEAD.format(heading="Wood for the kitchen", more=more)
    assert path.read_text() == f"{head}{FIRST}{NOTES}{SECOND}{TAIL}"
    read = parse(path.read_bytes())
    assert read.session is not None
    assert (read.damage, render(read.session)) == ((), path.read_bytes())


def test_what_is_named_before_its_first_word_has_it_in_the_header(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Oak.")
    talk.conversation.describe(name="Wood")
    talk.conversation.describe(tags=("b", "a"))
    assert not list(tmp_path.iterdir())
    asyncio.run(talk.conversation.ask("Which wood is hard?"))
    head = HEAD.format(heading="Wood", more="**Name:** Wood  \n**Tags:** b, a  \n")
    assert talk.text == f"{head}{FIRST}"
    talk.conversation.close()


def stored(folder: Path, *, sealed: bool = True) -> tuple[SessionManager, LoadedSession]:
    """Return a session of one exchange that ended or, if not `sealed`, whose process was killed."""
    talk = Talk(folder, "Oak.", SUMMARY)

    async def run() -> None:
        await talk.conversation.ask("Which wood is hard?")
        if sealed:
            await talk.conversation.end()
        talk.conversation.close()

    asyncio.run(run())
    return talk.sessions, talk.sessions.load(talk.path)


def changes(before: bytes, after: bytes) -> list[str]:
    """Return the lines that were removed and the lines that were added."""
    lines = difflib.ndiff(before.decode().split("\n"), after.decode().split("\n"))
    return [line for line in lines if line[0] in "+-" and line[2:]]


def test_a_sealed_session_that_is_renamed_keeps_every_other_byte(tmp_path: Path) -> None:
    sessions, loaded = stored(tmp_path)
    data = loaded.path.read_bytes()
    edited = data.replace(b"- Greetings [1]", b"- Greetings, by hand [1]").replace(
        b"\n**Agent:**", b"\n**Note:** mine, by hand  \n**Agent:**", 1
    )
    assert edited.count(b"by hand") == 2
    loaded.path.write_bytes(edited)
    loaded = sessions.load(loaded.path)
    used = read_rows(sessions.directory)[0].updated
    set_name_and_tags(sessions, loaded, name="Wood", tags=["Home", "#b", "home"])
    assert changes(edited, loaded.path.read_bytes()) == [
        "- # Greetings",
        "+ # Wood",
        "+ **Name:** Wood  ",
        "+ **Tags:** home, b  ",
    ]
    assert read_rows(sessions.directory)[0].updated == used
    once = loaded.path.read_bytes()
    set_name_and_tags(sessions, sessions.load(loaded.path), name="Tree")
    assert changes(once, loaded.path.read_bytes()) == [
        "- # Wood",
        "+ # Tree",
        "- **Name:** Wood  ",
        "+ **Name:** Tree  ",
    ]
    set_name_and_tags(sessions, sessions.load(loaded.path), tags=[])
    set_name_and_tags(sessions, sessions.load(loaded.path), name="")
    assert loaded.path.read_bytes() == edited
    found = sessions.load(loaded.path)
    assert found.damage == ()
    assert found.session.seal is not None
    assert found.session.seal.summary is not None
    assert found.session.seal.summary.topics == ("Greetings, by hand [1]",)


def test_a_renamed_file_looks_changed_even_when_its_size_is_the_same(tmp_path: Path) -> None:
    sessions, loaded = stored(tmp_path)
    set_name_and_tags(sessions, loaded, name="Wood")
    library = Library(tmp_path)
    assert [row.name for row in library.rows().value.rows] == ["Wood"]
    before = loaded.path.stat()
    set_name_and_tags(sessions, sessions.load(loaded.path), name="Tree")
    assert loaded.path.stat().st_size == before.st_size
    assert loaded.path.stat().st_mtime_ns > before.st_mtime_ns
    assert [row.name for row in library.rows().value.rows] == ["Tree"]
    library.close()


@pytest.mark.parametrize("torn", [False, True])
def test_an_unsealed_session_is_named_with_records(tmp_path: Path, *, torn: bool) -> None:
    sessions, loaded = stored(tmp_path, sealed=False)
    data = loaded.path.read_bytes()
    if torn:
        data = data[: data.index(b"Oak.") + 2]
        loaded.path.write_bytes(data)
    set_name_and_tags(sessions, sessions.load(loaded.path), name="Wood", tags=["home"])
    set_name_and_tags(sessions, sessions.load(loaded.path), tags=["wood"])
    after = loaded.path.read_bytes()
    assert after.startswith(data + (b"\n<!-- chat:torn -->\n" if torn else b""))
    found = sessions.load(loaded.path).session
    assert (found.name, found.tags) == ("Wood", ("wood",))
    assert [type(entry) for entry in found.entries] == [Query, Reply, Name, Tag, Tag, Untag]
    assert len(found.exchanges) == 1
    sessions.seal_stored(sessions.load(loaded.path), Seal(at=START, reason="exit"))
    found = sessions.load(loaded.path).session
    assert (found.header.name, found.header.tags) == ("Wood", ("wood",))


def test_names_are_one_line_and_short_tags_are_words() -> None:
    assert validate_name("  two\nlines\t here ") == "two lines here"
    assert validate_name("") == ""
    with pytest.raises(UsageError, match=r"at most 80 characters; this one has 10,000\."):
        validate_name("x" * 10_000)
    assert [
        validate_tag(text) for text in ("#Work", " v1.2 ", "ＡＢ", "Cafe\u0301", "a/b+c-d")
    ] == [*("work", "v1.2", "ａｂ", "café", "a/b+c-d")]
    for text in ("", "#", "two words", "a,b", "-x", "x" * 41, "<!--", "a\x1b[2J", "a\u202eb"):
        with pytest.raises(UsageError, match="is not a tag"):
            validate_tag(text)


@given(
    hostile_sessions,
    st.none() | hostile,
    st.none() | st.lists(st.sampled_from(("a", "b", "c")), unique=True),
)
def test_whatever_a_session_holds_only_its_name_and_tags_change(
    session: Session, name: str | None, tags: Sequence[str] | None
) -> None:
    data = render(session)
    after = parse(change_metadata(data, parse(data), START, name, tags))
    assert after.session is not None
    assert after.session.name == (session.name if name is None else name)
    assert set(after.session.tags) == set(session.tags if tags is None else tags)
    assert after.session.exchanges == session.exchanges
    assert after.session.seal == session.seal
    if session.seal is not None:
        header = replace(session.header, name=after.session.name, tags=after.session.tags)
        assert render(replace(session, header=header)) == change_metadata(
            data, parse(data), START, name, tags
        )


def test_what_a_session_is_called() -> None:
    header = Header(id="a", created=START, agent="Sally")
    said = [
        Query(number=1, at=START, text=" \n"),
        Query(number=2, at=START, text="\n Oops\nno"),
        *[],
    ]
    assert first_words(Session(header=header, entries=(*said,))) == "Oops"
    said += [Undo(number=2, at=START), Query(number=3, at=START, text=f"{'w ' * 60}\nmore")]  # type: ignore[list-item]
    assert name_of(Session(header=header, entries=(*said,))) == f"{'w ' * 39}w…"
    assert name_of(Session(header=replace(header, title="A title"), entries=(*said,))) == "A title"
    session = Session(header=replace(header, title="A title", name="Mine"), entries=(*said,))
    assert name_of(session) == "Mine"
    assert name_of(replace(session, entries=(*said, Name(at=START, text="")))) == "A title"


def test_a_summary_gives_the_title_and_a_conversation_keeps_it() -> None:
    from chat_loop.sessions.naming import title

    header = Header(id="a", created=START, agent="Sally")
    seal = Seal(
        at=START,
        reason="exit",
        source="model",
        summary=Summary(topics=("Oak or pine [1.1, 1.3]", "More")),
    )
    assert title(Session(header=header), seal) == "Oak or pine"
    assert title(Session(header=header), replace(seal, source="extracted")) == ""
    child = Session(header=replace(header, parent="b", title="Kitchens"))
    assert title(child, seal) == "Kitchens"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("[image 1: 640×480, 1.9 KB] what is it?", "what is it?"),
        ("Why is [image 1: 640×480, 1.9 KB] dark?", "Why is dark?"),
        ("[image 1: 640×480, 1.9 KB]", "[image 1: 640×480, 1.9 KB]"),
        ("[image of a cat]", "[image of a cat]"),
    ],
)
def test_pasted_images_are_no_part_of_a_name(text: str, name: str) -> None:
    header = Header(id="a", created=START, agent="Sally")
    said = Query(number=1, at=START, text=text)
    assert first_words(Session(header=header, entries=(said,))) == name
