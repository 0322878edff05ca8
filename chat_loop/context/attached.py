"""Files as they are sent with a query (pure): texts before its words, between lines that none can
hold; and images.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

from msgspec.structs import replace

from chat_loop.sessions.escape import encode_line
from chat_loop.sessions.records import Attachment
from chat_loop.values import Image, Message
from chat_loop.wording import file_size_text

MOST_IMAGES = 20
"""Images of a request. With more of them Anthropic's wire takes only small ones
(https://docs.anthropic.com/en/docs/build-with-claude/vision)."""
MOST_DATA = 24 << 20
"""Characters of base64 of a request; a request may hold 32 MB in all there."""
NO_IMAGES = "this model takes no images"
TOO_MANY = "newer ones take the room"


class NotShown(Exception):
    """An image is not sent; the message says why, as the rest of a sentence."""


def asked(text: str, attached: Sequence[Attachment]) -> Message:
    """A query as it is sent: what its files hold, then its own words, if `text` is not empty.

    The line around a file is made of a digest of all of them, so that none can hold it.
    """
    if not attached:
        return Message("user", text)
    files = [one for one in attached if not one.is_image]
    digest = sha256()
    for file in files:
        digest.update(sha256(file.text.encode("utf-8", "surrogatepass")).digest())
    line = f"==== {digest.hexdigest()[:32]} ===="
    parts = []
    for one in attached:
        name = encode_line(one.name)
        if one.is_image:
            parts.append(f"Attached image: {name}, {one.width}×{one.height} pixels.")
        else:
            parts.append(
                f"Attached file: {name}, {file_size_text(one.size)}, between two lines {line}"
            )
            parts[-1] += (
                f"\n{line}\n{one.text}{'' if one.text.endswith(chr(10)) else chr(10)}{line}"
            )
    images = tuple(
        Image(name, one.media, one.width, one.height, one.file)
        for one in attached
        if one.is_image
        for name in [encode_line(one.name)]
    )
    return Message("user", "\n\n".join(filter(None, (*parts, text))), images=images)


def with_images(
    messages: Sequence[Message], load: Callable[[Image], str]
) -> tuple[tuple[Message, ...], list[str]]:
    """Messages with the data of their images, and a sentence for each image that a line takes the
    place of.

    `load` gives the base64 of an image, and raises NotShown. The newest images go first when there
    are too many.
    """
    if not any(message.images for message in messages):
        return tuple(messages), []
    shown: list[Message] = []
    problems: list[str] = []
    images = data = 0
    for message in reversed(messages):
        kept: list[Image] = []
        notes: list[str] = []
        for image in reversed(message.images):
            try:
                loaded = load(image)
                if images >= MOST_IMAGES or data + len(loaded) > MOST_DATA:
                    raise NotShown(TOO_MANY)
            except NotShown as reason:
                notes.append(f"[{image.name} is not shown: {reason}.]")
                problems.append(f"The image {image.name} is not sent: {reason}.")
                continue
            images, data = images + 1, data + len(loaded)
            kept.append(replace(image, data=loaded))
        text = "\n\n".join([*reversed(notes), message.text])
        shown.append(
            replace(message, images=tuple(reversed(kept)), text=text) if message.images else message
        )
    return tuple(reversed(shown)), problems[::-1]
