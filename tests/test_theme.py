"""The command theme: what is shown, what the next reply looks like, and where nothing is
rendered.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from chat_loop.config import Config, DisplayConfig, parse
from chat_loop.display.manager import DisplayManager
from chat_loop.display.markdown.theme import THEMES, theme_of
from chat_loop.errors import ConfigError
from tests.screens import Line, Screen, Terminal
from tests.talking import Step
from tests.test_asking_again import QUIET
from tests.test_terminal import COLOUR, answered, chat, leave

SGR = re.compile(r"\x1b\[[0-9;]*m")


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


def test_all_are_listed_and_the_one_in_use_says_so(tmp_path: Path) -> None:
    assert SGR.sub("", run(tmp_path, ["/theme"])) == (
        "You: /theme\n"
        "auto   the terminal's own colors (in use)\n"
        "dark   bright colors, for a dark background\n"
        "light  dark colors, for a light background\n"
        "/theme NAME switches for this session. The default (display.theme in the config): auto.\n"
    )


def test_a_theme_colors_the_next_reply_and_the_config_keeps_the_usual_one(tmp_path: Path) -> None:
    config = parse(b"display: {theme: dark}\n", "c.yaml")
    shown = run(tmp_path, ["a", "/theme LIGHT", "b", "/theme"], "## One", "## Two", config=config)
    before, after = shown.split("You: /theme LIGHT\n")
    assert f"\x1b[{theme_of('auto').headings[1]}mOne" in before
    assert f"\x1b[{theme_of('light').headings[1]}mTwo" in after
    assert " ".join(SGR.sub("", after).split()).startswith(
        "Replies have dark colors, for a light background until you quit. "
        "The default (display.theme in the config): dark. "
    )
    assert "light  dark colors, for a light background (in use)" in SGR.sub("", after)


def test_without_colors_none_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert not COLOUR.search(run(tmp_path, ["/theme", "/theme dark", "a"], "# One `two`"))


@pytest.mark.parametrize("term", ["", "dumb"])
def test_where_replies_are_not_rendered_it_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, term: str
) -> None:
    monkeypatch.setenv("TERM", term or "xterm")
    out = None if term else io.StringIO()
    assert run(tmp_path, ["/theme dark"], out=out) == (
        "You: /theme dark\n✗ Replies are not rendered here: a theme would change nothing.\n"
        "  Output that is no terminal, TERM=dumb or display.markdown: false prevents it.\n"
    )


def test_a_theme_that_there_is_not(tmp_path: Path) -> None:
    shown = SGR.sub("", run(tmp_path, ["/theme solarized\x1b[2J"]))
    assert "✗ There is no theme solarized␛[2J.\n  Themes: auto, dark, light.\n" in shown


def test_the_config_knows_the_same_themes() -> None:
    assert tuple(THEMES) == get_args(get_type_hints(DisplayConfig)["theme"])
    with pytest.raises(
        ConfigError, match=r"c: display\.theme: invalid enum value 'blue'\."
    ) as caught:
        parse(b"display: {theme: blue}", "c")
    assert caught.value.hint == "It takes auto, dark or light."


def test_a_reply_that_is_not_rendered_has_no_theme() -> None:
    assert DisplayManager(Terminal(), markdown=False, theme="dark").theme == ""
    assert DisplayManager(io.StringIO(), theme="dark").theme == ""


def test_in_a_terminal_it_is_there_until_one_leaves(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("display: {theme: light}\n")
    colors = [f"\x1b[{theme_of(name).headings[1]}mOne" for name in ("light", "dark")]
    with chat(tmp_path) as terminal:
        assert colors[0] in answered(terminal, "\x1b[200~a\n\n## One\x1b[201~")
        terminal.mark()
        terminal.line("/theme dark")
        terminal.wait_for("in the config): light.", timeout=20, output=True)
        assert colors[1] in answered(terminal, "\x1b[200~b\n\n## One\x1b[201~")
        leave(terminal)
