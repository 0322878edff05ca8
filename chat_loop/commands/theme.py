"""The command theme: the colours of the replies, shown and chosen."""

from __future__ import annotations

from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import registry
from chat_loop.errors import UsageError


@registry.command("theme", argument="[NAME]")
async def theme(chat: Chat, argument: str) -> None:
    """Show the themes of the replies, each with a sample, or take another one until you leave.

    /theme light            for a light background
    The usual one is display.theme in the config. Without colours (NO_COLOR) all are the same: bold
    and underlined.
    """
    from chat_loop.display.markdown.theme import NAMES  # not before it is asked for
    from chat_loop.display.themes import renders, show_themes

    display, usual = chat.display, chat.config.display.theme
    name = argument.strip().lower()
    if name and name not in NAMES:
        raise UsageError(f"There is no theme {argument[:40]}.", f"It may be {', '.join(NAMES)}.")
    if not name:
        show_themes(display)
        if renders(display):
            display.prose(
                "/theme NAME takes another until you leave. The usual one (display.theme): "
                f"{usual}.",
                "dim",
            )
        return
    if not renders(display):
        raise UsageError(
            "Replies are not rendered here: a theme would change nothing.", "/theme says why."
        )
    display.theme = name
    show_themes(display, [name])
    display.prose(f"Until you leave. The usual one (display.theme in the config): {usual}.", "dim")
