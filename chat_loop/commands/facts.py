"""Commands about the memory: facts that are kept for a project across sessions."""

from __future__ import annotations

from chat_loop.characters import exact
from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import OptionValues, pick, registry, usage_error
from chat_loop.display.questions import Question
from chat_loop.errors import ChatLoopError, UsageError
from chat_loop.memory import ProjectMemory, fact_key, fact_of
from chat_loop.redact import redact_text
from chat_loop.tokens import estimate
from chat_loop.values import plural


@registry.command("remember [--project] TEXT", "Memory", flags=("project",))
async def remember(chat: Chat, argument: str, options: OptionValues) -> None:
    """Save a fact for this and later sessions; --project keeps it with the project."""
    memory = _memory(chat)
    fact = fact_of(argument)
    if not fact:
        raise usage_error("remember")
    path = memory.target(project="project" in options)
    safe = redact_text(fact)
    if safe != fact:
        chat.display.warn("Secrets are not saved in memory. Without it:")
        chat.display.line(f"   {exact(safe)}")
        if not await chat.confirm("Save it like this?", "Not saved."):
            return
    chat.display.prose(memory.save(path, safe), "dim")
    chat.conversation.remember()


@registry.command("memory [ask]", "Memory", shows="")
async def show_memory(chat: Chat, argument: str, options: OptionValues) -> None:
    """Show the facts of the memory and the project's files; ask decides which files are used."""
    memory = _memory(chat)
    display = chat.display
    if argument == "ask":
        await ask_about_files(chat, memory)
        return
    if argument:
        raise usage_error("memory")
    was_edited = memory.reload()
    chat.conversation.remember()
    state = memory.state
    where = memory.location.display_path(memory.state.path)
    display.prose(memory.line)
    _show_facts(chat, memory)
    if state.facts:
        size = estimate(state.block)
        room = memory.location.room
        display.prose(f"~{size:,} tokens of each request; facts take at most {room:,}.", "dim")
    elif not state.problem:
        text = f"/remember TEXT notes a fact in {where}, /remember --project TEXT in this project."
        display.prose(text, "dim")
    if state.left_out:
        display.prose("/forget makes room; memory.max_tokens in the config allows more.", "dim")
    if was_edited:
        display.prose("The file was changed: the model gets it with your next message.", "dim")


async def ask_about_files(chat: Chat, memory: ProjectMemory) -> None:
    """Ask about the new files of the project, or about all if none is new. Keep the answer."""
    memory.reload()
    display = chat.display
    all_files = memory.project_files
    files = [file for file in all_files if not file.answer] or all_files
    if not files:
        raise UsageError("This project has no AGENTS.md, CLAUDE.md or MEMORY.md to ask about.")
    act = ["This project has files for the model, to be used until they change."]
    for file in files:
        where = memory.location.display_path(file.path)
        act += [f"{where} (~{estimate(file.text):,} tokens):", file.shown]
    question = Question("Trust these files?", ("yes", "no", "view"), tuple(act))
    answer = await chat.ask(question)
    if not answer:
        display.prose("Nothing is changed; /memory ask asks again.", "dim")
        return
    for file in files:
        memory.decide(file.text, answer)
    memory.reload()
    chat.conversation.remember()
    display.prose(memory.line, "dim")


@registry.command("forget N", "Memory")
async def forget(chat: Chat, argument: str, options: OptionValues) -> None:
    """Remove a fact from the memory, by its number or text."""
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
    left = plural(len(memory.state.facts), "fact")
    where = memory.location.display_path(state.path)
    chat.display.line(f"Forgotten; {left} left in {where}.", "dim")


def _show_facts(chat: Chat, memory: ProjectMemory) -> None:
    """Show the facts that `forget` can remove, with their numbers, and those of folders above."""
    state = memory.state
    for number, fact in enumerate(state.facts):
        chat.display.line(_numbered(number, fact) + " (left out)" * (number in state.left_out))
    number = len(state.facts)
    for file in state.outer:
        if file.facts:
            chat.display.prose(f"From {memory.location.display_path(file.path)}:")
        for fact in file.facts:
            line = "-  " + fact.replace("\n", "\n   ")
            chat.display.line(line + " (left out)" * (number in state.left_out))
            number += 1


def _numbered(number: int, fact: str) -> str:
    """Return the line of a fact. `number` counts from 0, the shown number from 1."""
    return f"{number + 1}  " + fact.replace("\n", "\n   ")


def _memory(chat: Chat) -> ProjectMemory:
    if chat.memory is None:
        hint = "memory.enabled: true in the config turns it on."
        raise UsageError("Memory is off.", hint)
    return chat.memory
