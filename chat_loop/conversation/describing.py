"""What the live session is called and how it is tagged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chat_loop.conversation.live_context import LiveContext
from chat_loop.sessions.records import Name, Tag, Untag


def describe(
    context: LiveContext, *, name: str | None = None, tags: Sequence[str] | None = None
) -> None:
    """Name or tag the live session; None leaves it as it is."""
    live, at = context.live, context.sessions.now()
    if live.empty and not live.header.parent:  # its header is not written yet
        header = live.header
        live.header = replace(
            header,
            name=header.name if name is None else name,
            tags=header.tags if tags is None else tuple(tags),
        )
        return
    standing = context.session.tags
    if name is not None and name != context.session.name:
        context.add(Name(at=at, text=name))
    wanted = standing if tags is None else tags
    for tag in wanted:
        if tag not in standing:
            context.add(Tag(at=at, text=tag))
    for tag in standing:
        if tag not in wanted:
            context.add(Untag(at=at, text=tag))
