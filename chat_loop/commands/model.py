"""The command model: who answers, and who else could."""

from __future__ import annotations

import asyncio

from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import registry
from chat_loop.display.text import one_line
from chat_loop.errors import UsageError
from chat_loop.providers.choose import completed
from chat_loop.providers.wire import WireProvider
from chat_loop.wording import window_text


@registry.command("model", argument="[NAME]")
async def model(chat: Chat, argument: str) -> None:
    """Show who answers and who else could, or switch to another model in mid-conversation.

    NAME is PROVIDER:MODEL, a provider's name for its default model, or another model of the
    provider that answers now. The context is measured anew: what does not fit the new window is
    compacted before your next message.
    """
    conversation = chat.conversation
    if not argument:
        await _list(chat)
        return
    if len(argument.split()) > 1:
        raise UsageError(
            "model takes one name.", "For example: /model anthropic:claude-sonnet-5-5."
        )
    reference = completed(argument, chat.models.providers, conversation.agent.provider.name)
    if reference == conversation.agent.model:
        chat.display.line(f"{one_line(reference, 100)} answers already.", "dim")
        return
    provider = await asyncio.to_thread(
        chat.models.provide, reference
    )  # a server may be asked for its models
    try:
        await asyncio.to_thread(provider.warm)
        listed = await provider.is_listed() if isinstance(provider, WireProvider) else None
    except BaseException:
        await provider.close()
        raise
    if listed is False:
        name = one_line(provider.model, 100)
        chat.display.warn(
            f"{provider.name} does not list {name}.",
            "It is asked all the same; /model NAME takes another.",
        )
    had_its_own = conversation.agent.own_tools
    await conversation.switch(provider)
    if not had_its_own:
        chat.display.resume_command = resuming_with(
            conversation.agent.model, chat.display.resume_command
        )
    if chat.memory is not None and chat.memory.fit(provider.window.tokens):
        conversation.remember()
    budget, limits = conversation.budget, conversation.options.limits
    window = window_text(budget.window.tokens, budget.window.guessed)
    said = (
        f"{one_line(conversation.agent.model, 100)} answers from now on; context "
        f"~{budget.share:.0%} of {window}"
    )
    if limits.enabled and budget.used >= conversation.trigger:
        said += ": it is compacted before your next message"
    chat.display.prose(f"{said}.", "dim")


def resuming_with(model: str, command: str) -> str:
    """The command that goes on with a session, with another model."""
    import shlex  # not before a model is switched

    words = shlex.split(command)
    if "--model" in words:
        words[words.index("--model") + 1] = model
        return shlex.join(words)
    return shlex.join([word for word in words if word != "--local"] + ["--model", model])


async def _list(chat: Chat) -> None:
    now = chat.conversation.agent.model
    offers = await asyncio.to_thread(chat.models.offered)
    chat.display.line(f"{one_line(now, 100)} answers.")
    others = [(offer.reference, offer.note) for offer in offers if offer.reference != now]
    if others:
        chat.display.line("These could as well (/model NAME):", "dim")
    width = max((len(reference) for reference, _ in others), default=0)
    for reference, note in others:
        chat.display.line(f"  {one_line(reference, 100):<{min(width, 60)}}  {note}".rstrip())
