"""Commands that show something: help, info."""

from __future__ import annotations

from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import registry
from chat_loop.errors import UsageError
from chat_loop.sessions.transcript import accounting

NARROW = 60
RULE = (
    "Bare exit, quit, help, compact, sessions and resume N|ID work as the whole line; every command works with / or #. "
    "A leading space makes any line text."
)


@registry.command("help", argument="[COMMAND]", bare="help")
async def show_help(chat: Chat, argument: str) -> None:
    """Show the commands, or one of them."""
    if argument:
        command = registry.named(argument.lstrip("/#"))
        if command is None:
            raise UsageError(f"There is no command /{argument[:40]}.", "help lists them.")
        chat.display.line(command.usage)
        chat.display.prose(f"  {command.help}", indent=2)
        return
    width = max(len(command.usage) for command in registry.commands)
    for command in sorted(registry.commands, key=lambda command: command.name):
        if chat.display.console.width >= NARROW:
            chat.display.prose(f"  {command.usage:<{width}}  {command.help}", indent=width + 4)
        else:
            chat.display.line(f"  {command.usage}")
            chat.display.prose(f"    {command.help}", indent=4)
    chat.display.prose(RULE, "dim")


@registry.command("info")
async def info(chat: Chat, argument: str) -> None:
    """Show the session, its file, the model, the context and the accounting."""
    conversation = chat.conversation
    live, budget = conversation.live, conversation.budget
    mark = "~" if budget.estimated else ""
    guessed = " (guessed)" if budget.window.guessed else ""
    pairs = [
        ("Session ID", live.header.id if not live.empty else "none yet: it begins with your first message"),
        ("File", str(live.path) if not live.empty else ""),
        ("Saved", "" if live.empty else "yes" if live.saved else "NO"),
        ("Resumed From", live.header.parent),
        ("Agent", conversation.agent.name),
        ("Model", conversation.agent.model),
        ("Context", f"{mark}{budget.used:,} of {budget.window.tokens:,}{guessed} tokens ({mark}{budget.share:.0%})"),
        *accounting(conversation.session.totals),
        ("Pins", str(len(conversation.pins)) if conversation.pins else ""),
        *chat.facts,
    ]
    chat.display.lines((label, value) for label, value in pairs if value)
