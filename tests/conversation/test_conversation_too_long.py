"""If a server refuses a request as too long, the conversation is compacted and the query is sent
once more.
"""

from __future__ import annotations

import asyncio
import errno
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, Received, failing, talk
from benchmarks.support.loopback import Reply as Served
from chat_loop.agent.agent import Agent
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.options import Options
from chat_loop.conversation.reading import QueryFile
from chat_loop.errors import ContextTooLong
from chat_loop.events import Compacted, Event, Warned
from chat_loop.providers.openai import OpenAIProvider
from chat_loop.providers.refusals import window_from_error
from chat_loop.sessions.files import Files
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Attachment, Query, Reply, Undo
from chat_loop.tokens import estimate
from chat_loop.values import Usage, Window
from tests.support.providers import entry
from tests.support.scripted_chat import Says, Talk, said

OPTIONS = Options(attach_from_archive=False, acknowledge=False, use_ai_summary=False)
TOO_LONG = ContextTooLong(
    "It is too long for the model.", "Type compact to shorten the conversation."
)


def test_it_is_compacted_and_asked_once_more(tmp_path: Path) -> None:
    conversation = Talk(tmp_path, "One.", "Two.", TOO_LONG, "Now it fits.", options=OPTIONS)

    async def run() -> None:
        for text in ("The port is 8443.", "And the host is db7.example.org.", "Which port?"):
            await conversation.conversation.ask(text)

    asyncio.run(run())
    assert conversation.sent[2] == said(
        "The port is 8443.", "One.", "And the host is db7.example.org.", "Two.", "Which port?"
    )
    assert conversation.sent[3][-1].text.endswith("Which port?")
    assert "8443" in conversation.sent[3][0].text
    assert [event for event in conversation.events if isinstance(event, Warned | Compacted)][
        1
    ] == Warned(
        "It is too long for the model.",
        "The conversation was compacted, and the message is sent again.",
    )
    first, second = sorted(tmp_path.glob("*.md"))
    before = SessionManager(tmp_path).load(first).session
    assert before.entries[-1] == Undo(number=3, at=before.entries[-1].at)
    assert [exchange.query.text for exchange in before.exchanges] == [
        "The port is 8443.", "And the host is db7.example.org."
    ]  # fmt: skip
    after = SessionManager(tmp_path).load(second).session
    told = [entry.text for entry in after.entries if isinstance(entry, Query | Reply)]
    assert told == ["Which port?", "Now it fits."]


def test_it_is_asked_once_more_and_not_again(tmp_path: Path) -> None:
    conversation = Talk(tmp_path, "One.", TOO_LONG, TOO_LONG, "Never asked.", options=OPTIONS)

    async def run() -> None:
        await conversation.conversation.ask("First.")
        with pytest.raises(ContextTooLong):
            await conversation.conversation.ask("Second.")

    asyncio.run(run())
    assert len(conversation.model.steps) == 1
    kept = [
        entry.text
        for entry in conversation.conversation.session.entries
        if isinstance(entry, Query)
    ]
    assert kept == ["Second."], "it is saved"


