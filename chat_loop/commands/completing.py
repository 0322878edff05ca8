"""Completions of a line that is typed: commands, their options, and what they are about."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from chat_loop.attach.mentions import completions
from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import Command, registry
from chat_loop.commands.transfer import WHAT
from chat_loop.commands.view import settings_of
from chat_loop.display.markdown.sample import ABOUT
from chat_loop.display.rows import name_text
from chat_loop.display.text import one_line
from chat_loop.errors import ChatLoopError
from chat_loop.input.completing import Choice
from chat_loop.library.library import Library
from chat_loop.providers.choose import Candidate
from chat_loop.sessions.records import SessionRow
from chat_loop.wording import when_text

MOST = 50
"""Choices of one kind that are offered."""
_CALL = re.compile(r"(?:[/#]([A-Za-z][\w-]*)|(resume))[ \t]+(.*)", re.DOTALL)
_WORDS = {"merge", "tag", "untag", "import", "export"}
"""The commands of whose argument one word is completed, and not the whole."""
_FIXED = {
    "copy": WHAT,
    "theme": ABOUT,
    "history": {"--full": "every message whole"},
    "memory": {"propose": "pins and decisions for it"},
    "sessions": {"all": "all of them", "more": "the next ones", "browse": "on the whole screen"},
    "--as": dict.fromkeys(("markdown", "json", "html"), ""),
    "--last": {"1": "the last exchange", "5": "the last five"},
    "--since": {"7d": "the last week", "30d": "the last month", "1y": "the last year"},
    "--before": {"7d": "before the last week", "30d": "before the last month"},
}
"""What arguments and values of options can become, and what is said of each."""
Found = Iterable[tuple[str, str]]
"""Texts, and what is said of each."""


class Offering:
    """The choices for a running chat. `choices` is called in threads: it only reads what is
    replaced as a whole.
    """

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._loaded: dict[str, tuple[float, Any]] = {}
        self._sources: dict[str, Callable[[str], Found]] = {
            **{name: partial(_beginning, found=fixed.items()) for name, fixed in _FIXED.items()},
            **dict.fromkeys(("show", "quote", "tree", "merge", "--session"), self._sessions),
            **dict.fromkeys(("tag", "untag", "--tag"), self._tags),
            **dict.fromkeys(("import", "export"), _paths),
            "resume": self._resumable,
            "help": self._helped,
            "model": self._models,
            "config": lambda typed: keys(self._settings(), typed),
        }

    def choices(self, before: str) -> Iterator[Choice]:
        """Yield what the text before the cursor can become, the likeliest first."""
        if before[:1] in ("/", "#") and not re.search(r"\s", before):
            yield from self._commands(before[1:])
            return
        call = _CALL.fullmatch(before)
        command = registry.named(call[1] or call[2]) if call is not None else None
        if command is not None and call is not None:
            found = [*self._arguments(command, call[3])]
            yield from found
            if found:
                return
        for path, length in completions(before):
            yield Choice(text=path, length=length)

    def _commands(self, typed: str) -> Iterator[Choice]:
        start, length = typed.lower(), len(typed)
        for command in sorted(registry.commands, key=lambda one: one.name):
            for name in (command.name, *command.aliases):
                if name.startswith(start):
                    shown = command.usage if name == command.name else f"/{name}"
                    text = f"{name} " if command.argument else name
                    yield Choice(text=text, length=length, shown=shown, note=command.help)
        for name in self._chat.templates.names():
            if name.lower().startswith(start):
                with contextlib.suppress(ChatLoopError):  # said when it is used
                    template = self._chat.templates.find(name)
                    usage, about = (
                        (template.usage, template.description) if template else (name, "")
                    )
                    note = one_line(about, 80) or "a template"
                    yield Choice(
                        text=f"{name} ", length=length, shown=one_line(usage, 60), note=note
                    )

    def _arguments(self, command: Command, argument: str) -> Iterator[Choice]:
        *done, word = re.split(r"[ \t]", argument)
        typed, last = word, done[-1] if done else ""
        source: Callable[[str], Found] | None = None
        if word.startswith("--"):
            typed_options = {one.partition("=")[0] for one in done}
            options = [one for one in command.options.items() if one[0] not in typed_options]
            source = partial(_beginning, found=options)
        elif last.startswith("--") and last[2:] in command.valued:
            source = self._sources.get(last)
        elif command.name in _WORDS or not any(one.startswith("--") for one in done):
            typed = word if command.name in _WORDS else argument
            source = self._sources.get(command.name)
        found = source(typed) if source is not None else ()
        for text, about in [*found][:MOST]:
            if text and text.isprintable():
                shown, note = one_line(text, 60), one_line(about, 80)
                yield Choice(text=text, length=len(typed), shown=shown, note=note)

    def _settings(self) -> dict[str, str]:
        return {key: text for key, (text, _) in settings_of(self._chat.config).items()}

    def _helped(self, typed: str) -> Found:
        found = sorted((command.name, command.help) for command in registry.commands)
        found += [("keys", "the keys of the line")]
        found += [(name, "a template") for name in self._chat.templates.names()]
        return _beginning(typed, found)

    def _tags(self, typed: str) -> Found:
        tags = {tag for row in self._rows() for tag in row.tags}
        tags.update(self._chat.conversation.session.tags)
        return _beginning(typed, [(tag, "") for tag in sorted(tags)])

    def _recent(self, name: str, seconds: float, load: Callable[[], Any]) -> Any:
        """Return what was loaded less than so long ago, or load it; the old where that fails."""
        due, value = self._loaded.get(name, (0.0, []))
        if time.monotonic() >= due:
            with contextlib.suppress(ChatLoopError, OSError):  # the command itself says it
                value = load()
            self._loaded[name] = time.monotonic() + seconds, value
        return value

    def _rows(self) -> list[SessionRow]:
        sessions = self._chat.sessions

        def load() -> list[SessionRow]:
            # one for this thread
            with contextlib.closing(Library(sessions.directory, sessions.now)) as library:
                return library.rows(10 * MOST)[0]

        rows: list[SessionRow] = self._recent("rows", 3, load)
        return rows

    def _sessions(self, typed: str) -> Found:
        """Return the numbers of the last listing, or the ids of sessions whose name or id fits."""
        chat, rows = self._chat, {row.id: row for row in self._rows()}
        now = chat.sessions.now()
        about = {
            row.id: f"{name_text(row, 50)} ({when_text(row.updated, now)})" for row in rows.values()
        }
        if chat.listed and (not typed or typed.isdigit()):
            listed = enumerate([*chat.listed], 1)
            return _beginning(typed, [(str(number), about.get(one, one)) for number, one in listed])
        return [
            (row.id, about[row.id])
            for row in rows.values()
            if row.id != chat.own_id and typed.casefold() in f"{row.id}\n{row.name}".casefold()
        ]

    def _resumable(self, typed: str) -> Found:
        last = [("last", "the one that was used last")]
        return [*_beginning(typed, last), *self._sessions(typed)]

    def _models(self, typed: str) -> Found:
        models = self._chat.models
        offers: list[Candidate] = self._recent("models", 60, lambda: [*models.candidates()])
        for offer in offers:
            name = offer.reference.partition(":")[2]
            if offer.reference.startswith(typed) or (typed and name.startswith(typed)):
                yield offer.reference, offer.note
        if ":" not in typed and (typed or not offers):
            yield from _beginning(typed, ((one, "its usual model") for one in models.providers))


def keys(settings: Mapping[str, str], typed: str) -> list[tuple[str, str]]:
    """Return the settings and sections that begin so, no deeper than needed to choose one."""
    found: dict[str, str] = {}
    for key, value in settings.items():
        if key.startswith(typed):
            end = key.find(".", len(typed))
            found[key if end < 0 else key[:end]] = value if end < 0 else "a section"
    below = [f"{key}." for key, note in found.items() if note == "a section"]
    if len(found) == 1 and below and below[0] != typed:
        return [*found.items(), *keys(settings, below[0])]
    return [*found.items()]


def _beginning(typed: str, found: Found) -> Found:
    start = typed.casefold()
    return [(text, note) for text, note in found if text.casefold().startswith(start)]


def _paths(typed: str) -> Found:
    found = completions(f"@{typed}") if typed[:1] not in ("@", '"') else ()
    return [(path, "") for path, _ in found]
