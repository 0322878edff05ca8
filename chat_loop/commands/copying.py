"""The command copy: what was said, as it was written, into the clipboard."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import registry
from chat_loop.display.text import one_line, printable
from chat_loop.errors import UsageError
from chat_loop.sessions.naming import shortened
from chat_loop.sessions.records import Exchange
from chat_loop.wording import counted

FIRST_WORDS = 60
WHAT = {
    "reply": "the last reply",
    "query": "your last query",
    "all": "all that was said, as markdown",
    "code": "a block of code of the last reply",
}
"""What can be copied."""


@registry.command("copy", argument="[reply|query|all|code [N]]")
async def copy(chat: Chat, argument: str) -> None:
    """Copy the last reply, as it was written, to the clipboard; or the query, all, or code.

    /copy query             your last query
    /copy all               all that was said, along the chain, as markdown
    /copy code              a block of code of the last reply; of several you choose one
    /copy code 2            the second of them
    It takes wl-copy, xclip, xsel, pbcopy or clip.exe; over SSH, or where there is none, the
    terminal's own clipboard (OSC 52), which takes 75 KB.
    """
    what, _, number = (argument or "reply").partition(" ")
    number = number.strip()
    if what not in WHAT or (number and what != "code"):
        raise UsageError(
            f"/copy has no “{argument[:40]}”.", "It takes reply, query, all, code, or code N."
        )
    found = await asyncio.to_thread(_all, chat) if what == "all" else _part(chat, what)
    chosen = await _code(chat, found[1], number) if what == "code" else found
    if chosen is None:
        chat.display.line("Nothing is copied.", "dim")
        return
    name, text = chosen
    from chat_loop.display.clipboard import put  # not before it is asked for

    how = await asyncio.to_thread(put, chat.display, text)
    size = (
        f"{counted(len(text), 'character')}, "
        f"{counted(text.removesuffix(chr(10)).count(chr(10)) + 1, 'line')}"
    )
    chat.display.prose(f"Copied {name}: {size}, {how}.", "dim")
    if printable(text) != text.replace("\r\n", "\n"):
        chat.display.warn(
            "It holds characters that cannot be seen.",
            "Look at it before you paste it into a shell.",
        )


def _part(chat: Chat, what: str) -> tuple[str, str]:
    """The name and the text of the last query, or of the last reply that there is. Raises
    UsageError.
    """
    exchanges = chat.conversation.thread.exchanges or _chain(chat)[0]
    if what == "query":
        if not exchanges:
            raise UsageError("Nothing was said yet.")
        return "your last query", exchanges[-1].query.text
    answered = [one for one in exchanges if one.reply is not None and one.reply.text]
    if not answered:
        raise UsageError("There is no reply yet.")
    reply = answered[-1].reply
    assert reply is not None
    return f"the reply to “{shortened(answered[-1].query.text)}”", reply.text


def _all(chat: Chat) -> tuple[str, str]:
    """Everything that was said along the chain. Raises UsageError when that is nothing."""
    exchanges, broken = _chain(chat)
    if not exchanges:
        raise UsageError("Nothing was said yet.")
    agent = chat.conversation.agent.name
    parts = []
    for one in exchanges:
        parts.append(f"**You:** {one.query.text}")
        parts += (
            [f"**{agent}:** {one.reply.text}"] if one.reply is not None and one.reply.text else []
        )
    missing = ", without what is missing of the chain" if broken else ""
    return f"all of the conversation, {counted(len(exchanges), 'query')}{missing}", "\n\n".join(
        parts
    ) + "\n"


def _chain(chat: Chat) -> tuple[Sequence[Exchange], str]:
    """The exchanges of the whole chain, oldest first, and why some are missing."""
    from chat_loop.sessions.chain import ChainReader  # not before it is asked for

    session = chat.conversation.session
    chain = ChainReader(chat.sessions).read(session)
    before = [one for loaded in reversed(chain.loaded) for one in loaded.session.exchanges]
    return (*before, *session.exchanges), chain.broken


def blocks(chat: Chat) -> list[str]:
    """The blocks of code of the last reply, each as its first words."""
    from chat_loop.export.markup import code_blocks  # loads the markdown parser

    try:
        return [_first_words(code) for _, code in code_blocks(_part(chat, "reply")[1])]
    except UsageError:
        return []


def _first_words(code: str) -> str:
    return one_line(next((line for line in code.split("\n") if line.strip()), ""), FIRST_WORDS)


async def _code(chat: Chat, text: str, number: str) -> tuple[str, str] | None:
    """A block of code of a reply: the only one, the one with that number, or the one that the user
    chooses.
    """
    from chat_loop.export.markup import code_blocks  # loads the markdown parser

    blocks = code_blocks(text)
    if not blocks:
        raise UsageError("There is no code in the last reply.", "/copy copies all of it.")
    if not number and len(blocks) > 1:
        for position, (language, code) in enumerate(blocks, 1):
            lines = code.removesuffix("\n").count("\n") + 1
            about = ", ".join(filter(None, (one_line(language, 20), counted(lines, "line"))))
            chat.display.prose(f"{position:>3}  {_first_words(code)}  ({about})", indent=5)
        number = await chat.ask(f"Which one? (1 to {len(blocks)}, nothing for none) ")
        if not number:
            return None
    number = number or "1"
    if not (
        number.isascii()
        and number.isdigit()
        and len(number) < 6
        and 1 <= int(number) <= len(blocks)
    ):
        raise UsageError(
            f"“{number[:40]}” is none of the blocks: the last reply has "
            f"{counted(len(blocks), 'block')} of code."
        )
    return f"block {int(number)} of {len(blocks)}", blocks[int(number) - 1][1]
