"""Texts that were judged by hand before the code that they measure, one case a line. Half of each
file, chosen by a hash, is held out: nothing is tuned on it.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from chat_loop.sessions.records import Call, Exchange, Result, Use
from tests.support.scripted_chat import START
from tests.support.sentences import exchanges

LANGUAGES = ("en", "de", "es", "ja")
"""The languages of the four lines of an item in `pending.txt`, in their order."""


def cases(name: str) -> list[tuple[str, ...]]:
    """Return the lines of a file, split at their bars, without comments and empty lines."""
    text = Path(__file__).with_name(name).read_text("utf-8")
    lines = (line for line in text.split("\n") if line and not line.startswith("#"))
    return [tuple(line.split("|")) for line in lines]


def is_held_out(case: tuple[str, ...]) -> bool:
    """Return True for the half of the cases that nothing may be tuned on."""
    return sha256("|".join(case).encode()).digest()[0] % 2 == 1


class Talk(NamedTuple):
    """A conversation: its exchanges, parts of lines that its block must have, and parts of useless
    ones. A useless part after `=` is a whole line.
    """

    name: str
    exchanges: list[Exchange]
    needed: list[str]
    useless: list[str]


def talks(name: str) -> list[Talk]:
    """Return the conversations of a file."""
    text = Path(__file__).with_name(name).read_text("utf-8")
    return [_talk(part) for part in text.split("\n== ")[1:]]


def _talk(part: str) -> Talk:
    name, _, rest = part.partition("\n")
    parts: list[tuple[str, str]] = []
    for line in rest.rstrip("\n").split("\n"):
        if line[0] == " ":
            mark, text = parts[-1]
            parts[-1] = (mark, f"{text}\n{line[2:]}")
        else:
            parts.append((line[0], line[2:]))
    talk = Talk(name, [], [], [])
    query = ""
    uses: list[Use] = []
    for mark, text in parts:
        if mark == "U":
            query = text
        elif mark == "C":
            uses.append(_use(text))
        elif mark == "A":
            exchange = exchanges((query, text))[0]
            numbered = replace(exchange.query, number=1 + len(talk.exchanges))
            talk.exchanges.append(replace(exchange, query=numbered, uses=tuple(uses)))
            uses = []
        elif mark == "K":
            talk.needed.append(text)
        else:
            talk.useless.append(text)
    return talk


def _use(text: str) -> Use:
    """Read `tool|arguments|result`; the result of a call that failed begins with `!`."""
    tool, arguments, result = text.split("|", 2)
    call = Call(number=1, at=START, id="c1", name=tool, arguments=arguments)
    failed = result.startswith("!")
    return Use(call, Result(number=1, at=START, id="c1", text=result.lstrip("!"), failed=failed))
