"""The models that can be chosen: those that the usable services list, and the embedded ones. A list
is kept for a day.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from chat_loop.errors import ChatLoopError, ProviderError
from chat_loop.providers import Provider
from chat_loop.providers.capabilities import from_answer, list_at, text_at
from chat_loop.providers.models import store
from chat_loop.providers.servers import is_local_address
from chat_loop.providers.wire import WireProvider
from chat_loop.sessions.files import write_private
from chat_loop.values import Offered, size_text

DAY = 86_400.0  # seconds for which a list is kept
LONGEST_NAME = 200
_NO_CHAT = re.compile(
    r"embed|whisper|tts|dall-?e|moderation|transcri|realtime|imagen?\b|-image|imagine|audio|sora|"
    r"\bveo|rerank|\bocr\b|guard|speech|lyria",
    re.IGNORECASE,
)
"""Names of models that do not chat. Most services do not say what a model is for."""

Names = list[tuple[str, int]]
"""The names of models, each with its window in tokens, 0 if the list does not say."""


class ModelListing(Struct, frozen=True):
    """The models that can be chosen, and a sentence for each list that could not be had."""

    models: tuple[Offered, ...] = ()
    problems: tuple[str, ...] = ()


class KeptList(Struct, frozen=True):
    """A list, and when it was asked for, in seconds since 1970."""

    at: float
    names: Names


class KeptLists:
    """The lists of a day, by the services and their addresses, in a private file."""

    def __init__(self, file: Path, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self.clock = clock

    def read(self) -> dict[str, KeptList]:
        """Return the lists that are at most a day old."""
        kept: dict[str, KeptList] = {}
        with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
            kept = msgspec.json.decode(self._file.read_bytes(), type=dict[str, KeptList])
        now = self.clock()
        return {name: each for name, each in kept.items() if 0 <= now - each.at < DAY}

    def write(self, lists: Mapping[str, KeptList]) -> None:
        """Replace the lists. If the disk refuses, they are asked for again the next time."""
        with suppress(ChatLoopError):
            write_private(self._file, msgspec.json.encode(lists))


async def list_models(
    candidates: Callable[[], Mapping[str, str]],
    provide: Callable[[str], Provider],
    kept: KeptLists,
    folder: Path,
    now: str = "",
    *,
    only_here: bool = False,
) -> ModelListing:
    """Return what can be chosen: the model that answers `now`, the `candidates` (reference -> why),
    the models that the services of these list, and the embedded ones that are not in the `folder`.
    All are asked at once; if `only_here`, those on this machine.
    """
    found = {**await asyncio.to_thread(candidates)}
    if now:
        found.setdefault(now, "")
    known = await asyncio.to_thread(kept.read)
    firsts: dict[str, str] = {}
    for reference in found:
        firsts.setdefault(reference.partition(":")[0], reference)
    problems: list[str] = []
    lists: dict[str, KeptList] = {}
    names: dict[str, Names] = {}

    async def ask(name: str, reference: str) -> None:
        with suppress(ChatLoopError):  # it is said when the candidate is chosen
            provider = await asyncio.to_thread(provide, reference)
            may_ask = is_local_address(provider.endpoint) or not only_here
            if not (may_ask and isinstance(provider, WireProvider)):
                return
            if not provider.entry.has_list:
                entry = provider.entry
                problems.append(f"{entry.title} lists no models. {entry.model_hint}")
                return
            try:
                listed = await _ask(provider, known, kept.clock, problems)
            finally:
                await provider.close()
            lists[f"{name} {provider.endpoint}"] = listed
            names[name] = listed.names

    async with asyncio.TaskGroup() as group:
        for name, reference in firsts.items():
            group.create_task(ask(name, reference))
    lists = {name: each for name, each in lists.items() if each.at}
    if lists != known:
        await asyncio.to_thread(kept.write, lists)
    in_order = {name: names.get(name, []) for name in firsts}
    models = await asyncio.to_thread(_joined, found, in_order, folder)
    return ModelListing(models, tuple(problems))


async def _ask(
    provider: WireProvider,
    known: Mapping[str, KeptList],
    clock: Callable[[], float],
    problems: list[str],
) -> KeptList:
    """Return the list of a service, from today or from the service. If it cannot be had, it is of
    the year 1970, and a sentence on why is added to the `problems`.
    """
    address = f"{provider.name} {provider.endpoint}"
    if address in known:
        return known[address]
    try:
        data = await provider.models_answer()
        return KeptList(clock(), await asyncio.to_thread(names_in, data))
    except ProviderError as error:
        problems.append(f"{provider.entry.title} did not list its models. {error.message}")
        return KeptList(0.0, [])


def _joined(
    candidates: Mapping[str, str], listed: Mapping[str, Names], folder: Path
) -> tuple[Offered, ...]:
    """Return the candidates, the listed models in the order of their services, and the embedded
    ones that could be downloaded.
    """
    windows: dict[str, int] = {}
    for service, names in listed.items():
        for name, window in names:
            windows[f"{service}:{name}"] = window
    offers: dict[str, Offered] = {}
    for reference, note in candidates.items():
        offers[reference] = Offered(reference, windows.get(reference, 0), note)
    for reference, window in windows.items():
        offers.setdefault(reference, Offered(reference, window))
    installed = store.installed_models(folder)
    for model in store.CATALOGUE:
        if model not in installed:
            note = f"{size_text(model.size)} to download"
            reference = f"local:{model.name}"
            offers[reference] = Offered(reference, model.window, note, is_missing=True)
    return tuple(offers.values())


def names_in(data: bytes) -> Names:
    """Return the names in a service's list of its models. Raises ProviderError if it is none."""
    answer: object = None
    with suppress(msgspec.MsgspecError, RecursionError):
        answer = msgspec.json.decode(data)
    if not (isinstance(answer, dict) and isinstance(answer.get("data"), list)):
        raise ProviderError("It did not send a list of models.")
    names: dict[str, int] = {}
    for entry in list_at(answer, "data"):
        name = text_at(entry, "id").removeprefix("models/")  # Gemini
        is_name = name.isprintable() and 0 < len(name) <= LONGEST_NAME
        if is_name and not _NO_CHAT.search(name):
            names[name] = from_answer(entry).window
    return [*names.items()]
