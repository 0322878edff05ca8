"""Characters that are not drawn: what stays for reading, and what nobody can hide for consent."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chat_loop.characters import DEFAULT_IGNORABLE, begun_flag, exact, readable

FLAG = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
IGNORABLE = {chr(code) for first, last in DEFAULT_IGNORABLE for code in range(first, last + 1)}
FORMATS_THAT_ARE_DRAWN = "0600-0605 06DD 070F 0890-0891 08E2 FFF9-FFFB 110BD 110CD 13430-1343F"
HIDDEN = st.sampled_from(
    sorted(IGNORABLE) + list("\x00\x08\t\r\x1b\x7f\x9b\u00a0\u2800\u3000\ud800")
)
TEXTS = st.lists(
    st.one_of(
        st.text(),
        HIDDEN,
        st.sampled_from(["<U+200B>", "<2 spaces>", "␉", "<", " ", " " * 40, "\n", " \n", FLAG]),
    )
).map("".join)


def test_the_table_has_what_unicodedata_knows_to_be_ignorable() -> None:
    assert len(IGNORABLE) == 4174, "the count in DerivedCoreProperties.txt"
    drawn = set[str]()
    for part in FORMATS_THAT_ARE_DRAWN.split():
        first, _, last = part.partition("-")
        drawn |= {chr(code) for code in range(int(first, 16), int(last or first, 16) + 1)}
    formats = {chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) == "Cf"}
    assert formats - drawn <= IGNORABLE
    for character in IGNORABLE:
        kind = unicodedata.category(character)
        name = unicodedata.name(character, "")
        is_known = kind in ("Cf", "Cn") or "FILLER" in name or "VARIATION SELECTOR" in name
        assert is_known or character in "\u034f\u17b4\u17b5", name


def original(shown: str) -> str:
    """Return the text that `exact` has shown: what a careful reader would conclude."""

    def character(match: re.Match[str]) -> str:
        number, spaces, sign = match.groups()
        if number:
            return chr(int(number, 16))
        if spaces:
            return " " * int(spaces)
        return "\x7f" if sign == "␡" else chr(ord(sign) - 0x2400)

    return re.sub(
        "<U\\+([0-9A-F]+)>|<([0-9]+) spaces?>|([\u2400-\u2409\u240b-\u2421])", character, shown
    )


@example("a\u200bb")
@example("x  \n  \n \n\t")
@given(TEXTS)
def test_nothing_is_hidden_in_what_is_approved(text: str) -> None:
    shown = exact(text)
    assert original(shown) == text
    assert not IGNORABLE & {*shown}
    assert shown.replace("\n", "").isprintable()
    assert not re.search(r"[^ \n] +$", shown, re.MULTILINE)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ls\u200b -la", "ls<U+200B> -la"),
        ("a\r\nb\x08c\td", "a␍\nb␈c␉d"),
        (f"true{' ' * 300}; rm x", "true<300 spaces>; rm x"),
        ("end \n+\n -x", "end<1 space>\n+\n -x"),
        ("caf\u00e9 \u6f22\u5b57", "caf\u00e9 \u6f22\u5b57"),
        ("1\u00a0000 \u2764\ufe0f \u3164", "1<U+00A0>000 \u2764<U+FE0F> <U+3164>"),
    ],
)
def test_what_is_approved_is_spelled_out(text: str, shown: str) -> None:
    assert exact(text) == shown


def test_marks_that_scripts_and_emoji_need_stay_in_what_is_read() -> None:
    kept = (
        "\u05e9\u05dc\u05d5\u05dd\u200f! \u0645\u0631\u062d\u0628\u0627\u061c a\u200eb x\u2060y "
        f"\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f469\u200d\U0001f4bb \u2764\ufe0f {FLAG}"
    )
    assert readable(kept) == kept
    hidden = "\u202eevil\u202c \u2066x\u2069 \U000e0041\U000e0042 \U0001f3f4\U000e0067 \ufeff\u3164"
    assert readable(hidden) == (
        "<U+202E>evil<U+202C> <U+2066>x<U+2069> <U+E0041><U+E0042> \U0001f3f4<U+E0067> <U+FEFF><U+3164>"
    )


@given(st.integers(0, len(FLAG)))
def test_a_flag_that_may_still_become_one_is_known(length: int) -> None:
    text = f"a {FLAG[:length]}"
    assert begun_flag(text) == (length if length < len(FLAG) else 0)
