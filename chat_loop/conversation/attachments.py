"""The files of a query: weighed before anything is sent, kept with it, and shown again in later
requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from chat_loop.attach.reading import AS_TEXT, QueryFile, named_files, read
from chat_loop.context.budget import room, size
from chat_loop.conversation.conversation import Conversation
from chat_loop.errors import UsageError, os_reason
from chat_loop.events import Attached, Warned
from chat_loop.sessions.images import ImageGone
from chat_loop.values import Image, Message
from chat_loop.wording import window_text

MOST_IMAGES = 20
"""Images of a request. With more of them Anthropic's wire takes only small ones
(https://docs.anthropic.com/en/docs/build-with-claude/vision)."""
MOST_DATA = 24 << 20
"""Characters of base64 of a request; a request may hold 32 MB in all there."""


async def files_of(conversation: Conversation, typed: str) -> tuple[QueryFile, ...]:
    """Read the files that a query names with `@`. Raises UsageError for one that cannot be sent."""

    def read_all() -> tuple[tuple[QueryFile, ...], tuple[str, ...]]:
        try:
            directory = Path.cwd()
        except OSError:  # it was removed
            directory = Path("/")
        named = named_files(typed, directory)
        return tuple(read(name, path, directory) for name, path in named.files), named.doubtful

    found, doubtful = await asyncio.to_thread(read_all)
    agent, window = conversation.agent, conversation.window
    images = [file.attachment.name for file in found if file.data]
    if images and not agent.provider.takes_images:
        raise UsageError(
            f"{images[0]} is an image, and {agent.model} takes none as far as is known.",
            f"If it does: models: {{{agent.provider.model}: {{images: true}}}} in the config. "
            f"{AS_TEXT}",
        )
    texts = [file.attachment.text for file in found if not file.data]
    tokens = sum(size(text, conversation.count) for text in texts)
    if tokens > (most := room(window) // 2):
        raise UsageError(
            f"The files have about {tokens:,} tokens: with a window of "
            f"{window_text(window, False)} a message takes {most:,} of files.",
            "Take a part of it.",
        )
    if doubtful:
        conversation.show(Warned(f"No file is called {', '.join(doubtful[:3])}: sent as text."))
    return found


def keep(conversation: Conversation, number: int, files: Sequence[QueryFile]) -> None:
    """Add the files to query `number`: images beside the sessions, all else to the transcript."""
    sessions = conversation.sessions
    for file in files:
        entry = replace(file.attachment, number=number, at=sessions.now())
        if file.data:
            try:
                sessions.images.keep(entry.file, file.data)
            except OSError as error:
                problem = f"{entry.name} is not kept: {os_reason(error)}."
                conversation.show(Warned(problem, "It is sent now, and may be missing later."))
        conversation.add(entry)
    conversation.show(Attached(tuple(file.told for file in files)))


def shown(
    conversation: Conversation, messages: Sequence[Message], told: set[str]
) -> tuple[Message, ...]:
    """Return the messages with the data of their images. Tell which cannot be shown, but not what
    is in `told` already.
    """

    def load(image: Image) -> str:
        if not conversation.agent.provider.takes_images:
            raise ImageGone("this model takes no images")
        return conversation.sessions.images.base64(image.file)

    found, problems = with_images(messages, load)
    for problem in problems:
        if problem not in told:
            told.add(problem)
            conversation.show(Warned(problem))
    return found


def with_images(
    messages: Sequence[Message], load: Callable[[Image], str]
) -> tuple[tuple[Message, ...], list[str]]:
    """Return messages with the data of their images, and a sentence for each image that a line
    takes the place of.

    `load` gives the base64 of an image, and raises ImageGone. The newest images go first when there
    are too many.
    """
    found: list[Message] = []
    problems: list[str] = []
    images = data = 0
    for message in reversed(messages):
        kept: list[Image] = []
        notes: list[str] = []
        for image in reversed(message.images):
            try:
                loaded = load(image)
                if images >= MOST_IMAGES or data + len(loaded) > MOST_DATA:
                    raise ImageGone("newer ones take the room")
            except ImageGone as reason:
                notes.append(f"[{image.name} is not shown: {reason}.]")
                problems.append(f"The image {image.name} is not sent: {reason}.")
                continue
            images, data = images + 1, data + len(loaded)
            kept.append(replace(image, data=loaded))
        text = "\n\n".join([*reversed(notes), message.text])
        sent = replace(message, images=tuple(reversed(kept)), text=text)
        found.append(sent if message.images else message)
    return tuple(reversed(found)), problems[::-1]
