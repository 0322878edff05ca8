"""The command config: what differs from the defaults, one key, a section; and no secret, wherever
it stands.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_loop.config import Config, parse
from tests.screens import Screen
from tests.test_asking_again import QUIET


def shown(folder: Path, config: Config, *lines: str) -> str:
    facts = (("Config", str(folder / "config.yaml")),)
    return Screen(folder, list(lines), options=QUIET, config=config, facts=facts).text.partition(
        "Goodbye!"
    )[0]


def test_by_default_there_is_nothing_to_show(tmp_path: Path) -> None:
    assert shown(tmp_path, Config(), "/config") == (
        f"You: /config\nConfig: {tmp_path}/config.yaml (there is none yet)\n"
        "All settings are at their defaults; config.example.yaml shows them.\n"
    )


def test_what_differs_is_shown_with_its_whole_key(tmp_path: Path) -> None:
    config = parse(
        b"""\
model: anthropic:x
auto_compact: {enabled: false, compact_ratio: 0.5}
status: [tokens]
agent: {tools: [read_file, list_files], system_prompt: "Be kind.\\n\\e[31mAnd red."}
models: {big: {window: 8000}}
agents: {Sally: {memory: {enabled: false}}}
""",
        "c.yaml",
    )
    (tmp_path / "config.yaml").write_text("")
    assert shown(tmp_path, config, "/config").partition("config.yaml\n")[2] == (
        """\
model:                       anthropic:x
agent.system_prompt:         Be kind. ␛[31mAnd red.
agent.tools:                 [read_file, list_files]
auto_compact.enabled:        false
auto_compact.compact_ratio:  0.5
status:                      [tokens]
models.big.window:           8000
agents.Sally.memory.enabled: false
"""
    )


def test_one_key_a_section_and_none_that_is(tmp_path: Path) -> None:
    config = parse(b"auto_compact: {enabled: false}\n", "c.yaml")
    lines = [
        "/config auto_compact.enabled",
        "/config notify",
        "/config model:",
        "/config notfy",
        "/config xyzzy",
    ]
    assert shown(tmp_path, config, *lines) == (
        "You: /config auto_compact.enabled\nauto_compact.enabled: false (by default: true)\n"
        "You: /config notify\nnotify.after: 0.0\nnotify.how:   bell\n"
        "You: /config model:\nmodel: empty\n"
        "You: /config notfy\n✗ There is no setting notfy.\n  Did you mean notify?\n"
        "You: /config xyzzy\n✗ There is no setting xyzzy.\n  config.example.yaml shows every key.\n"
    )


SECRET = "hunter2hunter2"


@pytest.mark.parametrize(
    "text",
    [
        f"mcp: {{n: {{command: x, env: {{A: {SECRET}}}, args: [--token, {SECRET}]}}}}",
        (
            f"mcp: {{n: {{url: 'https://me:{SECRET}@x.example/mcp?key={SECRET}', headers: {{A: "
            f"{SECRET}}}}}}}"
        ),
        (
            f"providers: {{openai: {{base_url: 'https://{SECRET}@x.example/v1', headers: {{X: "
            f"'Bearer {SECRET}'}}}}}}"
        ),
        f"agents: {{S: {{mcp: {{n: {{command: x, env: {{A: {SECRET}}}, args: [{SECRET}]}}}}}}}}",
        f"agent: {{system_prompt: 'The password = {SECRET}'}}",
    ],
)
def test_no_secret_is_shown(tmp_path: Path, text: str) -> None:
    config = parse(text.encode(), "c.yaml")
    assert SECRET in repr(config)
    key = text.partition(":")[0]
    assert SECRET not in shown(tmp_path, config, "/config", f"/config {key}")
