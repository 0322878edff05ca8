"""Completions of a typed line: commands, their options and arguments."""

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
from chat_loop.commands.transfer import COPY_CHOICES
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

MAX_CHOICES = 50
"""The most choices of one kind."""
_CALL = re.compile(r"(?:[/#]([A-Za-z][\w-]*)|(resume))[ \t]+(.*)", re.DOTALL)
_WORDS = {"merge", "tag", "untag", "import", "export"}
"""Commands whose argument is completed word by word, not as a whole."""
_STATIC_CHOICES = {
    "copy": COPY_CHOICES,
    "theme": ABOUT,
    "history": {"--full": "every message whole"},
    "memory": {"propose": "pins and decisions for it"},
    "sessions": {"all": "all of them", "more": "the next ones", "browse": "on the whole screen"},
    "--as": dict.fromkeys(("markdown", "json", "html"), ""),
    "--last": {"1": "the last exchange", "5": "the last five"},
    "--since": {"7d": "the last week", "30d": "the last month", "1y": "the last year"},
    "--before": {"7d": "before the last week", "30d": "before the last month"},
}
"""The choices of arguments and options, each with a note."""
Matches = Iterable[tuple[str, str]]
"""Texts with notes."""


class CommandCompleter:
    """The choices for a running chat. `choices` is called in threads: it only reads what is
    replaced as a whole.
    """

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._loaded: dict[str, tuple[float, Any]] = {}
        self._sources: dict[str, Callable[[str], Matches]] = {
            **{
                name: partial(_with_prefix, found=fixed.items())
                for name, fixed in _STATIC_CHOICES.items()
            },
            **dict.fromkeys(("show", "quote", "tree", "merge", "--session"), self._sessions),
            **dict.fromkeys(("tag", "untag", "--tag"), self._tags),
            **dict.fromkeys(("import", "export"), _paths),
            "resume": self._resume_targets,
            "help": self._help_topics,
            "model": self._models,
            "config": lambda typed: keys(self._settings(), typed),
        }

    def choices(self, before: str) -> Iterator[Choice]:
        """Yield the completions of the text before the cursor, the likeliest first."""
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
        source: Callable[[str], Matches] | None = None
        if word.startswith("--"):
            typed_options = {one.partition("=")[0] for one in done}
            options = [one for one in command.options.items() if one[0] not in typed_options]
            source = partial(_with_prefix, found=options)
        elif last.startswith("--") and last[2:] in command.valued:
            source = self._sources.get(last)
        elif command.name in _WORDS or not any(one.startswith("--") for one in done):
            typed = word if command.name in _WORDS else argument
            source = self._sources.get(command.name)
        found = source(typed) if source is not None else ()
        for text, about in [*found][:MAX_CHOICES]:
            if text and text.isprintable():
                shown, note = one_line(text, 60), one_line(about, 80)
                yield Choice(text=text, length=len(typed), shown=shown, note=note)

    def _settings(self) -> dict[str, str]:
        return {key: text for key, (text, _) in settings_of(self._chat.config).items()}

    def _help_topics(self, typed: str) -> Matches:
        found = sorted((command.name, command.help) for command in registry.commands)
        found += [("keys", "the keys of the line")]
        found += [(name, "a template") for name in self._chat.templates.names()]
        return _with_prefix(typed, found)

    def _tags(self, typed: str) -> Matches:
        tags = {tag for row in self._rows() for tag in row.tags}
        tags.update(self._chat.conversation.session.tags)
        return _with_prefix(typed, [(tag, "") for tag in sorted(tags)])

    def _recent(self, name: str, seconds: float, load: Callable[[], Any]) -> Any:
        """Return the cached value, reloaded after `seconds`; the old one where that fails."""
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
                return library.rows(10 * MAX_CHOICES)[0]

        rows: list[SessionRow] = self._recent("rows", 3, load)
        return rows

    def _sessions(self, typed: str) -> Matches:
        """Return the numbers of the last listing, or the ids of sessions whose name or id fits."""
        chat, rows = self._chat, {row.id: row for row in self._rows()}
        now = chat.sessions.now()
        about = {
            row.id: f"{name_text(row, 50)} ({when_text(row.updated, now)})" for row in rows.values()
        }
        if chat.listed and (not typed or typed.isdigit()):
            listed = enumerate([*chat.listed], 1)
            return _with_prefix(
                typed, [(str(number), about.get(one, one)) for number, one in listed]
            )
        return [
            (row.id, about[row.id])
            for row in rows.values()
            if row.id != chat.own_id and typed.casefold() in f"{row.id}\n{row.name}".casefold()
        ]

    def _resume_targets(self, typed: str) -> Matches:
        last = [("last", "the one that was used last")]
        return [*_with_prefix(typed, last), *self._sessions(typed)]

    def _models(self, typed: str) -> Matches:
        models = self._chat.models
        offers: list[Candidate] = self._recent("models", 60, lambda: [*models.candidates()])
        for offer in offers:
            name = offer.reference.partition(":")[2]
            if offer.reference.startswith(typed) or (typed and name.startswith(typed)):
                yield offer.reference, offer.note
        if ":" not in typed and (typed or not offers):
            yield from _with_prefix(typed, ((one, "its usual model") for one in models.providers))


def keys(settings: Mapping[str, str], typed: str) -> list[tuple[str, str]]:
    """Return the settings and sections with a prefix, no deeper than needed to choose one."""
    found: dict[str, str] = {}
    for key, value in settings.items():
        if key.startswith(typed):
            end = key.find(".", len(typed))
            found[key if end < 0 else key[:end]] = value if end < 0 else "a section"
    below = [f"{key}." for key, note in found.items() if note == "a section"]
    if len(found) == 1 and below and below[0] != typed:
        return [*found.items(), *keys(settings, below[0])]
    return [*found.items()]


def _with_prefix(typed: str, found: Matches) -> Matches:
    start = typed.casefold()
    return [(text, note) for text, note in found if text.casefold().startswith(start)]


def _paths(typed: str) -> Matches:
    found = completions(f"@{typed}") if typed[:1] not in ("@", '"') else ()
    return [(path, "") for path, _ in found]
