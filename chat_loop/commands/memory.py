"""Commands about the memory: facts that hold for a project across sessions."""

from __future__ import annotations

import re

from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import pick, registry, usage_error
from chat_loop.errors import ChatLoopError, UsageError
from chat_loop.memory import ProjectMemory, fact_key, fact_of
from chat_loop.redact import redact_text
from chat_loop.tokens import estimate
from chat_loop.wording import plural

_REFERENCE = re.compile(r"\s{0,3}\[[\d.,;\s–-]{1,40}(?:user|reply)?\]\Z")
"""Where in the chain a decision was made, at its end: it means nothing outside of the chain."""


@registry.command("remember [--project] TEXT", "Memory", flags=("project",))
async def remember(chat: Chat, argument: str) -> None:
    """Note a fact for this and later sessions; --project keeps it with the project."""
    memory = _memory(chat)
    first, _, rest = argument.partition(" ")
    project = first == "--project"
    fact = fact_of(rest if project else argument)
    if not fact:
        raise usage_error("remember")
    path, safe = memory.target(project=project), redact_text(fact)
    if safe != fact:
        chat.display.warn("Secrets are not written into the memory. Without it:")
        chat.display.line(f"   {safe}")
        if not await chat.confirm("Note it so? (y/n) "):
            chat.display.line("Nothing is noted.", "dim")
            return
    if memory.add(path, [safe]):
        _show_noted(chat, memory, 1)
    else:
        chat.display.line(f"That is in {memory.place.display_path(path)} already.", "dim")


@registry.command("memory [propose]", "Memory", flags=("project",))
async def show_memory(chat: Chat, argument: str) -> None:
    """Show the facts of the memory and their room; propose offers pins and decisions for it.

    /memory propose             choose among the pins and decisions of this conversation
    /memory propose --project   and note them in the project's MEMORY.md
    """
    memory, display = _memory(chat), chat.display
    words, options = registry.arguments("memory", argument)
    if words == "propose":
        await _propose(chat, memory, project="project" in options)
        return
    if words or options:
        raise usage_error("memory")
    was_edited = memory.reload()
    chat.conversation.remember()
    state, where = memory.state, memory.place.display_path(memory.state.path)
    if state.problem:
        raise ChatLoopError(state.problem)
    if not state.facts:
        text = f"/remember TEXT notes one in {where}, /remember --project TEXT in this project."
        display.prose("There are no facts yet.")
        display.prose(text, "dim")
        return
    display.line(f"Your own memory: {where}" if state.own else f"Memory: {where}")
    for number, fact in enumerate(state.facts):
        if number in state.left_out:
            display.line(f"{_numbered(number, fact)} (left out)", "dim")
        else:
            display.line(_numbered(number, fact))
    used = f"~{estimate(state.block):,} of at most {memory.place.max_tokens:,} tokens."
    display.line(used, "dim")
    if state.left_out:
        count = plural(len(state.left_out), "fact")
        display.warn(
            f"{count} left out (memory is full): the model does not get what is marked.",
            "/forget makes room; memory.max_tokens in the config allows more.",
        )
    if was_edited:
        text = "The file was changed: the model gets it so from your next message on."
        display.prose(text, "dim")


async def _propose(chat: Chat, memory: ProjectMemory, *, project: bool) -> None:
    """Offer what the chain has pinned and decided; note what the user picks."""
    path, thread = memory.target(project=project), chat.conversation.thread
    decisions = thread.inherited.decisions if thread.inherited else ()
    known = {fact_key(fact) for fact in memory.state.facts} if path == memory.state.path else set()
    offered: dict[str, str] = {}
    for text in (*thread.pins, *(_REFERENCE.sub("", decision) for decision in decisions)):
        fact = fact_of(redact_text(text))
        if fact and fact_key(fact) not in known:
            offered.setdefault(fact_key(fact), fact)
    if not offered:
        text = "There is nothing to propose: no pin or decision that the memory does not have."
        chat.display.prose(text, "dim")
        return
    for number, fact in enumerate(offered.values()):
        chat.display.line(_numbered(number, fact))
    where = memory.place.display_path(path)
    answer = await chat.ask(f"Which ones go into {where}? (numbers, all, or nothing) ")
    if answer in ("", "n", "no", "none", "nothing"):
        chat.display.line("Nothing is noted.", "dim")
        return
    numbered = {str(number): fact for number, fact in enumerate(offered.values(), 1)}
    picked = {*numbered} if answer == "all" else {*answer.replace(",", " ").split()}
    if not picked <= numbered.keys():
        raise UsageError(f"Nothing is noted: the proposals are numbered from 1 to {len(numbered)}.")
    chosen = [fact for number, fact in numbered.items() if number in picked]
    _show_noted(chat, memory, memory.add(path, chosen))


@registry.command("forget N", "Memory")
async def forget(chat: Chat, argument: str) -> None:
    """Take a fact out of the memory: by its number in /memory, or its text."""
    memory = _memory(chat)
    state = memory.state
    if state.problem:
        raise ChatLoopError(state.problem)
    if not state.facts:
        raise UsageError("There is nothing to forget.", "/memory shows the facts.")
    number = pick("forget", [fact_key(fact) for fact in state.facts], fact_key(argument))
    chat.display.line(_numbered(number, state.facts[number]))
    memory.remove(number)
    chat.conversation.remember()
    left, where = plural(len(memory.state.facts), "fact"), memory.place.display_path(state.path)
    chat.display.line(f"Forgotten; {left} left in {where}.", "dim")


def _show_noted(chat: Chat, memory: ProjectMemory, added: int) -> None:
    """Put what was added into effect, and say where it went and whether the model gets it."""
    chat.conversation.remember()
    state, where = memory.state, memory.place.display_path(memory.state.path)
    chat.display.line(f"Noted in {where} ({plural(len(state.facts), 'fact')}).", "dim")
    if any(number >= len(state.facts) - added for number in state.left_out):
        chat.display.warn(
            f"There is no room for it: the memory takes {memory.place.max_tokens:,} tokens, "
            "and the model gets what comes first in the file.",
            "/memory shows what is left out, /forget makes room.",
        )


def _numbered(number: int, fact: str) -> str:
    """Return the line of the fact at a place that counts from 0."""
    return f"{number + 1}  " + fact.replace("\n", "\n   ")


def _memory(chat: Chat) -> ProjectMemory:
    if chat.memory is None:
        hint = "memory.enabled: true in the config switches it on."
        raise UsageError("The memory is switched off.", hint)
    return chat.memory
