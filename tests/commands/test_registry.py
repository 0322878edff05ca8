"""The difference between lines that are commands and lines that are text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event, Lock, Thread, get_ident

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import field

from chat_loop.commands import context, session, settings, view  # noqa: F401 - importing them registers their commands
from chat_loop.commands.registry import Command, CommandCall, Registry, Unknown, registry
from chat_loop.plugins import Plugin, Plugins
from tests.support.library_screens import run
from tests.support.screens import Screen
from tests.support.scripted_chat import QUIET, said

TEXT = None


def meaning(line: str) -> tuple[str, str] | str | None:
    """Return (command, argument), the name of an unknown command, or None for text."""
    match registry.parse(line):
        case CommandCall(command, argument):
            return command.name, argument
        case Unknown(name):
            return f"/{name}"
        case None:
            return TEXT


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("exit", ("exit", "")),
        ("quit", ("exit", "")),
        ("help", ("help", "")),
        ("compact", ("compact", "")),
        ("sessions", ("sessions", "")),
        ("resume 3", ("resume", "3")),
        ("resume 3 --last 5 --quick", ("resume", "3 --last 5 --quick")),
        ("resume 3 --please", TEXT),
        ("resume  sally_20261121_223015", ("resume", "sally_20261121_223015")),
        ("exit ", ("exit", "")),
        ("compact\n", ("compact", "")),
        ("exit now", TEXT),
        ("exit\nnow", TEXT),
        ("help me", TEXT),
        ("help?", TEXT),
        ("compact disks are old", TEXT),
        ("compact the API", TEXT),
        ("sessions all", TEXT),
        ("sessions of parliament", TEXT),
        ("resume", ("resume", "")),
        ("resume my CV", TEXT),
        ("resume 3 please", TEXT),
        ("resume\n3", TEXT),
        ("Exit", TEXT),
        ("EXIT", TEXT),
        ("history", TEXT),
        ("info", TEXT),
        ("clear", TEXT),
        ("pin it down", TEXT),
        (" exit", TEXT),
        ("\texit", TEXT),
        (" /exit", TEXT),
        ("", TEXT),
        ("/exit", ("exit", "")),
        ("/quit", ("exit", "")),
        ("/help compact", ("help", "compact")),
        ("/compact", ("compact", "")),
        ("/compact keep the API names", ("compact", "keep the API names")),
        ("/COMPACT keep names", ("compact", "keep names")),
        ("/resume 3", ("resume", "3")),
        ("/sessions all", ("sessions", "all")),
        ("/info", ("info", "")),
        ("/clear ", ("clear", "")),
        ("/pin one\n  two\n\nthree", ("pin", "one\n  two\n\nthree")),
        ("/pin\nexit", ("pin", "exit")),
        ("/pin /exit", ("pin", "/exit")),
        ("#compact", ("compact", "")),
        ("#pin a text", ("pin", "a text")),
        ("/unknown", "/unknown"),
        ("/unknown with words", "/unknown"),
        ("/exits", "/exits"),
        ("/compact-all", "/compact-all"),
        ("/usr", "/usr"),
        ("/usr/bin/python fails", TEXT),
        ("/etc/passwd", TEXT),
        ("/help.", TEXT),
        ("/1", TEXT),
        ("/", TEXT),
        ("//exit", TEXT),
        ("/ exit", TEXT),
        ("#include <stdio.h>", TEXT),
        ("# Heading", TEXT),
        ("#unknown", TEXT),
        ("#1 is broken", TEXT),
        ("## compact", TEXT),
        ("#compact!", TEXT),
    ],
)
def test_what_a_line_is(line: str, meant: tuple[str, str] | str | None) -> None:
    assert meaning(line) == meant


@given(
    st.one_of(
        st.text(), st.sampled_from(["exit", "/exit", "#compact", "resume 1", "/pin x", "help"])
    )
)
def test_a_leading_space_makes_any_line_text(line: str) -> None:
    assert meaning(f" {line}") is TEXT


@given(
    st.sampled_from([name for name in registry.names() if name not in ("pin", "info", "clear")]),
    st.text(),
)
def test_a_bare_word_with_more_after_it_is_text(name: str, more: str) -> None:
    assert meaning(f"{name} {more}x y") is TEXT


@pytest.mark.parametrize(
    ("typed", "nearest"),
    [
        ("compct", "compact"),
        ("EXITS", "exit"),
        ("session", "sessions"),
        ("hepl", "help"),
        ("xyzzy", ""),
        ("Pn", "pin"),
    ],
)
def test_an_unknown_command_names_the_nearest(tmp_path: Path, typed: str, nearest: str) -> None:
    hint = f"Did you mean /{nearest}?" if nearest else "/help lists the commands."
    assert f"Unknown command /{typed}. {hint}" in run(tmp_path, f"/{typed}", hours=0)


class Watched:
    """A lock that sets `wanted` when a second thread wants it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._holder: int | None = None
        self.wanted = Event()

    def __enter__(self) -> None:
        if self._holder is not None:
            self.wanted.set()
        self._lock.acquire()
        self._holder = get_ident()

    def __exit__(self, *_: object) -> None:
        self._holder = None
        self._lock.release()


class Interrupted(Registry):
    """A registry in which `other` runs between the first look-up and what follows from it."""

    other: list[Callable[[], None]] = field(default_factory=list)

    def named(self, name: str) -> Command | None:
        found = super().named(name)
        while self.other:
            self.other.pop()()
        return found


def test_two_threads_that_add_the_commands_of_plugins_add_them_once() -> None:
    lock = Watched()
    mine = Interrupted(lock=lock)
    plugins = Plugins({}, load=False)
    plugins.all().append(Plugin("mine", "", commands={"hello": registry.commands[0].run}))

    def add() -> None:
        mine.add_plugins(plugins)
        lock.wanted.set()

    second = Thread(target=add)

    def start_second() -> None:
        second.start()
        assert lock.wanted.wait(60), "it neither waits for the lock nor ends"

    mine.other.append(start_second)
    add()
    second.join()
    assert [command.name for command in mine.commands] == ["hello"]


@pytest.mark.parametrize("line", ["/exit now", "/quit please"])
def test_exit_takes_no_argument(tmp_path: Path, line: str) -> None:
    screen = Screen(tmp_path, [line, "Hello"], "Hi.", options=QUIET)
    assert "/exit takes no argument." in screen.text
    assert screen.talk.sent == [said("Hello")]
