"""Exports: three documents byte for byte, importing them again, and leaving out secrets.

`python -m tests.export.test_exporting` rewrites the documents in `tests/golden/exports/`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from chat_loop.export import exporting
from chat_loop.export.exporting import SUFFIXES, ExportFormat, export_bytes, without_secrets
from chat_loop.export.html_page import STYLE
from chat_loop.redact import Redactor
from chat_loop.sessions import marker
from chat_loop.sessions.parser import parse
from chat_loop.sessions.records import Entry, Header, Opaque, Query, Reply, Seal, Session, Summary
from chat_loop.sessions.writer import render, with_digest
from tests.support import strategies
from tests.support.hostile_chain import FIRST, SECRET, SESSIONS, START, loaded
from tests.support.imported_chain import Imported, imported
from tests.support.limits import cpu_limit

GOLDEN = Path(__file__).parents[1] / "golden" / "exports"
FORMS: tuple[ExportFormat, ...] = get_args(ExportFormat)
KINDS = tuple(dict.fromkeys(kind.entry for kind in marker.KINDS.values()))


def golden(form: ExportFormat) -> bytes:
    """Return the chain's document. A page is without its style, which has its own test."""
    document = export_bytes(loaded(*SESSIONS), form)
    if form == "html":
        text = document.decode().replace(STYLE, "…")
        document = re.sub(r"sha256-[^']+", "sha256-…", text).encode()
    return document


@pytest.mark.parametrize("form", FORMS)
def test_a_chain_is_this_document(form: ExportFormat) -> None:
    assert golden(form).decode() == (GOLDEN / f"chain{SUFFIXES[form]}").read_bytes().decode()


def test_no_name_adds_an_element_to_the_page() -> None:
    hostile = "</title></style><script>alert(1)</script><b id=forged>"
    header = replace(
        FIRST.header, agent=hostile, name=hostile, title=hostile, model=hostile, project=hostile
    )
    page = export_bytes(loaded(replace(FIRST, header=header)), "html").decode()
    assert "&lt;script&gt;" in page
    assert not re.search("<script|<b id|</title></style>", page)


def test_the_json_of_an_earlier_version_is_read_for_ever() -> None:
    read = imported((GOLDEN / "chain-of-0.1.json").read_bytes(), "chain")
    assert read == Imported(tuple(without_secrets(session, Redactor()) for session in SESSIONS))


def chained(sessions: Sequence[Session]) -> tuple[Session, ...]:
    """Return sessions as a chain, in which the parent of each is the one before."""
    parents = ["", *(session.header.id for session in sessions)]
    pairs = zip(sessions, parents, strict=False)
    return tuple(
        replace(session, header=replace(session.header, parent=parent)) for session, parent in pairs
    )


SURROGATE_PAIR = re.compile(r"\\ud[89ab]..\\ud[cdef]")
"""JSON correctly joins the two halves of a surrogate pair into one character."""
chains = st.lists(
    strategies.sessions, min_size=1, max_size=3, unique_by=lambda session: session.header.id
).map(chained)


@pytest.mark.parametrize("form", ["markdown", "json"])
@given(chain=chains)
def test_law_a_chain_comes_back_as_it_was(form: ExportFormat, chain: tuple[Session, ...]) -> None:
    assume(form != "json" or not SURROGATE_PAIR.search(repr(chain)))
    assert imported(export_bytes(loaded(*chain), form, secrets=True), "chain") == Imported(chain)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("field", ["name", "title", "agent", "model", "project", "git_branch"])
def test_secrets_beside_the_words_are_left_out(form: ExportFormat, field: str) -> None:
    header = replace(FIRST.header, **{field: f"My {SECRET}"})
    assert SECRET not in export_bytes(loaded(replace(FIRST, header=header)), form).decode()


def test_what_only_a_service_reads_is_left_out_if_it_has_a_secret() -> None:
    entries = [Opaque(number=1, at=START, text=text) for text in ("signed", f"signed {SECRET}")]
    session = Session(header=FIRST.header, entries=tuple(entries))
    assert without_secrets(session, Redactor()).entries == (entries[0],)


