"""Finds the model with which a session goes on, and asks before it is another one than recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chat_loop.characters import exact_line, one_line
from chat_loop.config import Config, ModelConfig
from chat_loop.conversation.conversation_options import SYSTEM, recorded_parameters
from chat_loop.errors import ProviderError, SessionError, Undecided
from chat_loop.providers import recorded
from chat_loop.providers.recorded import Offer

if TYPE_CHECKING:
    from chat_loop.agent.agent import ModelAgent
    from chat_loop.commands.chat import Chat
    from chat_loop.providers import Provider
    from chat_loop.sessions.records import Answering, Session

MAX_NAMES = 8  # the most tools that are named


async def provider_for(chat: Chat, session: Session, act: str = "resumed") -> Provider:
    """Return the model with which a session goes on. Raises SessionError, which says that it was
    not `resumed`, if the user wants no other than the recorded one, and Undecided if there is
    nobody to ask.
    """
    answering = session.answering
    agent = chat.conversation.agent
    now = agent.answering
    if chat.model_is_chosen:
        _show(chat, recorded.change(answering, now))
        return agent.provider
    if recorded.is_as_recorded(answering, now):
        _show(chat, recorded.unrecorded_endpoint(answering, now))
        return agent.provider
    chat.display.begin_waiting("Looking for its model …")
    offer = await asyncio.to_thread(_warmed, chat, answering)
    chat.display.stop_waiting()
    _show(chat, offer.note)
    if offer.problem:
        return await _other(chat, session, offer, act)
    if offer.provider is None:
        _show(chat, recorded.change(answering, now))
        return agent.provider
    asked = replace(agent, provider=offer.provider).answering
    _show(chat, recorded.unrecorded_endpoint(answering, asked))
    return offer.provider


async def provider_for_both(chat: Chat, first: Session, second: Session) -> Provider:
    """Return the model with which two sessions are merged: that of the open session if it is one of
    them, else that of the first. Ask before the words of another one go to it. Raises as
    `provider_for`.
    """
    agent = chat.conversation.agent
    own = chat.own_id  # a session without a file may have the id of another one
    provider = agent.provider
    if own not in (first.header.id, second.header.id):
        provider = await provider_for(chat, first, act="merged")
    if second.header.id == own:
        second = first
    now = replace(agent, provider=provider).answering
    sentence = recorded.difference(now, second.answering)
    if not sentence or chat.model_is_chosen:
        _show(chat, recorded.change(second.answering, now))
        return provider
    return await _other(chat, second, Offer(provider, sentence), act="merged")


def missing_tools(session: Session, agent: ModelAgent) -> Iterator[str]:
    """Yield a sentence if an agent lacks tools that a session names. It gets those that the user
    allows now, whatever the file says.
    """
    offered = {tool.spec.name for tool in agent.tools}
    recorded_tools = filter(None, map(str.strip, session.header.tools.split(",")))
    missing = [name for name in dict.fromkeys(recorded_tools) if name not in offered]
    if missing:
        names = ", ".join(one_line(exact_line(name), 40) for name in missing[:MAX_NAMES])
        more = ""
        if len(missing) > MAX_NAMES:
            more = f" and {len(missing) - MAX_NAMES} more"
        yield (
            f"It had tools that are not allowed now: {names}{more}. --tools or agent.tools in the"
            " config allows tools."
        )


def sentences_on(session: Session, agent: ModelAgent) -> Iterator[str]:
    """Yield what is to be said of the tools and the prompt of a session that goes on in a chat."""
    yield from missing_tools(session, agent)
    system = session.settings.get(SYSTEM, "")
    if system and system != agent.system_prompt and not agent.own_tools:
        yield f"It keeps its own system prompt: “{one_line(exact_line(system), 100)}”"


def kept_parameters(session: Session, agent: ModelAgent, config: Config) -> str:
    """Return a sentence if a session goes on with other parameters than the config has."""
    kept = recorded_parameters(session)
    configured = config.models.get(agent.provider.model, ModelConfig()).parameters
    now = agent.parameters
    if now == configured or now != kept.with_fallback(configured) or not now.text:
        return ""
    return f"It keeps {now.text}; /model {one_line(agent.model, 100)} takes the config’s values."


def _warmed(chat: Chat, answering: Answering) -> Offer:
    """Return what can be had of a recorded model, ready for its first request."""
    offer = chat.offer(answering)
    try:
        if offer.provider is not None:
            offer.provider.warm()
    except ProviderError as error:
        return Offer(problem=f"Recorded with {answering.model}: {error.message}", hint=error.hint)
    return offer


async def _other(chat: Chat, session: Session, offer: Offer, act: str) -> Provider:
    """Ask whether a session goes on with another model or elsewhere. Raises as `provider_for`."""
    provider = offer.provider or chat.conversation.agent.provider
    hint = "-m MODEL decides"
    if act == "resumed":
        hint += f": chat-loop -m MODEL --resume {session.id}"
    hint += "."
    if not chat.can_ask:
        raise Undecided(offer.problem, f"{offer.hint} {hint}".strip())
    chat.display.warn(offer.problem, offer.hint)
    name = one_line(f"{provider.name}:{provider.model}", 100)
    where = ""
    if provider.endpoint:
        where = f" at {provider.endpoint}"
    if not await chat.confirm(f"Continue with {name}{where}?"):
        text = f"Not {act}. {chat.conversation.fallback_text}"
        raise SessionError(text, f"/model takes another one first; {hint}")
    return provider


def _show(chat: Chat, sentence: str) -> None:
    if sentence:
        chat.display.prose(sentence, "dim")
