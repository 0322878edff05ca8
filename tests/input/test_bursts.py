"""Keys that arrive at once, and when they count as a paste."""

from __future__ import annotations

import sys

import pytest
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

if sys.platform == "win32":
    pytest.skip("the input of POSIX terminals", allow_module_level=True)

from chat_loop.input.bursts import KEYS_AFTER_ENTER, PASTE_KEYS, mark_pastes

LONG = "x" * PASTE_KEYS
REST = "y" * KEYS_AFTER_ENTER


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ("", []),
        ("yes\r", ["y", "e", "s", "\r"]),
        (LONG[1:] + "\r", [LONG[1:], "\r"]),
        (LONG[2:] + "\r", [*LONG[2:], "\r"]),
        (f"a\r{REST}", [f"a\r{REST}"]),
        (f"a\r{REST[1:]}", ["a", "\r", *REST[1:]]),
        (f"a\tb\r\r{REST}\r\r", [f"a\tb\r\r{REST}\r", "\r"]),
        (f"{LONG}\x03{LONG}\r", [LONG, "\x03", LONG, "\r"]),
        (f"\x1b[A{LONG}", ["\x1b[A", LONG]),
        (f"\x1b[200~{LONG}\r\x1b[201~\r", [f"{LONG}\r", "\r"]),
    ],
)
def test_a_paste_is_one_key_and_the_enter_behind_it_another(sent: str, expected: list[str]) -> None:
    keys: list[KeyPress] = []
    Vt100Parser(keys.append).feed(sent)
    marked = mark_pastes(keys)
    assert [press.data for press in marked] == expected
    pastes = [press.data for press in marked if press.key == Keys.BracketedPaste]
    assert pastes == [data for data in expected if len(data) > KEYS_AFTER_ENTER]
