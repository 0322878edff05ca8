"""/config shows changed settings, one key or a section, but no secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_loop.config import Config, parse
from tests.support.screens import Screen
from tests.support.scripted_chat import QUIET


def shown(folder: Path, config: Config, *lines: str) -> str:
    facts = (("Config", str(folder / "config.yaml")),)
    return Screen(folder, list(lines), options=QUIET, config=config, facts=facts).text.partition(
        "Goodbye!"
    )[0]


def test_by_default_there_is_nothing_to_show(tmp_path: Path) -> None:
    assert shown(tmp_path, Config(), "/config") == (
        f"You: /config\nConfig: {tmp_path}/config.yaml (there is none yet)\n"
        "All settings are at their defaults; /config all shows them.\n"
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
        "/config input",
        "/config model:",
        "/config inptu",
        "/config xyzzy",
    ]
    assert shown(tmp_path, config, *lines) == (
        "You: /config auto_compact.enabled\nauto_compact.enabled: false (by default: true)\n"
        "You: /config input\ninput.keys: emacs\n"
        "You: /config model:\nmodel: empty\n"
        "You: /config inptu\n✗ No setting named inptu.\n  Did you mean input?\n"
        "You: /config xyzzy\n✗ No setting named xyzzy.\n  /config all shows every setting.\n"
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


def run(folder: Path, *lines: str) -> Screen:
    facts = (("Config", str(folder / "config.yaml")),)
    return Screen(folder / "s", list(lines), options=QUIET, facts=facts)


def test_a_setting_is_changed_for_this_run(tmp_path: Path) -> None:
    screen = run(
        tmp_path, "/config auto_compact.enabled false", "/context", "/config display.theme light"
    )
    assert "auto_compact.enabled: false, until you quit." in screen.text
    assert "Automatic compaction is off" in screen.text
    assert screen.chat.config.display.theme == "light"
    assert not (tmp_path / "config.yaml").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/config memory.enabled false", "✗ memory.enabled is read when a chat starts."),
        ("/config auto_compact.enbled false", "✗ No setting named auto_compact.enbled."),
        (
            "/config auto_compact.enabled maybe",
            "✗ /config: auto_compact.enabled: expected true or false",
        ),
        ("/config auto_compact 3", "✗ /config: auto_compact: expected a mapping"),
        ("/config display.theme pink", "✗ /config: display.theme: invalid enum value 'pink'"),
        ("/config display.theme [", "✗ The value, line 1: "),
        ("/config providers.openai.model x", "✗ providers cannot be changed here."),
        ("/config display.theme --save", "✗ What should be saved?"),
    ],
)
def test_what_cannot_be_changed_is_said(tmp_path: Path, line: str, message: str) -> None:
    assert message in run(tmp_path, line, f"{line} --save").text
    if "memory" not in line:
        assert not (tmp_path / "config.yaml").exists()


FILE = """\
# My settings
model: gemini   # the fast one

display:
  # at night
  theme: dark  # or light
  wrap: words
status: [model,
  cost]
input: {keys: vi}
"""


@pytest.mark.parametrize(
    ("key", "value", "old", "new"),
    [
        ("display.theme", "light", "theme: dark  # or light", "theme: light  # or light"),
        ("display.markdown", "false", "display:\n", "display:\n  markdown: false\n"),
        ("model", "openai:gpt-5", "model: gemini   #", "model: openai:gpt-5   #"),
        ("discover_servers", "false", "keys: vi}\n", "keys: vi}\ndiscover_servers: false\n"),
        ("search.meaning", "false", "keys: vi}\n", "keys: vi}\nsearch:\n  meaning: false\n"),
    ],
)
def test_a_saved_setting_leaves_the_rest_of_the_file(
    tmp_path: Path, key: str, value: str, old: str, new: str
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(FILE)
    assert str(path) in run(tmp_path, f"/config {key} {value} --save").text
    assert path.read_text() == FILE.replace(old, new)


@pytest.mark.parametrize("line", ["/config input.keys vi", "/config status [cost]"])
def test_a_setting_in_another_form_is_left_to_the_editor(tmp_path: Path, line: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(FILE)
    assert "Edit the file." in run(tmp_path, f"{line} --save").text
    assert path.read_text() == FILE


def test_a_setting_is_saved_into_a_new_file_and_through_a_link(tmp_path: Path) -> None:
    old = run(tmp_path, "/config summary.timeout 30 --save", "/config model gemini --save")
    assert "summary.timeout is auto_compact.summary_timeout now" in old.text
    path = tmp_path / "config.yaml"
    assert path.read_text() == "auto_compact:\n  summary_timeout: 30\nmodel: gemini\n"
    path.rename(tmp_path / "real.yaml")
    path.symlink_to("real.yaml")
    run(tmp_path, "/config auto_compact.summary_timeout 40 --save")
    assert path.is_symlink()
    assert "summary_timeout: 40" in (tmp_path / "real.yaml").read_text()


def test_line_ends_mode_and_link_stay(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.yaml"
    before = (
        b"\xef\xbb\xbf# mine\r\ndisplay:\r\n  theme: dark  # inline\r\n\nstatus: [cost]\r\n\r\n\r\n"
    )
    real.write_bytes(before)
    real.chmod(0o640)
    path = tmp_path / "config.yaml"
    path.symlink_to(real)
    run(
        tmp_path,
        "/config display.theme light --save",
        "/config auto_compact.summary_timeout 40 --save",
    )
    after = (
        before.replace(b"theme: dark", b"theme: light")
        + b"auto_compact:\r\n  summary_timeout: 40\r\n"
    )
    assert real.read_bytes() == after
    assert path.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640


def test_a_setting_is_saved_into_a_section_without_keys(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("display:\n  # theme: dark\n")
    run(tmp_path, "/config display.theme light --save")
    assert path.read_text() == "display:\n  theme: light\n  # theme: dark\n"


def test_all_settings_are_shown(tmp_path: Path) -> None:
    text = shown(tmp_path, parse(b"input: {keys: vi}\n", "c.yaml"), "/config all")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "input.keys: vi (by default: emacs)" in lines
    assert "auto_compact.preserve_recent: 10" in lines
    assert "providers: not set" in lines


def test_a_value_that_yaml_changes_is_not_saved(tmp_path: Path) -> None:
    text = run(tmp_path, "/config auto_compact.preserve_recent 010 --save").text
    assert "The value, line 1: a number that begins with 0 is octal in YAML." in text
    assert not (tmp_path / "config.yaml").exists()


def test_a_file_with_a_mistake_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("modle: x\n")
    shown = run(tmp_path, "/config model gemini --save").text
    assert "unknown key modle" in shown
    assert path.read_text() == "modle: x\n"
