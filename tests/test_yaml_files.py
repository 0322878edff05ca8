"""Settings mean what their files say, or are refused with the line and how to write them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from chat_loop.config import Config, parse
from chat_loop.errors import ConfigError
from tests.support.headless import ECHO, run

TWICE = """\
auto_compact:
  enabled: false
summary:
  on_exit: later
auto_compact:
  trigger_threshold: 0.5
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TWICE, "c.yaml: auto_compact is there twice, in lines 1 and 5. Write it once, with"),
        ("display:\n  theme: dark\n  wrap: words\n  theme: light\n", "theme is there twice, in l"),
        ("mcp: {a: {command: x, env: {K: a, K: b}}}", "c.yaml: K is there twice, in line 1. "),
        ("auto_compact:\n  preserve_recent: 010\n", "c.yaml, line 2: preserve_recent: a number th"),
        ("models: {m: {window: -0_7}}", "begins with 0 is octal in YAML. Write a number without"),
        ("limits:\n  day_cost: 1:30\n", "c.yaml, line 2: day_cost: numbers with colons have the "),
        ("limits: {day_cost: 1:30.5}", "base 60 in YAML. Write a number without the colons, and "),
        ("status: [model, 18:30]\n", "c.yaml, line 1: status: numbers with colons"),
        ("providers:\n  azure:\n    model: 2024-10-21\n", "c.yaml, line 3: model: YAML reads this"),
        ("agent: {name: 2024-10-21 10:00:00}", "as a date. Write it in quotes."),
        ("# no\nagent:\n  name: no\n", "c.yaml, line 3: agent.name: expected text, got true or f"),
        ("agent:\n  tools: [read_file,\n    off]\n", "c.yaml, line 3: agent.tools[1]: expected te"),
        ("limits: {day_cost: -1}", "limits.day_cost: expected a number >= 0"),
        ("limits: {day_cost: .nan}", "limits.day_cost"),
        (
            "auto_compact: {compact_ratio: 0}",
            "auto_compact.compact_ratio: expected a number > 0.0.",
        ),
        ("auto_compact: {trigger_threshold: 80}", "trigger_threshold: expected a number <= 1.0."),
        ("auto_compact: {preserve_recent: -1}", "preserve_recent: expected a whole number >= 0."),
        ("auto_compact: {summary_max_tokens: 5}", "max_tokens: expected a whole number >= 100."),
        ("context: {max_history_messages: -2}", "expected a whole number >= 0."),
        ("agent: {name: 1.10}", "agent.name: expected text, got a number. Write text in quotes."),
        (
            "limits:\n\n  day_cost: 1e3\n",
            "c.yaml, line 3: limits.day_cost: expected a number, got ",
        ),
        ("models:\n  gpt-5.4:\n    window: 5K\n", "c.yaml, line 3: models.gpt-5.4.window: expecte"),
        ("agents:\n  Sally:\n    memory:\n      enabled: maybe\n", "c.yaml, line 4: agents.Sally."),
        ("[a, b]: 3", "c.yaml, line 1: "),
        ("a: &a {x: 1}\nb: {<<: [*a" + ", *a" * 400 + "]}\n", "c.yaml, line 1: unknown key a."),
    ],
)
def test_what_yaml_would_change_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text.encode(), "c.yaml")
    assert message in f"{caught.value.message} {caught.value.hint}"


def test_what_is_as_it_is_written_is_taken() -> None:
    config = parse(
        b"""\
auto_compact: {preserve_recent: 1_000, enabled: off}
limits: {day_cost: 1.0e+3, session_cost: 0.5}
models: {08: {window: 0}, "010": {window: 8}}
agent: {name: "no", summary_instructions: '2024-10-21'}
display: {<<: {theme: dark}, theme: light}
""",
        "c.yaml",
    )
    assert (config.auto_compact.preserve_recent, config.auto_compact.enabled) == (1000, False)
    assert (config.limits.day_cost, config.limits.session_cost) == (1000.0, 0.5)
    assert config.windows == {"010": 8}
    assert (config.agent.name, config.agent.summary_instructions) == ("no", "2024-10-21")
    assert config.display.theme == "light", "a key of its own counts over a merged one"


@pytest.mark.parametrize(
    "text",
    [
        "display:\n  # theme: dark\n",
        "tools:\n",
        "status: ~\nmodel: null\n",
        "agent:\n  tools:\n",
        "providers:\n  office:\n    # base_url: x\n",
        "mcp: {notes: }\nagents: {Sally: }\n",
    ],
)
def test_what_has_no_value_has_its_default(text: str) -> None:
    assert parse(text.encode(), "c.yaml") == Config()
    assert parse(f"memory:\n  max_tokens: 200\n{text}".encode(), "c.yaml").memory.max_tokens == 200


def test_merges_that_repeat_too_much_are_refused() -> None:
    levels = ["a0: &a0 {x: 1}"]
    levels += [f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 40)]
    with pytest.raises(ConfigError, match=r"its aliases \(\*\) repeat too much"):
        parse("\n".join(levels).encode(), "c.yaml")


def test_the_program_names_the_file_and_does_not_start(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(TWICE)
    asked = run(tmp_path, *ECHO, "-p", "Hello")
    assert (asked.returncode, asked.stdout) == (2, b"")
    twice = f"{path}: auto_compact is there twice, in lines 1 and 5."
    assert twice in asked.stderr.decode()
    assert f"✗ Config          {twice}" in run(tmp_path, *ECHO, "doctor").stdout.decode()

    path.write_text("display:\n  # theme: dark\n")
    assert run(tmp_path, *ECHO, "-p", "Hello").returncode == 0


def test_a_pipe_and_a_folder_are_no_config_file(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    os.mkfifo(path)
    asked = run(tmp_path, *ECHO, "-p", "Hello")
    assert (asked.returncode, asked.stdout) == (2, b"")
    assert f"The config file {path} is a named pipe, which may never end." in asked.stderr.decode()
    asked = run(tmp_path, *ECHO, "--config", str(tmp_path), "-p", "Hello")
    assert (asked.returncode, asked.stdout) == (2, b"")
    assert f"The config file {tmp_path} is a folder." in asked.stderr.decode()


def test_a_pipe_of_the_shell_is_one(tmp_path: Path) -> None:
    """As in --config <(decrypt config.yaml.age)."""
    (tmp_path / "real.yaml").write_text("limits: {day_cost: 0.0}\nmodle: x\n")
    line = f'"$0" "$@" --config <(cat {tmp_path}/real.yaml) -p Hello'
    asked = run(tmp_path, *ECHO, prefix=("/bin/bash", "-c", line))
    assert ", line 2: unknown key modle." in asked.stderr.decode()
