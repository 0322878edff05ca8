"""The keys in the bytes of a terminal: one decoder for every way in which terminals encode them.

A terminal sends keys as characters, as sequences of VT220 and xterm, as `CSI 27 ; m ; c ~` (xterm's
modifyOtherKeys), or as `CSI c ; m u` (the protocols fixterms and kitty), depending on what it is
and on what an earlier program left on. A sequence that is no key, such as a report of the focus or
a late answer, is dropped whole: nothing of it becomes text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

from chat_loop.input.escapes import BROKEN, COMPLETE, PARTIAL, PASTE_END, PASTE_START

NEWLINES = ("\x1b\r", "\x1b\n")
"""Alt-Enter. It becomes Ctrl-J, as do Shift-Enter and Alt-Enter in the other encodings."""
ANSI_SEQUENCES.update(dict.fromkeys(NEWLINES, Keys.ControlJ))

MAX_STRING = 65_536
"""The most characters of an answer; a longer one is no answer."""
PATIENCE = 3
"""How many pauses in the middle of a sequence to wait for its rest."""

_PASTE_MODE = re.compile(r"\x1b\[\?2004;([0-4])\$y")
"""The answer to the question whether the terminal marks pastes; 1 to 3: it can."""

_KITTY = re.compile(
    r"\x1b\[(\d{1,7})(?::(\d{0,7}))?(?::(\d{0,7}))?"  # code, shifted code, code of the US layout
    r"(?:;(\d{0,3})(?::(\d))?)?(?:;([\d:]{1,40}))?u"  # modifiers, event, text
)
_XTERM = re.compile(r"\x1b\[27;(\d{1,3});(\d{1,7})~")
_FUNCTION = re.compile(r"\x1b\[(?:(\d{1,3});(\d{1,3})(?::(\d))?)?([A-HPQS~])")
_KEYPAD = re.compile(r"\x1bO([M-Zj-y])")

_SHIFT = 1
_ALT = 2
_CTRL = 4
_OTHERS = 8 | 16 | 32
_CAPS = 64
_RELEASED = "3"
_KEYPAD_DIGITS = 57399
_KEYPAD_SIGNS = {57409: ".", 57410: "/", 57411: "*", 57412: "-", 57413: "+", 57415: "=", 57416: ","}
_KEYPAD_ENTER = 57414
_KEYPAD_MOVES = dict(
    zip(range(57417, 57427), ("D", "C", "A", "B", "5~", "6~", "H", "F", "2~", "3~"), strict=True)
)
_FUNCTIONAL_CODES = range(57344, 63744)  # kitty's codes of keys without a character
_APPLICATION_KEYPAD = {chr(ord("p") + digit): str(digit) for digit in range(10)} | dict(
    zip("jklmnoX", "*+,-./=", strict=True)
)
_CTRL_SIGNS = {" ": "\x00", "@": "\x00", "2": "\x00", "/": "\x1f", "-": "\x1f", "?": "\x7f"}

Key = Keys | str
Combination = tuple[Key, ...]
"""A key, or Escape and a key for Alt; empty for none."""


def decode(sequence: str) -> Combination:
    """Return the key of a complete sequence that begins with Escape; nothing if it is no key."""
    if found := _XTERM.fullmatch(sequence):  # the editor's table drops Shift from Enter
        return _modified(int(found[2]), found[1])
    if sequence in ANSI_SEQUENCES:
        return _as_tuple(ANSI_SEQUENCES[sequence])
    if found := _KITTY.fullmatch(sequence):
        code, shifted, base, modifiers, event, text = found.groups()
        if event == _RELEASED:
            return ()
        return _modified(int(code), modifiers, shifted=shifted, base=base, text=text)
    if found := _FUNCTION.fullmatch(sequence):
        number, modifiers, event, final = found.groups()
        return () if event == _RELEASED else _function(number or "", _bits(modifiers), final)
    if found := _KEYPAD.fullmatch(sequence):
        sign = _APPLICATION_KEYPAD.get(found[1], "")
        return (Keys.ControlM,) if found[1] == "M" else tuple(sign)
    if sequence.startswith("\x1b\x1b"):
        key = decode(sequence[1:])
        return key if key[:1] == (Keys.Escape,) else _with_alt(key)
    if len(sequence) == 2:
        return _with_alt(_as_tuple(ANSI_SEQUENCES.get(sequence[1], sequence[1])))
    return ()


def _as_tuple(key: Key | Combination) -> Combination:
    return key if isinstance(key, tuple) else (key,)


def _with_alt(key: Combination) -> Combination:
    return (Keys.Escape, *key) if key else ()


def _bits(modifiers: str | None) -> int:
    """Return the bits of the modifiers' number, which is one more."""
    return max(0, int(modifiers or 1) - 1)


