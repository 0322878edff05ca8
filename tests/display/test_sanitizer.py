"""The sanitizer: text from outside cannot control the terminal, and fits its line."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from chat_loop.characters import one_line
from chat_loop.display.reply import ReplyText
from chat_loop.display.sanitizer import cells, cut_to, printable
from tests.support.rendered import obeyed
from tests.support.strategies import texts

flags = st.text(st.sampled_from("a\r\U0001f3f4\U000e0067\U000e0062\U000e007f"))
STRINGS = st.one_of(texts, st.text(st.sampled_from("a\r\n\t\x1b\x9b\u2028é")), flags)


@example("safe\u202eexe.txt")
@given(STRINGS)
def test_nothing_that_a_terminal_obeys_passes(text: str) -> None:
    assert obeyed(printable(text)) == set()
    assert obeyed(one_line(text)) == set()
    assert "\n" not in one_line(text)


@example(["\U0001f3f4", "\U000e0067\U000e0062", "\U000e0067\U000e007f"])
@example(["\U0001f3f4", "\U000e0067\U000e0062"])
@given(st.lists(STRINGS, max_size=6))
def test_a_stream_is_shown_as_the_whole_would_be(pieces: list[str]) -> None:
    written: list[str] = []
    reply = ReplyText(written.append)
    for piece in pieces:
        reply.feed(piece)
    reply.finish()
    pieces[:1] = [piece.lstrip("\n") for piece in pieces[:1]]
    assert "".join(written) == printable("".join(pieces))


@given(STRINGS)
def test_what_is_printable_stays_as_it_is(text: str) -> None:
    assert printable(printable(text)) == printable(text)
    assert printable("Ünï 漢字 🙂 <b> \\ [red]\n\t") == "Ünï 漢字 🙂 <b> \\ [red]\n\t"


def test_blanks_hide_no_text_and_a_cut_among_them_is_shown() -> None:
    assert one_line(f"{' ' * 400}text", 80) == "text"
    assert one_line(f"a{' ' * 400}b", 80) == "a…"


def test_every_kind_of_control_character_is_shown() -> None:
    assert printable("\x00\x07\x1b\x7f\x80\x9b\u2028\u202e\u2066\ufeff\ud800\U000e0041\r\n\r") == (
        "␀␇␛␡<U+0080><U+009B><U+2028><U+202E><U+2066><U+FEFF><U+D800><U+E0041>\n␍"
    )


@given(st.text().map(one_line), st.integers(-3, 60))
def test_what_is_cut_fits_and_is_the_longest_that_does(text: str, columns: int) -> None:
    cut = cut_to(text, columns)
    assert cells(cut) <= max(columns, 0)
    if cut != text and columns > 0:
        assert text.startswith(cut.removesuffix("…"))
        assert cells(text) > columns
    assert cut_to(text, cells(text)) == text
