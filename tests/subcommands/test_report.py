"""`chat-loop doctor --report`: what it shows, and that nothing private is in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.headless import run

WORD = "Tulip47"
"""A word that only the user knows. No shape gives it away."""
SETTINGS = {
    "model": f"openai:{WORD}",
    "library": f"postgresql://{WORD}:{WORD}@127.0.0.1:1/{WORD}",
    "agent": {
        "default": WORD,
        "name": WORD,
        "system_prompt": f"You are {WORD}.",
        "summary_instructions": WORD,
        "tools": ["read_file", WORD],
    },
    "sessions": {"store": f"s3://{WORD}/{WORD}"},
    "auto_compact": {"enabled": False, "summary_provider": WORD, "summary_model": WORD},
    "providers": {
        "tulip47": {
            "base_url": f"https://{WORD}:{WORD}@{WORD}.example/v1?key={WORD}",
            "api_key_env": "TULIP47_KEY",
            "model": WORD,
            "headers": {WORD: WORD},
            "tools": True,
        },
        "bedrock": {"region": WORD, "profile": WORD},
    },
    "models": {WORD: {"window": 9000, "effort": "low", "extra": {WORD: [WORD, {WORD: WORD}]}}},
    "mcp": {
        WORD: {"command": WORD, "args": [WORD], "env": {WORD: WORD}, "cwd": WORD, "tools": [WORD]},
        f"{WORD}-2": {"url": f"https://{WORD}.example/{WORD}", "headers": {WORD: WORD}},
    },
    "agents": {WORD: {"model": WORD}},
    "plugins": {WORD: False},
}


def report(home: Path, *options: str, **variables: str) -> str:
    done = run(home, *options, "doctor", "--report", keys=variables)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def test_it_shows_versions_and_the_settings_that_were_changed(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        "model: openai:gpt-5\nauto_compact: {trigger_threshold: 0.7, summary_on_exit: wait}\n"
        "agent: {tools: [read_file, run_command]}\nstatus: [cost]\nmodels: {gpt-5: {effort: off}}\n"
    )
    text = report(tmp_path, OPENAI_API_KEY="sk-not-real", TERM="xterm")
    assert "✓ Python          3." in text
    assert "anthropic " in text
    assert "· Terminal        xterm, utf-8, not a terminal\n" in text
    assert "· Variables       CHAT_LOOP_HOME, OPENAI_API_KEY\n" in text
    changed = text.partition("Settings that were changed:\n")[2].partition("\n\n")[0]
    assert changed.split("\n") == [
        "  model: openai:gpt-5",
        "  agent.tools: [read_file, run_command]",
        "  auto_compact.trigger_threshold: 0.7",
        "  auto_compact.summary_on_exit: wait",
        "  status: [cost]",
        "  models: 1 entry",
        "  models.gpt-5.effort: false",
    ]


def test_no_word_of_the_user_is_in_it_wherever_it_stands(tmp_path: Path) -> None:
    """A key may stand in any text or name of a config, and need not look like one."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text(json.dumps(SETTINGS))
    run(home, "--config", "/dev/null", "--model", "scripted:echo", "-p", f"The word is {WORD}.")
    folder = home / "sessions"
    [session] = folder.glob("*.md")
    assert WORD in session.read_text()
    (folder / f"{WORD}.md").write_text(WORD)  # it is no session
    (folder / f"{session.stem} {WORD}.md").write_bytes(session.read_bytes())  # it has two names
    store = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_ACCESS_KEY_ID": WORD}
    keys = {"TULIP47_KEY": WORD, "OPENAI_API_KEY": WORD, "TERM": f"{WORD}: {WORD}"}
    text = report(home, **store, **keys, AWS_SECRET_ACCESS_KEY=WORD)
    assert "tulip47" not in text.lower()
    for line in (
        "  model: openai:(not shown)",
        "  agent.tools: [read_file, (not shown)]",
        "  auto_compact.enabled: false",
        "  providers: 2 entries",
        "  providers.(not shown).tools: true",
        "  providers.bedrock.region: (not shown)",
        "  models.(not shown).effort: low",
        "  mcp: 2 entries",
    ):
        assert f"{line}\n" in text
    assert "✓ Sessions        2 sessions, " in text
    assert "· Terminal        none, " in text


@pytest.mark.parametrize(
    "config",
    [
        f"{WORD}: 1\n",
        f"model: [{WORD}\n",
        f"providers: {{'{WORD} x': {{}}}}\n",
        f"status: {WORD}\n",
    ],
)
def test_an_error_in_the_config_is_not_quoted(tmp_path: Path, config: str) -> None:
    (tmp_path / "config.yaml").write_text(config)
    text = report(tmp_path, OPENAI_API_KEY=WORD)
    assert WORD not in text
    assert "✗ Config          (not shown)\n" in text
    assert "\n  The config cannot be read.\n" in text


def test_a_key_as_a_number_or_a_folder_is_redacted(tmp_path: Path) -> None:
    key = "sk-proj-" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"
    settings = {
        "sessions": {"directory": str(tmp_path / key)},
        "models": {"gpt-5": {"window": 4111111111111111}},
    }
    (tmp_path / "config.yaml").write_text(json.dumps(settings))
    text = report(tmp_path)
    assert key not in text
    assert "4111111111111111" not in text
    assert text.count("[REDACTED:") == 2


@pytest.mark.parametrize("name", ["jane", "Jane Doe"])
def test_paths_do_not_name_the_user(tmp_path: Path, name: str) -> None:
    home = tmp_path / "people" / name
    (home / "chats").mkdir(parents=True)
    elsewhere = tmp_path / "disk" / name / "sessions"
    elsewhere.mkdir(parents=True)
    own = {"HOME": str(home), "USER": name, "CHAT_LOOP_HOME": str(home / "chats")}
    text = report(home / "chats", **own)
    assert "✓ Data folder     ~/chats, " in text
    text = report(home / "chats", "--sessions-dir", str(elsewhere), **own)
    assert f"! Sessions folder {tmp_path}/disk/~/sessions can be read by other users." in text
    text = report(home / "chats", "--sessions-dir", f"/home/{name.split()[0]}/x", **own)
    assert "Sessions folder ~/x " in text
    assert name.split()[0] not in text


def test_the_name_of_an_account_need_not_be_that_of_its_home(tmp_path: Path) -> None:
    text = report(tmp_path, "--sessions-dir", "/nowhere/Jane/x", HOME="/", LOGNAME="jane")
    assert "Sessions folder /nowhere/~/x " in text


def test_a_home_that_is_the_root_names_nobody(tmp_path: Path) -> None:
    assert f"✓ Data folder     {tmp_path}, " in report(tmp_path, HOME="/")


def test_json_has_no_report(tmp_path: Path) -> None:
    done = run(tmp_path, "doctor", "--report", "--json")
    assert done.returncode == 2
    assert b"--json cannot be used with --report" in done.stderr