def _function(number: str, bits: int, final: str) -> Combination:
    """Return a key such as an arrow, without what Caps Lock and Num Lock add to its modifiers."""
    modifiers = 1 + (bits & (_SHIFT | _ALT | _CTRL))
    if bits & _OTHERS:
        return ()
    if modifiers > 1:
        return _as_tuple(ANSI_SEQUENCES.get(f"\x1b[{number};{modifiers}{final}", ()))
    plain = f"\x1b[{number}~" if final == "~" else f"\x1b[{final}"
    return _as_tuple(ANSI_SEQUENCES.get(plain) or ANSI_SEQUENCES.get(f"\x1bO{final}", ()))


def _modified(
    code: int,
    modifiers: str | None,
    *,
    shifted: str | None = None,
    base: str | None = None,
    text: str | None = None,
) -> Combination:
    """Return the key with a code, which is that of its character, and with modifiers."""
    bits = _bits(modifiers)
    alt = bool(bits & _ALT)
    if bits & _OTHERS:
        return ()
    if code in _KEYPAD_MOVES:
        move = _KEYPAD_MOVES[code]
        return _function(move[:-1] or "1", bits, move[-1])
    if code in (13, _KEYPAD_ENTER):
        breaks = bits & (_SHIFT | _ALT) and not bits & _CTRL
        return (Keys.ControlJ,) if breaks else (Keys.ControlM,)
    if code == 27:
        return (Keys.Escape,)
    if code == 9 and bits & _SHIFT:
        key: Combination = (Keys.BackTab,)
    elif code in (8, 9, 127):
        key = _as_tuple(ANSI_SEQUENCES[chr(code)])
    elif bits & _CTRL:
        key = _control(code, base)
    else:
        key = _character(code, bits, shifted, text)
    return _with_alt(key) if alt else key


def _control(code: int, base: str | None) -> Combination:
    """Return Ctrl with a character; with a letter of another script, the key of a US layout."""
    code = int(base) if code > 127 and base else code
    if code > 127:
        return ()
    character = chr(code)
    if character.isalpha() or character in "[\\]^_":
        return _as_tuple(ANSI_SEQUENCES[chr(code & 0x1F)])
    sign = _CTRL_SIGNS.get(character)
    return _as_tuple(ANSI_SEQUENCES[sign]) if sign is not None else ()


def _character(code: int, bits: int, shifted: str | None, text: str | None) -> Combination:
    """Return the text that a key types."""
    if text:
        codes = [int(part) for part in text.split(":") if part]
    elif code in range(_KEYPAD_DIGITS, _KEYPAD_DIGITS + 10):
        codes = [ord("0") + code - _KEYPAD_DIGITS]
    elif code in _KEYPAD_SIGNS:
        codes = [ord(_KEYPAD_SIGNS[code])]
    elif code in _FUNCTIONAL_CODES:
        return ()
    elif bits & _SHIFT and shifted:
        codes = [int(shifted)]
    else:
        codes = [code]
    if any(part > 0x10FFFF for part in codes):
        return ()
    typed = "".join(map(chr, codes))
    if bits & (_SHIFT | _CAPS) and not (text or shifted):
        typed = typed.upper()
    return tuple(typed) if typed.isprintable() else ()


