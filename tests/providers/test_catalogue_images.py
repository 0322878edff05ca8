"""Images through every provider's own SDK, as whole messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.support.loopback import Loopback
from benchmarks.support.loopback_wires import unmarked
from chat_loop.values import Image, Message, Request
from tests.support.catalogue import ALL, Service
from tests.support.images import base64, jpeg, png
from tests.support.providers import events_of

SHOWN = {"image/png": base64(png()), "image/jpeg": base64(jpeg())}
LOOK = Request(
    system="Be brief.",
    messages=(
        Message(
            "user",
            "Compare.",
            images=tuple(Image("x", kind, 4, 3, "", data) for kind, data in SHOWN.items()),
        ),
    ),
)


@pytest.fixture(params=ALL, ids=str)
def service(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Service:
    made: Service = request.param
    made.set_up(monkeypatch, tmp_path)
    return made


def image(wire: str, media: str, data: str) -> dict[str, Any]:
    if wire == "openai":
        return {"type": "image_url", "image_url": {"url": f"data:{media};base64,{data}"}}
    return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}


def test_images(server: Loopback, service: Service, tmp_path: Path) -> None:
    events_of(service.at(server.url, tmp_path), LOOK)

    [request] = server.requests
    blocks = [
        *(image(service.wire, *each) for each in SHOWN.items()),
        {"type": "text", "text": "Compare."},
    ]
    [sent] = unmarked(request.body["messages"][-1:])
    assert sent == {"role": "user", "content": blocks}
