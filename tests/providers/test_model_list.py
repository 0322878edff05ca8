"""The lists of models that services have: read, kept for a day, and what may be wrong with them."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback
from chat_loop.config import Config
from chat_loop.errors import ProviderError
from chat_loop.providers import wire
from chat_loop.providers.choose import create, this_machine
from chat_loop.providers.model_list import DAY, KeptLists, ModelListing, list_models, names_in
from chat_loop.providers.models.store import CATALOGUE
from chat_loop.values import Offered, matching
from tests.support.catalogue import BEDROCK

EMBEDDED = [f"local:{model.name}" for model in CATALOGUE]
CANDIDATES = {"openai:gpt-x": "a key is set", "anthropic:claude-x": "a key is set"}


@pytest.fixture
def _keys(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{name}_API_KEY", "k")
        monkeypatch.setenv(f"{name}_BASE_URL", server.url)


def listed(folder: Path, *candidates: str, now: float = 1e9) -> ModelListing:
    machine = this_machine(folder, discover=False)
    kept = KeptLists(folder / "models.json", lambda: now)
    names = dict.fromkeys(candidates or CANDIDATES, "a key is set")

    async def ask() -> ModelListing:
        return await list_models(
            lambda: names, lambda name: create(name, Config(), machine), kept, folder
        )

    return asyncio.run(ask())


@contextmanager
def aws(answers: dict[str, tuple[int, object]]) -> Iterator[str]:
    """Yield the address of a server that answers each path as AWS does."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, answer = answers[self.path.partition("?")[0]]
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def bedrock_listed(folder: Path, url: str) -> ModelListing:
    machine = this_machine(folder, discover=False)
    kept = KeptLists(folder / "models.json", lambda: 1e9)
    config = Config(providers={"bedrock": replace(BEDROCK.setting, base_url=url)})
    names = {f"bedrock:{BEDROCK.model}": "a key is set"}

    async def ask() -> ModelListing:
        return await list_models(
            lambda: names, lambda name: create(name, config, machine), kept, folder
        )

    return asyncio.run(ask())


@pytest.fixture
def _aws_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in BEDROCK.variables.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("_aws_keys")
def test_bedrock_lists_the_profiles_and_models_that_can_be_asked(tmp_path: Path) -> None:
    def model(name: str, kind: str, status: str = "ACTIVE") -> dict[str, object]:
        lifecycle = {"status": status}
        return {"modelId": name, "inferenceTypesSupported": [kind], "modelLifecycle": lifecycle}

    def profile(name: str, status: str = "ACTIVE") -> dict[str, object]:
        return {"inferenceProfileId": name, "status": status}

    models = [
        model("anthropic.claude-a", "ON_DEMAND"),
        model("anthropic.claude-b", "INFERENCE_PROFILE"),
        model("anthropic.claude-old", "ON_DEMAND", "LEGACY"),
    ]
    profiles = [
        profile("eu.anthropic.claude-b"),
        profile("eu.meta.llama"),
        profile("eu.anthropic.claude-off", "DISABLED"),
    ]
    answers: dict[str, tuple[int, object]] = {
        "/foundation-models": (200, {"modelSummaries": models}),
        "/inference-profiles": (200, {"inferenceProfileSummaries": profiles}),
    }
    with aws(answers) as url:
        listing = bedrock_listed(tmp_path, url)
    assert listing.problems == ()
    assert references(listing)[:3] == [
        f"bedrock:{BEDROCK.model}",
        "bedrock:eu.anthropic.claude-b",
        "bedrock:anthropic.claude-a",
    ]


@pytest.mark.usefixtures("_aws_keys")
def test_bedrock_that_allows_no_list_is_one_sentence(tmp_path: Path) -> None:
    refused = (403, {"message": "You may not perform bedrock:ListFoundationModels"})
    with aws({"/foundation-models": refused}) as url:
        listing = bedrock_listed(tmp_path, url)
    assert references(listing)[0] == f"bedrock:{BEDROCK.model}"
    [problem] = listing.problems
    assert problem.startswith("Amazon Bedrock did not list its models. An error occurred (403)")
    assert "bedrock:ListFoundationModels" in problem
    [problem] = bedrock_listed(tmp_path, "http://127.0.0.1:9").problems
    assert "Could not connect to the endpoint" in problem


