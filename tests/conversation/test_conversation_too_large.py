"""A request with too many bytes, or one that is larger than a rate allows, costs no word of the
conversation: compacting would not help.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Received, failing, talk
from benchmarks.support.loopback import Reply as Served
from chat_loop.agent.agent import ModelAgent
from chat_loop.conversation.conversation import Conversation
from chat_loop.conversation.conversation_options import Options
from chat_loop.errors import ContextTooLong, ProviderError
from chat_loop.events import Compacted, Event, Retrying
from chat_loop.providers.openai import OpenAIProvider
from chat_loop.sessions.manager import SessionManager
from chat_loop.tokens import estimate
from chat_loop.values import Window
from tests.support.images import png
from tests.support.providers import entry

OPTIONS = Options(attach_from_archive=False, acknowledge=False, use_ai_summary=False)
PAGE = b"<html><head><title>413 Request Entity Too Large</title></head><body>no</body></html>"
TOO_LARGE_FOR_A_MINUTE = (
    "Request too large for this model on tokens per min (TPM): Limit 30000, Requested 35000. The "
    "input or output tokens must be reduced in order to run successfully."
)


class Chat:
    """A conversation with a server. It ends with the block."""

    def __init__(self, folder: Path, url: str) -> None:
        self.events: list[Event] = []
        self.folder = folder / "sessions"
        at = entry("compatible", f"{url}/v1")
        self.provider = OpenAIProvider("gpt-4o", at, window=Window(128_000, True))
        self.conversation = Conversation(
            ModelAgent(name="Sally", system_prompt="Be kind.", provider=self.provider),
            SessionManager(self.folder),
            count=estimate,
            show=self.events.append,
            options=OPTIONS,
        )

    async def ask(self, *texts: str) -> ProviderError | None:
        try:
            for text in texts:
                await self.conversation.ask(text, await self.conversation.files(text))
        except ProviderError as error:
            return error
        finally:
            await self.provider.close()
        return None


def test_a_page_of_a_proxy_about_a_photo_compacts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photo.png").write_bytes(png(noise=b"x" * 300_000))

    def served(request: Received) -> Served:
        if "image_url" in str(request.body):
            return Served(status=413, headers={"content-type": "text/html"}, body=PAGE)
        return talk(request)

    with Loopback(served) as server:
        chat = Chat(tmp_path, server.url)
        error = asyncio.run(chat.ask("One.", "Two.", "Three.", "Look at @photo.png please."))

    assert error is not None
    assert not isinstance(error, ContextTooLong)
    assert error.message.startswith(f"The request is too large for {server.url[7:]} (413)")
    assert error.message.endswith("It has 401 KB.")
    assert error.hint == "/undo takes the message with the image out of the conversation."
    assert not any(isinstance(event, Compacted | Retrying) for event in chat.events)
    assert len(list(chat.folder.glob("*.md"))) == 1
    assert len(server.requests) == 4


def test_a_request_larger_than_the_rate_is_sent_once(tmp_path: Path) -> None:
    with Loopback() as server:
        server.enqueue(failing(429, "tokens", TOO_LARGE_FOR_A_MINUTE, code="rate_limit_exceeded"))
        chat = Chat(tmp_path, server.url)
        error = asyncio.run(chat.ask("One."))

    assert error is not None
    assert "The request alone is larger than" in error.message
    assert "Type compact" in error.hint
    assert "Wait a little" not in error.hint
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "words",
    [
        "Prompt contains 9000 tokens, too large for model with 6000 maximum context length",
        "The input (9000 tokens) is longer than the model's context length (6000 tokens).",
        "Invalid request: Your request exceeded model token limit: 6000 (requested: 9000)",
    ],
)
def test_words_for_a_full_window_compact_and_teach_it(tmp_path: Path, words: str) -> None:
    with Loopback() as server:
        server.enqueue(Served(chunks=("One.",)), Served(chunks=("Two.",)), failing(400, "x", words))
        chat = Chat(tmp_path, server.url)
        error = asyncio.run(chat.ask("First.", "Second.", "Third."))

    assert error is None
    assert chat.conversation.window == 6000
    assert sum(isinstance(event, Compacted) for event in chat.events) == 1
