"""Claude on Amazon Bedrock: credentials, regions, and frames of the stream."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback, Reply
from benchmarks.support.loopback_aws import framed
from benchmarks.support.loopback_wires import unmarked
from chat_loop.errors import AuthenticationFailed, NoProvider, ProviderError, install_hint
from chat_loop.events import OpaqueArrived, TextDelta, ThinkingDelta, ToolCalled
from chat_loop.values import Image, Message, Request, ToolCall, ToolResult, ToolSpec
from tests.support.catalogue import BEDROCK, SECRET, Service
from tests.support.images import base64, png
from tests.support.providers import events_of, failure_of, host

TALK = Request(system="Be brief.", messages=(Message("user", "Hello"),), max_tokens=100)
TOOL = ToolSpec("look", "Look it up.", {"type": "object"})
CALL = ToolCall("c1", "look", '{"what": "böats"}')


pytestmark = pytest.mark.usefixtures("services")


def setting(service: Service, **changes: object) -> Service:
    return replace(service, setting=replace(service.setting, **changes))


def test_bedrock_by_its_own_key(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-key")
    monkeypatch.setenv("AWS_PROFILE", "gone")

    events_of(BEDROCK.at(server.url, tmp_path), TALK)

    assert server.requests[0].headers["authorization"] == "Bearer bedrock-key"


def test_bedrock_by_a_profile_with_its_region(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in BEDROCK.variables:
        monkeypatch.delenv(name)
    folder = tmp_path / ".aws"
    folder.mkdir()
    (folder / "config").write_text("[profile work]\nregion = ap-southeast-2\n")
    (folder / "credentials").write_text(
        f"[work]\naws_access_key_id = AKIAWORK\naws_secret_access_key = {SECRET}\n"
    )

    events_of(setting(BEDROCK, profile="work").at(server.url, tmp_path), TALK)

    sent = server.requests[0].headers["authorization"]
    assert sent.startswith("AWS4-HMAC-SHA256 Credential=AKIAWORK/")
    assert "/ap-southeast-2/bedrock/aws4_request" in sent


def test_the_region_of_the_config_counts_before_the_environment(
    server: Loopback, tmp_path: Path
) -> None:
    events_of(setting(BEDROCK, region="us-west-2").at(server.url, tmp_path), TALK)

    assert "/us-west-2/bedrock/" in server.requests[0].headers["authorization"]


AWS_CONFIG = "[profile {name}]\nregion = eu-central-1\n"


@pytest.mark.parametrize(
    "left", [AWS_CONFIG.format(name="going"), ""], ids=["no credentials", "no profile"]
)
def test_credentials_of_aws_that_go_away(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, left: str
) -> None:
    """The credentials exist when the program starts; the SDK reads them again when it signs."""
    for name in BEDROCK.variables:
        monkeypatch.delenv(name)
    folder = tmp_path / ".aws"
    folder.mkdir()
    (folder / "config").write_text(AWS_CONFIG.format(name="going"))
    (folder / "credentials").write_text(
        f"[going]\naws_access_key_id = A\naws_secret_access_key = {SECRET}\n"
    )
    provider = setting(BEDROCK, profile="going", region=f"x-{len(left)}").at(server.url, tmp_path)
    provider.warm()
    (folder / "credentials").unlink()
    (folder / "config").write_text(left)

    error = failure_of(provider)

    assert type(error) is AuthenticationFailed
    assert error.message.startswith("The credentials cannot be read: ")
    assert "AWS_PROFILE" in error.hint
    assert server.requests == []


def test_bedrock_says_what_is_missing(
    server: Loopback, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    profile = failure_of(setting(BEDROCK, profile="nobody").at(server.url, tmp_path))
    monkeypatch.delenv("AWS_REGION")
    region = failure_of(BEDROCK.at(server.url, tmp_path))
    monkeypatch.setattr("chat_loop.providers.bedrock.find_spec", lambda name: None)
    package = failure_of(BEDROCK.at(server.url, tmp_path))

    assert type(profile) is AuthenticationFailed
    assert (
        profile.message
        == "The credentials for AWS cannot be read: The config profile (nobody) could not be found"
    )
    assert type(region) is NoProvider
    assert region.message == "Amazon Bedrock has no region: AWS_REGION is not set."
    assert region.hint == "Set AWS_REGION or providers.bedrock.region, such as us-east-1."
    assert type(package) is NoProvider
    assert package.message == "Amazon Bedrock needs the bedrock extra (boto3)."
    assert package.hint == install_hint("bedrock")
    assert server.requests == []


@pytest.mark.parametrize("split", [1, 7])
def test_a_reply_in_pieces_of_any_size(server: Loopback, tmp_path: Path, split: int) -> None:
    text = "Hello wörld 🎉\u2028x"
    server.enqueue(Reply(thinking=("Hm", "m."), chunks=(text,), calls=(CALL,), split=split))

    events = events_of(BEDROCK.at(server.url, tmp_path), replace(TALK, tools=(TOOL,)))

    block = {"type": "thinking", "thinking": "Hmm."}
    [part] = [event for event in events if isinstance(event, OpaqueArrived)]
    assert json.loads(part.text) == [{"after_text": 0, "after_calls": 0, "block": block}]
    events.remove(part)
    assert events[:-1] == [ThinkingDelta("Hmm."), TextDelta(text), ToolCalled(CALL)]


def test_the_whole_request_with_tools_and_an_image(server: Loopback, tmp_path: Path) -> None:
    """The SDK moves the model into the path, and adds the version."""
    image = Image("x", "image/png", 4, 3, "", base64(png()))
    messages = (
        Message("user", "Compare.", images=(image,)),
        Message("assistant", "I look.", (CALL,)),
        Message("user", "", results=(ToolResult(CALL.id, "Found.", failed=True),)),
    )

    events_of(BEDROCK.at(server.url, tmp_path), replace(TALK, messages=messages, tools=(TOOL,)))

    body = server.requests[0].body
    assert body.pop("anthropic_version")
    source = {"type": "base64", "media_type": "image/png", "data": image.data}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "Found.", "is_error": True}
    assert unmarked(body.pop("messages")) == [
        {
            "role": "user",
            "content": [{"type": "image", "source": source}, {"type": "text", "text": "Compare."}],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {"what": "böats"}},
            ],
        },
        {"role": "user", "content": [result]},
    ]
    mark = {"cache_control": {"type": "ephemeral"}}
    assert body == {
        "max_tokens": 100,
        "system": [{"type": "text", "text": "Be brief.", **mark}],
        "tools": [
            {"name": "look", "description": "Look it up.", "input_schema": {"type": "object"}}
        ],
    }


EVENTS = {"content-type": "application/vnd.amazon.eventstream"}
FRAME = framed({":event-type": "chunk", ":message-type": "event"}, b'{"bytes": "e30="}')


@pytest.mark.parametrize(
    "body",
    [
        b"data: {}\n\n",
        FRAME[:-1] + b"x",
        b"\xff" * 40,
        framed({":event-type": "chunk", ":message-type": "event"}, b"{"),
        framed({":event-type": "chunk", ":message-type": "event"}, b"[1]"),
        framed({":event-type": "chunk", ":message-type": "event"}, b'{"bytes": 5}'),
        framed({":event-type": "chunk", ":message-type": "event"}, b'{"bytes": "/////w=="}'),
        framed({":event-type": "chunk"}, b"{}"),
        framed({}, b""),
        framed({":exception-type": "unheardOf", ":message-type": "exception"}, b"nonsense"),
        framed({":message-type": "error"}, b""),
        FRAME[:20],
        b"",
    ],
    ids=lambda body: repr(body[:30]),
)
def test_frames_that_make_no_sense_are_one_clear_line(
    server: Loopback, tmp_path: Path, body: bytes
) -> None:
    server.enqueue(Reply(body=body, headers=EVENTS))

    error = failure_of(BEDROCK.at(server.url, tmp_path), TALK)

    assert isinstance(error, ProviderError)
    assert host(server) in error.message
    assert "\n" not in error.message
