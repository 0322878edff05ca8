"""Commands about one conversation as a whole: name, tag, delete and leave it, or begin another."""

from __future__ import annotations

from collections.abc import Sequence

from chat_loop.commands.chat import Chat
from chat_loop.commands.facts import ask_about_files
from chat_loop.commands.registry import OptionValues, Quit, registry
from chat_loop.display.conversation_rows import name_text
from chat_loop.errors import UsageError
from chat_loop.library.library import Library
from chat_loop.library.lineage import own_sessions
from chat_loop.sessions import naming
from chat_loop.sessions.organizing import move_to_trash
from chat_loop.values import plural


@registry.command("exit", "Sessions", bare="exit|quit", aliases=("quit",))
async def leave(chat: Chat, argument: str, options: OptionValues) -> None:
    """Save the conversation with a summary and quit (so does Ctrl-D; Esc skips the summary)."""
    raise Quit


@registry.command("clear", "Sessions", aliases=("new",))
async def clear(chat: Chat, argument: str, options: OptionValues) -> None:
    """Save the conversation and start a new one on an empty screen."""
    chat.display.clear_screen()
    await chat.conversation.leave("clear")
    chat.display.line("New session; nothing is carried over.", "dim")
    memory = chat.memory
    if memory is not None and chat.can_ask and not all(f.answer for f in memory.project_files):
        await ask_about_files(chat, memory)


@registry.command("rename [NAME]", "Sessions")
async def rename(chat: Chat, argument: str, options: OptionValues) -> None:
    """Name this conversation; without NAME, go back to the automatic name."""
    chat.conversation.describe(name=naming.validate_name(argument))
    name = naming.name_of(chat.conversation.session)
    how = "will be named after its first words"
    if name:
        how = f"is named “{name}”"
    _show_change(chat, f"This conversation {how}.")


@registry.command("tag [TAG …]", "Sessions", flags=("remove",))
async def add_tags(chat: Chat, argument: str, options: OptionValues) -> None:
    """Tag this conversation; without TAG, show its tags.

    --remove                take these tags off
    """
    if "remove" in options:
        await remove_tags(chat, argument, {})
        return
    before = chat.conversation.session.tags
    _set_tags(chat, tuple(dict.fromkeys((*before, *_tags_in(argument)))))


@registry.command("untag TAG …", "Sessions", now="/tag --remove TAG")
async def remove_tags(chat: Chat, argument: str, options: OptionValues) -> None:
    """Remove tags: an old word for /tag --remove TAG."""
    before = chat.conversation.session.tags
    removed = _tags_in(argument)
    if not removed or not {*removed} <= {*before}:
        tags = "It has no tags."
        if before:
            tags = f"Its tags: {' '.join(before)}."
        raise UsageError("/tag --remove takes tags of this conversation.", tags)
    _set_tags(chat, tuple(tag for tag in before if tag not in removed))


def _tags_in(argument: str) -> list[str]:
    return [naming.validate_tag(word) for word in argument.replace(",", " ").split()]


def _set_tags(chat: Chat, tags: tuple[str, ...]) -> None:
    if tags != chat.conversation.session.tags:
        chat.conversation.describe(tags=tags)
    _show_change(chat, f"Tags: {' '.join(f'#{tag}' for tag in tags)}" if tags else "No tags.")


def _show_change(chat: Chat, text: str) -> None:
    chat.display.prose(text, "dim")
    if chat.conversation.live.is_empty:
        chat.display.prose("It is saved with your first message.", "dim")


@registry.command("delete [N|ID]", "Sessions", aliases=("trash",))
async def delete(chat: Chat, argument: str, options: OptionValues) -> None:
    """Move this conversation, or another one, to the trash; asks first.

    Sessions that a branch needs stay. An ID in the middle of a conversation moves that one session.
    """
    path = await chat.path(argument or ".")
    identity = path.stem
    links, _ = await chat.look(Library.links)
    sessions = own_sessions(identity, links)
    rows, _ = await chat.look(lambda library: library.rows_of([identity]))
    name = f"“{identity}”"
    if identity in rows:
        name = f"“{name_text(rows[identity])}”"
    if len(sessions) > 1:
        name += f" ({plural(len(sessions), 'session')})"
    if not await chat.confirm(f"Move {name} to the trash?", "Not moved."):
        return
    if identity == chat.here_id:
        await chat.conversation.leave("clear")
    chat.display.prose(trash(chat, sessions), "dim")
    chat.number_rows(())


def trash(chat: Chat, sessions: Sequence[str]) -> str:
    """Move sessions to the trash; return a sentence that says so. Raises SessionError."""
    return move_to_trash(chat.sessions, *map(chat.sessions.session_file, sessions))
