"""Completions of a typed line: commands, their options and arguments."""

from __future__ import annotations

import contextlib
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from chat_loop.characters import one_line
from chat_loop.commands.branches import own
from chat_loop.commands.chat import Chat
from chat_loop.commands.project_files import ProjectFiles
from chat_loop.commands.registry import Command, registry
from chat_loop.commands.settings import settings_of
from chat_loop.commands.transfer import COPY_CHOICES
from chat_loop.conversation.mentions import completions
from chat_loop.display.conversation_rows import name_text
from chat_loop.errors import ChatLoopError
from chat_loop.sessions import reach
from chat_loop.sessions.records import SessionRow
from chat_loop.values import USUAL_EFFORT, when_text

T = TypeVar("T")
MAX_CHOICES = 50  # the most choices of one kind
FIXED = {
    "copy": COPY_CHOICES,
    "history": {"--full": "every message whole"},
    "memory": {"ask": "choose which files of the project are used"},
    "summary": {
        "edit": "change it in your editor",
        "good": "more like this",
        "bad": "better, as a NOTE says",
    },
    "sessions": {"browse": "on the whole screen"},
    "tools": {"revoke": "take an approval back"},
    "--last": {"1": "the last message", "5": "the last five"},
    "--since": {"7d": "the last week", "30d": "the last month", "1y": "the last year"},
    "--before": {"7d": "before the last week", "30d": "before the last month"},
    "--as": {"html": "a page", "md": "markdown", "json": "JSON"},
}
"""The choices of arguments and options that are always the same, with a note each."""
WORD_BY_WORD = ("merge", "tag", "untag", "import", "export")
"""Commands that take several choices as arguments; all others take one."""


