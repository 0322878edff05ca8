"""Templates: texts of the user's in a folder, sent as `/name what follows`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from chat_loop import frontmatter
from chat_loop.errors import ChatLoopError, ConfigError
from chat_loop.sessions.files import opened

LARGEST = 256 * 1024
"""Bytes of a template."""
MOST = 500
SUFFIX = ".md"
INPUT = "{input}"
_NAME = re.compile(r"[A-Za-z][\w-]{0,59}")
_KEYS = ("description", "argument")


class Template(Struct, frozen=True, kw_only=True):
    """A text with a name. `argument` hints at what follows the name."""

    name: str
    text: str
    description: str = ""
    argument: str = ""

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.argument}".strip()

    def filled(self, given: str) -> str:
        """The text with `given` in the place of every `{input}`, or below it when there is none."""
        if INPUT in self.text:
            return self.text.replace(INPUT, given)
        return f"{self.text}\n\n{given}" if given else self.text


class Templates:
    """The templates of a folder. Their texts are read when they are used, so that an edit counts at
    once.
    """

    def __init__(self, folder: Path | None = None, taken: Sequence[str] = ()) -> None:
        """`taken` are the names that commands have."""
        self._folder = folder
        self._taken = frozenset(taken)

    def names(self) -> list[str]:
        """What can be typed after `/`, sorted."""
        return [name for name in self._files() if name.lower() not in self._taken]

    def shadowed(self) -> list[str]:
        """The files whose names commands have: they are not used."""
        return [name for name in self._files() if name.lower() in self._taken]

    @property
    def notice(self) -> str:
        """A line for the start about templates that are not used; empty when there are none."""
        shadowed = [f"/{name}" for name in self.shadowed()]
        return (
            f"Not used as templates, as commands have their names: {', '.join(shadowed)}."
            if shadowed
            else ""
        )

    def find(self, name: str) -> Template | None:
        """The template of this name. Raises ChatLoopError when its file is none."""
        known = self.names()
        found = (
            name
            if name in known
            else next((one for one in known if one.lower() == name.lower()), "")
        )
        return read(self._files()[found], found) if found else None

    def nearest(self, name: str) -> str:
        """The name closest to a misspelt one, or empty."""
        from difflib import get_close_matches  # only a misspelt name needs it

        near = get_close_matches(name.lower(), self.names(), 1, 0.7)
        return near[0] if near else ""

    def all(self, trouble: Callable[[str], None]) -> Iterable[Template]:
        """Every template; what is wrong with the others is told to `trouble`, a sentence each."""
        for name in self.names():
            try:
                yield read(self._files()[name], name)
            except ChatLoopError as error:
                trouble(error.message)

    def _files(self) -> dict[str, Path]:
        if self._folder is None:
            return {}
        try:
            paths = sorted(path for path in self._folder.iterdir() if path.suffix == SUFFIX)
        except OSError:
            return {}
        return dict([(path.stem, path) for path in paths if _NAME.fullmatch(path.stem)][:MOST])


def read(path: Path, name: str) -> Template:
    """Read a template. Raises ChatLoopError."""
    try:
        with opened(Path(os.path.realpath(path))) as (file, _):
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise _unusable(path, (error.strerror or "it is not a regular file").lower()) from error
    if len(data) > LARGEST:
        raise _unusable(path, f"it is larger than {LARGEST // 1024} KB")
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
        front, body = frontmatter.split(text)
    except UnicodeDecodeError as error:
        raise _unusable(path, "it is not UTF-8") from error
    except ValueError as error:
        raise _unusable(path, str(error)) from error
    try:
        value = frontmatter.read_yaml(front.encode(), str(path)) or {}
    except ConfigError as error:
        raise ChatLoopError(error.message, "Set the template right.") from error
    known = isinstance(value, dict) and all(
        key in _KEYS and isinstance(said, str) for key, said in value.items()
    )
    if not known:
        raise _unusable(path, f"above its text it may only say {' and '.join(_KEYS)}, as texts")
    if not body.strip():
        raise _unusable(path, "it has no text")
    return Template(
        name=name,
        text=body.strip("\n"),
        **{key: " ".join(said.split())[:200] for key, said in value.items()},
    )


def _unusable(path: Path, reason: str) -> ChatLoopError:
    return ChatLoopError(
        f"The template {path} is not used: {reason}.", "Set it right, or take it away."
    )
