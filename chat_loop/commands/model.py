"""The command that shows or switches the model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from chat_loop.characters import one_line
from chat_loop.commands.registry import OptionValues, registry
from chat_loop.errors import UsageError
from chat_loop.providers.choose import check_provider, full_reference
from chat_loop.providers.effort import nearest
from chat_loop.providers.model_list import ModelListing
from chat_loop.providers.prices import MILLION, listed_window
from chat_loop.values import USUAL_EFFORT, Offered, Usage, matching, window_text

SEARCH = "/model --list WORDS finds more."
MOST_PRINTED = 40  # lines of a list of models
FEW = 1_000  # tokens of the calls whose prices are shown; in a large one, each may cost more

if TYPE_CHECKING:
    from chat_loop.agent.agent import ModelAgent
    from chat_loop.commands.chat import Chat


@registry.command("model [NAME]", "Model and tools", flags=("list",))
async def model(chat: Chat, argument: str, options: OptionValues) -> None:
    """Choose another model, from the lists of your services or by its name.

    /model                 on a terminal, all models of your services: type to search
    /model gpt-5.4         PROVIDER:MODEL, PROVIDER for its default model, or a model's name
    /model --list sonnet   the models that match, as text
    The lists of the services are kept for a day. What does not fit the new model's window is
    compacted before your next message.
    """
    conversation = chat.conversation
    display = chat.display
    now = conversation.agent.model
    if "list" in options or not argument:
        await _offer_models(chat, argument, as_text="list" in options)
        return
    if len(argument.split()) > 1:
        raise UsageError(f"No model is called “{one_line(argument, 40)}”.", SEARCH)
    added = await asyncio.to_thread(chat.plugins.all)
    known = [*chat.models.providers]
    for plugin in added:
        known += plugin.providers
    reference = full_reference(argument, known, conversation.agent.provider.name)
    check_provider(argument, known, conversation.agent.provider.name)
    if reference == now:
        chat.model_is_chosen = True
        conversation.ask_as_configured()
        display.line(f"Already using {_described(conversation.agent)}.", "dim")
        return
    # this may ask a server for its models
    provider = await asyncio.to_thread(chat.models.provide, reference)
    async with AsyncExitStack() as unused:
        unused.push_async_callback(provider.close)
        await asyncio.to_thread(provider.warm)
        unused.pop_all()
    await conversation.switch(provider)
    chat.model_is_chosen = True
    if chat.memory is not None and chat.memory.fit(provider.window.tokens):
        conversation.remember()
    budget = conversation.budget
    window = window_text(budget.window.tokens, False)
    guessed = " (guessed)" if budget.window.guessed else ""
    text = f"Switched to {_described(conversation.agent)}."
    text += f" Context: ~{budget.share:.0%} of {window}{guessed}"
    if conversation.options.limits.enabled and budget.used >= conversation.frame.trigger:
        text += "; it is compacted before your next message"
    display.prose(f"{text}.", "dim")


@registry.command("effort [LEVEL]", "Model and tools", shows="")
async def effort(chat: Chat, argument: str, options: OptionValues) -> None:
    """Show how much the model is asked to think, or change it for this conversation.

    /effort high      from your next message on, also with other models and after a resume
    /effort off       no thinking, if the model allows that
    /effort default   what the model does by itself
    models: {NAME: {effort: low}} in the config sets it for new conversations. More thinking takes
    longer and costs more, and after a change the service reads the conversation again.
    """
    agent = chat.conversation.agent
    name = one_line(agent.model, 100)
    offered = agent.provider.efforts
    if not offered:
        raise UsageError(f"The effort of {name} cannot be changed.", "/model takes another one.")
    levels = ", ".join((*offered, USUAL_EFFORT))
    level = {"none": "off", "auto": USUAL_EFFORT}.get(argument.lower(), argument.lower())
    if not argument:
        chat.display.prose(f"{effort_text(agent)}. Levels: {levels}.")
        return
    if level not in (*offered, USUAL_EFFORT):
        raise UsageError(f"{name} has no effort “{one_line(argument, 40)}”.", f"It takes {levels}.")
    chat.conversation.ask_with_effort(level)
    text = effort_text(chat.conversation.agent)
    chat.display.prose(f"{text}, from your next message on.", "dim")


def effort_text(agent: ModelAgent) -> str:
    """Return the effort of an agent's model in words, such as `Effort max, sent as high`."""
    asked = agent.parameters.effort
    if asked in ("", USUAL_EFFORT):
        return "Effort: the model’s own"
    sent = nearest(asked, agent.provider.efforts)
    if sent == asked:
        return f"Effort: {asked}"
    return f"Effort: {asked}, sent as {sent or 'the model’s own'}"


