"""Commands that show something: help, info."""

from __future__ import annotations

import re
from collections.abc import Sequence

from chat_loop.commands.chat import Chat
from chat_loop.commands.keys import show_keys
from chat_loop.commands.registry import Command, registry
from chat_loop.commands.standing import session_cost
from chat_loop.commands.templates import Template
from chat_loop.context.budget import messages_in
from chat_loop.display.text import one_line
from chat_loop.errors import UsageError
from chat_loop.sessions.records import Exchange
from chat_loop.sessions.writer import accounting
from chat_loop.values import Usage
from chat_loop.wording import dollars_text, tokens_text

NARROW = 60
WIDEST = 26
"""Columns of the commands in their list; a longer one has a line of its own."""
FAMILIES = {
    "Conversation": ("asking_again", "copying"),
    "Context": ("context", "pins"),
    "Sessions": ("session", "search", "describe", "transfer"),
    "Branches": ("branches",),
    "Memory": ("memory",),
    "Model and tools": ("model", "tools", "mcp"),
    "View": ("view", "settings", "theme"),
}
"""What the commands are about, by the modules that they are in."""
OTHERS = "More"
FURTHER = "/help COMMAND tells all of one of them, /help keys what the keys do."
RULE = (
    "What is no command is sent. Bare exit, quit, help, compact, sessions and resume [N|ID] "
    "work as the whole line; "
    "every command works with / or #. A leading space makes any line text. "
    '@path sends a file along, @"path" one with blanks; Tab completes it.'
)
_REST = re.compile(r"[;:] .*| \(.*")
"""What a line of help says beyond its first clause."""
_COLUMN = re.compile(r"\S[^\n]{0,40}?   *(?=\S)")
"""An example, up to the column in which it is explained."""


@registry.command("help", argument="[COMMAND]", bare="help")
async def show_help(chat: Chat, argument: str) -> None:
    """Show the commands, or one of them.

    /help compact           all of one command, with its options and examples
    /help keys              the keys of the line
    """
    if argument == "keys":
        show_keys(chat)
        return
    if argument:
        command = registry.named(argument.lstrip("/#"))
        template = chat.templates.find(argument.lstrip("/")) if command is None else None
        if template is not None:
            show_template(chat, template)
            return
        if command is None:
            raise UsageError(f"There is no command /{argument[:40]}.", "help lists them.")
        chat.display.line(command.usage)
        chat.display.prose(f"  {command.help}", indent=2)
        for line in command.details.split("\n") if command.details else ():
            column = _COLUMN.match(line)
            chat.display.prose(f"  {line}", indent=2 + (column.end() if column else 0))
        return
    width = min(WIDEST, max(len(command.usage) for command in registry.commands))
    for title, commands in families(registry.commands):
        chat.display.line(title, "bold")
        for command in commands:
            if chat.display.console.width >= NARROW and len(command.usage) <= width:
                told = _told(chat, command, width + 4)
                chat.display.prose(f"  {command.usage:<{width}}  {told}", indent=width + 4)
            else:
                chat.display.line(f"  {command.usage}")
                chat.display.prose(f"    {_told(chat, command, 4)}", indent=4)
    _list_templates(chat)
    chat.display.prose(FURTHER)
    chat.display.prose(RULE, "dim")


def _told(chat: Chat, command: Command, indent: int) -> str:
    """A command's line of help; on a terminal only its first clause where all of it would not fit
    into one line.
    """
    if not chat.display.is_terminal or indent + len(command.help) <= chat.display.console.width:
        return command.help
    return f"{_REST.sub('', command.help).rstrip('.')}."


def families(commands: Sequence[Command]) -> list[tuple[str, list[Command]]]:
    """The commands by what they are about, each family in the alphabet's order. None is left
    out.
    """
    found: dict[str, list[Command]] = {title: [] for title in FAMILIES}
    titles = {module: title for title, modules in FAMILIES.items() for module in modules}
    for command in sorted(commands, key=lambda command: command.name):
        module = command.run.__module__.rpartition(".")[2]
        found.setdefault(titles.get(module, OTHERS), []).append(command)
    return [(title, members) for title, members in found.items() if members]


def _list_templates(chat: Chat) -> None:
    """The user's templates, below the commands."""
    troubles: list[str] = []
    found = list(chat.templates.all(troubles.append))
    if found:
        chat.display.line("Templates:")
    width = max((len(template.usage) for template in found), default=0)
    for template in found:
        about = template.description or template.text.partition("\n")[0]
        chat.display.prose(f"  {template.usage:<{width}}  {one_line(about, 100)}", indent=width + 4)
    for trouble in troubles:
        chat.display.warn(trouble)
    for name in chat.templates.shadowed():
        chat.display.warn(
            f"The template {name} is not used: /{name} is a command.", "Give its file another name."
        )


