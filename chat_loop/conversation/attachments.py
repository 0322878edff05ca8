"""The files attached to a query: check, store and send them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec.structs import replace

from chat_loop.agent.agent import ModelAgent
from chat_loop.agent.secret_gate import SecretGate
from chat_loop.context.budget import room, size
from chat_loop.conversation.reading import AS_TEXT, QueryFile
from chat_loop.errors import Locked, UsageError, os_reason
from chat_loop.sessions import records
from chat_loop.sessions.images import ImageStore, ImageUnavailable
from chat_loop.tokens import Count
from chat_loop.values import Image, Message, Picture, window_text

# if there are more, all must be small: https://docs.anthropic.com/en/docs/build-with-claude/vision
MAX_IMAGES = 20
MAX_DATA = 24 << 20  # base64 characters per request; Anthropic takes 32 MB per request in all


def check(files: Sequence[QueryFile], agent: ModelAgent, count: Count) -> None:
    """Raise UsageError for files that the agent's model cannot take."""
    images = [file for file in files if file.data]
    if images and not agent.provider.takes_images:
        name = images[0].attachment.name
        text = f"{name} is an image, and {agent.model} doesn't take images as far as we know."
        setting = f"models: {{{agent.provider.model}: {{images: true}}}}"
        instead = AS_TEXT
        if images[0].outgoing is None:  # it was pasted
            instead = "Backspace after its name removes it from the line."
        raise UsageError(text, f"If it does: {setting} in the config. {instead}")
    window = agent.provider.window.tokens
    tokens = sum(size(file.attachment.text, count) for file in files if not file.data)
    if tokens > (limit := room(window) // 2):
        text = f"The files have about {tokens:,} tokens; with a window of "
        text += f"{window_text(window, False)} a message has room for {limit:,}."
        raise UsageError(text, "Attach less of it.")


def pictures_in(
    text: str, files: Sequence[records.Attachment], load: Callable[[str], bytes]
) -> dict[str, Picture]:
    """Return the pasted images of a query by the names that stand for them in its text. `load`
    returns the bytes of an image; one that is lost is left out.
    """
    found: dict[str, Picture] = {}
    for file in files:
        name = name_in(text, file.name)
        if name:
            with suppress(ImageUnavailable):
                data = load(file.file)
                found[name] = Picture(file.width, file.height, file.size, "", file.name, data)
    return found


def name_in(text: str, name: str) -> str:
    """Return what stands for a pasted image in the text of its query; empty if nothing does."""
    found = re.search(rf"\[{re.escape(name)}: [^\]\n]*\]", text)
    return found[0] if found else ""


def keep_image(store: ImageStore, file: QueryFile) -> str:
    """Keep the data of an image beside the sessions. Return why that failed, or an empty text."""
    if not file.data:
        return ""
    try:
        store.keep(file.attachment.file, file.data)
    except OSError as error:
        reason = os_reason(error)
    except Locked:
        reason = "its folder is in use"
    else:
        return ""
    return f"{file.attachment.name} cannot be saved: {reason}."


async def release(files: Sequence[QueryFile], gate: SecretGate) -> tuple[QueryFile, ...] | None:
    """Return the files as they are sent: what contains secrets, or comes from a place of keys, goes
    through the gate. Return None if the user refuses: then nothing is sent.
    """
    judged = [file.outgoing for file in files if file.outgoing is not None]
    sent = iter(await gate.release(judged, by_user=True))
    released = []
    for file in files:
        released.append(file if file.outgoing is None else file.released(next(sent)))
    if any(file.left_out == "refused" for file in released):
        return None
    return tuple(released)


def with_images(
    messages: Sequence[Message], load: Callable[[Image], str], takes_images: bool = True
) -> tuple[tuple[Message, ...], list[str]]:
    """Return messages with the data of their newest images, and a sentence per omitted image."""
    loaded: list[Message] = []
    problems: list[str] = []
    images = data = 0
    for message in reversed(messages):
        if not message.images:
            loaded.append(message)
            continue
        sent = []
        notes = []
        for image in reversed(message.images):
            try:
                if not takes_images:
                    raise ImageUnavailable("this model takes no images")
                encoded = load(image)
                if images >= MAX_IMAGES or data + len(encoded) > MAX_DATA:
                    raise ImageUnavailable("newer images fill the request")
            except ImageUnavailable as reason:
                notes.append(f"[{image.name} is not shown: {reason}.]")
                problems.append(f"The image {image.name} is not sent: {reason}.")
                continue
            images += 1
            data += len(encoded)
            sent.append(replace(image, data=encoded))
        text = "\n\n".join([*reversed(notes), message.text])
        loaded.append(replace(message, images=tuple(reversed(sent)), text=text))
    return tuple(reversed(loaded)), problems[::-1]
