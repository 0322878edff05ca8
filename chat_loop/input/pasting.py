"""Puts what is pasted into the line: text, files, and what the clipboard has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document

from chat_loop.errors import ChatLoopError
from chat_loop.input.dropped import readings
from chat_loop.input.host import Host
from chat_loop.input.keys import Pastes
from chat_loop.input.lines import clean
from chat_loop.input.pictures import Pictures
from chat_loop.tasks import report_bug
from chat_loop.values import Picture

CLIPBOARD = "[clipboard …]"
"""What stands in the line until the clipboard has answered."""


class Pasting:
    """Pastes into `line`. What needs the disk or another program is found out while the user goes
    on typing, and Enter waits for it: then `enter` is called. The names of long pastes and images
    are kept in `pastes` and `pictures`.
    """

    def __init__(
        self,
        line: Buffer,
        host: Host,
        pastes: Pastes,
        pictures: Pictures,
        enter: Callable[[], None],
    ) -> None:
        self._line = line
        self._host = host
        self._pastes = pastes
        self._pictures = pictures
        self._enter = enter
        self._running: dict[asyncio.Task[None], str] = {}
        """What is found out, with what stands in the line until then."""
        self._enters_later = False

    def __bool__(self) -> bool:
        """Return True while something in the line is found out."""
        return any(shown in self._line.text for shown in self._running.values())

    def paste(self, buffer: Buffer, data: str) -> None:
        """Insert what was pasted. If it only names files, they replace it as soon as that is known.

        Some terminals paste nothing when the clipboard has an image.
        """
        text = clean(data)
        if buffer is self._line and not text:
            self.paste_clipboard()
            return
        shown = self._pastes.fold(text)
        buffer.insert_text(shown)
        if buffer is self._line and readings(text):
            self._find_out(shown, self._name_files(shown, text))

    def paste_clipboard(self) -> None:
        """Insert the text or the image in the clipboard as soon as it answers."""
        self._line.insert_text(CLIPBOARD)
        self._find_out(CLIPBOARD, self._take_clipboard())

    def enter_later(self) -> None:
        """Enter the line when everything is found out."""
        self._enters_later = True

    def stay(self) -> None:
        """Do not enter the line, because more was typed."""
        self._enters_later = False

    async def stop(self) -> None:
        """Stop what runs, and wait for its end."""
        tasks = [*self._running]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _find_out(self, shown: str, work: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._running[task] = shown
        task.add_done_callback(self._found_out)

    def _found_out(self, task: asyncio.Task[None]) -> None:
        del self._running[task]
        report_bug(task)
        if self._enters_later and not self:
            self._enters_later = False
            self._enter()

    async def _take_clipboard(self) -> None:
        try:
            clip = await self._host.clipboard()
        except ChatLoopError as error:
            if self._replace(CLIPBOARD, ""):
                self._enters_later = False
                self._host.show_error(error)
            return
        if isinstance(clip, Picture):
            self._replace(CLIPBOARD, self._name(clip))
            return
        text = clean(clip)
        shown = self._pastes.fold(text)
        if self._replace(CLIPBOARD, shown):
            await self._name_files(shown, text)

    async def _name_files(self, shown: str, text: str) -> None:
        """Let files replace a pasted `text`, which is `shown` in the line, if it only names files.
        In a command, and behind an `@`, it stays a path.
        """
        found = readings(text)
        before = self._line.text.partition(shown)[0]
        if not found or before.endswith(("@", '@"')) or self._host.is_command(self._line.text):
            return
        if files := await self._host.dropped(found):
            self._line.save_to_undo_stack()
            self._replace(shown, "".join(map(self._name, files)))

    def _name(self, file: str | Picture) -> str:
        """Return what stands for a file in the line, with a space behind it."""
        name = self._pictures.name(file) if isinstance(file, Picture) else file
        return f"{name} "

    def _replace(self, shown: str, text: str) -> bool:
        """Replace a text in the line. Return False if the user has deleted it."""
        line = self._line
        before, found, after = line.text.partition(shown)
        if not found:
            return False
        if text and before and not before[-1].isspace():
            text = f" {text}"
        cursor = line.cursor_position
        if cursor > len(before):
            cursor = max(len(before), cursor - len(shown)) + len(text)
        line.document = Document(f"{before}{text}{after}", cursor)
        return True
