"""Commands that ask the last query again: retry, edit. The old exchange stays in the file."""

from __future__ import annotations

import asyncio
from pathlib import Path

from chat_loop.agent.agent import Agent
from chat_loop.agent.builtin import FILE_CHANGES, changed_files
from chat_loop.characters import exact_line
from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import NextQuery, registry
from chat_loop.conversation.attachments import release
from chat_loop.conversation.mentions import mentions
from chat_loop.conversation.reading import QueryFile
from chat_loop.display.text import one_line
from chat_loop.errors import ChatLoopError, UsageError
from chat_loop.sessions.chain import exchange_of
from chat_loop.sessions.naming import MAX_NAME
from chat_loop.sessions.records import Change, Exchange, Session
from chat_loop.values import ALLOWED, plural


@registry.command("retry", "Conversation")
async def retry(chat: Chat, argument: str) -> NextQuery | None:
    """Send the last message again; the first answer stays in the file.

    Its files go along as they were. It also works after an error or an interrupted reply. If a tool
    changed something for the first answer, you are asked first; files are restored if you say yes.
    """
    last = await _last(chat)
    return None if last is None else await _replace(chat, last, last.query.text)


@registry.command("edit [TEXT]", "Conversation")
async def edit(chat: Chat, argument: str) -> NextQuery | None:
    """Edit the last message and resend it; /edit TEXT sends TEXT instead.

    Enter sends it in place of the last one, Ctrl-X Ctrl-E opens your editor, and Ctrl-C or an empty
    line changes nothing. The old words stay in the file. Files go along as they were, as far as the
    new text still names them.
    """
    last = await _last(chat)
    if last is None:
        return None
    if argument:
        return await _replace(chat, last, argument)
    # a space before a query that looks like a command makes it text
    before = last.query.text
    line = before if registry.parse(before) is None else f" {before}"
    if not chat.reader.offer(line):
        raise UsageError("There is no line to edit here.", "/edit TEXT sends TEXT instead.")
    chat.display.prose("Enter resends the edited message; Ctrl-C cancels.", "dim")
    chat.replacing = last
    return None


async def replace_edited(chat: Chat, before: Exchange, text: str) -> NextQuery | None:
    """Return `text` as the message that replaces an exchange, whose query was edited in the line.

    If it is not sent, nothing is changed and `text` is in the line again. Raises UsageError.
    """
    chat.replacing = message = None
    try:
        message = await _replace(chat, before, text)
    finally:
        if message is None and chat.reader.offer(text):
            chat.replacing = before
    return message


async def _last(chat: Chat) -> Exchange | None:
    """Return the newest exchange, or None if its tools changed something and the user says no.
    Raises UsageError if there is no exchange.
    """
    last = exchange_of(chat.conversation.session, 0)
    names = ", ".join(map(exact_line, changed_by(last, chat.conversation.agent)))
    if names:
        chat.display.warn(f"{names} ran for the first answer.")
        if not await chat.confirm("Send again anyway?", "Not sent."):
            return None
    return last


async def _replace(chat: Chat, last: Exchange, text: str) -> NextQuery | None:
    """Undo the last exchange and return `text` to be sent, or None if the user does not agree.
    Raises UsageError for its files.

    A changed query keeps the files that it names. New files are sent only if the user agrees,
    because a name in an editor may have been pasted.
    """
    before, files = last.query.text, [QueryFile(file) for file in last.attached]
    is_same = text.strip() == before.strip()
    if not is_same:
        mentioned = mentions(text)
        names = {name for mention in mentioned for name in mention.names}
        known = {name for mention in mentions(before) for name in mention.names}
        known |= {file.name for file in last.attached}
        files = [file for file in files if file.attachment.name in names]
        new = [mention for mention in mentioned if known.isdisjoint(mention.names)]
        paths = ((mention.names[0], mention.quoted) for mention in new)
        typed = " ".join(f'@"{path}"' if is_quoted else f"@{path}" for path, is_quoted in paths)
        new_files = await chat.conversation.files(typed) if new else ()
        described = ", ".join(file.description for file in new_files)
        if new_files and not await chat.confirm(f"Send {described} along?", "Not sent."):
            return None
        released = await release(new_files, chat.secrets)
        if released is None:
            chat.display.line("Not sent.", "dim")
            return None
        files += released
    session = chat.conversation.session
    await chat.conversation.undo()
    await offer_files(chat, session, last.query.number)
    title = "Again" if is_same else f"Instead of “{one_line(before, MAX_NAME)}”"
    chat.display.prose(f"{title}: “{one_line(text, MAX_NAME)}”", "dim")
    return text, tuple(files)


async def offer_files(chat: Chat, session: Session, number: int) -> None:
    """Name the files that tools changed from query `number` on, and offer to restore them."""
    entries = (entry for entry in session.entries if isinstance(entry, Change))
    changes = [entry for entry in entries if entry.number >= number]
    root, copies = Path(chat.sessions.project), chat.sessions.images
    files = await asyncio.to_thread(changed_files, changes, root, copies)
    for file in files:
        note = "new: it would be removed" if file.before is None else "changed"
        note = f"stays: {file.problem}" if file.problem else note
        chat.display.prose(f"  {exact_line(file.place.display_path)} ({note})", indent=4)
    later = (exchange for exchange in session.exchanges if exchange.query.number >= number)
    ran = {name for exchange in later for name in changed_by(exchange, chat.conversation.agent)}
    if others := ", ".join(one_line(name, 60) for name in sorted(ran - {*FILE_CHANGES})):
        chat.display.prose(f"What {others} changed stays as it is.", "dim")
    ready = [file for file in files if not file.problem]
    if not ready:
        return
    question = f"Restore {plural(len(ready), 'file')}?"
    if not (chat.can_ask and await chat.confirm(question)):
        chat.display.line("Nothing is restored.", "dim")
        return
    for file in ready:
        try:
            await asyncio.to_thread(file.restore)
            done = "Removed" if file.before is None else "Restored"
            chat.display.prose(f"{done} {one_line(file.place.display_path, 200)}.", "dim")
        except ChatLoopError as error:
            chat.display.error(error)


def changed_by(exchange: Exchange, agent: Agent) -> tuple[str, ...]:
    """Return the tools that may have changed something: those that the user allowed, those that
    were interrupted, and all tools of an agent with its own tools.
    """
    asking = {tool.spec.name for tool in agent.tools if tool.preview is not None}
    names = (
        use.call.name
        for use in exchange.uses
        if agent.own_tools
        or (use.call.name in asking if use.result is None else use.result.text.startswith(ALLOWED))
    )
    return tuple(dict.fromkeys(names))
