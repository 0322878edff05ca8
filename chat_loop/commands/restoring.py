"""Files that tools changed for messages that are taken back are named, and restored on request."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

from chat_loop.agent.agent import ModelAgent
from chat_loop.agent.builtin import FILE_CHANGES, changed_files
from chat_loop.characters import exact_line, one_line
from chat_loop.commands.chat import Chat
from chat_loop.errors import ChatLoopError
from chat_loop.sessions.records import Change, Exchange
from chat_loop.values import ALLOWED, plural


async def offer_files(chat: Chat, changes: Sequence[Change], exchanges: Iterable[Exchange]) -> None:
    """Name the files that tools changed for these exchanges, and offer to restore them."""
    root = Path(chat.sessions.project)
    copies = chat.sessions.images
    files = await asyncio.to_thread(changed_files, changes, root, copies)
    for changed in files:
        note = "changed"
        if changed.before is None:
            note = "new: it would be removed"
        if changed.problem:
            note = f"stays: {changed.problem}"
        chat.display.prose(f"  {exact_line(changed.file.display_path)} ({note})", indent=4)
    ran = set[str]()
    for exchange in exchanges:
        ran.update(changed_by(exchange, chat.conversation.agent))
    if others := ", ".join(one_line(name, 60) for name in sorted(ran - {*FILE_CHANGES})):
        chat.display.prose(f"Changes made by {others} were not undone.", "dim")
    ready = [changed for changed in files if not changed.problem]
    if not ready:
        return
    question = f"Restore {plural(len(ready), 'file')}?"
    if not (chat.can_ask and await chat.confirm(question)):
        chat.display.line("Nothing is restored.", "dim")
        return
    for changed in ready:
        try:
            await asyncio.to_thread(changed.restore)
            done = "Removed" if changed.before is None else "Restored"
            chat.display.prose(f"{done} {one_line(changed.file.display_path, 200)}.", "dim")
        except ChatLoopError as error:
            chat.display.error(error)


def changed_by(exchange: Exchange, agent: ModelAgent) -> tuple[str, ...]:
    """Return the tools that may have changed something: those that the user allowed, those that
    were interrupted, and all tools of an agent with its own tools.
    """
    asking = {tool.spec.name for tool in agent.tools if tool.prepare is not None}
    names: dict[str, None] = {}
    for use in exchange.uses:
        may_change = use.call.name in asking  # it was interrupted
        if use.result is not None:
            may_change = use.result.text.startswith(ALLOWED)
        if may_change or agent.own_tools:
            names[use.call.name] = None
    return tuple(names)
