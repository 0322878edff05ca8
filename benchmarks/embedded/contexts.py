"""The contexts that are compared: the program's own, a summary of the summary, and the newest
messages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from benchmarks.embedded.model import complete
from benchmarks.factchain.baselines import newest, spoken
from benchmarks.factchain.ours import Clock
from benchmarks.factchain.talk import Turn
from chat_loop.agent.agent import ModelAgent
from chat_loop.context import summary
from chat_loop.context.budget import Limits, ledger_room, size
from chat_loop.context.messages import messages_of
from chat_loop.context.request import sent
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.conversation_options import Options
from chat_loop.events import Compacted, Event
from chat_loop.providers import Provider
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import ArchiveContext, Query
from chat_loop.values import Message, Request, Role

REPLY_TOKENS = 100
SYSTEM = (
    "You are a helpful assistant for software projects and everyday life. Answer the user's question "
    "in one or two short sentences. When it asks for something that was said before, answer with the "
    "exact value."
)
RESUMMARIZE = (
    "The summary so far:\n\n{old}\n\nThe conversation since:\n\n{span}\n\nWrite the new summary, "
    "which replaces the old one. Keep from the old one what still holds. Be complete but terse, "
    "no fluff."
)

Count = Callable[[str], int]


class Chat:
    """A conversation that runs through the program's own code and is saved in `folder`, and the
    spans that its compactions covered.
    """

    def __init__(
        self,
        provider: Provider,
        folder: Path,
        count: Count,
        *,
        system: str = SYSTEM,
        reply_tokens: int = REPLY_TOKENS,
    ) -> None:
        self.turns: dict[str, Turn] = {}
        """The exchanges by reference, in order."""
        self.compactions: list[Compacted] = []
        self._count = count
        self._window = provider.window.tokens
        self.conversation = Conversation(
            ModelAgent(
                name="Assistant", system_prompt=system, provider=provider, max_tokens=reply_tokens
            ),
            SessionManager(folder, now=Clock().now),
            count=count,
            show=self._show,
            options=Options(),
        )

    def _show(self, event: Event) -> None:
        if isinstance(event, Compacted):
            self.compactions.append(event)

    async def say(self, query: str) -> None:
        """Have one exchange, and wait for the summary in the background before the next."""
        reply = await self.conversation.ask(query)
        ref = self.conversation.context.exchanges[-1].ref
        self.turns[ref] = Turn(query, reply.text)
        await self.conversation.background.wait()

    @property
    def spans(self) -> list[list[Turn]]:
        """Return the exchanges that each compaction summarized."""
        refs, spans, start = list(self.turns), [], 0
        for event in self.compactions:
            end = refs.index(event.compaction.last) + 1
            spans.append([self.turns[ref] for ref in refs[start:end]])
            start = end
        return spans

    @property
    def tail(self) -> list[Turn]:
        """Return the exchanges since the last compaction."""
        return list(self.turns.values())[sum(map(len, self.spans)) :]

    def request(self, question: str) -> tuple[tuple[Message, ...], str]:
        """Return the messages that the program would send with a question, and the passages that it
        attaches to the question from the archive.
        """
        conversation = self.conversation
        thread = conversation.context
        number, at = conversation.live.next_number, conversation.sessions.now()
        entries: list[Query | ArchiveContext] = [Query(number=number, at=at, text=question)]
        excerpts, _ = conversation.recalled_for(question)
        if excerpts:
            entries.append(ArchiveContext(number=number, at=at, text=excerpts))
        session = replace(thread.session, entries=(*thread.session.entries, *entries))
        frame = conversation.frame
        asked = sent(frame, replace(thread, session=session))
        return messages_of(asked, tools=frame.calls_tools), excerpts


async def resummarize(provider: Provider, spans: Sequence[Sequence[Turn]]) -> list[str]:
    """Return the summaries of a program without a ledger. Each is made from the previous one and
    the new messages, by the program's own instructions and within the ledger's tokens.
    """
    found: list[str] = []
    for span in spans:
        text = RESUMMARIZE.format(old=found[-1] if found else "none", span=spoken(span))
        request = Request(
            system=summary.SYSTEM,
            messages=(Message("user", text),),
            max_tokens=ledger_room(provider.window.tokens, Limits()),
        )
        found.append((await complete(provider, request))[0] or found[-1])
    return found


def join(pairs: Sequence[tuple[Role, str]]) -> tuple[Message, ...]:
    """Return texts as alternating messages, beginning with the user's."""
    messages: list[Message] = []
    for role, text in pairs:
        if messages and messages[-1].role == role:
            messages[-1] = Message(role, f"{messages[-1].text}\n\n{text}")
        elif messages or role == "user":
            messages.append(Message(role, text))
    return tuple(messages)


def texts(turns: Sequence[Turn]) -> list[tuple[Role, str]]:
    """Return the messages of turns with their roles."""
    return [pair for turn in turns for pair in (("user", turn.query), ("assistant", turn.reply))]


def tokens(messages: Sequence[Message], count: Count) -> int:
    """Estimate the tokens of messages as the program does."""
    return sum(size(message.whole, count) for message in messages)


def newest_within(turns: Sequence[Turn], limit: int, count: Count) -> tuple[Message, ...]:
    """Return the newest messages that fit in `limit` tokens."""
    pairs = texts(turns)
    fitting = newest([text for _, text in pairs], limit, lambda text: size(text, count))
    return join(pairs[len(pairs) - len(fitting) :])
