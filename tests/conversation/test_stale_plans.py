"""A plan that was made for another state of the conversation changes nothing when it is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_loop.conversation.conversation_options import Options
from chat_loop.errors import StalePlan
from tests.support.scripted_chat import SUMMARY, Talk

OPTIONS = Options(acknowledge=False)


async def test_a_draft_that_a_message_has_overtaken_is_refused(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Yes.", SUMMARY, "Noted.", "Go on.", options=OPTIONS)
    conversation = talk.conversation

    await conversation.ask("Our port is 8443.")
    draft = await conversation.draft()
    await conversation.ask("Our lock is 77.")
    with pytest.raises(StalePlan, match="has gone on since"):
        await conversation.take(draft)
    await conversation.ask("Our key is 12.")
    assert talk.sessions.load(talk.path).session.seal is None
    queries = [exchange.query.text for exchange in conversation.session.exchanges]
    assert queries == ["Our port is 8443.", "Our lock is 77.", "Our key is 12."]
    assert conversation.live.path == talk.path


async def test_words_that_another_program_adds_between_plan_and_swap_stay(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "Yes.", SUMMARY, "Noted.", options=OPTIONS)
    conversation = talk.conversation

    parent = talk.path
    await conversation.ask("Our port is 8443.")
    draft = await conversation.draft()
    with talk.path.open("a", encoding="utf-8") as file:
        file.write("A line of somebody else.\n")
    await conversation.take(draft)
    await conversation.ask("Which port?")
    text = parent.read_text(encoding="utf-8")
    assert "Our port is 8443." in text
    assert "A line of somebody else." in text
    assert conversation.session.exchanges[-1].query.text == "Which port?"
