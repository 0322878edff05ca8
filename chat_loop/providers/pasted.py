"""Keys and addresses as people paste them: drop what stands around, name what is wrong inside."""

from __future__ import annotations

import re
import unicodedata

from chat_loop.errors import AuthenticationFailed, NoProvider

_QUOTES = frozenset("\"'`´“”„‟‘’‚‛«»‹›<>")
_HIDDEN = frozenset(("Cc", "Cf", "Zs", "Zl", "Zp"))
_ENDPOINT = re.compile(
    r"/(?:chat/completions|completions|responses|messages|models|embeddings)/?(?:[?#].*)?\Z"
)


def trimmed(text: str) -> str:
    """Return a text without the quotes, blanks and invisible characters around it."""
    begin = 0
    end = len(text)
    while begin < end and _is_around(text[begin]):
        begin += 1
    while begin < end and _is_around(text[end - 1]):
        end -= 1
    return text[begin:end]


def _is_around(character: str) -> bool:
    return character in _QUOTES or unicodedata.category(character) in _HIDDEN


def clean_key(text: str, variable: str) -> str:
    """Return a key that a header can carry, "" for none. Raises AuthenticationFailed, which names
    the variable and the first wrong character, but not the key.
    """
    key = trimmed(text)
    for number, character in enumerate(key, 1):
        if not "!" <= character <= "~":
            what = f"{variable} has {_name_of(character)} as character {number}, which no key has."
            raise AuthenticationFailed(what, "Copy the key again, without anything around it.")
    return key


def normal_address(text: str, *, version: bool | None) -> str:
    """Return the address of a server without what stands around it, without an endpoint, and
    without a slash at its end. If `version`, add /v1 to an address that is only a host; if False,
    remove it from the end. What is no address is not changed otherwise.
    """
    address = _ENDPOINT.sub("", trimmed(text)).rstrip("/")
    if version is False:
        return address.removesuffix("/v1")
    is_bare = re.fullmatch(r"https?://[^/?#\s]+", address)
    if version and is_bare:
        return f"{address}/v1"
    return address


def check_address(address: str, name: str) -> None:
    """Raise NoProvider, which names the first character that no address has."""
    for number, character in enumerate(address, 1):
        if unicodedata.category(character) in _HIDDEN or character in _QUOTES | {"?", "#"}:
            what = f"{name} has {_name_of(character)} as character {number}, which no address has."
            raise NoProvider(what, "Write it as http://HOST:PORT/v1.")


def check_header(name: str, value: object) -> None:
    """Check that a header can be sent. Raises NoProvider, which names the first bad character."""
    for number, character in enumerate(value if isinstance(value, str) else "", 1):
        if not " " <= character <= "~":
            what = f"The header {name} has {_name_of(character)} as character {number}."
            raise NoProvider(what, "Correct the variable or the setting that it comes from.")


def _name_of(character: str) -> str:
    """Return words for a character that may be invisible: `U+200B (zero width space)`."""
    name = {"\n": "line feed", "\r": "carriage return", "\t": "tab"}.get(character, "")
    name = name or unicodedata.name(character, "no name").lower()
    return f"U+{ord(character):04X} ({name})"
