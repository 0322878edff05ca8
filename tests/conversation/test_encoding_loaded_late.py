"""The encoding of the tokens is loaded while a chat goes on: its sizes stay what the server counts."""

from __future__ import annotations

from pathlib import Path

from chat_loop.context.budget import Limits
from chat_loop.conversation.conversation_options import Options
from chat_loop.values import Usage
from tests.support.scripted_chat import Says, Talk, words

OPTIONS = Options(
    attach_from_archive=False, limits=Limits(enabled=False, max_messages=4), use_ai_summary=False
)


def by_the_estimate(text: str) -> int:
    return 2 * words(text)


async def test_a_size_does_not_change_with_the_encoding(tmp_path: Path) -> None:
    long = "word " * 20_000
    replies = [Says(("Well.",), usage=Usage(input=30_000, output=2)) for _ in range(4)]
    talk = Talk(tmp_path, *replies, options=OPTIONS)
    conversation = talk.conversation
    conversation.count = by_the_estimate
    for number in range(4):
        await conversation.ask(f"{number} {long}")
    before = conversation.budget
    conversation.count = words  # the encoding is loaded
    after = conversation.budget
    assert before.estimated
    assert after.estimated
    assert abs(after.used - before.used) < before.used * 0.05