def test_a_service_without_any_list_says_what_to_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://ours.openai.azure.com")
    listing = listed(tmp_path, "azure:our-gpt")
    assert references(listing) == ["azure:our-gpt", *EMBEDDED]
    [problem] = listing.problems
    assert problem.startswith("Azure OpenAI lists no models. The model is the name of a deployment")


def references(listing: ModelListing) -> list[str]:
    return [offer.reference for offer in listing.models]


@pytest.mark.usefixtures("_keys")
def test_all_services_are_asked_once_a_day(server: Loopback, tmp_path: Path) -> None:
    server.models = ("model-a", "text-embedding-3-small", "gpt-image-1", "whisper-1", "gpt-x")
    first = listed(tmp_path)
    assert first.problems == ()
    assert references(first) == [
        *("openai:gpt-x", "anthropic:claude-x", "openai:model-a"),
        *("anthropic:model-a", "anthropic:gpt-x", *EMBEDDED),
    ]
    assert first.models[0].note == "a key is set"
    assert [offer.is_missing for offer in first.models[-len(EMBEDDED) :]] == [True] * len(EMBEDDED)
    asked = sorted(request.path for request in server.looked)
    assert asked == ["/v1/models", "/v1/models?limit=1000"]

    server.models = ("model-b",)
    assert listed(tmp_path, now=1e9 + DAY - 1) == first
    assert len(server.looked) == 2
    assert references(listed(tmp_path, now=1e9 + DAY))[2:4] == [
        "openai:model-b",
        "anthropic:model-b",
    ]
    assert len(server.looked) == 4
    assert (tmp_path / "models.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("_keys")
def test_a_file_of_lists_that_is_damaged_or_of_tomorrow_is_not_used(
    server: Loopback, tmp_path: Path
) -> None:
    server.models = ("model-a",)
    for content in ("{", '{"openai x": 3}', "[]", ""):
        (tmp_path / "models.json").write_text(content)
        assert "openai:model-a" in references(listed(tmp_path, "openai:gpt-x"))
    server.models = ("model-b",)
    assert "openai:model-b" in references(listed(tmp_path, "openai:gpt-x", now=1e9 - 1))


@contextmanager
def silent() -> Iterator[str]:
    """A server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"


def test_the_others_do_not_wait_for_a_list_that_does_not_come(
    server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "LIST_SECONDS", 0.5)
    server.models = ("model-a",)
    with silent() as address:
        for name, url in (("OPENAI", address), ("ANTHROPIC", server.url)):
            monkeypatch.setenv(f"{name}_API_KEY", "k")
            monkeypatch.setenv(f"{name}_BASE_URL", url)
        found = listed(tmp_path)
    assert "anthropic:model-a" in references(found)
    [problem] = found.problems
    assert problem.startswith("OpenAI did not list its models. It did not answer within")
    assert "openai" not in (tmp_path / "models.json").read_text(), "it is asked again"


def test_a_service_without_a_list_is_one_sentence(
    server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/nothing/here")
    found = listed(tmp_path, "openai:gpt-x")
    assert references(found)[0] == "openai:gpt-x"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    [problem] = listed(tmp_path, "openai:gpt-x").problems
    assert problem.startswith("OpenAI did not list its models. ")


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        ({"data": []}, []),
        ({"data": [{"id": "models/gemini-x"}]}, [("gemini-x", 0)]),
        ({"data": [{"id": "a", "context_length": 8192}, {"id": "a"}]}, [("a", 0)]),
        ({"data": [{"id": "b", "max_input_tokens": 200_000}]}, [("b", 200_000)]),
        ({"data": [None, 3, {}, {"id": 3}, {"id": ""}, {"id": "a\x1b[2J"}, {"id": "x" * 201}]}, []),
    ],
)
def test_what_a_list_may_contain(answer: object, names: list[tuple[str, int]]) -> None:
    assert names_in(json.dumps(answer).encode()) == names


@pytest.mark.parametrize("data", [b"", b"<html>", b"[]", b"{}", b'{"data": 3}', b"[" * 100_000])
def test_what_is_no_list(data: bytes) -> None:
    with pytest.raises(ProviderError, match="did not send a list of models"):
        names_in(data)


def test_a_hundred_thousand_models() -> None:
    data = json.dumps({"data": [{"id": f"maker-{n}/model"} for n in range(100_000)]}).encode()
    names = names_in(data)
    assert len(names) == 100_000
    models = [Offered(f"openrouter:{name}") for name, _ in names]
    found = matching(models, "MAKER-4711/ router")
    assert found == [Offered("openrouter:maker-4711/model")]
