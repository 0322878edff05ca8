"""An SDK that cannot be imported, or does not fit its own libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.headless import run

MESSAGE = "The package that reaches OpenAI cannot be used: {}: {}."
HINT = "chat-loop doctor checks the installation."
BROKEN = {
    "ImportError": "cannot import name 'Omit' from 'openai._types'",
    "TypeError": "AsyncClient.__init__() got an unexpected keyword argument 'proxies'",
    "AttributeError": "module 'httpx2' has no attribute 'Timeout'",
}


@pytest.fixture(name="keys", params=BROKEN)
def _keys(tmp_path: Path, request: pytest.FixtureRequest) -> dict[str, str]:
    """Return variables with which the program finds a package `openai` that raises an error."""
    package = tmp_path / "packages" / "openai"
    package.mkdir(parents=True)
    message = BROKEN[request.param]
    (package / "__init__.py").write_text(f'raise {request.param}("{message}")\n')
    told = MESSAGE.format(request.param, message)
    return {"PYTHONPATH": str(package.parent), "OPENAI_API_KEY": "k", "TOLD": told}


def test_a_script_gets_one_sentence(tmp_path: Path, keys: dict[str, str]) -> None:
    home = tmp_path / "home"
    done = run(home, "--model", "openai:gpt-5", "-p", "hello", keys=keys)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == f"{keys['TOLD']}\n{HINT}\n"
    assert not (home / "chat-loop.log").exists()


def test_a_chat_goes_on_with_another_model(tmp_path: Path, keys: dict[str, str]) -> None:
    home = tmp_path / "home"
    lines = b"hello\n/model scripted:echo\n/retry\n"
    done = run(home, "--model", "openai:gpt-5", stdin=lines, keys=keys)
    text = done.stdout.decode()
    assert keys["TOLD"] in text
    assert HINT in text
    assert "You said: hello" in text
    assert "Conversation saved" in text
    assert "Traceback" not in text
    assert done.stderr == b""


def test_doctor_names_it(tmp_path: Path, keys: dict[str, str]) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.yaml").write_text("model: openai:gpt-5\n")
    done = run(tmp_path / "home", "doctor", keys=keys)
    assert done.returncode == 1
    assert f"✗ Model           {keys['TOLD']}" in done.stdout.decode()
