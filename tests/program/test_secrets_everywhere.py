"""Every sample of a secret, in every output that is derived from a conversation."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, failing, talk
from chat_loop.input.history import PrivateHistory
from chat_loop.providers.upstream import MAX_MESSAGE
from chat_loop.redact import keys_from
from chat_loop.sessions.parser import parse
from tests.support import fork_server
from tests.support.environments import environment
from tests.support.headless import AT_LENGTH, COMPACT
from tests.support.made_secrets import CARDS, PLACES, TOKENS
from tests.support.own_keys import KEY, command, run

pytestmark = pytest.mark.slow


def samples() -> dict[str, tuple[str, str]]:
    """Return name -> a secret and the line that contains it."""
    rng = random.Random(18)
    made = {name: (secret := make(rng), f"Use {secret}") for name, (_, make) in TOKENS.items()}
    for number, make in enumerate(CARDS):
        secret = make(rng)
        made[f"card {number}"] = secret, f"The card is {secret}"
    for place, _, makers in PLACES:
        secret = makers[-1](rng)
        made[place] = secret, place.format(secret)
    made["own"] = KEY, f"Also {KEY}"
    return made


SAMPLES = samples()


def leaks(text: str) -> list[str]:
    """Return the names of the samples that a text contains, also escaped as in JSON or HTML."""
    plain = text.replace("&amp;", "&").replace("\\n", "\n").replace("\\r", "\r")
    secrets = {name: secret.replace("\\n", "\n").strip() for name, (secret, _) in SAMPLES.items()}
    return [
        name
        for name, secret in secrets.items()
        if any(row in plain for row in re.split(r"\r?\n", secret) if row[:5] != "-----")
    ]


def without_echo(shown: str) -> str:
    """Return the output of a chat without the typed lines."""
    return re.sub(r"(?m)^You: .*", "", shown)


def error_messages() -> list[str]:
    """Pack all samples into messages that are shown whole, unless one alone is longer."""
    messages = [""]
    for _, line in SAMPLES.values():
        if len(f"{messages[-1]} {line}") > MAX_MESSAGE:
            messages.append("")
        messages[-1] = f"{messages[-1]} {line}".strip()
    return messages


def read_all(paths: Iterable[Path]) -> dict[Path, bytes]:
    """Read files. A process that still indexes may remove the journal of the index meanwhile."""
    found = {}
    for path in paths:
        with suppress(FileNotFoundError, IsADirectoryError):
            found[path] = path.read_bytes()
    return found


@pytest.fixture(name="sinks", scope="module")
def _sinks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return everything that a conversation with all samples leaves, by name."""
    home = tmp_path_factory.mktemp("home")
    lines = [
        f"Note {number}, for port {8000 + number}: " + re.sub(r"\r?\n", r"\\n", line)
        for number, (_, line) in enumerate(SAMPLES.values())
    ]
    with Loopback(talk) as server:
        for at in range(0, len(lines), 10):
            lines[at] += f" {AT_LENGTH}"
        run(home, server, *lines, COMPACT, "And now?")
        requests = [
            text
            for request in server.requests
            if request.system.startswith("Task: session summary")
            for text in request.texts
        ]
        messages = error_messages()
        server.enqueue(*(failing(400, message=message) for message in messages))
        queries = [f"Hello {number}?" for number in range(len(messages))]
        facts = [re.sub(r"\r?\n", r"\\n", message) for message in messages]
        remember = (f"/remember {fact}\ny" for fact in facts)
        shown = without_echo(run(home, server, *queries, *remember, "/memory"))
        asked = [text for request in server.requests for text in request.texts]
        assert all(query in asked for query in queries)
    files = [path.read_bytes() for path in sorted((home / "sessions").glob("*.md"))]
    parsed = [parse(data).session for data in files]
    blocks = [session.restoration.block for session in parsed if session and session.restoration]
    titles = [session.header.title for session in parsed if session]
    seals = [str(session.seal.summary) for session in parsed if session and session.seal]
    others = read_all(path for path in home.rglob("*") if path.suffix not in (".md", ".yaml"))
    assert any(path.suffix == ".sqlite" for path in others)
    assert len(leaks(b"".join(files).decode())) > 100
    doctor = fork_server.run(["doctor"], environment(home, OPENAI_API_KEY=KEY), cwd=home)
    keys_from(lambda: [KEY])
    history = PrivateHistory(home / "typed")
    for _, line in SAMPLES.values():
        history.store_string(line)
    history.store_string("plain")
    keys_from(tuple)
    return {
        "summary request": "\n".join(requests),
        "restored block": "\n".join(blocks),
        "summary block": "\n".join(seals),
        "title": "\n".join(titles),
        "index": b"".join(others.values()).decode("utf-8", "replace"),
        "list": command(home, "list", "--json", "--all"),
        "search": command(home, "search", "note port", "--json", "--limit", "200"),
        "markdown": command(home, "export", "1", "-", "--as", "markdown"),
        "html": command(home, "export", "1", "-", "--as", "html"),
        "json": command(home, "export", "1", "-", "--as", "json"),
        "shown": shown,
        "memory": (home / "MEMORY.md").read_text(),
        "doctor": doctor.stdout.decode() + doctor.stderr.decode(),
        "history": (home / "typed").read_text(),
    }


def test_no_sample_is_in_any_derived_place(sinks: dict[str, str]) -> None:
    assert {name: leaks(text) for name, text in sinks.items() if leaks(text)} == {}
    assert all(sinks.values())
    assert "plain" in sinks["history"]
    assert len(json.loads(sinks["search"])) > 100
    for sink in ("summary request", "shown", "memory"):
        assert "[REDACTED:" in sinks[sink]
    assert "400" in sinks["shown"]
    assert "Memory: " in sinks["shown"]
    assert json.loads(sinks["json"])
