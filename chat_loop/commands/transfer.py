"""Commands that take conversations out of the program and into it: export, import."""

from __future__ import annotations

import asyncio

from chat_loop.commands.chat import Chat
from chat_loop.commands.options import given
from chat_loop.commands.registry import registry
from chat_loop.display.text import one_line
from chat_loop.errors import UsageError
from chat_loop.wording import counted

COMPLAINTS = 5


@registry.command("export", argument="[FILE]")
async def export(chat: Chat, argument: str) -> None:
    """Write this conversation as one document: markdown, JSON, or an HTML page.

    /export talk.html       the ending says what it becomes: .md, .json or .html
    /export --as html       under the conversation's name, in the working directory
    --session N             another conversation than this one
    --one                   only its newest session, without those before it
    --secrets               keep keys and passwords, which are left out otherwise
    """
    from chat_loop.export.exporting import chain_of, form_of, write_export

    asked = given("export", argument, valued=("as", "session"), flags=("one", "secrets"))
    target = _unquoted(asked.words)
    form = form_of(asked.values.get("as", ""), target)
    if "session" not in asked.values and not chat.own_id:
        raise UsageError(
            "There is nothing to export yet.", "--session N exports a saved conversation."
        )
    loaded = chat.load(asked.values.get("session", "."))
    chain, broken = chain_of(chat.sessions, loaded, whole="one" not in asked.flags)
    if broken:
        chat.display.warn(broken)
    made = await asyncio.to_thread(
        write_export, chain, target, form, secrets="secrets" in asked.flags
    )
    chat.display.line(made.report)
    for complaint in made.complaints:
        chat.display.warn(one_line(complaint, 300))


@registry.command("import", argument="FILE|FOLDER")
async def import_(chat: Chat, argument: str) -> None:
    """Take in what was exported, or a folder of basic-agent-chat-loop; what is there stays as it
    is.
    """
    from chat_loop.export.importing import file_path, keep_images, read_import, store
    from chat_loop.sessions.files import Files

    if not argument:
        raise UsageError("What shall be imported? import takes a file or a folder.")
    path = file_path(_unquoted(argument))
    found = await asyncio.to_thread(read_import, path)
    stored = store(chat.sessions.directory, found.sessions, Files(), now=chat.sessions.now)
    complaints = [*found.complaints, *keep_images(chat.sessions.images, found)]
    for complaint in complaints[:COMPLAINTS]:
        chat.display.warn(one_line(complaint, 300))
    if len(complaints) > COMPLAINTS:
        chat.display.line(f"  and {len(complaints) - COMPLAINTS} more complaints.", "yellow")
    new = [one for one in stored if one.written]
    there = len(stored) - len(new)
    known = f"; {there} {'was' if there == 1 else 'were'} there already" if there else ""
    chat.display.line(f"Imported {counted(len(new), 'session')}{known}.")
    for one in new:
        if one.was != one.id:
            chat.display.line(f"  {one.was} is {one.id} here.", "dim")
    chat.number(())


def _unquoted(name: str) -> str:
    """A file's name as it was meant: in quotes as a shell would want it, or bare."""
    return name[1:-1] if len(name) > 1 and name[0] == name[-1] and name[0] in "'\"" else name
