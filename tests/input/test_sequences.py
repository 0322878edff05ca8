"""The keys in the bytes that terminals send.

They are written by the rules of each encoding, not recorded: the keys of a VT220, modifyOtherKeys 2
of xterm, the keyboard protocol of kitty, the keypad and focus reports of xterm, and the keys of
linux and rxvt.
"""

from __future__ import annotations

import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

if sys.platform == "win32":
    pytest.skip("the input of POSIX terminals", allow_module_level=True)

from chat_loop.input.sequences import PATIENCE, Combination, SequenceParser

BOUND_ALT = {"b", "f", Keys.ControlH}


def keys_of(*pieces: str, flushes: bool = True) -> list[str]:
    """Return the keys of pieces that arrive one after another, and a pause at the end."""
    pressed: list[KeyPress] = []

    def takes_alt(keys: Combination) -> bool:
        return keys[1] in BOUND_ALT

    parser = SequenceParser(pressed.append, takes_alt)
    for piece in pieces:
        parser.feed(piece)
    if flushes:
        parser.flush()
    return [press.key.value if isinstance(press.key, Keys) else press.key for press in pressed]


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        # characters, and the keys of every terminal
        ("aé€😀", ["a", "é", "€", "😀"]),
        ("\x03\x04\x1a\r\t\x7f", ["c-c", "c-d", "c-z", "c-m", "c-i", "c-h"]),
        ("\x1b[A\x1bOA\x1b[1;5C\x1b[3~\x1b[Z", ["up", "up", "c-right", "delete", "s-tab"]),
        ("\x1b[[A\x1b[15~\x1bOP", ["f1", "f5", "f1"]),
        # xterm with modifyOtherKeys 2
        ("\x1b[27;5;97~\x1b[27;5;99~\x1b[27;5;100~", ["c-a", "c-c", "c-d"]),
        ("\x1b[27;2;13~\x1b[27;3;13~\x1b[27;5;13~", ["c-j", "c-j", "c-m"]),
        ("\x1b[27;2;65~\x1b[27;5;32~\x1b[27;2;9~", ["A", "c-@", "s-tab"]),
        ("\x1b[27;3;98~\x1b[27;3;120~", ["escape", "b"]),
        # kitty, from "disambiguate" to all keys as sequences with their text
        ("\x1b[97;5u\x1b[99;5u\x1b[100;5u\x1b[27u", ["c-a", "c-c", "c-d", "escape"]),
        ("\x1b[13;2u\x1b[13;3u\x1b[13u\x1b[57414u", ["c-j", "c-j", "c-m", "c-m"]),
        ("\x1b[97u\x1b[97:65;2u\x1b[97;2u\x1b[49;2;33u", ["a", "A", "A", "!"]),
        ("\x1b[97;1:1u\x1b[97;1:2u\x1b[97;1:3u", ["a", "a"]),
        ("\x1b[1089::99;5u", ["c-c"]),
        ("\x1b[1078;1;1078u\x1b[228;1u", ["ж", "ä"]),
        ("\x1b[98;3u\x1b[127;3u\x1b[120;3u\x1b[127u", ["escape", "b", "escape", "c-h", "c-h"]),
        ("\x1b[9;2u\x1b[9u\x1b[127;5u", ["s-tab", "c-i", "c-h"]),
        ("\x1b[97;69u\x1b[99;133u\x1b[1;129A\x1b[3;129~", ["c-a", "c-c", "up", "delete"]),
        ("\x1b[1;1:1A\x1b[1;1:3A\x1b[1;5:2D\x1b[1;65P", ["up", "c-left", "f1"]),
        ("\x1b[57399u\x1b[57408u\x1b[57410u\x1b[57419u\x1b[57426;5u", ["0", "9", "/", "up", "c-delete"]),
        ("\x1b[97;9u\x1b[57441;2u\x1b[57358u\x1b[57376u\x1b[1;9A\x1b[9999999u", []),
        # the keypad of VT100
        ("\x1bOp\x1bOy\x1bOk\x1bOM", ["0", "9", "+", "c-m"]),
        # Alt, as rxvt and others encode it
        ("\x1bb\x1bx\x1b[1;3A\x1b\x1b[A\x1b\x7f\x1b ", ["escape", "b", "escape", "c-h"]),
        ("\x1b\r\x1b\n", ["c-j", "c-j"]),
        # no keys: focus, mouse, size, answers, notifications
        ("\x1b[I\x1b[O\x1b[<0;3;4M\x1b[<0;3;4m\x1b[M !!\x1b[32;1;1M\x1b[8;24;80t", []),
        ("\x1b[?62;22c\x1b[>41;354;0c\x1b[?997;1n\x1b[12;40R\x1b[?2026;2$y\x1b[?1u", []),
        ("\x1b]11;rgb:0000/0000/0000\x1b\\\x1b]10;rgb:ff/ff/ff\x07", []),
        ("\x1bP>|foot(1.16.2)\x1b\\\x1bP1+r544e=78\x1b\\\x1b_Gi=31;OK\x1b\\\x1b^x\x1b\\", []),
        ("\x1b[9;\x1b[A\x1b[5é\x1b]11;x\x1b[B", ["up", "é", "down"]),
        ("\x1b[[x\x1bO ", ["x", " "]),
        # pastes keep what looks like keys
        ("\x1b[200~a\x1b[97;5u\r\x1b]x\x1b[201~b", ["<bracketed-paste>", "b"]),
        # Escape, and Alt with a sign that may begin a sequence
        ("\x1b", ["escape"]),
        ("\x1b\x1b", ["escape", "escape"]),
        ("\x1b[", []),
        ("\x1b]", []),
    ],
)  # fmt: skip
def test_each_encoding_is_its_key_and_all_else_is_dropped(sent: str, keys: list[str]) -> None:
    assert keys_of(sent) == keys
    if len(sent) > 2:  # cut anywhere, as by a slow line
        assert all(keys_of(sent[:cut], sent[cut:]) == keys for cut in range(1, len(sent)))
        assert keys_of(*sent) == keys


