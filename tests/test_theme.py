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
from chat_loop.display.markdown.theme import NAMES, theme_of
from chat_loop.display.themes import ABOUT, sample
from chat_loop.errors import ConfigError
from tests.screens import Line, Screen, Terminal
from tests.talking import Step
from tests.test_asking_again import QUIET
from tests.test_terminal import COLOUR, answered, chat, leave

SGR = re.compile(r"\x1b\[[0-9;]*m")
SAMPLE = '  • code  return size("two", 3)  # note\n'


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


def test_all_are_shown_in_their_colours_and_the_one_in_use_says_so(tmp_path: Path) -> None:
    shown = run(tmp_path, ["/theme"])
    assert SGR.sub("", shown) == (
        "You: /theme\nReplies are shown like this:\n"
        f"  auto (in use)   Heading{SAMPLE}  dark            Heading{SAMPLE}  light           "
        f"Heading{SAMPLE}"
        "/theme NAME switches for this session. The default (display.theme in the config): auto.\n"
    )
    for name in NAMES:
        assert sample(theme_of(name)) in shown
    assert len({sample(theme_of(name)) for name in NAMES}) == len(NAMES)


def test_a_theme_colours_the_next_reply_and_the_config_keeps_the_usual_one(tmp_path: Path) -> None:
    config = parse(b"display: {theme: dark}\n", "c.yaml")
    shown = run(tmp_path, ["a", "/theme LIGHT", "b", "/theme"], "## One", "## Two", config=config)
    before, after = shown.split("You: /theme LIGHT\n")
    assert f"\x1b[{theme_of('auto').headings[1]}mOne" in before
    assert f"\x1b[{theme_of('light').headings[1]}mTwo" in after
    assert SGR.sub("", after).startswith(
        f"Replies are shown like this:\n  light (in use)  Heading{SAMPLE}"
        "Until you quit. The default (display.theme in the config): dark.\n"
    )
    assert "  light (in use)  " in SGR.sub("", after.partition("You: /theme")[2])


def test_without_colours_it_says_so_and_none_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    shown = run(tmp_path, ["/theme", "/theme dark"])
    assert not COLOUR.search(shown)
    assert shown.count("Without colours (NO_COLOR) all themes are the same.") == 2


def test_narrow_a_sample_stands_below_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    assert f"\n  auto (in use)\n    Heading{SAMPLE}  dark\n" in SGR.sub(
        "", run(tmp_path / "a", ["/theme"])
    )


def test_where_replies_are_not_rendered_it_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = (
        "auto:  the terminal's own colours\ndark:  bright colours, for a dark background\n"
        "light: dark colours, for a light background\n"
    )
    why = "Replies stay as they were written: this is no terminal that could show it.\n"
    no_change = (
        "✗ Replies are not rendered here: a theme would change nothing.\n  /theme says why.\n"
    )
    piped = run(tmp_path / "a", ["/theme", "/theme dark"], out=io.StringIO())
    assert piped == f"You: /theme\n{described}{why}You: /theme dark\n{no_change}"
    monkeypatch.setenv("TERM", "dumb")
    assert run(tmp_path / "b", ["/theme"]) == f"You: /theme\n{described}{why}"


def test_a_theme_that_there_is_not(tmp_path: Path) -> None:
    shown = SGR.sub("", run(tmp_path, ["/theme solarized\x1b[2J"]))
    assert "✗ There is no theme solarized␛[2J.\n  It may be auto, dark, light.\n" in shown


def test_the_config_knows_the_same_themes() -> None:
    assert tuple(ABOUT) == NAMES == get_args(get_type_hints(DisplayConfig)["theme"])
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
    colours = [f"\x1b[{theme_of(name).headings[1]}mOne" for name in ("light", "dark")]
    with chat(tmp_path) as terminal:
        assert colours[0] in answered(terminal, "\x1b[200~a\n\n## One\x1b[201~")
        terminal.mark()
        terminal.line("/theme dark")
        terminal.wait_for("in the config): light.", timeout=20, output=True)
        assert colours[1] in answered(terminal, "\x1b[200~b\n\n## One\x1b[201~")
        leave(terminal)
