"""The process that scales down an image which is too large for models, with Pillow."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from io import BytesIO

from PIL import Image, ImageOps

from chat_loop.conversation.confined import confine
from chat_loop.conversation.image_headers import MAX_PIXELS
from chat_loop.sessions.images import MAX_IMAGE

SECONDS = 20
LONG_SIDES = (2_000, 1_400, 1_000)
"""Pixels of the longer side, until the file is small enough. The first one is the most that
Anthropic's service takes in a request of any number of images; services scale to less.
"""
QUALITY = 85  # of a JPEG file
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")


def main() -> None:
    """Write the image on standard input, scaled down. Exit with 1 if that cannot be done."""
    confine(SECONDS)
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS // 2  # Pillow warns above it, and refuses twice as many
    data = sys.stdin.buffer.read()
    for scaled in versions(data):
        if len(scaled) <= MAX_IMAGE:
            with os.fdopen(1, "wb") as out:
                out.write(scaled)
            return
    sys.exit(1)


def versions(data: bytes) -> Iterator[bytes]:
    """Yield the image in smaller and smaller files. Of an animation, it is the first frame."""
    with Image.open(BytesIO(data), formats=FORMATS) as image:
        keeps_lines = image.format != "JPEG"
        pixels: Image.Image = image
        if image.mode == "P":
            pixels = image.convert("RGBA")  # colors of a palette cannot be mixed
        elif image.mode.startswith("I"):  # shades of 16 bits
            pixels = image.convert("I").point(lambda shade: shade / 256).convert("L")
        for side in LONG_SIDES:
            pixels.thumbnail((side, side))
            upright = ImageOps.exif_transpose(pixels)
            if keeps_lines:  # such as text on a screen, which JPEG would blur
                yield _encoded(upright, "PNG")
            yield _encoded(_on_white(upright), "JPEG")


def _encoded(image: Image.Image, form: str) -> bytes:
    out = BytesIO()
    if form == "PNG" and image.mode not in ("1", "L", "LA", "RGB", "RGBA"):
        image = image.convert("RGBA")
    image.save(out, form, quality=QUALITY)
    return out.getvalue()


def _on_white(image: Image.Image) -> Image.Image:
    """Return an image in the colors of JPEG. What shines through becomes white."""
    if not image.has_transparency_data:
        return image.convert("RGB")
    layer = image.convert("RGBA")
    white = Image.new("RGBA", layer.size, "white")
    return Image.alpha_composite(white, layer).convert("RGB")


if __name__ == "__main__":
    main()
