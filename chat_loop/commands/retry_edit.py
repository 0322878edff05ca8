"""Commands that ask a message again: retry, edit. The old exchange stays in the file."""

from __future__ import annotations

from collections.abc import Sequence

from chat_loop.characters import exact_line, one_line
from chat_loop.commands.branches import counting, later_than, take_back
from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import NextQuery, OptionValues, registry
from chat_loop.commands.restoring import changed_by, offer_files
from chat_loop.conversation.attachments import name_in, release
from chat_loop.conversation.mentions import mentions
from chat_loop.conversation.reading import QueryFile
from chat_loop.errors import UsageError
from chat_loop.sessions.naming import MAX_NAME
from chat_loop.sessions.reach import REFERENCE, Found


@registry.command("retry [MESSAGE]", "Conversation", stops=True)
async def retry(chat: Chat, argument: str, options: OptionValues) -> NextQuery | None:
    """Send the last message again; the first answer stays in the file.

    /retry 2.14             go back to an earlier message, and send it again
    Its files go along as they were. It also works after an error or an interrupted reply. If a tool
    changed something for the first answer, you are asked first; files are restored if you say yes.
    """
    found = await _chosen(chat, argument)
    if found is None:
        return None
    return await _replace(chat, found, found.exchange.query.text)


@registry.command("edit [TEXT|MESSAGE]", "Conversation", stops=True)
async def edit(chat: Chat, argument: str, options: OptionValues) -> NextQuery | None:
    """Edit the last message and resend it; /edit TEXT sends TEXT instead.

    /edit 2.14              go back to an earlier message, and edit that
    Enter sends it in place of the last one, Ctrl-X Ctrl-E opens your editor, and Ctrl-C or an empty
    line changes nothing. The old words stay in the file. Files go along as they were, as far as the
    new text still names them.
    """
    is_reference = REFERENCE.fullmatch(argument) is not None
    found = await _chosen(chat, argument if is_reference else "")
    if found is None:
        return None
    if argument and not is_reference:
        return await _replace(chat, found, argument)
    # a space before a query that looks like a command makes it text
    before = found.exchange.query.text
    line = before if registry.parse(before) is None else f" {before}"
    if not chat.reader.offer(line):
        raise UsageError("There is no line to edit here.", "/edit TEXT sends TEXT instead.")
    chat.display.prose("Enter resends the edited message; Ctrl-C cancels.", "dim")
    chat.replacing = found
    return None


async def replace_edited(chat: Chat, before: Found, text: str) -> NextQuery | None:
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


async def _pasted(chat: Chat, files: Sequence[QueryFile]) -> list[QueryFile]:
    """Return the images in the edited line that are not among `files` yet. Raises UsageError."""
    known = {file.attachment.sha256 for file in files}
    pasted = await chat.conversation.files("", chat.reader.pictures)
    return [file for file in pasted if file.attachment.sha256 not in known]


async def _chosen(chat: Chat, reference: str) -> Found | None:
    """Return the message with a reference, by default the last one, or None if its tools changed
    something and the user says no. Raises UsageError if there is none.
    """
    found = counting(chat, reference)
    names = ", ".join(map(exact_line, changed_by(found.exchange, chat.conversation.agent)))
    if names:
        chat.display.warn(f"{names} ran for the first answer.")
        if not await chat.confirm("Send again anyway?", "Not sent."):
            return None
    return found


async def _replace(chat: Chat, found: Found, text: str) -> NextQuery | None:
    """Take a message back and return `text` to be sent, or None if the user does not agree.
    Raises UsageError for its files.

    A changed query keeps the files that it names. New files are sent only if the user agrees,
    because a name in an editor may have been pasted.
    """
    exchange = found.exchange
    before = exchange.query.text
    files = [QueryFile(file) for file in exchange.attached]
    is_same = text.strip() == before.strip()
    if not is_same:
        mentioned = mentions(text)
        names = {name for mention in mentioned for name in mention.names}
        known = {name for mention in mentions(before) for name in mention.names}
        known |= {file.name for file in exchange.attached}
        kept = []
        for file in files:
            name = file.attachment.name
            if name in names or name_in(text, name):
                kept.append(file)
        files = kept
        new = [mention for mention in mentioned if known.isdisjoint(mention.names)]
        paths = ((mention.names[0], mention.quoted) for mention in new)
        typed = " ".join(f'@"{path}"' if is_quoted else f"@{path}" for path, is_quoted in paths)
        new_files: tuple[QueryFile, ...] = ()
        if new:
            new_files = await chat.conversation.files(typed)
        described = ", ".join(file.description for file in new_files)
        if new_files and not await chat.confirm(f"Send {described} along?", "Not sent."):
            return None
        released = await release(new_files, chat.secrets)
        if released is None:
            chat.display.line("Not sent.", "dim")
            return None
        files += released
        files += await _pasted(chat, files)
    later = later_than(chat, found)
    await take_back(chat, found)
    await offer_files(chat, later.changes, later.exchanges)
    title = "Again"
    if not is_same:
        title = f"Edited “{one_line(before, MAX_NAME)}”"
    chat.display.prose(f"{title}: “{one_line(text, MAX_NAME)}”", "dim")
    return text, tuple(files)
