"""The images in the line: a name with the size stands for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from chat_loop.values import Picture, size_text


class Pictures:
    """The images of this run by their names, such as `[image 1: 1280×720, 240 KB]`. `count()` is
    the number of images that the conversation has without those in the line.
    """

    def __init__(self, count: Callable[[], int]) -> None:
        self._count = count
        self.named: dict[str, Picture] = {}

    def name(self, picture: Picture) -> str:
        """Return the name that stands for an image in the line from now on."""
        used = {known.name for known in self.named.values()}
        number = self._count() + 1
        while f"image {number}" in used:
            number += 1
        size = f"{picture.width}×{picture.height}, {size_text(picture.size)}"
        name = f"[image {number}: {size}]"
        self.named[name] = replace(picture, name=f"image {number}")
        return name

    def know(self, pictures: Mapping[str, Picture]) -> None:
        """Let the names in a text from elsewhere stand for its images."""
        self.named |= pictures

    def has(self, text: str) -> bool:
        """Return True when `text` contains the name of an image."""
        return any(name in text for name in self.named)

    def pasted(self, text: str) -> tuple[Picture, ...]:
        """Return the images that a text names and that are no files."""
        named = self.named.items()
        return tuple(picture for name, picture in named if picture.data and name in text)

    def expand(self, text: str) -> str:
        """Return `text` with each image that is a file as `@path`."""
        for name, picture in self.named.items():
            if picture.mention:
                text = text.replace(name, picture.mention)
        return text
