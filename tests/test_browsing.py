"""The session browser without a terminal: what keys make of its state, and how that is drawn."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from prompt_toolkit.utils import get_cwidth

from chat_loop.browser.cells import cut, filled, plain, wrapped
from chat_loop.browser.preview import CHARACTERS, EXCHANGES, ITEMS, Preview, Section, preview_of
from chat_loop.browser.state import LONGEST_FILTER, Act, Browsing, press
from chat_loop.browser.view import fitted, frame
from chat_loop.sessions.records import Header, Query, Reply, Seal, Session, SessionRow, Summary
from tests import strategies
from tests.browsing_here import NOW, MadeShelf, row

KEYS = (
    *(
        "up",
        "down",
        "pageup",
        "pagedown",
        "home",
        "end",
        "left",
        "right",
        "c-m",
        "escape",
        "c-i",
        "c-h",
        "c-u",
        "c-w",
    ),
    *("<bracketed-paste>", "<ignore>", "c-a", "f5", "delete"),
    *"jkgGudypq/? 1a漢#",
)
texts = st.one_of(
    strategies.texts,
    st.sampled_from(
        ("👩‍👩‍👧‍👦❤️👍🏽", "漢字 " * 50, "e\u0301" * 100, "e" + "\u0301" * 100, "x" * 500, "")
    ),
)
sizes = st.tuples(st.integers(1, 210), st.integers(1, 60))


def begun(shelf: MadeShelf, words: str = "") -> Browsing:
    return Browsing(words=words).stocked(shelf.rows(frozenset()))


def pressed(state: Browsing, shelf: MadeShelf, *keys: str) -> tuple[Browsing, Act | None]:
    """The state after `keys`, each followed by what it asks of the shelf; stops at the key that
    ends the browser.
    """
    act: Act | None = None
    for key in keys:
        state, act = press(state, key, "pasted\x1b[2J\nwords" if key == "<bracketed-paste>" else "")
        if act == "trash":
            assert state.row is not None
            state = replace(state, notice=shelf.trash(state.row))
        if act in ("trash", "rows"):
            state = state.stocked(shelf.rows(state.unfolded))
        if act in ("leave", "resume", "edit"):
            break
    return state, act


def after(shelf: MadeShelf, *keys: str) -> Browsing:
    return pressed(begun(shelf), shelf, *keys)[0]


def chosen(state: Browsing) -> str:
    return state.row.id if state.row is not None else ""


def ids(state: Browsing) -> list[str]:
    return [state.stock.rows[position].id for position in state.shown]


def screen(state: Browsing, width: int, height: int, preview: Preview | None = None) -> list[str]:
    drawn = frame(fitted(state, width, height), lambda _: preview, width, height, NOW)
    return ["".join(text for _, text in line).rstrip() for line in drawn.lines]


def valid(state: Browsing) -> None:
    """The law: what is selected is among what matches, and everything that matches is in the stock,
    once.
    """
    assert 0 <= state.selected < max(1, len(state.shown))
    assert list(state.shown) == sorted({*state.shown})
    assert all(0 <= position < len(state.stock.rows) for position in state.shown)
    assert (state.row is None) == (not state.shown)
    assert set(state.stock.heads.values()) <= state.unfolded
    wanted = state.words.casefold().split()
    for position, text in enumerate(state.stock.texts):
        found = all(word in text for word in wanted)
        assert (position in state.shown) == found or state.stock.rows[
            position
        ].id in state.stock.heads


@given(st.integers(0, 30), st.lists(st.sampled_from(KEYS), max_size=40), sizes)
def test_no_keys_make_the_state_invalid(
    count: int, keys: Sequence[str], size: tuple[int, int]
) -> None:
    shelf = MadeShelf(count)
    state = begun(shelf)
    for key in keys:
        state, act = pressed(fitted(state, *size), shelf, key)
        valid(state)
        if act == "edit" or act == "resume":
            assert state.row is not None
        shown = fitted(state, *size)
        assert shown.top <= shown.selected < shown.top + shown.page
        assert 0 <= shown.top <= max(0, len(shown.shown) - shown.page)


rows = st.builds(
    SessionRow,
    id=strategies.ids,
    path=st.just(Path("/nowhere.md")),
    state=st.sampled_from(("sealed", "unsealed", "plain", "damaged", "empty", "foreign")),
    updated=st.datetimes(timezones=st.just(UTC)),
    agent=texts,
    parent=st.one_of(st.just(""), strategies.ids),
    queries=st.one_of(st.none(), strategies.counts),
    tokens=st.one_of(st.none(), strategies.counts),
    name=texts,
    depth=st.integers(1, 10**6),
    tags=st.lists(texts, max_size=3).map(tuple),
    folded=st.integers(0, 10**6),
)
sections = st.builds(Section, texts, st.lists(texts, max_size=4).map(tuple), st.integers(0, 9))


def whole_screen(state: Browsing, preview: Preview | None, width: int, height: int) -> None:
    """The law: every line is exactly as wide as the screen, and nothing in it is obeyed by a
    terminal.
    """
    drawn = frame(fitted(state, width, height), lambda _: preview, width, height, NOW)
    assert len(drawn.lines) == height
    for line in drawn.lines:
        text = "".join(text for _, text in line)
        assert sum(map(get_cwidth, text)) == width
        assert not [
            character
            for character in text
            if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp")
        ]
        assert not {*text} & {
            *"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u200b\u200d"
        }
        assert not re.search("[\u0300-\u036f]{4}", text)
        assert {word for style, _ in line for word in style.split()} <= {"bold", "dim", "reverse"}
    assert drawn.cursor is None or 0 <= drawn.cursor < width


@given(
    st.lists(rows, max_size=6),
    strategies.sessions,
    st.lists(st.sampled_from(KEYS), max_size=5),
    sizes,
    texts,
)
@example(
    [row(number) for number in range(6)],
    Session(header=Header(id="a", created=NOW, agent="")),
    [],
    (20, 5),
    "",
)
@example([], Session(header=Header(id="a", created=NOW, agent="")), ["/", "a"], (1, 3), "")
def test_every_screen_is_exactly_filled(
    shown: Sequence[SessionRow],
    session: Session,
    keys: Sequence[str],
    size: tuple[int, int],
    words: str,
) -> None:
    state = Browsing(words=words).stocked(shown)
    whole_screen(state, None, *size)
    for key in keys:
        state, _ = press(state, key, words)
        whole_screen(state, preview_of(session, ("Line 3: \x1b[2J",)), *size)


@given(strategies.sessions, st.lists(texts, max_size=3))
def test_a_preview_is_short_and_safe(session: Session, damage: Sequence[str]) -> None:
    preview = preview_of(session, damage)
    said = [text for exchange in preview.exchanges for speaker in exchange for text in speaker]
    kept = [item for section in preview.sections for item in section.items]
    for text in (*preview.title, *preview.notes, *said, *kept):
        assert len(text) <= CHARACTERS
        assert text.isprintable() or not {*text} & {*"\n\r\t\x1b\x00\x9b\u202e"}
    assert len(preview.exchanges) + preview.earlier == len(session.exchanges)
    assert len(preview.exchanges) <= EXCHANGES
    assert all(len(section.items) <= ITEMS for section in preview.sections)


@given(texts.map(lambda text: plain(text, 1000)), st.integers(0, 40), st.integers(0, 5))
def test_cells(text: str, width: int, most: int) -> None:
    assert get_cwidth(cut(text, width)) <= width
    assert get_cwidth(filled(text, width)) == width
    lines = wrapped(text, width, most)
    assert len(lines) <= most
    if width > 1:
        assert all(get_cwidth(line) <= width for line in lines)
    whole = wrapped(text, max(2, width), 10_000)
    assert "".join(whole).replace(" ", "") == text.replace(" ", "")


def test_moving_and_paging() -> None:
    shelf = MadeShelf(100)
    state = fitted(begun(shelf), 80, 13)  # 11 rows, the titles, the keys
    assert (state.page, state.previewed) == (11, False)
    for keys, number in (
        (["down", "j", "c-n"], 4),
        (["up", "k"], 2),
        (["pagedown"], 13),
        ([" ", "c-f"], 35),
        (["pageup"], 24),
        (["end"], 100),
        (["down", "pagedown"], 100),
        (["G", "home"], 1),
        (["up", "pageup"], 1),
    ):
        state, act = pressed(state, shelf, *keys)
        state = fitted(state, 80, 13)
        assert (state.shown[state.selected] + 1, act) == (number, None)


def test_filtering_narrows_at_every_key_and_escape_clears_it() -> None:
    shelf = MadeShelf(12)
    state = after(shelf, "down", "/")
    found = []
    for key in "deploy 漢":
        state, _ = press(state, key)
        found.append(len(state.shown))
    assert found == [7, 2, 2, 2, 2, 2, 2, 2]
    assert [state.stock.rows[position].name for position in state.shown] == [
        "Deploy the blue cluster to eu-west-1"
    ] * 2
    assert ids(pressed(state, shelf, "c-w", *"000011")[0]) == ["sally_000011"]
    state, _ = pressed(state, shelf, "c-m", "down")
    assert (state.mode, chosen(state)) == ("list", "sally_000011")
    assert pressed(state, shelf, "c-m") == (state, "resume")
    state, _ = pressed(state, shelf, "escape")
    assert (state.words, len(state.shown), chosen(state)) == ("", 12, "sally_000011")
    assert pressed(state, shelf, "escape")[1] == "leave"


def test_words_are_looked_for_in_name_id_agent_day_state_and_tags_in_any_case() -> None:
    shelf = MadeShelf(110)
    for words, expected in (
        ("SESSION 49 of", ["sally_000049"]),
        ("sally_000103", ["sally_000103"]),
        ("#python two keys sort 000012 sally", ["sally_000012"]),
        ("2026-11-15 research", ["sally_000025"]),
        ("nov 15 漢字", ["sally_000023", "sally_000025", "sally_000026"]),
        ("damaged", ["sally_000099"]),
        ("nowhere to be found", []),
    ):
        assert ids(begun(shelf, words)) == expected, words


def test_what_is_typed_and_pasted_into_the_filter() -> None:
    shelf = MadeShelf(3)
    assert after(shelf, "/", "a", "b", " ", "c", "c-h").words == "ab "
    assert after(shelf, "/", "a", "b", " ", "c", "c-w").words == "ab "
    assert after(shelf, "/", "a", "c-u").words == ""
    assert after(shelf, "/", "c-h").mode == "list"
    assert after(shelf, "/", "<bracketed-paste>").words == "pasted␛[2J words"
    assert after(shelf, "/", "\ud800", "f5", "c-a").words == ""
    assert len(after(shelf, "/", *"x" * 300).words) == LONGEST_FILTER
    state = after(shelf, "/", "a", "down")
    assert (state.mode, state.words, state.selected) == ("list", "a", 0)
    assert after(shelf, "<bracketed-paste>") == begun(shelf)


def test_the_trash_is_asked_for_first() -> None:
    for refusal in ("n", "escape", "q", "c-m", "d", "down"):
        shelf = MadeShelf(3)
        state, act = pressed(begun(shelf), shelf, "down", "d", refusal)
        assert (state.mode, state.notice, act, shelf.done) == (
            "list",
            "Nothing was moved.",
            None,
            [],
        )
    shelf = MadeShelf(3)
    state = after(shelf, "down", "d")
    assert (state.mode, screen(state, 60, 10)[-1]) == (
        "ask",
        "Move “漢字の並べ替えについて教えてくださ…” to the trash? y/n",
    )
    assert screen(state, 20, 5)[-1] == "Trash “漢字の…”? y/n"
    state, _ = pressed(state, shelf, "y")
    assert press(state, "f12")[0].notice == ""
    assert (state.mode, state.notice) == ("list", "Moved sally_000001 to the trash.")
    assert (ids(state), chosen(state)) == (["sally_000000", "sally_000002"], "sally_000002")
    state, _ = pressed(state, shelf, "d", "y", "d", "Y", "d", "c-m", "e")
    assert (ids(state), shelf.done) == (
        [],
        ["trashed sally_000001", "trashed sally_000002", "trashed sally_000000"],
    )
    assert pressed(begun(MadeShelf(3)), shelf, "d", "c-c")[1] == "leave"


def test_chains_unfold_and_fold() -> None:
    shelf = MadeShelf(7)
    chain = ["sally_000005", "older_000005_3", "older_000005_2", "older_000005_1"]
    for unfold, fold in (("right", "left"), ("u", "u")):
        state = after(shelf, *["down"] * 5, unfold)
        assert ids(state)[4:] == ["sally_000004", *chain, "sally_000006"]
        assert chosen(state) == "sally_000005"
        assert after(shelf, *["down"] * 5, unfold, "right") == state
        state, _ = pressed(state, shelf, "down", "down", fold)
        assert (ids(state)[4:], chosen(state)) == (
            ["sally_000004", "sally_000005", "sally_000006"],
            "sally_000005",
        )
    assert after(shelf, "down", "right", "u", "left") == after(shelf, "down")


def test_an_unfolded_chain_stays_with_its_newest_when_filtered() -> None:
    shelf = MadeShelf(7)
    state = after(shelf, "/", *"000005", "c-m", "u")
    assert ids(state) == ["sally_000005", "older_000005_3", "older_000005_2", "older_000005_1"]
    state, _ = pressed(state, shelf, "/", "c-u", *"000005_2")
    assert ids(state) == ["older_000005_2"]


def test_the_same_session_stays_selected_when_rows_come_and_go() -> None:
    shelf = MadeShelf(10)
    state = after(shelf, *["down"] * 4)
    assert chosen(state.stocked(state.stock.rows[3:])) == "sally_000004"
    assert chosen(state.stocked([row(77), *state.stock.rows])) == "sally_000004"
    assert chosen(state.stocked(state.stock.rows[:4])) == "sally_000003"
    assert chosen(state.stocked([])) == ""


def test_keys_that_are_explained() -> None:
    shelf = MadeShelf(3)
    state = after(shelf, "?")
    assert screen(state, 80, 24)[0] == "  ↑ ↓  k j        one session up, down"
    assert screen(state, 80, 24)[-1] == "any key back"
    small = fitted(state, 20, 5)
    seen = []
    for _ in range(20):
        seen += screen(small, 20, 5)[:-1]
        small, _ = press(small, "down")
    assert {"Enter", "  resume the select…", "q  Ctrl-C", "  leave without cho…"} <= {*seen}
    assert press(state, "q") == (begun(shelf), None)
    assert press(state, "c-c")[1] == "leave"


SUMMARISED = Session(
    header=Header(
        id="sally_000000", created=NOW, agent="Sally", model="gpt", parent="older_000000_3"
    ),
    entries=(
        Query(number=1, at=NOW, text="How do I sort by two keys?\n\nQuickly, please."),
        Reply(number=1, at=NOW, text="By the second first. The sort is stable."),
        Query(number=2, at=NOW, text="And ties?"),
        Reply(number=2, at=NOW, text="They keep", stop="interrupted"),
        Query(number=3, at=NOW, text="Thanks"),
    ),
    seal=Seal(
        at=datetime(2026, 11, 22, 16, tzinfo=UTC),
        reason="compact",
        source="model",
        summary=Summary(
            topics=("Sorting [1]", "Ties [2]"),
            decisions=("The database sorts [2]",),
            pending=("Measure it [3]",),
        ),
    ),
)


def test_what_a_preview_holds() -> None:
    assert preview_of(
        SUMMARISED, ("Line 7: text outside a record.", "Line 9: the same.")
    ) == Preview(
        title=(
            "Session 2 of its chain, after older_000000_3",
            "gpt",
            "2026-11-22 15:04 – 2026-11-22 16:00, compacted",
        ),
        notes=("Line 7: text outside a record.", "and 1 more fault"),
        sections=(
            Section("Topics", ("Sorting [1]", "Ties [2]")),
            Section("Decisions", ("The database sorts [2]",)),
            Section("Pending", ("Measure it [3]",)),
        ),
        exchanges=(
            (
                ("You", "How do I sort by two keys? Quickly, please."),
                ("Sally", "By the second first. The sort is stable."),
            ),
            (("You", "And ties?"), ("Sally (interrupted)", "They keep")),
            (("You", "Thanks"),),
        ),
    )


def test_the_screen_at_80_columns() -> None:
    assert screen(after(MadeShelf(8), "right", "down"), 80, 24, preview_of(SUMMARISED)) == [
        "     Sessions: 11                  When     Agent         Queries  Tokens  Chain",
        "   1 Session 0 of all    #python…  15:04    Sally               1     500     ▾4",
        ">    └ Older session 3             15:03    Sally               3     300      3",
        "     └ Older session 2             15:02    Sally               2     200      2",
        "     └ Older session 1             15:01    Sally               1     100",
        "   2 漢字の並べ替えについて教え…   08:04    Research As…        4    1.7K",
        "   3 ␛]0;owned␇␛[2J␛[31mred <U+2…  01:04    漢字␛[1m            7    2.9K",
        "   4 very long very long very lo…  Nov 21   Sally              10    4.2K",
        "   5 👩👩👧👦 family ❤…  #python…  Nov 21   Research As…       13    5.4K",
        "   6 Deploy the blue cluster to…   Nov 21   漢字␛[1m           16    6.6K     ▸4",
        "   7 How do I sort a list of dic…  Nov 20   Sally              19    7.9K",
        "────────────────────────────────────────────────────────────────────────────────",
        "Older session 3",
        "older_000000_3 · today 15:03 · Sally · 3 queries, 300 tokens",
        "Session 2 of its chain, after older_000000_3",
        "Topics: Sorting [1]; Ties [2]",
        "Decisions: The database sorts [2]",
        "Pending: Measure it [3]",
        "You: How do I sort by two keys? Quickly, please.",
        "Sally: By the second first. The sort is stable.",
        "You: And ties?",
        "Sally (interrupted): They keep",
        "You: Thanks",
        "Enter resume  ? keys  q leave  / filter  u fold  e edit  d trash  p hide preview",
    ]


def test_the_preview_stands_beside_a_wide_list() -> None:
    assert screen(begun(MadeShelf(4)), 106, 24, preview_of(SUMMARISED)) == [
        "    Sessions: 4                       When     Queries  Chain │ Session 0 of all",
        (
            "> 1 Session 0 of all      #python #…  15:04          1     ▸4 │ sally_000000 · today "
            "15:04 · Sally · 1"
        ),
        "  2 漢字の並べ替えについて教えてく…   08:04          4        │ query, 500 tokens · #python #wo␛[rk · 3",
        "  3 ␛]0;owned␇␛[2J␛[31mred <U+202E>…  01:04          7        │ older sessions folded",
        (
            "  4 very long very long very long v…  Nov 21        10        │ Session 2 of its "
            "chain, after"
        ),
        "                                                              │ older_000000_3",
        "                                                              │ gpt",
        (
            "                                                              │ 2026-11-22 15:04 – "
            "2026-11-22 16:00,"
        ),
        "                                                              │ compacted",
        (
            "                                                              │ Topics: Sorting [1]; "
            "Ties [2]"
        ),
        (
            "                                                              │ Decisions: The "
            "database sorts [2]"
        ),
        "                                                              │ Pending: Measure it [3]",
        "                                                              │",
        "                                                              │ Last words",
        (
            "                                                              │ You: How do I sort "
            "by two keys? Quickly,"
        ),
        "                                                              │   please.",
        (
            "                                                              │ Sally: By the second "
            "first. The sort is"
        ),
        "                                                              │   stable.",
        "                                                              │ You: And ties?",
        (
            "                                                              │ Sally (interrupted): "
            "They keep"
        ),
        "                                                              │ You: Thanks",
        "                                                              │",
        "                                                              │",
        "Enter resume  ? keys  q leave  / filter  u unfold  e edit  d trash  p hide preview",
    ]


def test_a_narrow_screen_has_a_preview_below_on_request() -> None:
    preview = preview_of(SUMMARISED)
    assert screen(begun(MadeShelf(8)), 40, 12, preview) == [
        "    Sessions: 8                  When",
        "> 1 Session 0 of all   #python…  15:04",
        "  2 漢字の並べ替えについて教え…  08:04",
        "  3 ␛]0;owned␇␛[2J␛[31mred <U+…  01:04",
        "  4 very long very long very l…  Nov 21",
        "  5 👩👩👧👦 family…   #python…  Nov 21",
        "  6 Deploy the blue cluster to…  Nov 21",
        "  7 How do I sort a list of di…  Nov 20",
        "  8 Session 7 of all             Nov 20",
        "",
        "",
        "Enter resume  ? keys  q leave  / filter",
    ]
    assert screen(after(MadeShelf(8), "p"), 40, 12, preview)[4:] == [
        "  4 very long very long very l…  Nov 21",
        "────────────────────────────────────────",
        "Session 0 of all",
        "sally_000000 · today 15:04 · Sally · 1",
        "query, 500 tokens · #python #wo␛[rk · 3…",
        "Session 2 of its chain, after older_000…",
        "Topics: Sorting [1]; Ties [2]",
        "Enter resume  ? keys  q leave  / filter",
    ]


def test_the_smallest_screen_has_the_list_or_the_preview() -> None:
    preview = preview_of(SUMMARISED)
    assert screen(begun(MadeShelf(8)), 20, 5, preview) == [
        "> 1 Session 0 of all",
        "  2 漢字の並べ替え…",
        "  3 ␛]0;owned␇␛[2J␛…",
        "  4 very long very…",
        "Enter resume  ? keys",
    ]
    shown, _ = press(fitted(begun(MadeShelf(8)), 20, 5), "c-i")
    assert screen(shown, 20, 5, preview) == [
        "Session 0 of all",
        "sally_000000 · today",
        "15:04 · Sally · 1 q…",
        "Session 2 of its ch…",
        "Enter resume  ? keys",
    ]
    hidden, _ = press(fitted(shown, 20, 5), "c-i")
    assert screen(hidden, 20, 5, preview)[0] == "> 1 Session 0 of all"


def test_a_list_without_rows() -> None:
    assert screen(begun(MadeShelf(0)), 40, 5) == [
        "  There are no sessions yet.",
        "",
        "",
        "",
        "q leave",
    ]
    state = after(MadeShelf(2), "/", "z", "z", "c-m")
    assert screen(state, 40, 5)[0] == "  No session matches “zz”."
    assert screen(state, 40, 5)[-1] == "Esc clear  q leave  / filter"
    for key in ("c-m", "e", "d", "u", "left", "right"):
        assert press(state, key) == (state, None)


def test_before_a_preview_is_read_the_row_is_told() -> None:
    told = screen(begun(MadeShelf(4)), 106, 24)
    assert [line.partition("│ ")[2] for line in told[:6]] == [
        "Session 0 of all",
        "sally_000000 · today 15:04 · Sally · 1",
        "query, 500 tokens · #python #wo␛[rk · 3",
        "older sessions folded",
        "",
        "…",
    ]
