"""Commands about the memory: facts that hold for a project across sessions."""

from __future__ import annotations

import re

from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import registry
from chat_loop.errors import ChatLoopError, UsageError
from chat_loop.memory import ProjectMemory, fact_key, fact_of
from chat_loop.redact import redacted
from chat_loop.tokens import estimate
from chat_loop.wording import counted

SHOWN = 200
"""How many facts are listed at most."""
LONGEST = 2_000
"""Characters of a fact that are shown."""
_REFERENCE = r"\s{0,3}\[[\d.,;\s–-]{1,40}(?:user|reply)?\]\Z"
"""Where in the chain a decision was made, at its end: it means nothing outside of the chain."""


@registry.command("remember", argument="[--project] TEXT")
async def remember(chat: Chat, argument: str) -> None:
    """Note a fact for this and later sessions; --project keeps it with the project."""
    memory = _memory(chat)
    first, *rest = argument.split(maxsplit=1) or [""]
    project = first == "--project"
    fact = fact_of("".join(rest) if project else argument)
    if not fact:
        raise UsageError(
            "What is there to remember?", "For example: /remember The tests need Postgres 16."
        )
    path = memory.target(project=project)
    before = memory.seen
    fact = await _without_secrets(chat, fact)
    if not fact:
        return
    if not memory.add(path, [fact]):
        chat.display.line(f"That is in {memory.place.shown(path)} already.", "dim")
        return
    _tell_noted(chat, memory, 1)
    seen = memory.seen
    if before.own and before.facts and not seen.own:
        chat.display.prose(
            f"Your own memory ({counted(len(before.facts), 'fact')}) does not count in this "
            "project any more.",
            "dim",
        )
    elif seen.own and not before.facts:
        chat.display.prose(
            "That is your own memory: it counts where a project has no MEMORY.md. /remember "
            "--project TEXT begins one here.",
            "dim",
        )


@registry.command("memory", argument="[propose]")
async def show_memory(chat: Chat, argument: str) -> None:
    """Show the facts of the memory and their room; propose offers pins and decisions for it.

    /memory propose             choose among the pins and decisions of this conversation
    /memory propose --project   and note them in the project's MEMORY.md
    """
    memory = _memory(chat)
    match argument.split():
        case ["propose"]:
            await _propose(chat, memory, project=False)
        case ["propose", "--project"]:
            await _propose(chat, memory, project=True)
        case []:
            _show(chat, memory)
        case _:
            raise UsageError(f"/memory takes nothing or “propose”, not “{argument[:40]}”.")


@registry.command("forget", argument="N")
async def forget(chat: Chat, argument: str) -> None:
    """Take a fact out of the memory: by its number in /memory, or its text."""
    memory = _memory(chat)
    seen = memory.seen
    if seen.problem:
        raise ChatLoopError(seen.problem)
    if not seen.facts:
        raise UsageError("There is nothing to forget.", "/memory shows the facts.")
    keys = [fact_key(fact) for fact in seen.facts]
    if argument and fact_key(argument) in keys:
        number = keys.index(fact_key(argument))
    elif argument.isascii() and argument.isdigit() and 1 <= int(argument[:9]) <= len(keys):
        number = int(argument[:9]) - 1
    else:
        raise UsageError(
            f"Which fact? forget takes a number from 1 to {len(keys)}.", "/memory shows them."
        )
    chat.display.line(_numbered(number + 1, seen.facts[number], 1))
    memory.remove(number)
    chat.conversation.remember()
    left, where = counted(len(memory.seen.facts), "fact"), memory.place.shown(seen.path)
    chat.display.line(f"Forgotten; {left} left in {where}.", "dim")


def _show(chat: Chat, memory: ProjectMemory) -> None:
    edited = memory.reread()
    chat.conversation.remember()
    seen, place = memory.seen, memory.place
    if seen.problem:
        raise ChatLoopError(seen.problem)
    where = place.shown(seen.path)
    if not seen.facts:
        chat.display.prose(
            f"There are no facts in {where}." if seen.exists else "There is no memory yet."
        )
        chat.display.prose(
            "/remember TEXT notes a fact in it."
            if seen.exists
            else f"/remember TEXT begins your own in {where}, /remember --project TEXT one in "
            "this project.",
            "dim",
        )
        return
    chat.display.line(f"Your own memory: {where}" if seen.own else f"Memory: {where}")
    width = len(str(min(len(seen.facts), SHOWN)))
    for number, fact in enumerate(seen.facts[:SHOWN]):
        missing = number in seen.left_out
        line = _numbered(number + 1, fact, width)
        chat.display.line(f"{line} (left out)" if missing else line, "dim" if missing else "")
    if len(seen.facts) > SHOWN:
        chat.display.line(f"… and {len(seen.facts) - SHOWN:,} more in the file.", "dim")
    chat.display.line(f"~{estimate(seen.block):,} of at most {place.most:,} tokens.", "dim")
    if seen.left_out:
        chat.display.warn(
            f"{counted(len(seen.left_out), 'fact')} left out for want of room: the model does "
            "not get what is marked.",
            "/forget makes room; memory.max_tokens in the config allows more.",
        )
    if edited:
        chat.display.prose(
            "The file was changed: the model gets it so from your next message on.", "dim"
        )


