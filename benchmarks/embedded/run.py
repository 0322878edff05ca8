"""The conversation, the contexts, and the questions."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from benchmarks.embedded.answers import Answer, Question, compare, gives, judge, score
from benchmarks.embedded.contexts import (
    SYSTEM,
    Chat,
    Count,
    join,
    newest_within,
    resummarize,
    texts,
    tokens,
)
from benchmarks.embedded.model import complete
from benchmarks.embedded.script import Script
from benchmarks.factchain.scoring import Context
from benchmarks.factchain.talk import Fact
from chat_loop.context.request import message_list
from chat_loop.providers import Provider
from chat_loop.values import Message, Request, Role

ANSWER_TOKENS = 48
QUESTION = "Remind me: {}"
OURS, RECALL, SUMMARY, NEWEST = (
    "chat-loop",
    "chat-loop with archive hits",
    "summary of the summary",
    "newest messages",
)
OWN = (OURS, RECALL)
ARMS = (*OWN, SUMMARY, NEWEST)
PAIRS = ((OURS, SUMMARY), (OURS, NEWEST), (RECALL, OURS))


class Outcome(Struct, frozen=True, kw_only=True):
    """A conversation's compactions, the baseline's summaries, the contexts and all answers."""

    exchanges: int
    compactions: list[dict[str, object]]
    summaries: list[str]
    contexts: dict[str, dict[str, float]]
    pairs: dict[str, dict[str, float]]
    questions: list[Question]


async def play(provider: Provider, folder: Path, count: Count, queries: Sequence[str]) -> Chat:
    """Have the conversation; return it."""
    chat = Chat(provider, folder, count)
    for number, query in enumerate(queries, 1):
        await chat.say(query)
        tell(f"exchange {number} of {len(queries)}, {len(chat.compactions)} compactions")
    return chat


async def answer(
    provider: Provider, messages: tuple[Message, ...], fact: Fact, script: Script, attached: str
) -> Answer:
    """Ask the model for a fact, with the question as the last of `messages`; judge the answer."""
    request = Request(system=SYSTEM, messages=messages, max_tokens=ANSWER_TOKENS)
    text, prompt = await complete(provider, request)
    right = judge(text, fact, script.facts)
    context = "\n".join((*(message.text for message in messages[:-1]), attached))
    return Answer(
        answer=text,
        right=right,
        stale=not right and any(gives(text, old) for old in script.replaced(fact)),
        in_context=Context(context).has(fact),
        prompt_tokens=prompt,
        attached=attached,
    )


async def measure(
    provider: Provider, folder: Path, count: Count, script: Script, arms: Sequence[str]
) -> Outcome:
    """Have the conversation and ask the questions with the contexts of `arms`. `folder` gets the
    sessions and the contexts.
    """
    shutil.rmtree(folder, ignore_errors=True)
    chat = await play(provider, folder / "sessions", count, script.queries)
    own = message_list(chat.conversation.frame, chat.conversation.context)
    summaries = await resummarize(provider, chat.spans) if SUMMARY in arms else []
    before: list[tuple[Role, str]] = [
        ("user", f"Summary of the conversation so far:\n\n{text}") for text in summaries[-1:]
    ]
    contexts = {
        OURS: own,
        SUMMARY: join([*before, *texts(chat.tail)]),
        NEWEST: newest_within(list(chat.turns.values()), tokens(own, count), count),
    }
    contexts = {name: context for name, context in contexts.items() if name in arms}
    for name, context in contexts.items():
        text = "\n\n".join(f"# {message.role}\n\n{message.text}" for message in context)
        (folder / f"{name.replace(' ', '-')}.md").write_text(f"{text}\n", "utf-8")
    questions = {
        fact.number: Question(
            question=QUESTION.format(fact.question),
            expected=fact.values[0],
            replaced=script.replaced(fact),
            kind=fact.kind,
            segment=fact.segment,
        )
        for fact in script.live
    }
    for name in arms:
        for fact in script.live:
            question = questions[fact.number]
            if name == RECALL:
                messages, attached = chat.request(question.question)
            else:
                pairs = ((message.role, message.text) for message in contexts[name])
                messages, attached = join([*pairs, ("user", question.question)]), ""
            question.answers[name] = await answer(provider, messages, fact, script, attached)
        tell(f"{name}: {sum(each.answers[name].right for each in questions.values())} right")
    chat.conversation.close()
    sizes = {name: tokens(context, count) for name, context in contexts.items()}
    return Outcome(
        exchanges=len(script.queries),
        compactions=[
            {**msgspec.to_builtins(event.compaction), "source": event.source}
            for event in chat.compactions
        ],
        summaries=summaries,
        contexts={
            name: score([question.answers[name] for question in questions.values()])
            | {"tokens": sizes.get(name, sizes[OURS])}
            for name in arms
        },
        pairs={
            f"{one} / {two}": compare(
                [question.answers[one].right for question in questions.values()],
                [question.answers[two].right for question in questions.values()],
            )
            for one, two in PAIRS
            if one in arms and two in arms
        },
        questions=list(questions.values()),
    )


def tell(text: str) -> None:
    """Report progress."""
    sys.stderr.write(f"{text}\n")
