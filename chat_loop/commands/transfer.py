"""Commands that take what was said out of the program and into it: copy, export, import."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from chat_loop.commands.registry import registry
from chat_loop.display.text import one_line, printable
from chat_loop.errors import UsageError
from chat_loop.sessions.naming import shortened
from chat_loop.sessions.records import Exchange
from chat_loop.wording import counted

if TYPE_CHECKING:
    from chat_loop.commands.chat import Chat

COMPLAINTS = 5
WHAT = {
    "reply": "the last reply",
    "query": "your last query",
    "all": "all that was said, as markdown",
    "code": "a block of code of the last reply",
}
"""What can be copied."""


@registry.command("copy", "Conversation", argument="[reply|query|all|code [N]]")
async def copy(chat: Chat, argument: str) -> None:
    """Copy the last reply, as it was written, to the clipboard; or the query, all, or code.

    /copy code              the block of code of the last reply; of several you choose one
    /copy code 2            the second of them
    It takes wl-copy, xclip, xsel, pbcopy or clip.exe; over SSH, or where there is none, the
    terminal's own clipboard (OSC 52), which takes 75 KB.
    """
    from chat_loop.display.clipboard import put  # not before it is asked for

    what, _, number = (argument or "reply").partition(" ")
    if what not in WHAT or (number and what != "code"):
        hint = "It takes reply, query, all, code, or code N."
        raise UsageError(f"/copy has no “{argument[:40]}”.", hint)
    if what == "all":
        name, text = await asyncio.to_thread(_all, chat)
    elif what == "query":
        exchanges = chat.conversation.thread.exchanges or _exchanges(chat)
        if not exchanges:
            raise UsageError("Nothing was said yet.")
        name, text = WHAT["query"], exchanges[-1].query.text
    else:
        name, text = last_reply(chat)
    if what == "code":
        chosen = await _block(chat, text, number.strip())
        if chosen is None:
            chat.display.line("Nothing is copied.", "dim")
            return
        name, text = chosen
    how = await asyncio.to_thread(put, chat.display, text)
    lines = counted(text.removesuffix("\n").count("\n") + 1, "line")
    size = f"{counted(len(text), 'character')}, {lines}"
    chat.display.prose(f"Copied {name}: {size}, {how}.", "dim")
    if printable(text) != text.replace("\r\n", "\n"):
        hint = "Look at it before you paste it into a shell."
        chat.display.warn("It holds characters that cannot be seen.", hint)


def _exchanges(chat: Chat) -> list[Exchange]:
    return [one for session in chat.chain()[0] for one in session.exchanges]


def _all(chat: Chat) -> tuple[str, str]:
    exchanges = _exchanges(chat)
    if not exchanges:
        raise UsageError("Nothing was said yet.")
    parts = []
    for one in exchanges:
        parts.append(f"**You:** {one.query.text}")
        if one.reply is not None and one.reply.text:
            parts.append(f"**{chat.conversation.agent.name}:** {one.reply.text}")
    missing = ", without what is missing of the chain" if chat.chain()[1] else ""
    name = f"all of the conversation, {counted(len(exchanges), 'query')}{missing}"
    return name, "\n\n".join(parts) + "\n"


def last_reply(chat: Chat) -> tuple[str, str]:
    """Return the name and the text of the last reply that there is. Raises UsageError."""
    for exchange in reversed(chat.conversation.thread.exchanges or _exchanges(chat)):
        if exchange.reply is not None and exchange.reply.text:
            return f"the reply to “{shortened(exchange.query.text)}”", exchange.reply.text
    raise UsageError("There is no reply yet.")


def first_line(code: str) -> str:
    """Return the first line of code that says something."""
    return one_line(next((line for line in code.split("\n") if line.strip()), ""), 60)


async def _block(chat: Chat, text: str, number: str) -> tuple[str, str] | None:
    """Return a block of code of a reply: the only one, the one with that number, or the one that
    the user chooses.
    """
    from chat_loop.export.markup import code_blocks  # loads the markdown parser

    blocks = code_blocks(text)
    if not blocks:
        raise UsageError("There is no code in the last reply.", "/copy copies all of it.")
    if not number and len(blocks) > 1:
        for position, (language, code) in enumerate(blocks, 1):
            lines = counted(code.removesuffix("\n").count("\n") + 1, "line")
            about = ", ".join(filter(None, (one_line(language, 20), lines)))
            chat.display.prose(f"{position:>3}  {first_line(code)}  ({about})", indent=5)
        number = await chat.ask(f"Which one? (1 to {len(blocks)}, nothing for none) ")
        if not number:
            return None
    numbered = {str(position): code for position, (_, code) in enumerate(blocks, 1)}
    number = number or "1"
    if number not in numbered:
        count = counted(len(blocks), "block")
        text = f"“{number[:40]}” is none of the blocks: the last reply has {count} of code."
        raise UsageError(text)
    return f"block {number} of {len(blocks)}", numbered[number]


@registry.command(
    "export", "Sessions", argument="[FILE]", flags=("one", "secrets"), valued=("as", "session")
)
async def export(chat: Chat, argument: str) -> None:
    """Write this conversation as one document: markdown, JSON, or an HTML page.

    /export talk.html       the ending says what it becomes: .md, .json or .html
    /export --as html       under the conversation's name, in the working directory
    --session N             another conversation than this one
    --one                   only its newest session, without those before it
    --secrets               keep keys and passwords, which are left out otherwise
    """
    from chat_loop.export.exporting import chain_of, form_of, write_export

    asked = registry.arguments("export", argument)
    target = _unquoted(asked.words)
    form = form_of(asked.values.get("as", ""), target)
    if "session" not in asked.values and not chat.own_id:
        hint = "--session N exports a saved conversation."
        raise UsageError("There is nothing to export yet.", hint)
    loaded = chat.load(asked.values.get("session", "."))
    chain, broken = chain_of(chat.sessions, loaded, whole="one" not in asked.flags)
    if broken:
        chat.display.warn(broken)
    secrets = "secrets" in asked.flags
    made = await asyncio.to_thread(write_export, chain, target, form, secrets=secrets)
    chat.display.line(made.report)
    for complaint in made.complaints:
        chat.display.warn(one_line(complaint, 300))


@registry.command("import", "Sessions", argument="FILE|FOLDER")
async def import_(chat: Chat, argument: str) -> None:
    """Take in what was exported, or a folder of basic-agent-chat-loop; what is there stays as it
    is.
    """
    from chat_loop.export.importing import file_path, keep_images, read_import, store

    if not argument:
        raise UsageError("Import what? import takes a file or a folder.")
    found = await asyncio.to_thread(read_import, file_path(_unquoted(argument)))
    stored = store(chat.sessions, found.sessions)
    complaints = [*found.complaints, *keep_images(chat.sessions.images, found)]
    for complaint in complaints[:COMPLAINTS]:
        chat.display.warn(one_line(complaint, 300))
    if len(complaints) > COMPLAINTS:
        chat.display.line(f"  and {len(complaints) - COMPLAINTS} more complaints.", "yellow")
    new = [one for one in stored if one.written]
    there = len(stored) - len(new)
    known = f"; {there} there already" if there else ""
    chat.display.line(f"Imported {counted(len(new), 'session')}{known}.")
    for one in new:
        if one.was != one.id:
            chat.display.line(f"  {one.was} is {one.id} here.", "dim")
    chat.number(())


def _unquoted(name: str) -> str:
    """Return a file's name as it was meant: in quotes as a shell would want it, or bare."""
    return name[1:-1] if len(name) > 1 and name[0] == name[-1] and name[0] in "'\"" else name
