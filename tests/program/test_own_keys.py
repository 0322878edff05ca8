"""The program's own keys are redacted in everything derived from a conversation."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, failing, talk
from tests.support.headless import AT_LENGTH, COMPACT
from tests.support.own_keys import KEY, run


@pytest.mark.slow
@pytest.mark.parametrize("key", ["ollama", "notneededhere"])
def test_a_word_that_stands_for_a_key_is_no_secret(tmp_path: Path, key: str) -> None:
    with Loopback(talk) as server:
        run(
            tmp_path,
            server,
            f"We run {key} on port 11434. {AT_LENGTH}",
            COMPACT,
            "And now?",
            key=key,
        )
    asked = next(request for request in server.requests if request.query.endswith("And now?"))
    sent = "\n".join(asked.texts)
    assert f"We run {key} on port 11434." in sent


def test_a_key_that_a_server_echoes_is_not_shown(tmp_path: Path) -> None:
    with Loopback(talk) as server:
        server.enqueue(failing(400, message=f"The key {KEY} may not do that."))
        told = run(tmp_path, server, "Hello?")
    assert "The key [REDACTED:key:1] may not do that." in " ".join(told.split())
    assert KEY not in told
