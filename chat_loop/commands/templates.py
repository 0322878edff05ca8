"""Templates: the user's texts in a folder. `/name words` sends one."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from chat_loop.characters import one_line
from chat_loop.errors import ChatLoopError, os_reason
from chat_loop.sessions.files import open_regular
from chat_loop.yaml_files import read_yaml, split_front

MAX_BYTES = 256 * 1024
_NAME = re.compile(r"[A-Za-z][\w-]{0,59}")


class Template(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text with a name. `argument` tells the user what to type after the name."""

    name: str = ""
    text: str = ""
    description: str = ""
    argument: str = ""

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.argument}".strip()

    def fill(self, argument: str) -> str:
        """Return the text with `argument` replacing each `{input}`, or below it without one."""
        if "{input}" in self.text:
            return self.text.replace("{input}", argument)
        if argument:
            return f"{self.text}\n\n{argument}"
        return self.text


class Templates(Struct):
    """The templates of a folder, which is read at each use. Commands have the `reserved` names."""

    folder: Path | None = None
    reserved: Sequence[str] = ()

    def names(self, *, ignored: bool = False) -> list[str]:
        """Return the usable names, sorted, or those `ignored` because a command has them."""
        return [name for name in self._files() if (name.lower() in self.reserved) == ignored]

    def find(self, name: str) -> Template | None:
        """Return the template called `name`, or None. Raises ChatLoopError."""
        for known_name in self.names():
            if known_name.lower() == name.lower():
                return read(self._files()[known_name], known_name)
        return None

    def all(self) -> Iterator[Template]:
        """Yield every template that can be used."""
        for name in self.names():
            with contextlib.suppress(ChatLoopError):  # reported when it is used
                yield read(self._files()[name], name)

    def _files(self) -> dict[str, Path]:
        try:
            paths = []
            if self.folder is not None:
                paths = sorted(self.folder.iterdir())
        except OSError:
            return {}
        named = [path for path in paths if path.suffix == ".md" and _NAME.fullmatch(path.stem)]
        return {path.stem: path for path in named}


def read(path: Path, name: str) -> Template:
    """Read a template. Raises ChatLoopError."""
    try:
        with open_regular(Path(os.path.realpath(path))) as (file, _):
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ValueError("it is larger than 256 KB")
        front, body = split_front(data.decode("utf-8-sig").replace("\r\n", "\n"))
        template = msgspec.convert(read_yaml(front.encode(), str(path)) or {}, Template)
        if not body.strip():
            raise ValueError("it has no text")
    except (OSError, ValueError) as error:
        reason = os_reason(error) if isinstance(error, OSError) else str(error)
        text = f"The template {path} is not used: {reason}."
        raise ChatLoopError(text, "Fix or remove it.") from error
    description = one_line(template.description, 200)
    argument = one_line(template.argument, 200)
    return Template(name=name, text=body.strip("\n"), description=description, argument=argument)