class CommandCompleter(Completer):
    """Offers completions in a chat, in threads. It reads only values that are replaced whole."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._files = ProjectFiles()
        self._cache: defaultdict[str, tuple[float, Any]] = defaultdict(lambda: (0.0, ()))

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        """Yield the completions of the text before the cursor, most likely first."""
        before = document.text_before_cursor
        if re.fullmatch(r"[/#]\S*", before):
            yield from self._commands(before[1:])
            return
        call = re.fullmatch(r"(?:[/#]([A-Za-z][\w-]*)|(resume))[ \t]+(.*)", before, re.DOTALL)
        command = None
        if call is not None:
            command = registry.named(call[1] or call[2])
        typed, found = self._arguments(command, call[3]) if call and command else ("", ())
        offered = [item for item in islice(found, MAX_CHOICES) if item[0].isprintable()]
        for text, note in offered:
            shown = one_line(text, 60)
            about = one_line(note, 80)
            yield Completion(text, -len(typed), shown, about)
        if not offered:
            for path, length in completions(before, self._files.containing):
                yield Completion(path, -length)

    def _commands(self, typed: str) -> Iterator[Completion]:
        for command, name in registry.offered(typed):
            about = command.help.partition(";")[0].rstrip(".")  # the menu has room for this much
            text = f"{name} " if command.argument else name
            yield Completion(text, -len(typed), f"/{name}", about)
        for template in self._chat.templates.all():
            about = one_line(template.description, 80) or "a template"
            if template.name.lower().startswith(typed.lower()):
                shown = one_line(template.usage, 60)
                yield Completion(f"{template.name} ", -len(typed), shown, about)

    def _arguments(self, command: Command, argument: str) -> tuple[str, Iterable[tuple[str, str]]]:
        """Return the part of an argument that is completed, and its completions with notes."""
        *done, word = re.split(r"[ \t]", argument)
        last = done[-1] if done else ""
        if word.startswith("--"):
            typed = {part.partition("=")[0] for part in done}
            options = [option for option in command.options.items() if option[0] not in typed]
            return word, _with_prefix(word, options)
        if last.startswith("--") and last[2:] in command.valued:
            return word, self._values(last, word)
        if command.name in WORD_BY_WORD:
            return word, self._values(command.name, word)
        if any(part.startswith("--") for part in done):
            return "", ()
        return argument, self._values(command.name, argument)

    def _values(self, kind: str, typed: str) -> Iterable[tuple[str, str]]:
        """Return the completions of a command's argument or an option's value."""
        chat = self._chat
        match kind:
            case "resume" | "show" | "quote" | "tree" | "merge" | "delete" | "--session":
                last = [("last", "the most recent one")] if kind == "resume" else []
                return [*_with_prefix(typed, last), *self._sessions(typed)]
            case "rewind" | "fork" | "--at" | "retry" | "edit" | "undo":
                return self._messages(typed)
            case "tag" | "untag" | "--tag":
                tags = {*chat.conversation.session.tags}
                for row in self._rows():
                    tags.update(row.tags)
                return _with_prefix(typed, ((tag, "") for tag in sorted(tags)))
            case "import" | "export":
                paths = completions(f"@{typed}") if typed[:1] not in ("@", '"') else ()
                forms = [(form, "the format") for form in ("html", "md", "json")]
                chosen = _with_prefix(typed, forms) if kind == "export" else []
                return [*chosen, *((path, "") for path, _ in paths)]
            case "help":
                found = sorted((command.name, command.help) for command in registry.commands)
                found += [("all", "every command"), ("keys", "the editing keys")]
                found += [(name, "a template") for name in chat.templates.names()]
                return _with_prefix(typed, found)
            case "config":
                settings = settings_of(chat.config).items()
                return _with_prefix(typed, ((key, text) for key, (text, _) in settings))
            case "model":
                return self._models(typed)
            case "effort":
                offered = chat.conversation.agent.provider.efforts
                return _with_prefix(typed, ((level, "") for level in (*offered, USUAL_EFFORT)))
        return _with_prefix(typed, FIXED.get(kind, {}).items())

    def _messages(self, typed: str) -> Iterator[tuple[str, str]]:
        """Yield the references of the user's messages, newest first, with their first words."""
        chat = self._chat
        told = set()
        for exchange in reversed(chat.conversation.context.exchanges):
            told.add(exchange.key)
            if exchange.ref.startswith(typed):
                yield exchange.ref, one_line(exchange.query.text, 60)
        with contextlib.suppress(ChatLoopError, OSError):  # the command itself reports it
            for exchange in reach.messages_of(chat.sessions, own(chat), typed):
                if exchange.key not in told:
                    yield exchange.ref, one_line(exchange.query.text, 60)

    def _sessions(self, typed: str) -> Iterable[tuple[str, str]]:
        """Return the numbers of the last listing, or the ids of sessions that `typed` matches."""
        chat = self._chat
        now = self._chat.sessions.now()
        names = {}
        for row in self._rows():
            names[row.id] = f"{name_text(row, 50)} ({when_text(row.updated, now)})"
        if chat.listed and (not typed or typed.isdigit()):
            newest = dict(self._recent("numbers", 3, self._newest))
            numbered = []
            for number, item in enumerate(chat.listed, 1):
                identity = newest.get(item.id, item.id)
                numbered.append((str(number), names.get(identity, identity)))
            return _with_prefix(typed, numbered)
        names.pop(chat.own_id, None)
        wanted = typed.casefold()
        return [item for item in names.items() if wanted in " ".join(item).casefold()]

    def _models(self, typed: str) -> Iterator[tuple[str, str]]:
        models = self._chat.models
        offers = dict(self._recent("models", 60, models.candidates))
        for reference, note in offers.items():
            name = reference.partition(":")[2]
            if reference.startswith(typed) or (typed and name.startswith(typed)):
                yield reference, note
        if ":" not in typed and (typed or not offers):
            names = ((name, "its usual model") for name in models.providers)
            yield from _with_prefix(typed, names)

    def _newest(self) -> dict[str, str]:
        """Return the ids that the numbers of the last list mean now, by the listed ones."""
        listed = [item.id for item in self._chat.listed]
        with contextlib.closing(self._chat.library.beside(alone=True)) as library:
            newest, _ = self._chat.numbered(library)
        return dict(zip(listed, newest, strict=True))

    def _rows(self) -> list[SessionRow]:
        def load() -> list[SessionRow]:
            with contextlib.closing(self._chat.library.beside(alone=True)) as library:
                return library.rows(10 * MAX_CHOICES).value.rows

        return self._recent("rows", 3, load)

    def _recent(self, name: str, seconds: float, load: Callable[[], T]) -> T:
        """Return the cached value, reloaded after `seconds`, or the old one if that fails."""
        due, kept = self._cache[name]
        value: T = kept
        if time.monotonic() >= due:
            with contextlib.suppress(ChatLoopError, OSError):  # the command itself reports it
                value = load()
            self._cache[name] = time.monotonic() + seconds, value
        return value


def _with_prefix(typed: str, found: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [item for item in found if item[0].casefold().startswith(typed.casefold())]
