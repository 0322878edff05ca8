"""How much a prepared summary may leave uncovered at the exit: the smaller of two limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_loop.conversation.conversation_options import Options
from chat_loop.values import Window
from tests.support.scripted_chat import SUMMARY, Talk

OPTIONS = Options(acknowledge=False, attach_from_archive=False, on_exit="background")


@pytest.mark.parametrize(
    ("window", "words", "used"),
    [(32_000, 3_900, True), (32_000, 4_100, False), (99_000, 7_900, True), (99_000, 8_100, False)],
    ids=["an eighth of the window", "more", "8,000 tokens", "more than 8,000"],
)
async def test_a_prepared_summary_may_lag_by_the_smaller_limit(
    tmp_path: Path, window: int, words: int, used: bool
) -> None:
    talk = Talk(tmp_path, "Yes.", SUMMARY, "Noted.", options=OPTIONS, window=Window(window))
    conversation = talk.conversation
    left: list[str] = []
    conversation._detach = left.append

    await conversation.ask("word " * 5_000)
    await conversation.prepare_exit()
    await conversation.background.wait()
    await conversation.ask("more " * words)
    await conversation.end()
    seal = talk.sessions.load(talk.path).session.seal
    assert seal is not None
    assert (seal.summary is not None, seal.covers) == ((True, 1) if used else (False, None))
    assert left == ([] if used else [conversation.live.header.id])
    assert len(talk.sent) == 3