def test_a_summary_that_lost_a_secret_does_not_count_as_edited() -> None:
    summary = Summary(key_facts=(f"The key is {SECRET}. [1 user]",))
    seal = Seal(at=START, source="model", summary=summary)
    session = replace(FIRST, seal=with_digest(seal, FIRST.header.minor))
    [found] = imported(export_bytes(loaded(session), "markdown"), "one").sessions
    assert found.seal is not None
    assert not found.seal.edited


@given(chains)
def test_law_a_page_holds_no_script_and_no_character_that_a_browser_obeys(
    chain: tuple[Session, ...],
) -> None:
    text = export_bytes(loaded(*chain), "html").decode()
    assert not OBEYED.search(text)
    assert set(re.findall(r"<([a-zA-Z][a-zA-Z0-9]*)", text)) <= set(ELEMENTS.split())


OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
ELEMENTS = """
    html head meta title style body a header p h1 h2 h3 h4 h5 h6 div nav ol ul li b span bdi time details summary main
    section article figure figcaption pre code em strong s blockquote hr br table thead tbody tr th td dl dt dd footer
"""


@pytest.mark.parametrize("form", FORMS)
def test_secrets_are_left_out_unless_they_are_asked_for(form: ExportFormat) -> None:
    assert SECRET not in export_bytes(loaded(*SESSIONS), form).decode()
    assert "[REDACTED:" in export_bytes(loaded(*SESSIONS), form).decode()
    assert SECRET in export_bytes(loaded(*SESSIONS), form, secrets=True).decode()


@given(chains)
def test_law_without_its_secrets_a_session_is_still_one(chain: tuple[Session, ...]) -> None:
    clean = tuple(without_secrets(session, Redactor()) for session in chain)
    assert imported(export_bytes(loaded(*chain), "markdown"), "chain") == Imported(clean)


def example(cls: type[Entry], text: str) -> Entry:
    """Return an entry of a kind, with `text` in every string that is not part of the structure."""
    by_type: dict[Any, Any] = {str: text, int: 2, datetime: START, bool: True}
    hints = get_type_hints(cls)
    structure = {
        name
        for name in exporting._STRUCTURE.get(cls, frozenset())
        if hints[name] is str or get_origin(hints[name]) is Literal
    }
    words = {"stop": "end", "grandparent": "older", "until": "1.1"}
    words |= {"verbatim_from": "1.1", "unsummarized_from": "1.1", "ref": "1.1", "last_ref": "1.1"}
    words |= {"session": "older", "part": "reply", "merged_until": "1.1"}
    values: dict[str, Any] = {
        name: words.get(name, "word") if name in structure else by_type[hints[name]]
        for name in cls.__struct_fields__
        if hints[name] in by_type or name in structure
    }
    return cls(**values)


@pytest.mark.parametrize("cls", KINDS, ids=lambda cls: cls.__name__.lower())
def test_every_kind_of_entry_is_exported_whole(cls: type[Entry]) -> None:
    """A new kind of record needs no change here, unless a marker contains one of its strings."""
    entry = example(cls, "some words")
    session = Session(header=FIRST.header, entries=(entry,))
    for form in ("markdown", "json"):
        assert imported(export_bytes(loaded(session), form, secrets=True), "one").sessions == (
            session,
        )
    page = export_bytes(loaded(session), "html").decode()
    page = re.sub("</?span[^>]*>", "", page)  # they color the code
    if cls is Opaque:
        assert "some words" not in page, "a reader cannot read it"
    else:
        shown = "some words" if "some words" in repr(entry) else cls.__name__
        assert shown in page
    session = Session(header=FIRST.header, entries=(example(cls, f"It is {SECRET}"),))
    clean = without_secrets(session, Redactor())
    assert SECRET not in repr(clean)
    told = (
        f"a string of {cls.__name__} stands in a marker, which takes no mark of a secret: add "
        "it to exporting._STRUCTURE"
    )
    assert parse(render(clean)).session == clean, told
    assert "kind" not in cls.__struct_fields__, "`kind` is what JSON tells entries apart by"


