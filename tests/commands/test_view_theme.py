"""/theme: the samples, the next reply, and replies that are not rendered."""

from __future__ import annotations

import io
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from chat_loop.config import Config, DisplayConfig, parse
from chat_loop.display.display_manager import DisplayManager
from chat_loop.display.markdown.theme import THEMES, theme_of
from chat_loop.errors import ConfigError
from tests.support.screens import Line, Screen, Terminal
from tests.support.scripted_chat import QUIET, Step
from tests.support.terminal_chat import COLOR


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)


def run(
    folder: Path,
    lines: list[Line],
    *steps: Step,
    config: Config | None = None,
    out: io.StringIO | None = None,
) -> str:
    screen = Screen(
        folder, lines, *steps, options=QUIET, config=config, out=Terminal() if out is None else out
    )
    return screen.text.partition("Goodbye!")[0]


def test_a_theme_colors_the_next_reply(tmp_path: Path) -> None:
    shown = run(tmp_path, ["a", "/config display.theme light", "b"], "## One", "## Two")
    before, after = shown.split("You: /config display.theme light\n")
    assert f"\x1b[{theme_of('auto').headings[1]}mOne" in before
    assert f"\x1b[{theme_of('light').headings[1]}mTwo" in after


def test_without_colors_none_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert not COLOR.search(run(tmp_path, ["/config display.theme dark", "a"], "## One"))


def test_a_theme_does_not_switch_rendering_on(tmp_path: Path) -> None:
    shown = run(tmp_path, ["/config display.theme dark", "a"], "## One", out=io.StringIO())
    assert "Sally: ## One" in shown


def test_the_config_knows_the_same_themes() -> None:
    assert get_args(get_type_hints(DisplayConfig)["theme"]) == (*THEMES,)
    message = r"c, line 1: display\.theme: invalid enum value 'blue'\."
    with pytest.raises(ConfigError, match=message) as caught:
        parse(b"display: {theme: blue}", "c")
    assert caught.value.hint == "It takes auto, dark or light."


def test_a_reply_that_is_not_rendered_has_no_theme() -> None:
    assert DisplayManager(Terminal(), markdown=False, theme="dark").theme == ""
    assert DisplayManager(io.StringIO(), theme="dark").theme == ""