@lru_cache(1_024)
def _key_press(key: Key, text: str) -> KeyPress:
    """Return a key press. A paste without marks has millions of equal ones."""
    return KeyPress(key, text)


class SequenceParser(Vt100Parser):
    """Turns the characters of a terminal into keys, however they are cut into pieces.

    `takes_alt` tells whether Alt with a key does something; else that is dropped, because its
    Escape alone would stop what runs. `marks_pastes` becomes True when the terminal marks a paste,
    or says that it can.
    """

    def __init__(
        self,
        feed_key_callback: Callable[[KeyPress], None],
        takes_alt: Callable[[Combination], bool],
    ) -> None:
        self.marks_pastes = False
        self._takes_alt = takes_alt
        self._held = ""  # the beginning of a sequence
        self._pauses = 0  # since it began
        self._paste: list[str] = []  # what has arrived of a marked paste, in pieces
        super().__init__(feed_key_callback)

    def reset(self, request: bool = False) -> None:
        self._held = ""
        self._paste = []

    def feed(self, data: str) -> None:
        """Pass on the keys in `data`, and keep the beginning of a sequence at its end."""
        if not data:
            return
        data = self._held + data
        self._held = ""
        position = 0
        while position < len(data):
            if self._paste:
                position = self._feed_paste(data, position)
                continue
            escape = data.find("\x1b", position)
            end = len(data) if escape < 0 else escape
            for character in data[position:end]:
                self._press(_as_tuple(ANSI_SEQUENCES.get(character, character)), character)
            if escape < 0:
                return
            if PARTIAL.fullmatch(data, escape) and len(data) - escape < MAX_STRING:
                self._held = data[escape:]
                return
            position = self._feed_sequence(data, escape)
        self._pauses = 0

    def flush(self) -> None:
        """Treat what is kept as keys after a pause, unless it can only be a part of a sequence."""
        held = self._held
        if len(held) > 2 and not held.startswith("\x1b\x1b") and self._pauses < PATIENCE:
            self._pauses += 1
            return
        self._held = ""
        self._pauses = 0
        if held in ("\x1b", "\x1b\x1b"):
            for escape in held:
                self.feed_key_callback(KeyPress(Keys.Escape, escape))
        elif len(held) == 2:
            self._press((Keys.Escape, held[1]), held)

    def _feed_sequence(self, data: str, start: int) -> int:
        """Pass on the sequence at `start`, and return its end."""
        found = COMPLETE.match(data, start)
        if found is None:
            broken = BROKEN.match(data, start)
            assert broken is not None
            if broken[0] == "\x1b":  # Escape, twice
                self.feed_key_callback(KeyPress(Keys.Escape, "\x1b"))
            return broken.end()
        if found[0] == PASTE_START:
            self._paste = [""]
            self.marks_pastes = True
        elif answer := _PASTE_MODE.fullmatch(found[0]):
            self.marks_pastes = answer[1] in "123"
        else:
            self._press(decode(found[0]), found[0])
        return found.end()

    def _feed_paste(self, data: str, start: int) -> int:
        """Keep a marked paste until it ends, and return the position behind it."""
        last = self._paste.pop()  # the end's mark may have begun in it
        text = last + data[start:]
        end = text.find(PASTE_END)
        if end < 0:
            cut = max(0, len(text) - len(PASTE_END))
            self._paste += [text[:cut], text[cut:]]
            return len(data)
        pasted = "".join([*self._paste, text[:end]])
        self.feed_key_callback(KeyPress(Keys.BracketedPaste, pasted))
        self._paste = []
        return start + end + len(PASTE_END) - len(last)

    def _press(self, keys: Combination, data: str) -> None:
        """Pass on a key; text as its characters, and what is not text with its bytes."""
        if len(keys) > 1 and keys[0] == Keys.Escape and not self._takes_alt(keys):
            return
        for number, key in enumerate(keys):
            if key == Keys.ControlM:
                text = "\r"
            elif isinstance(key, Keys):
                text = data if number == 0 else ""
            else:
                text = key
            self.feed_key_callback(_key_press(key, text))