def test_lines_of_summaries_link_to_the_messages_that_say_them() -> None:
    assert FIRST.seal is not None
    seal = replace(
        FIRST.seal,
        summary=Summary(
            decisions=("We take 100 [each](#s1q2). [1 user]", "We take none. [1 user]"),
            key_facts=("It is **5150**, as the config says. [1 reply]", "Later. [7 user]"),
        ),
    )
    query = "First.  We take\n100 [each](#s1q2). Then [more](#s1q1)."
    session = session_of(query, "And then?")
    replies = {1: "We take none.", 2: "It is **5150**,\nas the config says."}
    entries = tuple(
        replace(entry, text=replies[entry.number]) if isinstance(entry, Reply) else entry
        for entry in session.entries
    )
    page = export_bytes(loaded(replace(session, entries=entries, seal=seal)), "html").decode()
    kept = '<p class="cost">In the summary of session <a href="#s1b">1</a></p>'
    assert page.count(kept) == 2
    assert '<details class="fold" id="s1b">' in page
    links = re.findall('<a href="#(s1q[12])" rel="[^"]*">([12.]* [a-z]*)</a>', page)
    assert links == [("s1q1", "1.1 user"), ("s1q2", "1.2 reply")]
    assert "We take none. [1 user]" in page
    assert "[more](#s1q1)" in page


def test_one_session_is_exported_as_its_transcript() -> None:
    assert export_bytes(loaded(FIRST), "markdown", secrets=True) == render(FIRST)


def test_no_sessions_are_a_document_too() -> None:
    for form in FORMS:
        assert export_bytes([], form)


def test_a_file_name_that_is_no_id_gets_one() -> None:
    session = replace(FIRST, header=replace(FIRST.header, id="my notes (1)"))
    assert (
        imported(export_bytes(loaded(session), "json"), "x").sessions[0].header.id == "my_notes_1"
    )


def session_of(*said: str) -> Session:
    entries: list[Entry] = []
    for number, text in enumerate(said, 1):
        entries += [
            Query(number=number, at=START, text=text),
            Reply(number=number, at=START, text=text),
        ]
    return Session(header=Header(id="long", created=START, agent="A"), entries=tuple(entries))


HOSTILE_SHAPES = {
    "a long line": "word *and* `code` " * 5_000,
    "quotes in quotes": ">" * 100_000,
    "quotes line by line": "".join(">" * (line % 60) + " a\n" for line in range(5_000)),
    "nested lists": "".join("  " * line + "- a\n" for line in range(400)),
    "dashes": "- " * 50_000,
    "brackets": "[" * 20_000 + "a" + "](" * 20_000,
    "images": "![" * 20_000,
    "stars": "*_" * 20_000,
    "an open fence": "```python\n" + "x = '" * 20_000,
    "one long code line": "```c\n" + "/" * 7_000,
    "blank code lines": "```c\n" + "\n" * 7_000,
    "addresses": "http://" * 10_000,
    "references": "[a]: <" * 20_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE_SHAPES.values(), ids=list(HOSTILE_SHAPES))
def test_hostile_shapes_take_linear_time(text: str) -> None:
    """A quadratic export takes minutes at these sizes."""
    with cpu_limit(60):
        page = export_bytes(loaded(session_of(text, "And zebras?")), "html")
    assert b"And zebras?" in page


@pytest.mark.parametrize("text", [">" * 30 + " deep", "- " * 30 + "deep", "> - " * 20 + "deep"])
def test_what_is_nested_too_deep_is_shown_as_typed(text: str) -> None:
    assert "deep</pre>" in export_bytes(loaded(session_of(text)), "html").decode()


def test_sizes_grow_with_the_chain_and_not_faster() -> None:
    few = len(export_bytes(loaded(session_of(*["word"] * 100)), "html"))
    many = len(export_bytes(loaded(session_of(*["word"] * 1000)), "html"))
    assert many < 10 * few


def test_an_empty_seal_and_a_damaged_file_are_told() -> None:
    session = replace(FIRST, seal=Seal(at=START, reason="exit"))
    page = export_bytes([replace(loaded(session)[0], damage=("Line 3: <odd>.",))], "html").decode()
    assert "<dt>Damage</dt><dd>Line 3: &lt;odd&gt;.</dd>" in page
    assert "<b>No summary</b>" in page


if __name__ == "__main__":
    for kind in FORMS:
        (GOLDEN / f"chain{SUFFIXES[kind]}").write_bytes(golden(kind))
