"""Images that are too large for models: they are scaled down, or refused with their size."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from chat_loop.conversation import reading
from chat_loop.conversation.image_headers import image_size, media_type
from chat_loop.conversation.reading import QueryFile, read
from chat_loop.errors import UsageError
from chat_loop.sessions.images import MAX_IMAGE
from tests.support.images import huge_png, png


def file_of(folder: Path, data: bytes) -> QueryFile:
    (folder / "x.png").write_bytes(data)
    return read("x.png", folder / "x.png", folder)


def refused(folder: Path, data: bytes) -> tuple[str, str]:
    with pytest.raises(UsageError) as error:
        file_of(folder, data)
    return error.value.message, error.value.hint


def encoded(image: Image.Image, form: str, **options: object) -> bytes:
    out = BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def noise(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """An image that no format makes much smaller."""
    bands = len(Image.new(mode, (1, 1)).getbands())
    return Image.frombytes(
        mode, (width, height), random.Random(1).randbytes(width * height * bands)
    )


def red(mode: str = "RGB", size: tuple[int, int] = (9_000, 30)) -> Image.Image:
    return Image.new("RGB", size, "red").convert(mode)


def animation() -> bytes:
    frames = [Image.new("P", (9_000, 30), color) for color in range(4)]
    return encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])


def pixel(file: QueryFile) -> tuple[int, ...]:
    with Image.open(BytesIO(file.data)) as image:
        color = image.getpixel((5, 5))
    assert isinstance(color, tuple)
    return color


def turned() -> bytes:
    """A photo whose camera lay on its side: it is 30 pixels wide for those who look at it."""
    exif = Image.Exif()
    exif[0x0112] = 6
    return encoded(red(), "JPEG", exif=exif)


@pytest.mark.parametrize(
    ("make", "media", "pixels"),
    [
        (lambda: encoded(red(), "PNG"), "image/png", (2_000, 7)),
        (lambda: encoded(red("P"), "PNG"), "image/png", (2_000, 7)),
        (lambda: encoded(red("1"), "PNG"), "image/png", (2_000, 7)),
        (lambda: encoded(red("RGBA"), "PNG"), "image/png", (2_000, 7)),
        (lambda: encoded(red("L").convert("I;16"), "PNG"), "image/png", (2_000, 7)),
        (lambda: encoded(red("CMYK"), "JPEG"), "image/jpeg", (2_000, 7)),
        (lambda: encoded(red("L"), "JPEG"), "image/jpeg", (2_000, 7)),
        (lambda: encoded(red(), "WEBP"), "image/png", (2_000, 7)),
        (turned, "image/jpeg", (7, 2_000)),
        (animation, "image/png", (2_000, 7)),
        (lambda: encoded(red(size=(8_001, 1)), "PNG"), "image/png", (2_000, 1)),
        (lambda: png(noise=bytes(MAX_IMAGE)), "image/png", (4, 3)),
        pytest.param(lambda: encoded(noise(1_300, 1_100), "PNG"), "image/jpeg", (1_300, 1_100), marks=pytest.mark.slow),
        pytest.param(lambda: encoded(noise(1_100, 1_000, "RGBA"), "PNG"), "image/jpeg", (1_100, 1_000), marks=pytest.mark.slow),
        pytest.param(lambda: encoded(noise(3_000, 2_900), "JPEG", quality=95), "image/jpeg", (2_000, 1_933), marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_an_image_that_models_would_refuse_is_scaled_down(
    tmp_path: Path, make: Callable[[], bytes], media: str, pixels: tuple[int, int]
) -> None:
    before = make()
    file = file_of(tmp_path, before)
    assert len(file.data) <= MAX_IMAGE
    assert media_type(file.data) == file.attachment.media == media
    assert image_size(file.data) == (file.attachment.width, file.attachment.height) == pixels
    assert file.attachment.size == len(file.data)
    width, height = image_size(before)
    shown = f"x.png, {pixels[0]}×{pixels[1]} (scaled down from {width}×{height})"
    assert file.description == shown
    assert file.outgoing is not None


@pytest.mark.slow
def test_the_colors_are_kept_and_what_shines_through_is_white(tmp_path: Path) -> None:
    half = Image.new("RGBA", (9_000, 30), (255, 0, 0, 0))
    assert pixel(file_of(tmp_path, encoded(half, "PNG")))[3] == 0
    shade, *others = pixel(file_of(tmp_path, encoded(red("CMYK"), "JPEG")))
    assert shade > 230
    assert max(others) < 30
    clear = noise(1_300, 1_100, "RGBA")
    clear.putalpha(0)
    assert pixel(file_of(tmp_path, encoded(clear, "PNG"))) == (255, 255, 255)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (huge_png(60_000, 60_000), "60,000 × 60,000 pixels. The limit is 64 megapixels."),
        (huge_png(8_001, 8_000), "8,001 × 8,000 pixels. The limit is 64 megapixels."),
        (huge_png(8_001, 1), "8,001 × 1 pixels. It cannot be scaled down: it is damaged."),
        (png(noise=bytes(32 << 20)), "34 MB. The limit is 34 MB."),
    ],
)
def test_a_bomb_and_a_damaged_image_are_refused(tmp_path: Path, data: bytes, message: str) -> None:
    text, hint = refused(tmp_path, data)
    assert text == f"x.png is too large: {message}"
    assert hint


def test_an_image_that_takes_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "SCALING_SECONDS", 0.01)
    text, _ = refused(tmp_path, encoded(red(), "PNG"))
    assert text.endswith("It cannot be scaled down: it is damaged.")


def test_without_the_extra_the_size_is_named_and_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    text, hint = refused(tmp_path, png(noise=bytes(MAX_IMAGE)))
    assert text == "x.png is too large: 3.9 MB. The limit is 3.9 MB."
    assert "chat-loop[images]" in hint
    text, hint = refused(tmp_path, huge_png(8_001, 1))
    assert text == "x.png is too large: 8,001 × 1 pixels. Models accept up to 8,000 each way."
    assert "chat-loop[images]" in hint
