"""Commands that move conversations out of the program or into it: copy, export, import."""

from __future__ import annotations

import asyncio

from chat_loop.characters import one_line
from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import OptionValues, pick, registry, usage_error
from chat_loop.display import clipboard
from chat_loop.display.sanitizer import printable
from chat_loop.errors import UsageError
from chat_loop.export import exporting, importing
from chat_loop.sessions.naming import MAX_NAME
from chat_loop.values import plural

COPY_CHOICES = {
    "reply": "the last reply",
    "query": "your last message",
    "all": "the whole conversation, as markdown",
    "code": "a block of code of the last reply",
}
"""The parts of a conversation that can be copied."""
EXPORT_FORMATS = {"html": "html", "md": "markdown", "markdown": "markdown", "json": "json"}
"""The formats by the words that the user types after /export."""


@registry.command("copy [reply|query|all|code [N]]", "Conversation")
async def copy(chat: Chat, argument: str, options: OptionValues) -> None:
    """Copy the last reply, your last message, everything, or a block of code.

    /copy code 2            the second code block of the last reply
    Uses wl-copy, xclip, xsel, pbcopy or clip.exe; over SSH, or without these, the terminal's own
    clipboard (OSC 52), which takes 75 KB.
    """
    what, _, number = (argument or "reply").partition(" ")
    if what not in COPY_CHOICES or (number and what != "code"):
        raise usage_error("copy")
    name, text = await asyncio.to_thread(_text_of, chat, what)
    if what == "code":
        name, text = _code_block(text, number.strip())
    how = await asyncio.to_thread(clipboard.put, chat.display, text)
    lines = plural(text.removesuffix("\n").count("\n") + 1, "line")
    size = f"{plural(len(text), 'character')}, {lines}"
    chat.display.prose(f"Copied {name}: {size}, {how}.", "dim")
    if printable(text) != text.replace("\r\n", "\n"):
        hint = "Look at it before you paste it into a shell."
        chat.display.warn("It holds characters that cannot be seen.", hint)


def _text_of(chat: Chat, what: str) -> tuple[str, str]:
    """Return a name for the part to be copied, and its text. Raises UsageError."""
    exchanges = chat.conversation.context.exchanges
    problem = ""
    if what == "all" or not exchanges:
        sessions, problem = chat.chain()
        exchanges = tuple(exchange for session in sessions for exchange in session.exchanges)
    if what == "query" and exchanges:
        return COPY_CHOICES["query"], exchanges[-1].query.text
    parts = []
    for exchange in reversed(exchanges):
        reply = ""
        if exchange.reply is not None:
            reply = exchange.reply.text
        if reply and what != "all":
            return f"the reply to “{one_line(exchange.query.text, MAX_NAME)}”", reply
        if reply:
            parts += [f"**{chat.conversation.agent.name}:** {reply}"]
        parts.append(f"**You:** {exchange.query.text}")
    if what != "all" or not parts:
        raise UsageError("Nothing to copy yet.")
    name = f"all of the conversation, {plural(len(exchanges), 'message')}"
    if problem:
        name += ", without what is missing of the chain"
    return name, "\n\n".join(reversed(parts)) + "\n"


def _code_block(text: str, number: str) -> tuple[str, str]:
    """Return the name and text of a code block. A single block needs no number."""
    from chat_loop.export.markup import code_blocks  # loads the markdown parser

    blocks = [code for _, code in code_blocks(text)]
    if not blocks:
        raise UsageError("There is no code in the last reply.", "/copy copies all of it.")
    index = pick("copy", blocks, number or "1" * (len(blocks) == 1))
    return f"block {index + 1} of {len(blocks)}", blocks[index]


@registry.command(
    "export [html|md|json] [FILE]", "Sessions", flags=("one", "secrets"), valued=("as", "session")
)
async def export(chat: Chat, argument: str, options: OptionValues) -> None:
    """Export this conversation as an HTML page, markdown or JSON.

    /export                 an HTML page in the working directory, under the conversation's name
    /export md notes.md     as markdown, to this file
    /export talk.json       the extension sets the format
    --as FORM               the format, as in the shell
    --session N             another conversation
    --one                   only its newest session
    --secrets               keep keys and passwords, which are left out otherwise
    """
    name, _, rest = argument.partition(" ")
    wanted = options.get("as", "")
    target = argument
    if not wanted and (name in EXPORT_FORMATS or name in chat.plugins.exporters()):
        wanted = name
        target = rest
    target = target.strip("\"'")
    form = exporting.export_format(wanted, target, chat.plugins)
    if "session" not in options and not chat.here_id:
        raise UsageError("Nothing to export yet.", "--session N exports a saved conversation.")
    loaded = await chat.load(options.get("session", "."))

    def write() -> tuple[str, list[str]]:
        chain, problem = exporting.chain_of(chat.sessions, loaded, whole="one" not in options)
        report, lost = exporting.write_export(chain, target, form, secrets="secrets" in options)
        return report, [problem, *lost]

    chat.display.begin_waiting("Exporting …")
    report, complaints = await asyncio.to_thread(write)
    chat.display.stop_waiting()
    chat.display.line(report)
    for complaint in filter(None, complaints):
        chat.display.warn(one_line(complaint, 300))


@registry.command("import FILE|FOLDER", "Sessions")
async def import_(chat: Chat, argument: str, options: OptionValues) -> None:
    """Import exports, also of Claude, ChatGPT, codex and llm; existing sessions are kept."""
    if not argument:
        raise usage_error("import")
    path = importing.file_path(argument.strip("\"'"))
    importer = importing.Importer()
    chat.display.begin_waiting("Importing …")
    await asyncio.to_thread(importer.add_path, path)
    stored = importer.store(chat.sessions)
    chat.display.stop_waiting()
    for complaint in importer.complaints:
        chat.display.warn(one_line(complaint, 300))
    new = [session for session in stored if session.is_new]
    repeated = ""
    if len(new) < len(stored):
        repeated = f"; {len(stored) - len(new)} there already"
    chat.display.line(f"Imported {plural(len(new), 'session')}{repeated}.")
    for session in new:
        if session.original_id != session.id:
            chat.display.line(f"  {session.original_id} is {session.id} here.", "dim")
    chat.number_rows(())