def _described(agent: ModelAgent) -> str:
    """Return the name of the agent's model, with how it is asked."""
    asked = agent.parameters.text
    if asked:
        return f"{one_line(agent.model, 100)}, {asked}"
    return one_line(agent.model, 100)


async def _offer_models(chat: Chat, argument: str, *, as_text: bool) -> None:
    """Let the user choose one of all models, or print those that match `words`."""
    display = chat.display
    can_pick = display.is_terminal and chat.reader.has_editor and not as_text
    if not as_text:
        display.line(f"Using {_described(chat.conversation.agent)}.")
    display.begin_waiting("Asking your services for their models …")
    try:
        listing = await chat.models.listing(chat.conversation.agent.model)
    finally:
        display.stop_waiting()
    for problem in listing.problems:
        display.warn(problem)
    if not can_pick:
        await _print_models(chat, listing, argument)
        return
    if not listing.models:
        raise UsageError("There are no models to choose from.", "chat-loop providers shows why.")
    from chat_loop.browser.model_picker import choose  # loads the editor's library

    now = chat.conversation.agent.model
    about = _ModelFacts(chat).about
    async with chat.reader.release_terminal():
        offer = await choose(listing.models, now, about, argument)
    if offer is None:
        return
    if offer.is_missing:
        name = offer.reference.partition(":")[2]
        raise UsageError(f"{name} is not installed.", f"chat-loop models install {name}")
    await model(chat, offer.reference, {})


async def _print_models(chat: Chat, listing: ModelListing, words: str) -> None:
    """Print the models that could answer at once, or those that match `words`."""
    display = chat.display
    now = chat.conversation.agent.model
    found = matching(listing.models, words)
    shown = [offer for offer in found if offer.note or words][:MOST_PRINTED]
    if not listing.models:  # no service was asked
        offers = await asyncio.to_thread(chat.models.candidates)
        shown = [Offered(name, note=note) for name, note in offers.items()]
        found = shown
    shown = [offer for offer in shown if offer.reference != now]
    if shown and not words:
        display.line("Also available (/model NAME):", "dim")
    facts = _ModelFacts(chat)
    width = min(max((len(offer.reference) for offer in shown), default=0), 60)
    for offer in shown:
        name = one_line(offer.reference, 100)
        display.line(f"  {name:<{width}}  {facts.about(offer)}".rstrip())
    others = len(found) - len(shown)
    if words and not found:
        raise UsageError(f"No model matches “{one_line(words, 40)}”.", SEARCH)
    if others > 1:
        display.prose(f"{others:,} more: {SEARCH}", "dim")


class _ModelFacts:
    """What is known of models: looked up when they are shown, since there may be many."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._known: dict[str, str] = {}

    def about(self, offer: Offered) -> str:
        """Return the window, the prices of a million tokens, and the note of a model."""
        if offer.reference not in self._known:
            self._known[offer.reference] = " · ".join(filter(None, self._parts(offer)))
        return self._known[offer.reference]

    def _parts(self, offer: Offered) -> Iterator[str]:
        provider, _, name = offer.reference.partition(":")
        window = self._chat.config.windows.get(name) or offer.window
        window = window or listed_window(name, provider)
        if window:
            yield window_text(window, False)
        cost = self._chat.conversation.options.cost
        read = cost(offer.reference, Usage(input=FEW))
        written = cost(offer.reference, Usage(output=FEW))
        if read and written:
            yield f"${read * MILLION / FEW:g} in, ${written * MILLION / FEW:g} out"
        yield offer.note