class UnsealedFiles(Files):
    """Files that cannot be replaced: a seal fails, and all else is saved."""

    def replace(self, path: Path, data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_the_query_stays_if_the_seal_cannot_be_saved(tmp_path: Path) -> None:
    talk = Talk(tmp_path, "One.", TOO_LONG, "Two.", options=OPTIONS, files=UnsealedFiles())
    text = Attachment(
        number=0, at=talk.clock.now(), name="a.md", media="text/markdown", size=5,
        sha256=sha256(b"words").hexdigest(), text="words",
    )  # fmt: skip

    async def run() -> None:
        await talk.conversation.ask("First.")
        with pytest.raises(ContextTooLong):
            await talk.conversation.ask("Second, with @a.md.", [QueryFile(text)])

    asyncio.run(run())
    [path] = tmp_path.glob("*.md")
    saved = SessionManager(tmp_path).load(path).session
    assert [exchange.query.text for exchange in saved.exchanges] == [
        "First.", "Second, with @a.md."
    ]  # fmt: skip
    assert [file.text for file in saved.exchanges[-1].attached] == ["words"]
    assert saved.exchanges[-1].failed, "/retry sends it again"


def test_with_nothing_to_compact_it_is_said(tmp_path: Path) -> None:
    conversation = Talk(tmp_path, TOO_LONG, options=OPTIONS)
    with pytest.raises(ContextTooLong):
        asyncio.run(conversation.conversation.ask("Hello."))
    assert [exchange.query.text for exchange in conversation.conversation.session.exchanges] == [
        "Hello."
    ]


@pytest.mark.parametrize("steps", [["One.", Says(("Half",), then=TOO_LONG)], ["One.", TOO_LONG]])
def test_a_reply_that_has_begun_and_a_user_who_compacts_himself(
    tmp_path: Path, steps: list[Says]
) -> None:
    limits = replace(OPTIONS.limits, enabled=isinstance(steps[1], Says))
    conversation = Talk(tmp_path, *steps, options=replace(OPTIONS, limits=limits))

    async def run() -> None:
        await conversation.conversation.ask("First.")
        with pytest.raises(ContextTooLong):
            await conversation.conversation.ask("Second.")

    asyncio.run(run())
    assert len(list(tmp_path.glob("*.md"))) == 1


def test_the_window_that_a_server_tells_is_the_one_that_holds(tmp_path: Path) -> None:
    """The table says 128,000. The server was started with 4,096 and says so when it refuses."""

    def served(request: Received) -> Served:
        tokens = sum(map(estimate, (request.system, *request.texts)))
        if tokens > 4096:
            message = (
                f"request ({tokens} tokens) exceeds the available context size (4096 "
                "tokens), try increasing it"
            )
            return failing(400, "exceed_context_size_error", message)
        return replace(talk(request), usage=Usage(input=tokens, output=20))

    shown: list[Event] = []
    with Loopback(served) as server:

        async def run() -> Conversation:
            provider = OpenAIProvider(
                "m", entry("compatible", f"{server.url}/v1"), window=Window(128_000, True)
            )
            conversation = Conversation(
                Agent(name="Sally", system_prompt="Be kind.", provider=provider),
                SessionManager(tmp_path),
                count=estimate,
                show=shown.append,
                options=OPTIONS,
            )
            for number in range(12):
                await conversation.ask(f"{number}: " + "some words that take tokens " * 100)
            await provider.close()
            return conversation

        conversation = asyncio.run(run())
    assert conversation.budget.window == Window(4096)
    assert sum(isinstance(event, Warned) for event in shown) == 1
    assert sum(isinstance(event, Compacted) for event in shown) >= 2
    asked = [
        entry.text.partition(":")[0]
        for path in sorted(tmp_path.glob("*.md"))
        for entry in SessionManager(tmp_path).load(path).session.sent_entries
        if isinstance(entry, Query)
    ]
    assert asked == [str(number) for number in range(12)]


@pytest.mark.parametrize(
    ("message", "window"),
    [
        ("prompt is too long: 208310 tokens > 200000 maximum", 200_000),
        (
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease",
            200_000,
        ),
        (
            (
                "This model's maximum context length is 8192 tokens. However, you requested 9000 "
                "tokens (8000 in ..."
            ),
            8192,
        ),
        (
            (
                "request (9021 tokens) exceeds the available context size (8192 tokens), try "
                "increasing it"
            ),
            8192,
        ),
        ("the request exceeds the available context size. try increasing the context size", None),
        (
            (
                "Trying to keep the first 5000 tokens when context the model has a context length "
                "of only 4096 tokens"
            ),
            4096,
        ),
        (
            "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
            131_072,
        ),
        (
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed "
                "(1048576)."
            ),
            1_048_576,
        ),
        ("maximum context length is 1,048,576 tokens", 1_048_576),
        ("maximum context length is 12 tokens", None),
        ("maximum context length is 999999999999 tokens", None),
        ("", None),
    ],
)
def test_the_window_in_a_refusal(message: str, window: int | None) -> None:
    assert window_from_error(message) == window