def show_template(chat: Chat, template: Template) -> None:
    """What a template sends."""
    chat.display.line(template.usage)
    if template.description:
        chat.display.prose(f"  {template.description}", indent=2)
    for line in template.text.split("\n"):
        chat.display.line(f"  {line}")


@registry.command("history", argument="[--full]")
async def history(chat: Chat, argument: str) -> None:
    """Show what was said along the chain: its summaries, then the messages that stand in the
    context.
    """
    if argument not in ("", "--full"):
        raise UsageError(f"/history takes nothing or --full, not “{argument[:40]}”.")
    from chat_loop.display.panels import Told, show_history  # not before it is asked for
    from chat_loop.sessions.chain import ChainReader

    conversation = chat.conversation
    chain = ChainReader(chat.sessions).read(conversation.session)
    known = {exchange.ref for exchange in conversation.thread.exchanges}
    told: list[Told] = []
    recent: list[tuple[int, Exchange]] = []
    total = 0
    live = conversation.session
    for session in (*(loaded.session for loaded in reversed(chain.loaded)), live):
        gone: list[int] = []  # the numbers of the messages that only a summary tells of
        for exchange in session.exchanges:
            numbers = range(total + 1, total + messages_in([exchange]) + 1)
            total += len(numbers)
            if exchange.ref in known or (exchange.failed and (recent or session is live)):
                recent.append((numbers[0], exchange))
            elif not exchange.failed:
                gone += numbers
        if gone:
            summary = session.seal.summary if session.seal else None
            told.append(Told(gone[0], gone[-1], session.header.id, summary))
    if not total:
        raise UsageError("Nothing was said yet.")
    if chain.broken:
        chat.display.warn(chain.broken)
    show_history(
        chat.display, told, recent, total, agent=conversation.agent.name, full=bool(argument)
    )


@registry.command("stats")
async def stats(chat: Chat, argument: str) -> None:
    """Show tokens and cost of the session and its chain, plots of them, and what each compaction
    kept.
    """
    from chat_loop.commands.measures import measures  # not before it is asked for
    from chat_loop.display.panels import show_compactions, show_plots
    from chat_loop.sessions.chain import ChainReader

    conversation = chat.conversation
    chain = ChainReader(chat.sessions).read(conversation.session)
    sessions = [*(loaded.session for loaded in reversed(chain.loaded)), conversation.session]
    totals = conversation.session.totals
    pairs = list(accounting(totals))
    if len(sessions) > 1:
        of_all = [session.totals for session in sessions]
        pairs += [
            ("Sessions in the chain", str(len(sessions))),
            ("Queries in the chain", str(sum(one.queries for one in of_all))),
            ("Tokens in the chain", f"{sum(one.combined for one in of_all):,}"),
        ]
    summaries = [session.seal.usage for session in sessions if session.seal and session.seal.usage]
    if summaries:
        pairs.append(("Summaries", tokens_text(sum(summaries, Usage()))))
    used = conversation.session.usage_of_models
    if len(used) > 1:
        pairs += [(f"Tokens of {model}", tokens_text(usage)) for model, usage in used.items()]
    cost = conversation.options.cost
    price = (
        session_cost(conversation.session, cost)
        if used
        else cost(conversation.agent.model, Usage())
    )
    pairs.append(("Cost of the session", dollars_text(price)))
    chat.display.lines(pairs)
    if chain.broken:
        chat.display.warn(chain.broken)
    measured = measures(sessions)
    if len(measured.tokens) > 1:
        budget = conversation.budget
        show_plots(
            chat.display,
            measured.tokens,
            measured.context,
            measured.compacted,
            used=f"{'~' if budget.estimated else ''}{budget.used:,}",
            window=budget.window.tokens,
        )
    show_compactions(chat.display, sessions)


@registry.command("info")
async def info(chat: Chat, argument: str) -> None:
    """Show the session, its file, the model, the context and the accounting."""
    conversation = chat.conversation
    live, budget = conversation.live, conversation.budget
    mark = "~" if budget.estimated else ""
    guessed = " (guessed)" if budget.window.guessed else ""
    pairs = [
        (
            "Session ID",
            live.header.id if not live.empty else "none yet: it begins with your first message",
        ),
        ("File", str(live.path) if not live.empty else ""),
        ("Saved", "" if live.empty else "yes" if live.saved else "NO"),
        ("Resumed From", live.header.parent),
        ("Agent", conversation.agent.name),
        ("Agent Path", conversation.agent.path),
        ("Description", conversation.agent.description),
        ("Model", conversation.agent.model),
        (
            "Context",
            (
                f"{mark}{budget.used:,} of {budget.window.tokens:,}{guessed} tokens "
                f"({mark}{budget.share:.0%})"
            ),
        ),
        *accounting(conversation.session.totals),
        ("Pins", str(len(conversation.thread.pins)) if conversation.thread.pins else ""),
        *chat.facts,
    ]
    chat.display.lines((label, value) for label, value in pairs if value)