async def _propose(chat: Chat, memory: ProjectMemory, *, project: bool) -> None:
    """Offer what the chain has pinned and decided; note what the user picks."""
    path = memory.target(project=project)
    thread = chat.conversation.thread
    decisions = thread.inherited.decisions if thread.inherited else ()
    said = [*thread.pins, *(re.sub(_REFERENCE, "", decision) for decision in decisions)]
    known = {fact_key(fact) for fact in memory.seen.facts} if path == memory.seen.path else set()
    offered: dict[str, str] = {}
    for text in said:
        fact = fact_of(redacted(text))
        if fact and fact_key(fact) not in known:
            offered.setdefault(fact_key(fact), fact)
    facts = list(offered.values())
    if not facts:
        chat.display.prose(
            "There is nothing to propose: no pin or decision that the memory does not have.", "dim"
        )
        return
    width = len(str(len(facts)))
    for number, fact in enumerate(facts, 1):
        chat.display.line(_numbered(number, fact, width))
    answer = await chat.ask(
        f"Which ones go into {memory.place.shown(path)}? (numbers, all, or nothing) "
    )
    picked = _picked(answer, len(facts))
    if not picked:
        chat.display.line("Nothing is noted.", "dim")
        return
    _tell_noted(chat, memory, memory.add(path, [facts[number - 1] for number in picked]))


def _picked(answer: str, most: int) -> list[int]:
    """The numbers that an answer names, `all`, or none. Raises UsageError when it is none of
    these.
    """
    parts = answer.replace(",", " ").split()
    if parts == ["all"]:
        return list(range(1, most + 1))
    if parts in ([], ["n"], ["no"], ["none"], ["nothing"]):
        return []
    numbers: list[int] = []
    for part in parts:
        first, dash, last = part.partition("-")
        ends = [first, last if dash else first]
        if not all(end.isascii() and end.isdigit() and 1 <= int(end[:9]) <= most for end in ends):
            raise UsageError(f"Nothing is noted: the proposals are numbered from 1 to {most}.")
        numbers += range(int(ends[0]), int(ends[1]) + 1)
    return sorted(set(numbers))


async def _without_secrets(chat: Chat, fact: str) -> str:
    """The fact as it may be written; empty when the user does not want it so."""
    safe = redacted(fact)
    if safe == fact:
        return fact
    chat.display.warn(
        "That holds a secret, and secrets are not written into the memory. Without it:"
    )
    chat.display.line(f"   {safe}")
    if await chat.confirm("Note it so? (y/n) "):
        return safe
    chat.display.line("Nothing is noted.", "dim")
    return ""


def _tell_noted(chat: Chat, memory: ProjectMemory, added: int) -> None:
    """Put what was added into effect, and say where it went and whether the model gets it."""
    chat.conversation.remember()
    seen = memory.seen
    new = range(len(seen.facts) - added, len(seen.facts))
    chat.display.line(
        f"Noted in {memory.place.shown(seen.path)} ({counted(len(seen.facts), 'fact')}).",
        "dim",
    )
    missing = sum(number in seen.left_out for number in new)
    if missing:
        chat.display.warn(
            "There is no room for "
            f"{'it' if added == 1 else counted(missing, 'fact') + ' of them'}: the memory takes "
            f"{memory.place.most:,} tokens, and the model gets what comes first in the file.",
            "/memory shows what is left out, /forget makes room.",
        )


def _numbered(number: int, fact: str, width: int) -> str:
    text = fact if len(fact) <= LONGEST else f"{fact[: LONGEST - 1]}…"
    indent = " " * (width + 2)
    return f"{number:>{width}}  " + text.replace("\n", f"\n{indent}")


def _memory(chat: Chat) -> ProjectMemory:
    if chat.memory is None:
        raise UsageError(
            "The memory is switched off.", "memory.enabled: true in the config switches it on."
        )
    return chat.memory