def test_an_answer_that_stops_in_the_middle_is_given_up_after_some_pauses() -> None:
    pressed: list[KeyPress] = []
    parser = SequenceParser(pressed.append, lambda keys: False)
    parser.feed("\x1b]11;rgb:00")
    for _ in range(PATIENCE + 1):
        parser.flush()
    parser.feed("hello")
    assert "".join(press.data for press in pressed) == "hello"


NO_KEYS = st.sampled_from(
    ["\x1b[I", "\x1b[?62;22c", "\x1b]11;rgb:0/0/0\x07", "\x1bP1$r0m\x1b\\", "\x1b[97;5:3u", "\x1bx"]
)
TYPED = st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=5)


@given(st.lists(NO_KEYS | TYPED), st.lists(st.integers(0, 60)))
def test_only_what_was_typed_becomes_text(sent: list[str], cuts: list[int]) -> None:
    text = "".join(sent)
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[a:b] for a, b in pairwise(places)]
    typed = "".join(part for part in sent if not part.startswith("\x1b"))
    assert "".join(keys_of(*pieces)) == typed


@pytest.mark.parametrize("answer", range(5))
def test_the_terminal_says_whether_it_marks_pastes(answer: int) -> None:
    parser = SequenceParser(lambda press: None, lambda keys: False)
    parser.feed(f"\x1b[?2004;{answer}$y")
    assert parser.marks_pastes == (answer in (1, 2, 3))


def test_a_terminal_that_has_marked_a_paste_marks_them_all() -> None:
    parser = SequenceParser(lambda press: None, lambda keys: False)
    assert not parser.marks_pastes
    parser.feed("\x1b[200~x\x1b[201~")
    assert parser.marks_pastes
