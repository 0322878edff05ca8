"""Images in requests on both wires, and runs of the program with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.support.loopback import Loopback, failing
from chat_loop.config import parse
from chat_loop.providers.capabilities import guess_capabilities
from chat_loop.providers.choose import Machine, create
from chat_loop.providers.local import LocalProvider
from chat_loop.values import Image, Message, Request, ToolCall, ToolResult, Window
from tests.support.headless import run, saved
from tests.support.images import base64, gif, jpeg, place, png, webp
from tests.support.providers import anthropic_at, failure_of, openai_at

PHOTO = png(640, 480)
PHOTO_DATA = base64(PHOTO)


def image(data: bytes, media: str) -> Image:
    return Image("x", media, 4, 3, place(data, media), base64(data))


ASK = Request(
    system="Be brief.",
    messages=(
        Message("user", "Two.", images=(image(png(), "image/png"), image(jpeg(), "image/jpeg"))),
        Message("assistant", "", calls=(ToolCall("c1", "look", "{}"),)),
        Message(
            "user",
            "More.",
            results=(ToolResult("c1", "Nothing."),),
            images=(
                image(gif(), "image/gif"),
                image(webp(), "image/webp"),
                Image("lost", "image/png", 1, 1),
            ),
        ),
    ),
)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (anthropic_at, "Could not process image"),
        (openai_at, "this model does not support image input"),
        (openai_at, "image input is not supported - hint: you may need to provide the mmproj"),
        (openai_at, "model has no vision"),
    ],
)
def test_an_image_that_is_refused_says_how_to_go_on(
    server: Loopback, make: Any, message: str
) -> None:
    server.enqueue(failing(500 if "mmproj" in message else 400, "invalid_request_error", message))
    refusal = failure_of(make(server.url), ASK)
    assert message in refusal.message
    assert refusal.hint == "/undo takes the message with the image out of the conversation."
    assert not refusal.retryable


@pytest.mark.parametrize(
    ("model", "takes"),
    [
        ("claude-sonnet-5-5", True),
        ("claude-3-haiku-20240307", True),
        ("gpt-4-vision-preview", True),
        ("gpt-4", False),
        ("gpt-oss-120b", False),
        ("o1", True),
        ("o3-mini", False),
        ("o4-mini", True),
        ("gemma3:4b", True),
        ("grok-3", False),
        ("grok-code-fast-1", False),
        ("llama3.2-vision:11b", True),
        ("meta-llama/Llama-4-Scout", True),
        ("Qwen/Qwen3-VL-8B-Instruct", True),
        ("pixtral-12b", True),
        ("mistral-medium-latest", True),
        ("grok-4.3", True),
        ("phi-4-vision", True),
        ("my-own-model", False),
    ],
)
def test_who_takes_images_as_long_as_no_server_has_said_it(model: str, takes: bool) -> None:
    assert guess_capabilities(model).images == takes


def test_the_config_has_the_last_word(tmp_path: Path) -> None:
    config = parse(
        b"models:\n  mine: {images: true}\n  gpt-4o: {images: false}\n  claude-3: {window: 9}\n",
        "x",
    )
    assert config.images == {"mine": True, "gpt-4o": False}
    machine = Machine(environment={}, models=tmp_path, servers=())

    def takes(reference: str, url: str = "") -> bool:
        return create(reference, config, machine, base_url=url).takes_images

    assert takes("compatible:mine", "http://127.0.0.1:1/v1")
    assert not takes("compatible:other", "http://127.0.0.1:1/v1")
    assert not takes("openai:gpt-4o")
    assert takes("openai:gpt-4.1")
    assert takes("anthropic:claude-3")
    assert not takes("scripted:echo")
    assert not LocalProvider(tmp_path / "m.gguf", "m", Window(1)).takes_images


# Runs of the whole program


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "photo.png").write_bytes(PHOTO)
    (folder / "my notes.txt").write_text("port is 5432\n")
    return folder


CLAUDE = ("--model", "anthropic:claude-test")


def keys(server: Loopback) -> dict[str, str]:
    return {"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": server.url}


@pytest.mark.usefixtures("here")
def test_one_question_with_an_image_and_a_text(tmp_path: Path, server: Loopback) -> None:
    question = 'Compare @photo.png and @"my notes.txt".'
    home = tmp_path / "home"
    result = run(home, *CLAUDE, "-p", question, stdin=b"See @/etc/hosts too.\n", keys=keys(server))
    assert (result.returncode, result.stderr) == (0, b"")
    [message] = server.requests[0].body["messages"]
    [shown, text] = message["content"]
    assert shown["source"] == {"type": "base64", "media_type": "image/png", "data": PHOTO_DATA}
    line = text["text"].split("\n")[3]
    assert text["text"] == (
        "Attached image: photo.png, 640×480 pixels.\n\n"
        f"Attached file: my notes.txt, 13 bytes, between two lines {line}\n{line}\nport is "
        f"5432\n{line}\n\n"
        f"{question}\n\nSee @/etc/hosts too."
    )
    [session] = saved(home)
    assert session.exchanges[0].query.text == f"{question}\n\nSee @/etc/hosts too."
    assert [file.name for file in session.exchanges[0].attached] == ["photo.png", "my notes.txt"]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("See @photo.png", "photo.png is an image, and scripted:echo doesn't take images as far as we know."),
        ("See @nothing.txt", "No file named nothing.txt."),
        ("See @/dev/zero", "/dev/zero cannot be read: it is not a regular file."),
    ],
)  # fmt: skip
def test_a_question_whose_file_cannot_be_sent_is_not_asked(
    tmp_path: Path, question: str, message: str
) -> None:
    home = tmp_path / "home"
    result = run(home, "--model", "scripted:echo", "-p", question)
    assert result.returncode == 2
    assert result.stdout == b""
    assert result.stderr.decode().split("\n")[0] == message
    assert saved(home) == []
