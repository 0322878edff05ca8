"""What a line that is being typed can become: commands, their options, and what they are about."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from chat_loop.attach.mentions import completions
from chat_loop.commands.chat import Chat
from chat_loop.commands.copying import WHAT, blocks
from chat_loop.commands.known import Known
from chat_loop.commands.registry import Command, registry
from chat_loop.commands.settings import branches
from chat_loop.config import Config
from chat_loop.display.markdown.sample import ABOUT
from chat_loop.display.rows import name_text
from chat_loop.display.text import one_line
from chat_loop.errors import ChatLoopError
from chat_loop.input.choice import Choice
from chat_loop.library.library import Library
from chat_loop.providers.choose import Offer
from chat_loop.sessions.naming import name_of
from chat_loop.sessions.records import SessionRow
from chat_loop.wording import when_text

LONGEST = 2_000
"""Characters of a line in which commands are completed."""
MOST_ROWS = 500
MOST = 50
"""Choices of one kind that are offered."""
PATIENCE = 0.5
"""Seconds for which a menu waits for what was never looked for before."""
FRESH_ROWS = 3.0
FRESH_MODELS = 60.0

_CALL = re.compile(r"(?:[/#]([A-Za-z][\w-]*)|(resume))[ \t]+(.*)", re.DOTALL)
_OPTION = re.compile(r"(?:/([a-z]+) )?(--[a-z][a-z-]*)")
_SPACED = re.compile(r"\s")

_KEYS = ("keys", "the keys of the line")
_FLAG = ("remember", "--project")
"""An option that has a value in other commands only."""
_NOW = "as it is called now"
_AGES = (("7d", "the last week"), ("30d", "the last month"), ("1y", "the last year"))

FREE = frozenset(("edit", "compact", "summarize", "remember", "pin", "search"))
"""Commands that take words of the user's own: of those nothing is offered but files, and their
options.
"""

Found = Iterable[tuple[str, str]]
"""Texts, and what is said of each."""


class Offering:
    """The choices for a running chat. `choices` is called in threads: it only reads what is
    replaced as a whole.
    """

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._rows: Known[list[SessionRow]] = Known(self._load_rows, [], fresh=FRESH_ROWS)
        self._models: Known[list[Offer]] = Known(
            lambda: list(chat.models.offered()), [], fresh=FRESH_MODELS
        )
        self._whole: dict[str, Callable[[str], Found]] = {
            "resume": lambda typed: [
                *_beginning(typed, [("last", "the one that was used last")]),
                *self._sessions(typed),
            ],
            "show": self._sessions,
            "quote": self._sessions,
            "tree": self._sessions,
            "help": lambda typed: _beginning(typed, self._helped()),
            "copy": lambda typed: copied(chat, typed),
            "config": lambda typed: keys(chat.config, typed),
            "rename": lambda typed: _beginning(
                typed, filter(all, [(name_of(chat.conversation.session), _NOW)])
            ),
            "history": lambda typed: _beginning(typed, [("--full", "every message whole")]),
            "model": self._references,
            "sessions": lambda typed: _beginning(
                typed,
                [
                    ("all", "all of them"),
                    ("more", "the next ones"),
                    ("browse", "on the whole screen"),
                ],
            ),
            "theme": lambda typed: _beginning(typed, ABOUT.items()),
            "memory": lambda typed: _beginning(typed, [("propose", "pins and decisions for it")]),
            "unpin": lambda typed: _beginning(typed, _numbered(chat.conversation.thread.pins)),
            "forget": lambda typed: _beginning(
                typed, _numbered(chat.memory.seen.facts if chat.memory else ())
            ),
            "fork": lambda typed: _beginning(typed, self._queries()),
        }
        """By the command: what its whole argument can become."""
        self._words: dict[str, Callable[[str], Found]] = {
            "merge": self._sessions,
            "tag": lambda typed: _beginning(typed, self._tags(chat.conversation.session.tags)),
            "untag": lambda typed: _beginning(
                typed, ((tag, "") for tag in chat.conversation.session.tags)
            ),
            "mcp": lambda typed: _beginning(typed, self._servers()),
            "export": lambda typed: [*_beginning(typed, new_names(chat)), *_paths(typed)],
            "import": _paths,
        }
        """By the command: what one word of its argument can become."""
        self.decided = frozenset((*self._whole, *self._words))
        """The commands whose argument something is offered for."""
        self._values: dict[str, Callable[[str], Found]] = {
            "--tag": lambda typed: _beginning(typed, self._tags()),
            "--session": self._sessions,
            "--agent": lambda typed: _beginning(typed, self._each(lambda row: row.agent)),
            "--project": lambda typed: _beginning(typed, self._each(lambda row: row.project)),
            "--as": lambda typed: _beginning(typed, [("markdown", ""), ("json", ""), ("html", "")]),
            "--since": lambda typed: _beginning(typed, _AGES),
            "--before": lambda typed: _beginning(
                typed, [(age, f"before {note}") for age, note in _AGES]
            ),
            "--last": lambda typed: _beginning(
                typed, [("1", "the last exchange"), ("5", "the last five")]
            ),
        }

    def choices(self, before: str) -> Iterator[Choice]:
        """What the text before the cursor can become, the likeliest first."""
        if len(before) <= LONGEST:
            if before[:1] in ("/", "#") and not _SPACED.search(before):
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
        for command in sorted(registry.commands, key=lambda one: one.name):
            for name in (command.name, *command.aliases):
                if name.startswith(typed.lower()):
                    usage = command.usage if name == command.name else f"/{name}"
                    text = f"{name} " if command.argument else name
                    yield Choice(text=text, length=len(typed), shown=usage, note=command.help)
        for name in self._chat.templates.names():
            if name.lower().startswith(typed.lower()):
                try:
                    template = self._chat.templates.find(name)
                except ChatLoopError:
                    continue  # said when it is used
                usage, note = (
                    (template.usage, template.description) if template is not None else (name, "")
                )
                note = one_line(note, 80) or "a template"
                yield Choice(
                    text=f"{name} ", length=len(typed), shown=one_line(usage, 60), note=note
                )

    def _arguments(self, command: Command, argument: str) -> Iterator[Choice]:
        *done, word = re.split(r"[ \t]", argument)
        typed = word
        found: Found = ()
        if word.startswith("--"):
            given = {one.partition("=")[0] for one in done}
            options = (
                (name, note) for name, note in options_of(command).items() if name not in given
            )
            found = _beginning(word, options)
        elif (
            done
            and done[-1] in self._values
            and done[-1] in options_of(command)
            and (command.name, done[-1]) != _FLAG
        ):
            found = self._values[done[-1]](word)
        elif command.name in self._words:
            found = self._words[command.name](word)
        elif command.name in self._whole and not any(one.startswith("--") for one in done):
            typed = argument
            found = self._whole[command.name](argument)
        for text, note in [*found][:MOST]:
            if text.isprintable():
                yield Choice(
                    text=text, length=len(typed), shown=one_line(text, 60), note=one_line(note, 80)
                )

    def _helped(self) -> Found:
        yield from sorted((one.name, one.help) for one in registry.commands)
        yield _KEYS
        yield from ((name, "a template") for name in self._chat.templates.names())

    def _sessions(self, typed: str) -> Found:
        """Numbers of the last listing, and ids of what is called so."""
        rows = {row.id: row for row in self._rows.get(PATIENCE)}
        wanted = typed.casefold()
        listed = [*self._chat.listed]
        if listed and (not typed or typed.isdigit()):
            for number, identity in enumerate(listed, 1):
                if str(number).startswith(typed):
                    yield str(number), self._said(rows[identity]) if identity in rows else identity
            return
        own = self._chat.own_id
        for row in rows.values():
            if row.id != own and (wanted in row.id.casefold() or wanted in row.name.casefold()):
                yield row.id, self._said(row)

    def _said(self, row: SessionRow) -> str:
        return f"{name_text(row, 50)} ({when_text(row.updated, self._chat.sessions.now())})"

    def _references(self, typed: str) -> Found:
        """Models that could answer: of what is known, as another look may take seconds."""
        offers = self._models.get(PATIENCE)
        for offer in offers:
            if offer.reference.startswith(typed) or (
                typed and offer.reference.partition(":")[2].startswith(typed)
            ):
                yield offer.reference, offer.note
        if ":" not in typed and (typed or not offers):
            yield from _beginning(
                typed, ((name, "its usual model") for name in self._chat.models.providers)
            )

    def _tags(self, without: Iterable[str] = ()) -> Found:
        left_out = set(without)
        tags = sorted({tag for row in self._rows.get(PATIENCE) for tag in row.tags} - left_out)
        return ((tag, "") for tag in tags)

    def _each(self, of: Callable[[SessionRow], str]) -> Found:
        values = dict.fromkeys(filter(None, map(of, self._rows.get(PATIENCE))))
        return (
            (f'"{value}"' if _SPACED.search(value) else value, "")
            for value in values
            if '"' not in value
        )

    def _servers(self) -> Found:
        servers = self._chat.servers
        yield "restart", "connect one anew"
        for state in servers.states() if servers is not None else ():
            yield state.name, state.state

    def _queries(self) -> Found:
        exchanges = self._chat.conversation.session.exchanges
        return (
            (str(one.query.number), one.query.text[:200]) for one in reversed(exchanges[-MOST:])
        )

    def _load_rows(self) -> list[SessionRow]:
        library = Library(
            self._chat.sessions.directory, self._chat.sessions.now
        )  # one for this thread
        try:
            return library.rows(MOST_ROWS)[0]
        finally:
            library.close()


def options_of(command: Command) -> dict[str, str]:
    """The options that a command's help names, and what it says of those that have a line of their
    own.
    """
    found: dict[str, str] = {}
    for line in (command.argument, command.help, *command.details.split("\n")):
        for match in _OPTION.finditer(line):
            if match[1] in (None, command.name):
                note = line.strip().removeprefix(match[2])
                own = note.startswith("  ") and line.strip().startswith(match[2])
                found[match[2]] = found.get(match[2]) or (note.strip() if own else "")
    return found


def _beginning(typed: str, found: Found) -> Found:
    return ((text, note) for text, note in found if text.casefold().startswith(typed.casefold()))


def keys(config: Config, typed: str) -> Found:
    """The settings and sections of them that begin so, no deeper than needed to choose one, with
    what they are.
    """
    found: dict[str, tuple[int, str]] = {}
    for parts, value in branches(config):
        for depth in range(1, len(parts)):
            found.setdefault(".".join(parts[:depth]), (depth, "a section"))
        found[".".join(parts)] = (len(parts), value)
    fitting = {key: about for key, about in found.items() if key.startswith(typed)}
    least = min((depth for depth, _ in fitting.values()), default=0)
    near = [(key, note) for key, (depth, note) in fitting.items() if depth == least]
    if len(near) == 1:
        near += [(key, note) for key, (depth, note) in fitting.items() if depth == least + 1]
    return near


def copied(chat: Chat, typed: str) -> Found:
    """What can be copied; the blocks of code once they are asked for."""
    if typed.startswith("code "):
        return _beginning(
            typed, ((f"code {number}", words) for number, words in enumerate(blocks(chat), 1))
        )
    return _beginning(typed, WHAT.items())


def new_names(chat: Chat) -> Found:
    """The names that an export of this conversation may have."""
    from chat_loop.export.exporting import SUFFIXES, stem_of

    session = chat.conversation.session
    return (
        ((f"{stem_of(session)}{suffix}", form) for form, suffix in SUFFIXES.items())
        if session.entries
        else ()
    )


def _numbered(texts: Iterable[str]) -> Found:
    return ((str(number), text[:200]) for number, text in enumerate(texts, 1))


def _paths(typed: str) -> Found:
    return (
        ((path, "") for path, _ in completions(f"@{typed}")) if typed[:1] not in ("@", '"') else ()
    )
