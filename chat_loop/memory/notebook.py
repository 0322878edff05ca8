"""The memory of one run: the file that counts, what was last read of it, and its changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from chat_loop.config import Config, Paths
from chat_loop.errors import ChatLoopError
from chat_loop.events import Event, Warned
from chat_loop.frozen import dataclass
from chat_loop.memory import file
from chat_loop.sessions.files import Files
from chat_loop.wording import counted

WINDOW_SHARE = 5
"""A memory takes at most a fifth of the window, however much the config allows."""

_NEW = """\
# Memory

{about}, one bullet each.
chat-loop gives them to the model with every request. Edit them here, or with /remember, /forget and /memory in the
chat; a bullet may go on in indented lines, and all other text stays as it is.
"""
_ABOUT_PROJECT = "Facts that hold for this project across conversations"
_ABOUT_OWN = (
    "Facts that hold across conversations, in every project that has no MEMORY.md of its own"
)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where memories are looked for, and how many tokens the model is given of one. `data` is the
    user's own folder.
    """

    directory: Path
    home: Path
    data: Path
    most: int
    allowed: int = 0
    """What the config allows, whatever the window is; 0: no more than `most`."""

    @property
    def own(self) -> Path:
        """The user's own memory, which counts where a project has none."""
        return self.data / file.NAME

    def shown(self, path: Path) -> str:
        """A path as the user would say it."""
        for base, sign in ((self.directory, "."), (self.home, "~")):
            if path.is_relative_to(base):
                return (
                    str(Path(sign, path.relative_to(base)))
                    if sign != "."
                    else f"./{path.relative_to(base)}"
                )
        return str(path)


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What one look at the file gave. `block` is what the model is given, `left_out` are the
    indexes of the facts that do not fit into it. `problem` says why a file is not used. Without a
    file, `path` is the one that would be begun.
    """

    path: Path
    exists: bool
    own: bool
    facts: tuple[str, ...] = ()
    block: str = ""
    left_out: tuple[int, ...] = ()
    problem: str = ""


def place_of(config: Config, paths: Paths, window: int) -> Place | None:
    """Where this run looks for its memory; None when the config switches it off. `window` is the
    model's, in tokens.
    """
    if not config.memory.enabled:
        return None
    try:
        directory = Path.cwd()
    except OSError:  # it was removed
        directory = paths.data
    most = min(config.memory.max_tokens, window // WINDOW_SHARE)
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home raises
    return Place(
        directory=directory, home=home, data=paths.data, most=most, allowed=config.memory.max_tokens
    )


class Notebook:
    """The memory that counts at a place. `show` is told when it has changed without a command."""

    def __init__(
        self, place: Place, show: Callable[[Event], None], files: Files | None = None
    ) -> None:
        self.place = place
        self._show = show
        self._files = files or Files()
        self.seen = self.look()
        """What the model is given, and what the numbers of the facts refer to."""

    def look(self) -> Memory:
        """Read the file that counts now."""
        found = file.nearest(self.place.directory, self.place.home)
        path = found or self.place.own
        own = path == self.place.own
        if not os.path.lexists(path):
            return Memory(path=path, exists=False, own=own)
        from chat_loop.memory import (
            notes,
        )  # not before there is something to read: the prompt waits for this

        try:
            facts = tuple(fact.text for fact in notes.facts(file.read(path)))
        except ChatLoopError as error:
            return Memory(path=path, exists=True, own=own, problem=error.message)
        block, left_out = notes.block(facts, self.place.most)
        return Memory(path=path, exists=True, own=own, facts=facts, block=block, left_out=left_out)

    def fit(self, window: int) -> bool:
        """Take a fifth of another window at most; whether the model is given something else now."""
        allowed = self.place.allowed or self.place.most
        self.place = replace(self.place, most=min(allowed, window // WINDOW_SHARE))
        return self.reread()

    def reread(self) -> bool:
        """Look again; whether the model is given something else now."""
        before, self.seen = self.seen, self.look()
        return before.block != self.seen.block

    def block(self) -> str:
        """What the model is given from now on: the file is read again, and a change that nobody
        asked for is told.
        """
        problem = self.seen.problem
        if self.reread() or self.seen.problem != problem:
            self._show(Warned(f"The memory has changed. {self.line.rstrip('.')}."))
        return self.seen.block

    @property
    def notice(self) -> str:
        """What a user has to know of the memory in use: where it is when others may have written
        it, what is wrong with it, what the model is not given. Empty when there is nothing to say.
        """
        seen = self.seen
        usual = not seen.facts or (seen.own and not seen.left_out)
        return "" if usual and not seen.problem else self.line

    @property
    def trouble(self) -> str:
        """What is wrong with the memory in use, or left out of it, in one line; empty when nothing
        is.
        """
        return self.line if self.seen.problem or self.seen.left_out else ""

    @property
    def line(self) -> str:
        """The memory in use, in one line."""
        seen = self.seen
        if seen.problem:
            return f"Memory: none. {seen.problem}"
        if not seen.facts:
            return "Memory: none"
        left = (
            f"; {counted(len(seen.left_out), 'fact')} left out for want of room (/memory)"
            if seen.left_out
            else ""
        )
        return (
            f"Memory: {counted(len(seen.facts), 'fact')} from {self.place.shown(seen.path)}{left}"
        )

    def target(self, *, project: bool) -> Path:
        """The file that a new fact goes to: the one that counts, else the user's own, or one for
        the project.

        Raises ChatLoopError when the one that counts cannot be used.
        """
        self.reread()
        if self.seen.problem:
            raise ChatLoopError(self.seen.problem, "Nothing is noted while it is so.")
        if project and (self.seen.own or not self.seen.exists):
            return file.root_of(self.place.directory, self.place.home) / file.NAME
        return self.seen.path

    def known(self, path: Path) -> frozenset[str]:
        """The keys (`notes.key`) of the facts in a file."""
        from chat_loop.memory import notes

        texts = self.seen.facts if path == self.seen.path else ()
        return frozenset(map(notes.key, texts))

    def add(self, path: Path, facts: Sequence[str]) -> int:
        """Note the facts that the file does not have yet; return how many. Raises ChatLoopError."""
        from chat_loop.memory import notes

        new: list[str] = []

        def edit(text: str) -> str:
            if not text:
                text = _NEW.format(about=_ABOUT_OWN if path == self.place.own else _ABOUT_PROJECT)
            there = {notes.key(fact.text) for fact in notes.facts(text)}
            for fact in facts:
                if notes.key(fact) not in there:
                    there.add(notes.key(fact))
                    new.append(fact)
                    text = notes.added(text, fact)
            return text

        file.change(path, edit, locks=self.place.data, files=self._files)
        self.reread()
        return len(new)

    def remove(self, number: int) -> None:
        """Take out the fact at index `number` of those seen, wherever it stands in the file now.

        Raises ChatLoopError, also when it is not there any more.
        """
        from chat_loop.memory import notes

        fact = self.seen.facts[number]
        before = self.seen.facts[:number].count(fact)

        def edit(text: str) -> str:
            places = [place for place, found in enumerate(notes.facts(text)) if found.text == fact]
            if not places:
                raise ChatLoopError(
                    "That fact is not in the file any more.", "/memory shows what is."
                )
            return notes.removed(text, places[min(before, len(places) - 1)])

        file.change(self.seen.path, edit, locks=self.place.data, files=self._files)
        self.reread()
