"""The live checks themselves, against a server on this machine that replaces a service."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Received, Reply, failing, talk
from chat_loop.values import ToolCall, Usage

ROOT = Path(__file__).parents[2]
NUMBERS = tuple(f"{number} " for number in range(1, 61))


pytestmark = pytest.mark.slow


def answer(request: Received) -> Reply:
    """Answer like a service that follows every instruction."""
    words = sum(len(text.split()) for text in (request.system, *request.texts))
    usage = Usage(input=words, output=3)
    if request.body["model"] == "no-such-model-1":
        return failing(404, "not_found_error", "The model does not exist.", code="model_not_found")
    if words > 100_000:
        message = f"This model's maximum context length is 8192 tokens, not {words}."
        return failing(400, "invalid_request_error", message, code="context_length_exceeded")
    if request.system.startswith("Task: session summary"):
        return talk(request)
    if "Count from 1 to 500" in request.query:
        return Reply(chunks=("one ", "two "), stop="length", usage=usage)
    if "Count from 1 to 60" in request.query:
        return Reply(chunks=NUMBERS, usage=usage, stall_after=9, stall_seconds=2)
    if "8.37" in str(request.body):
        return Reply(chunks=("8.37 meters",), usage=usage)
    if "tools" in request.body and "Use the tool" in request.query:
        call = ToolCall("call_1", "depth", '{"place": "Turku"}')
        return Reply(calls=(call,), usage=usage)
    if "color" in request.query:
        return Reply(chunks=("Blue",), usage=usage)
    if "Which number" in request.query:
        number = re.search(r"\b48117\b", str(request.body))
        return Reply(chunks=(number[0] if number else "I do not know.",), usage=usage)
    return Reply(chunks=("ready",), usage=usage)


def checks(tmp_path: Path, *arguments: str, **variables: str) -> str:
    """Run the live checks; return their report."""
    command = [sys.executable, "-m", "pytest", "-m", "live", "-rs", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "tests/live", "--basetemp", str(tmp_path / "base"), *arguments],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_without_a_key_each_service_is_skipped_with_a_sentence(tmp_path: Path) -> None:
    report = checks(tmp_path)
    assert "gemini is not asked: GEMINI_API_KEY or GOOGLE_API_KEY is not set." in report
    assert re.search(r"\n=+ \d+0 skipped in ", report), report


@pytest.mark.parametrize(
    ("name", "key", "model", "path"),
    [
        ("anthropic", "ANTHROPIC_API_KEY", "claude-sonnet-4-5", ""),
        ("openai", "OPENAI_API_KEY", "gpt-4o-mini", "/v1"),
    ],
)
def test_ten_checks_of_a_service_and_their_cost(
    tmp_path: Path, name: str, key: str, model: str, path: str
) -> None:
    variables = {key: "sk-test", f"LIVE_MODEL_{name.upper()}": model}
    with Loopback(answer) as server:
        variables[f"LIVE_URL_{name.upper()}"] = f"{server.url}{path}"
        report = checks(tmp_path, "-k", f"[{name}]", **variables)
    assert re.search(r"\n=+ 10 passed, ", report), report
    cost = rf"^{name}:{model}: \d+ calls, [\d,]+ in, \d+ out, \$0\.0\d+$"
    assert re.search(cost, report, re.MULTILINE), report


def test_they_are_not_run_unasked(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "tests/live"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert re.search(r"no tests collected \(\d+0 deselected\)", done.stdout), done.stdout
