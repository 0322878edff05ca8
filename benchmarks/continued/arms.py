"""What the model sees before it answers: four contexts, and none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from benchmarks.embedded.contexts import (
    Chat,
    Count,
    join,
    newest_within,
    resummarize,
    texts,
    tokens,
)
from benchmarks.factchain.standin import is_summary
from benchmarks.factchain.talk import Turn
from chat_loop.context.request import message_list
from chat_loop.events import Event, Finished, TextDelta
from chat_loop.providers import Provider
from chat_loop.values import Message, Request, Role

OURS, WHOLE, SUMMARY, NEWEST, NONE = (
    "chat-loop",
    "whole conversation",
    "summary of the summary",
    "newest messages",
    "no carried words",
)
ARMS = (NONE, WHOLE, OURS, NEWEST, SUMMARY)
SYSTEM = "You are a helpful assistant for programs and plans. Follow what the user said earlier."
ANSWER_TOKENS = 200


class Played(Provider):
    """A model that writes the summaries, while `reply` is the answer to everything else."""

    reply = ""

    def __init__(self, model: Provider) -> None:
        self.name, self.model, self.window = model.name, model.model, model.window
        self.first_event_seconds = model.first_event_seconds
        self._inner = model

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        if is_summary(request):
            async for event in self._inner.stream(request):
                yield event
        else:
            yield TextDelta(self.reply)
            yield Finished(stop="end")

    async def close(self) -> None:
        """There is nothing to release: the model is closed by its owner."""


async def play(model: Provider, folder: Path, count: Count, turns: Sequence[Turn]) -> Chat:
    """Have a scripted conversation, which the program compacts by itself."""
    played = Played(model)
    chat = Chat(played, folder, count, system=SYSTEM, reply_tokens=ANSWER_TOKENS)
    for turn in turns:
        played.reply = turn.reply
        await chat.say(turn.query)
    return chat


async def before(
    arm: str, ask: str, model: Provider, chat: Chat | None, turns: Sequence[Turn], count: Count
) -> tuple[Message, ...]:
    """Return the messages that an arm sends, of which `ask` is the last; `chat` is None for the arms
    without compaction.
    """
    if chat is not None and arm == OURS:
        return chat.request(ask)[0]
    said: list[tuple[Role, str]] = [("user", ask)]
    if arm == WHOLE:
        said = [*texts(turns), *said]
    if chat is not None and arm == NEWEST:
        size = tokens(message_list(chat.conversation.frame, chat.conversation.context), count)
        newest = newest_within(turns, size, count)
        said = [*((message.role, message.text) for message in newest), *said]
    if chat is not None and arm == SUMMARY:
        summaries = await resummarize(model, chat.spans)
        text = f"Summary of the conversation so far:\n\n{summaries[-1]}"
        said = [("user", text), *texts(chat.tail), *said]
    return join(said)
