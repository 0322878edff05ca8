"""Commands about what a conversation is called: rename, tag, untag."""

from __future__ import annotations

from collections.abc import Sequence

from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import registry
from chat_loop.errors import UsageError
from chat_loop.sessions.naming import name_of, validate_name, validate_tag

MOST_TAGS = 20


@registry.command("rename", argument="[NAME]")
async def rename(chat: Chat, argument: str) -> None:
    """Call this conversation so; with no name it is called after its summary or first words
    again.
    """
    chat.conversation.rename(validate_name(argument))
    called = name_of(chat.conversation.session)
    told = (
        f"This conversation is called “{called}”."
        if called
        else "This conversation will be called by its first words."
    )
    chat.display.prose(told, "dim")
    _warn_unsaved(chat)


@registry.command("tag", argument="[TAG …]")
async def add_tags(chat: Chat, argument: str) -> None:
    """Tag this conversation; /sessions --tag finds it. With no tag, show those it has."""
    standing = chat.conversation.session.tags
    tags = tuple(dict.fromkeys((*standing, *map(validate_tag, argument.replace(",", " ").split()))))
    if len(tags) > MOST_TAGS:
        raise UsageError(f"A conversation has at most {MOST_TAGS} tags.")
    if tags != standing:
        chat.conversation.tag(tags)
    _show(chat)


@registry.command("untag", argument="TAG …")
async def remove_tags(chat: Chat, argument: str) -> None:
    """Take tags off this conversation."""
    gone = [validate_tag(word) for word in argument.replace(",", " ").split()]
    standing = chat.conversation.session.tags
    if not gone or any(one not in standing for one in gone):
        has = (
            f"This conversation has {_shown(standing)}."
            if standing
            else "This conversation has none."
        )
        raise UsageError("Which tag? untag takes tags that are there.", has)
    chat.conversation.tag([one for one in standing if one not in gone])
    _show(chat)


def _show(chat: Chat) -> None:
    tags = chat.conversation.session.tags
    chat.display.line(f"Tags: {_shown(tags)}" if tags else "No tags.", "dim")
    _warn_unsaved(chat)


def _warn_unsaved(chat: Chat) -> None:
    """Say that a session without a message has no file yet."""
    if chat.conversation.live.empty:
        chat.display.prose("It is saved with your first message.", "dim")


def _shown(tags: Sequence[str]) -> str:
    return " ".join(f"#{one}" for one in tags)
