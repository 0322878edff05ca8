"""Refusals that real services sent, in the two halves of `tests/providers/refusals/`.

`tests/providers/refusals/README.md` says what each field means.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.json import Decoder

FOLDER = Path(__file__).parents[1] / "providers" / "refusals"

Half = Literal["build", "judge"]
HALVES: tuple[Half, ...] = ("build", "judge")

Kind = Literal[
    "key",
    "policy",
    "billing",
    "model",
    "too_long",
    "too_large",
    "rate",
    "too_large_for_rate",
    "parameter",
    "tool",
    "role",
    "content",
    "overload",
    "failure",
    "filter",
    "output",
    "order",
    "other",
]

Name = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
Link = Annotated[str, Meta(pattern=r"^https://[^\s/]+\.[^\s/]+/\S+$")]
HeaderName = Annotated[str, Meta(pattern=r"^[a-z0-9-]+$")]
Count = Annotated[int, Meta(gt=0)]
Seconds = Annotated[float, Meta(ge=0)]
Status = Annotated[int, Meta(ge=400, le=599)]


class Stated(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The numbers that a refusal states, in its text, its fields or its headers."""

    window: Count | None = None  # tokens that fit
    tokens: Count | None = None  # tokens that the request has
    limit: Count | None = None  # tokens or requests that a rate allows
    requested: Count | None = None  # of that limit
    per: Literal["second", "minute", "hour", "day", "week", "month"] | None = None
    max_bytes: Count | None = None
    wait: Seconds | None = None


class Refusal(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One refusal of a service."""

    id: Name
    service: Name  # who sent the text, which may be a gateway
    wire: Literal["openai", "anthropic", "bedrock"]
    status: Status | None  # None if the source does not say it
    kind: Kind
    near: Kind | None = None  # the kind for which a careless reader takes it
    stream: bool = False  # it came inside a stream that had begun with status 200
    headers: dict[HeaderName, str] = {}
    body: str
    states: Stated = Stated()
    seen: Literal["body", "message", "template", "headers"]
    source: Link

    @property
    def half(self) -> Half:
        """Return the half to which the text belongs, or the headers if there is no text."""
        text = self.body or json.dumps(self.headers, sort_keys=True)
        return HALVES[hashlib.sha256(text.encode()).digest()[0] % 2]

    def payload(self) -> object:
        """Return the body as a client decodes it: the JSON value, or the text if it is no object.

        A bare message is wrapped the way most services do it.
        """
        if self.seen == "message" and not self.body.startswith("{"):
            return {"error": {"message": self.body}}
        if not self.body.startswith(("{", "[")):
            return self.body
        value: object = json.loads(self.body)
        return value


_LINE = Decoder(Refusal)


def refusals(half: Half) -> list[Refusal]:
    """Return the refusals of one half. Raise msgspec.ValidationError for a line that is wrong."""
    lines = (FOLDER / f"{half}.jsonl").read_text("utf-8").splitlines()
    return [_LINE.decode(line) for line in lines]
