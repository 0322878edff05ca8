"""Completions of a line that is typed: commands, their options, and what they are about."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from chat_loop.attach.mentions import completions
from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import Command, registry
from chat_loop.commands.transfer import WHAT, first_line, last_reply
from chat_loop.commands.view import settings_of
from chat_loop.config import Config
from chat_loop.display.markdown.sample import ABOUT
from chat_loop.display.rows import name_text
from chat_loop.display.text import one_line
from chat_loop.errors import ChatLoopError, UsageError
from chat_loop.input.completing import Choice
from chat_loop.library.library import Library
from chat_loop.providers.choose import Offer
from chat_loop.sessions.naming import name_of
from chat_loop.sessions.records import SessionRow
from chat_loop.wording import when_text

LONGEST = 2_000
"""Characters of a line in which commands are completed."""
MOST = 50
"""Choices of one kind that are offered."""
_CALL = re.compile(r"(?:[/#]([A-Za-z][\w-]*)|(resume))[ \t]+(.*)", re.DOTALL)
_AGES = {"7d": "the last week", "30d": "the last month", "1y": "the last year"}
Found = Iterable[tuple[str, str]]
"""Texts, and what is said of each."""
Source = Callable[[str], Found]


class Offering:
    """The choices for a running chat. `choices` is called in threads: it only reads what is
    replaced as a whole.
    """

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._kept: dict[str, tuple[float, Any]] = {}
        every = {"all": "all of them", "more": "the next ones", "browse": "on the whole screen"}
        self._whole: dict[str, Source] = {
            **dict.fromkeys(("show", "quote", "tree"), self._sessions),
            "resume": lambda typed: [
                *_beginning(typed, {"last": "the one that was used last"}.items()),
                *self._sessions(typed),
            ],
            "help": _of(self._helped),
            "copy": self._copied,
            "config": lambda typed: keys(chat.config, typed),
            "rename": _of(lambda: [(name_of(chat.conversation.session), "its name now")]),
            "history": _of({"--full": "every message whole"}.items),
            "model": self._models,
            "sessions": _of(every.items),
            "theme": _of(ABOUT.items),
            "memory": _of({"propose": "pins and decisions for it"}.items),
            "unpin": _of(lambda: _numbered(chat.conversation.thread.pins)),
            "forget": _of(lambda: _numbered(chat.memory.seen.facts if chat.memory else ())),
            "fork": _of(self._queries),
        }
        """By the command: what its whole argument can become."""
        self._words: dict[str, Source] = {
            "merge": self._sessions,
            "tag": _of(lambda: self._tags(chat.conversation.session.tags)),
            "untag": _of(lambda: ((tag, "") for tag in chat.conversation.session.tags)),
            "mcp": _of(self._servers),
            "export": lambda typed: [*_beginning(typed, self._new_names()), *_paths(typed)],
            "import": _paths,
        }
        """By the command: what one word of its argument can become."""
        of_rows = {"agent": lambda row: row.agent, "project": lambda row: row.project}
        self._values: dict[str, Source] = {
            **{name: _of(lambda of=of: self._each(of)) for name, of in of_rows.items()},  # type: ignore[misc]
            "tag": _of(self._tags),
            "session": self._sessions,
            "as": _of(lambda: ((form, "") for form in ("markdown", "json", "html"))),
            "since": _of(_AGES.items),
            "before": _of(lambda: ((age, f"before {note}") for age, note in _AGES.items())),
            "last": _of({"1": "the last exchange", "5": "the last five"}.items),
        }
        """By the option: what its value can become."""

    def choices(self, before: str) -> Iterator[Choice]:
        """Yield what the text before the cursor can become, the likeliest first."""
        if len(before) <= LONGEST:
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
                try:
                    template = self._chat.templates.find(name)
                except ChatLoopError:
                    continue  # said when it is used
                shown = one_line(template.usage if template is not None else name, 60)
                note = one_line(template.description, 80) if template is not None else ""
                note = note or "a template"
                yield Choice(text=f"{name} ", length=length, shown=shown, note=note)

    def _arguments(self, command: Command, argument: str) -> Iterator[Choice]:
        *done, word = re.split(r"[ \t]", argument)
        typed, last = word, done[-1] if done else ""
        source: Source = _of(tuple)
        if word.startswith("--"):
            given = {one.partition("=")[0] for one in done}
            notes = command.options.items()
            source = _of(lambda: ((name, note) for name, note in notes if name not in given))
        elif last.startswith("--") and last[2:] in command.valued:
            source = self._values[last[2:]]
        elif command.name in self._words:
            source = self._words[command.name]
        elif command.name in self._whole and not any(one.startswith("--") for one in done):
            source, typed = self._whole[command.name], argument
        for text, about in [*source(typed)][:MOST]:
            if text and text.isprintable():
                shown, note = one_line(text, 60), one_line(about, 80)
                yield Choice(text=text, length=len(typed), shown=shown, note=note)

    def _recent(self, name: str, seconds: float, load: Callable[[], Any]) -> Any:
        """Return what was loaded less than so long ago, or load it; the old where that fails."""
        due, value = self._kept.get(name, (0.0, []))
        if time.monotonic() >= due:
            with contextlib.suppress(ChatLoopError, OSError):  # the command itself says it
                value = load()
            self._kept[name] = time.monotonic() + seconds, value
        return value

    def _rows(self) -> list[SessionRow]:
        def load() -> list[SessionRow]:
            # one for this thread
            library = Library(self._chat.sessions.directory, self._chat.sessions.now)
            try:
                return library.rows(10 * MOST)[0]
            finally:
                library.close()

        rows: list[SessionRow] = self._recent("rows", 3, load)
        return rows

    def _sessions(self, typed: str) -> Found:
        """Numbers of the last listing, and ids of what is called so."""
        chat, rows = self._chat, {row.id: row for row in self._rows()}
        said = {
            row.id: f"{name_text(row, 50)} ({when_text(row.updated, chat.sessions.now())})"
            for row in rows.values()
        }
        if chat.listed and (not typed or typed.isdigit()):
            numbered = ((str(number), one) for number, one in enumerate([*chat.listed], 1))
            return _beginning(typed, ((number, said.get(one, one)) for number, one in numbered))
        wanted = typed.casefold()
        return (
            (row.id, said[row.id])
            for row in rows.values()
            if row.id != chat.own_id and wanted in f"{row.id}\n{row.name}".casefold()
        )

    def _models(self, typed: str) -> Found:
        chat = self._chat
        offers: list[Offer] = self._recent("models", 60, lambda: [*chat.models.offered()])
        for offer in offers:
            name = offer.reference.partition(":")[2]
            if offer.reference.startswith(typed) or (typed and name.startswith(typed)):
                yield offer.reference, offer.note
        if ":" not in typed and (typed or not offers):
            usual = ((one, "its usual model") for one in chat.models.providers)
            yield from _beginning(typed, usual)

    def _helped(self) -> Found:
        yield from sorted((one.name, one.help) for one in registry.commands)
        yield "keys", "the keys of the line"
        yield from ((name, "a template") for name in self._chat.templates.names())

    def _tags(self, without: Iterable[str] = ()) -> Found:
        tags = {tag for row in self._rows() for tag in row.tags}
        return ((tag, "") for tag in sorted(tags.difference(without)))

    def _each(self, of: Callable[[SessionRow], str]) -> Found:
        for value in dict.fromkeys(map(of, self._rows())):
            if '"' not in value:
                yield f'"{value}"' if re.search(r"\s", value) else value, ""

    def _servers(self) -> Found:
        servers = self._chat.servers
        yield "restart", "connect one anew"
        for state in servers.states() if servers is not None else ():
            yield state.name, state.state

    def _queries(self) -> Found:
        exchanges = self._chat.conversation.session.exchanges[-MOST:]
        return ((str(one.query.number), one.query.text[:200]) for one in reversed(exchanges))

    def _copied(self, typed: str) -> Found:
        """Return the texts that can be copied; the blocks of code once they are asked for."""
        if not typed.startswith("code "):
            return _beginning(typed, WHAT.items())
        from chat_loop.export.markup import code_blocks  # loads the markdown parser

        try:
            blocks = code_blocks(last_reply(self._chat)[1])
        except UsageError:
            return ()
        found = ((f"code {number}", first_line(code)) for number, (_, code) in enumerate(blocks, 1))
        return _beginning(typed, found)

    def _new_names(self) -> Found:
        """The names that an export of this conversation may have."""
        from chat_loop.export.exporting import SUFFIXES, stem_of

        session = self._chat.conversation.session
        suffixes = SUFFIXES.items() if session.entries else ()
        return ((f"{stem_of(session)}{suffix}", form) for form, suffix in suffixes)


def keys(config: Config, typed: str) -> list[tuple[str, str]]:
    """Return the settings and sections that begin so, no deeper than needed to choose one."""
    found: dict[str, str] = {}
    for key, value in settings_of(config).items():
        if key.startswith(typed):
            end = key.find(".", len(typed))
            found[key if end < 0 else key[:end]] = value if end < 0 else "a section"
    below = [f"{key}." for key, note in found.items() if note == "a section"]
    if len(found) == 1 and below and below[0] != typed:
        return [*found.items(), *keys(config, below[0])]
    return [*found.items()]


def _of(found: Callable[[], Found]) -> Source:
    """Return a source of what is known whole: of that what begins as typed."""
    return lambda typed: _beginning(typed, found())


def _beginning(typed: str, found: Found) -> Found:
    start = typed.casefold()
    return ((text, note) for text, note in found if text.casefold().startswith(start))


def _numbered(texts: Iterable[str]) -> Found:
    return ((str(number), text[:200]) for number, text in enumerate(texts, 1))


def _paths(typed: str) -> Found:
    found = completions(f"@{typed}") if typed[:1] not in ("@", '"') else ()
    return ((path, "") for path, _ in found)
