"""The embedded models that can be installed by name; their data are in `catalogue.json`.

Every source of a model yields the same bytes: the mirrors were joined and compared with the hash of
the publisher's file.
"""

from __future__ import annotations

from pathlib import Path

import msgspec


class Part(msgspec.Struct, frozen=True):
    """A piece of a model file: one member of one data wheel on a package index."""

    distribution: str
    version: str
    member: str  # the piece's path inside the wheel
    size: int  # bytes of the piece, unpacked
    sha256: str  # of the wheel

    @property
    def wheel(self) -> str:
        """The wheel's file name on the index."""
        return f"{self.distribution.replace('-', '_')}-{self.version}-py3-none-any.whl"


class EmbeddedModel(msgspec.Struct, frozen=True, kw_only=True):
    """A model that runs on this machine."""

    name: str
    title: str
    size: int  # bytes of the GGUF file
    window: int  # the longest context the model was trained for, in tokens
    licence: str = "Apache-2.0"
    sha256: str  # of the whole GGUF file
    recommended: bool = False
    sources: tuple[str | tuple[Part, ...], ...]
    """In the order to try: the address of the whole file at its publisher, or a mirror on the
    package index, where the members of wheels, joined in order, are the file.
    """
    notice: str  # whose work it is


CATALOGUE = msgspec.json.decode(
    Path(__file__).with_name("catalogue.json").read_bytes(), type=tuple[EmbeddedModel, ...]
)
"""The recommended model first."""
QWEN_1_5B, _, SMOLLM2 = CATALOGUE
