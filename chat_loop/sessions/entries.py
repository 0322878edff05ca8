"""What stands in a transcript between its header and its seal, as values: one for each kind of
record.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType

from chat_loop.frozen import dataclass
from chat_loop.values import StopReason, Usage

IMAGES: Mapping[str, str] = MappingProxyType(
    {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}
)
"""The kinds of images that models take, and how the names of such files end."""
IMAGE_FOLDER = "attachments"
"""Where the images of a sessions folder are, in it."""
_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Query:
    """What the user said. `number` counts the session's queries from 1."""

    number: int
    at: datetime
    text: str


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What the model answered, complete or not. `number` is that of its query; 0 is the
    acknowledgment.

    `failed`: the request was refused or never answered. The query and all that belongs to it are
    not sent again.
    """

    number: int
    at: datetime
    text: str
    stop: StopReason = "end"
    seconds: float | None = None
    usage: Usage | None = None
    failed: bool = False


@dataclass(frozen=True, kw_only=True)
class Pin:
    """Text that every later summary block of the chain carries unchanged."""

    at: datetime
    text: str


@dataclass(frozen=True, kw_only=True)
class Unpin:
    """A pin, its parent's or its own, that the session no longer carries."""

    at: datetime
    text: str


@dataclass(frozen=True, kw_only=True)
class Name:
    """The session was named; an empty text takes the name away."""

    at: datetime
    text: str


@dataclass(frozen=True, kw_only=True)
class Tag:
    """The session was tagged."""

    at: datetime
    text: str


@dataclass(frozen=True, kw_only=True)
class Untag:
    """A tag was taken off."""

    at: datetime
    text: str


@dataclass(frozen=True, kw_only=True)
class Switch:
    """Another model, `text` as `provider:model`, answers from here on."""

    at: datetime
    text: str


@dataclass(frozen=True, kw_only=True)
class Undo:
    """Query `number` and what was answered count as not said; the words stay in the file."""

    number: int
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Call:
    """A tool that the model called while answering query `number`. `arguments` is JSON as the model
    wrote it.
    """

    number: int
    at: datetime
    id: str
    name: str
    arguments: str


@dataclass(frozen=True, kw_only=True)
class Result:
    """What the call with the same `id` gave back."""

    number: int
    at: datetime
    id: str
    text: str
    failed: bool = False
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class Recall:
    """Passages of the archive that the program attached to query `number`; sent with it, not said
    by the user.
    """

    number: int
    at: datetime
    text: str


@dataclass(frozen=True, kw_only=True)
class Attachment:
    """A file that the user gave with query `number`, as it was then. `name` is the path as it was
    typed.

    `size` is in bytes, `sha256` the file's digest in hexadecimal. `text` is what a text file held;
    an image is kept as a file of its own, and `width` and `height` are in pixels.
    """

    number: int
    at: datetime
    name: str
    media: str
    size: int
    sha256: str
    text: str = ""
    width: int = 0
    height: int = 0

    @property
    def is_image(self) -> bool:
        return self.media in IMAGES

    @property
    def file(self) -> str:
        """Where an image is kept, from the sessions folder; empty when it is none, or its digest is
        no digest.
        """
        if not self.is_image or not _DIGEST.fullmatch(self.sha256):
            return ""
        return f"{IMAGE_FOLDER}/{self.sha256}.{IMAGES[self.media]}"


@dataclass(frozen=True, kw_only=True)
class Restoration:
    """What the session was given of its parent. `block` is the inner text of a summary block of the
    chain.

    The words from `since` on (a reference, up to the parent's end) are given as they were said,
    those before it only as the block. Of these words the ones from `fresh` on are in no summary
    block yet. Empty: none.

    A session that forks ends its parent's words at the reference `until`. One that merges has a
    second parent, with the id `merged`.
    """

    at: datetime
    parent_created: datetime
    queries: int
    tokens: int
    block: str
    grandparent: str = ""
    depth: int = 2
    """Which session of the chain this one is."""
    since: str = ""
    fresh: str = ""
    until: str = ""
    merged: str = ""


Note = Pin | Unpin | Name | Tag | Untag | Switch
Entry = Query | Reply | Note | Undo | Call | Result | Recall | Attachment | Restoration

OF_QUERY = (Query, Reply, Call, Result, Recall, Attachment, Undo)
"""The kinds that belong to a query, by their `number`."""
