"""The chat loop in a test: lines from a script, and the screen as one text."""

from __future__ import annotations

import asyncio
import io
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import registry
from chat_loop.commands.secrets import secret_gate
from chat_loop.commands.templates import Templates
from chat_loop.config import Config
from chat_loop.conversation.conversation_options import Options
from chat_loop.display.display_manager import DisplayManager
from chat_loop.display.questions import Question, question_text
from chat_loop.errors import UsageError
from chat_loop.input.lines import EntryReader
from chat_loop.library.library import Library
from chat_loop.loop import ChatLoop
from chat_loop.memory import MemoryLocation, ProjectMemory
from chat_loop.providers import Provider
from chat_loop.providers.choose import Models
from chat_loop.sessions.files import Files
from chat_loop.values import Window
from tests.support.approvals import NOTHING
from tests.support.scripted_chat import Clock, Model, Step, Talk

Line = str | type[KeyboardInterrupt] | Callable[[Talk], None]
"""A typed line, Ctrl-C, or a function to call before the next line is typed."""


class Script(EntryReader):
    """A reader that types its lines, echoed as a terminal would, and then presses Ctrl-D."""

    has_editor = True

    def __init__(
        self, lines: Sequence[Line], out: io.StringIO, answers: Sequence[str], talk: Talk
    ) -> None:
        self._lines = list(lines)
        self._talk = talk
        self._answers = list(answers)
        self._out = out
        self.typed = ""
        self.edited: Callable[[str], str] = str
        """The user's changes to a text in an editor, as a function."""
        self.compacts = "y"
        """The answer to "Compact anyway?", asked when the context would not shrink."""
        self.again: list[str] = []
        """The entries that were put back into the input line."""
        self.offered: list[str] | None = None
        """The texts that were put into the input line for editing; None if no line can be edited.
        """

    async def read(self) -> str:
        if not self._lines:
            raise EOFError
        line = self._lines.pop(0)
        if isinstance(line, type):
            raise line
        if not isinstance(line, str):
            line(self._talk)
            return await self.read()
        self._out.write(f"You: {line}\n")
        self.typed = line
        return line

    def put_back(self) -> None:
        self.again.append(self.typed)

    def offer(self, text: str, hint: str = "") -> bool:
        if self.offered is not None:
            self.offered.append(text)
        return self.offered is not None

    async def edit(self, text: str) -> str:
        return self.edited(text)

    async def ask(self, question: Question) -> str:
        if "Compact anyway?" in question.sentence:
            return self.compacts  # the conversations of tests are short
        answer = self._answers.pop(0)
        self._out.write(f"{question_text(question)}{answer}\n")
        return answer

    def give_back(self, text: str) -> None:
        self.again.append(text)


class Terminal(io.StringIO):
    """An output that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def models(others: Sequence[Model]) -> Models:
    """Return `others` by their names, all from a provider called scripted."""

    def provide(reference: str) -> Provider:
        found = [other for other in others if reference == f"{other.name}:{other.model}"]
        if not found:
            raise UsageError(f"There is no model {reference}.", "Take another.")
        return found[0]

    return Models(
        providers=("scripted",),
        provide=provide,
        candidates=lambda: {f"{other.name}:{other.model}": "made up" for other in others},
    )


class Screen:
    """One run of the loop over `lines`. `text` is the text that the user saw, `code` is the exit
    code.

    When the model falls silent, the user presses Ctrl-C.
    """

    def __init__(
        self,
        directory: Path,
        lines: Sequence[Line],
        *steps: Step,
        answers: Sequence[str] = (),
        edit: Callable[[str], str] = str,
        out: io.StringIO | None = None,
        files: Files | None = None,
        hours: int = 0,
        agent: str = "Sally",
        window: Window | None = None,
        first: str = "",
        options: Options | None = None,
        show_blocks: bool = False,
        memory: MemoryLocation | None = None,
        others: Sequence[Model] = (),
        prompts: Path | None = None,
        config: Config | None = None,
        facts: tuple[tuple[str, str], ...] = (),
        line_editor: bool = False,
        compacts: str = "y",
        asks: bool = True,
    ) -> None:
        out = out or io.StringIO()
        clock = Clock()
        clock.seconds = hours * 3600.0
        project_memory = (
            ProjectMemory(memory, lambda event: self.talk.screen and self.talk.screen(event))
            if memory
            else None
        )
        self.talk = Talk(
            directory,
            *steps,
            clock=clock,
            files=files,
            agent=agent,
            window=window,
            options=options,
            memory=project_memory.block if project_memory else str,
        )
        display = DisplayManager(
            out, agent=agent, resume_command=lambda: "chat-loop", show_blocks=show_blocks
        )
        reader = self.reader = Script(lines, out, answers, self.talk)
        reader.offered = [] if line_editor else None
        reader.compacts, reader.edited = compacts, edit
        config = config or Config()
        self.chat = Chat(
            conversation=self.talk.conversation,
            sessions=self.talk.sessions,
            display=display,
            reader=reader,
            secrets=secret_gate(display, reader, can_ask=asks),
            can_ask=asks,
            models=models(others),
            approvals=NOTHING,
            library=Library(directory),
            memory=project_memory,
            templates=Templates(prompts, registry.names()),
            config=config,
            facts=facts,
        )
        self.talk.screen = display.show
        self.talk.model.at_silence = lambda: signal.raise_signal(signal.SIGINT)
        try:
            self.code = asyncio.run(ChatLoop(self.chat).run(first))
        finally:
            self.chat.library.close()
        self.text = out.getvalue()
