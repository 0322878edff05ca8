"""An undo does away with a summary that was being made."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_loop.context.budget import Limits
from chat_loop.conversation.conversation_options import Options
from chat_loop.sessions.parser import parse
from chat_loop.values import Usage, Window
from tests.support.scripted_chat import SUMMARY, Says, Step, Talk

SECRET = "The vault in Tromsø opens with 77-19-03."
ANSWER = "Noted: Tromsø, 77-19-03."
TELLING = ("Tromsø", "77-19-03")


def knows(text: str) -> bool:
    return any(word in text for word in TELLING)


def folder_knows(folder: Path) -> list[str]:
    """Return the files with undone words in their title, restoration or summary block."""
    found = []
    for path in sorted(folder.glob("*.md")):
        session = parse(path.read_bytes()).session
        assert session is not None
        given = session.restoration.block if session.restoration else ""
        ended = path.read_text().partition("<!-- SESSION_SUMMARY_START -->")[2]
        if knows(given) or knows(ended) or knows(session.header.title):
            found.append(path.stem)
    return found


NARRATIVE = SUMMARY.replace("Greetings [1]", "The vault in Tromsø opens with 77-19-03 [1.2]")


@pytest.mark.parametrize("asked", [True, False])
async def test_a_summary_that_was_prepared_with_it_is_not_used(
    tmp_path: Path, *, asked: bool
) -> None:
    """The summary is made in the background, then the query is undone, then compacted."""
    limits = Limits(max_tokens=200, preserve_recent=2, trigger_threshold=0.9)
    usage = Usage(input=130, output=10)
    steps: list[Step] = ["Oak.", Says((ANSWER,), usage=usage), NARRATIVE]
    options = Options(acknowledge=False, attach_from_archive=False, limits=limits)
    talk = Talk(tmp_path, *steps, options=options, window=Window(4_000))

    await talk.conversation.ask("Which wood is hard?")
    await talk.conversation.ask(SECRET)
    await talk.conversation.background.wait()
    assert not talk.model.steps, "the summary was made"
    await talk.conversation.undo(talk.conversation.session.exchanges[-1])
    if asked:
        talk.model.steps.append(SUMMARY)
        assert await talk.conversation.compact()
    else:
        talk.model.steps += [Says(("Fine.",), usage=Usage(input=190, output=10)), SUMMARY, "So."]
        await talk.conversation.ask("And bright?")
        await talk.conversation.background.wait()
        await talk.conversation.ask("And dark?")
    assert talk.conversation.session.depth == 2
    assert not any(knows(message.text) for message in talk.sent[-1])
    await talk.conversation.leave("exit")
    assert folder_knows(tmp_path) == []


async def test_a_summary_in_the_making_does_not_come_late_into_the_file(tmp_path: Path) -> None:
    """The query is undone while the model writes, then a long query compacts at once."""
    limits = Limits(max_tokens=1_000, preserve_recent=2, trigger_threshold=0.9)
    usage = Usage(input=760, output=10)
    oak = Says(("Oak.",), usage=Usage(input=600, output=10))
    steps: list[Step] = [
        oak,
        Says((ANSWER,), usage=usage),
        Says((NARRATIVE,), then="silence"),
        "So.",
    ]
    options = Options(acknowledge=False, attach_from_archive=False, limits=limits)
    talk = Talk(tmp_path, *steps, options=options, window=Window(4_000))

    await talk.conversation.ask("Which wood is hard?")
    await talk.conversation.ask(SECRET)
    await talk.model.silent.wait()
    await talk.conversation.undo(talk.conversation.session.exchanges[-1])
    assert talk.model.cancelled == 1
    await talk.conversation.ask("And bright? " * 200)
    assert talk.conversation.session.depth == 2
    await talk.conversation.background.wait()
    await talk.conversation.leave("exit")
    assert folder_knows(tmp_path) == []
