"""The embedded model as the benchmark uses it, and a record of its answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from hashlib import sha256
from pathlib import Path

import msgspec

from chat_loop.events import Event, Finished, TextDelta
from chat_loop.providers import Provider
from chat_loop.providers.local import LocalProvider
from chat_loop.values import Request


class Greedy(LocalProvider):
    """An embedded model that always takes the likeliest token; the program's varies a little."""

    def _answer(self, body: dict[str, object]) -> AsyncGenerator[object]:
        return super()._answer({**body, "temperature": 0.0, "seed": 0})


class Recorded(Provider):
    """A model that saves each complete answer in a file, so that no request is computed twice."""

    def __init__(self, model: Provider, folder: Path) -> None:
        self.name, self.model, self.window = model.name, model.model, model.window
        self.first_event_seconds = model.first_event_seconds
        self._inner = model
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    async def stream(self, request: Request) -> AsyncIterator[Event]:
        path = self._folder / f"{sha256(msgspec.json.encode(request)).hexdigest()}.json"
        if path.exists():
            kept = msgspec.json.decode(path.read_bytes())
            yield TextDelta(kept["text"])
            yield msgspec.convert(kept["end"], Finished)
            return
        pieces: list[str] = []
        async for event in self._inner.stream(request):
            if isinstance(event, TextDelta):
                pieces.append(event.text)
            elif isinstance(event, Finished):
                unfinished = path.with_suffix(".part")
                unfinished.write_bytes(msgspec.json.encode({"text": "".join(pieces), "end": event}))
                unfinished.replace(path)
            yield event

    async def close(self) -> None:
        await self._inner.close()


async def complete(provider: Provider, request: Request) -> tuple[str, int]:
    """Return an answer and the number of tokens in its prompt. Raises ProviderError."""
    pieces: list[str] = []
    prompt = 0
    async for event in provider.stream(request):
        if isinstance(event, TextDelta):
            pieces.append(event.text)
        elif isinstance(event, Finished) and event.usage is not None:
            prompt = event.usage.input
    return "".join(pieces).strip(), prompt
