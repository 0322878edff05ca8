"""The models that could answer now, as far as that can be seen without asking a service."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from chat_loop.providers import Provider


class Offer(Struct, frozen=True):
    """A model that could answer: PROVIDER:MODEL, and a few words on why."""

    reference: str
    note: str = ""


class Models(Struct, frozen=True, kw_only=True):
    """Where another model comes from while a conversation goes on. `providers` are the names that a
    reference may have.

    `provide(reference)` builds a provider, and raises as `choose.create` does. `offered()` may take
    seconds.
    """

    providers: tuple[str, ...]
    provide: Callable[[str], Provider]
    offered: Callable[[], Sequence[Offer]]
