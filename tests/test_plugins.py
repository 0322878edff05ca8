"""Packages that add providers, commands, tools and exporters: the four examples of docs/plugins.md,
installed with pip and used.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
import termios
import zipfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from chat_loop.events import Event, Finished
from chat_loop.plugins import Plugin, Plugins
from chat_loop.values import Request, Window
from tests.support.environments import environment
from tests.support.providers import events_of
from tests.support.pty_chat import PtyChat
from tests.support.terminal_chat import settings

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[1] / "docs" / "plugins.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
BROKEN = "def register(plugin):\n    raise RuntimeError('no\\x1b[2J luck')\n"


def install(site: Path, name: str, modules: Mapping[str, str]) -> None:
    """Install a package with one plugin per module, as `pip install` of its wheel does."""
    info = f"{name}-1.0.dist-info"
    plugins = "".join(f"{module} = {module}:register\n" for module in modules)
    files = {f"{module}.py": text for module, text in modules.items()}
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    files[f"{info}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    files[f"{info}/entry_points.txt"] = f"[chat_loop.plugins]\n{plugins}"
    rows = []
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        rows.append(f"{path},sha256={digest.decode()},{len(text.encode())}\n")
    files[f"{info}/RECORD"] = "".join(rows) + f"{info}/RECORD,,\n"
    wheel = site.parent / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps"]
    pip += ["--disable-pip-version-check", "--no-compile", "--target", str(site), str(wheel)]
    subprocess.run(pip, check=True, capture_output=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the plugins of docs/plugins.md and one that fails."""
    folder = tmp_path_factory.mktemp("plugins") / "site"
    names = ("shouting", "counting", "texts", "backwards")
    assert len(EXAMPLES) == len(names)
    install(folder, "examples", dict(zip(names, EXAMPLES, strict=True)))
    install(folder, "broken", {"broken": BROKEN})
    return folder


def run(home: Path, site: Path, *arguments: str, typed: str = "", code: int = 0) -> tuple[str, str]:
    """Return the standard output and standard error of the program."""
    variables = environment(home, PYTHONPATH=f"{site}:{Path(__file__).parents[1]}")
    done = subprocess.run(
        [sys.executable, "-m", "chat_loop", *arguments],
        input=typed,
        capture_output=True,
        text=True,
        env=variables,
        cwd=home,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


def test_plugins_are_listed_with_what_they_add(tmp_path: Path, site: Path) -> None:
    out, _ = run(tmp_path, site, "plugins", code=1)
    assert out.splitlines() == [
        "backwards  examples 1.0",
        "  provider backwards",
        "broken  broken 1.0",
        "  It failed: RuntimeError: no [2J luck.",
        "counting  examples 1.0",
        "  tool count_words",
        "shouting  examples 1.0",
        "  command shout",
        "texts  examples 1.0",
        "  exporter text",
    ]
    out, err = run(tmp_path, site, "--no-plugins", "plugins")
    assert (out, err) == ("", "Plugins are switched off.\n")


def test_a_plugin_that_is_switched_off_does_not_load(tmp_path: Path, site: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("plugins: {broken: false}\n")
    out, _ = run(tmp_path, site, "--config", str(config), "plugins", "--json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert rows["broken"]["problem"] == "Switched off."
    assert rows["counting"]["tool"] == ["count_words"]


def test_a_command_of_a_plugin_is_run_and_explained(tmp_path: Path, site: Path) -> None:
    typed = "/shout hello\n/help shout\n/help\n/shoot\nexit\n"
    out, _ = run(tmp_path, site, "--model", "scripted", typed=typed)
    assert "\nHELLO\n" in out
    assert "Show TEXT in capitals." in out
    assert re.search(r"^Plugins +/shout$", out, re.MULTILINE)
    assert "Did you mean /shout?" in out
    out, _ = run(
        tmp_path, site, "--no-plugins", "--model", "scripted", typed="/shout hello\nexit\n"
    )
    assert "HELLO" not in out


def test_a_provider_of_a_plugin_answers_and_its_session_is_exported_by_another(
    tmp_path: Path, site: Path
) -> None:
    out, _ = run(tmp_path, site, "--model", "backwards:any", "-p", "stressed")
    assert out == "desserts\n"
    typed = "/model backwards:any\nstar\n/export talk.txt\nexit\n"
    out, _ = run(tmp_path, site, "--model", "scripted", typed=typed)
    assert "rats" in out
    assert (tmp_path / "talk.txt").read_text().startswith("> star\n\nrats")
    out, _ = run(tmp_path, site, "sessions", "export", "1", "-", "--as", "text")
    assert out.startswith("> star\n\nrats")


def test_a_tool_of_a_plugin_is_another_one_in_another_version(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer about a tool is for this version of its plugin."""
    monkeypatch.syspath_prepend(str(site))
    for name in ("shouting", "counting", "texts", "backwards"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    tools = Plugins({}).tools({"count_words"})
    assert {name: tool.origin for name, tool in tools.items()} == {
        "count_words": {"plugin": "counting of examples 1.0"}
    }


def test_a_tool_of_a_plugin_is_the_models_when_it_is_named(tmp_path: Path, site: Path) -> None:
    typed = "/tools\nexit\n"
    out, _ = run(tmp_path, site, "--model", "scripted", "--tools", "count_words", typed=typed)
    assert "count_words" in out
    out, _ = run(tmp_path, site, "--model", "scripted", "--tools", "all,count_words", typed=typed)
    assert "count_words" in out
    assert "read_file" in out
    _, err = run(tmp_path, site, "--model", "scripted", "--tools", "all,zz", "-p", "x", code=2)
    assert "No tool named zz." in err
    _, err = run(tmp_path, site, "--model", "scripted", "--tools", "count_wards", "-p", "x", code=2)
    assert "No tool named count_wards." in err


SLOW = """
def register(plugin):
    plugin.add_provider("slow", Slow)

class Slow:
    name, first_event_seconds = "slow", 600.0

    def __init__(self, model):
        from chat_loop.values import Window
        self.model, self.window = model, Window(4321)
        self.warmed = ""

    def warm(self):
        from chat_loop.values import Window
        self.warmed, self.window = "Warm.", Window(8765)

    async def stream(self, request):
        from chat_loop.events import Finished, TextDelta
        yield TextDelta(self.warmed or "Cold.")
        yield Finished(stop="end")

    async def close(self):
        pass
"""


def test_a_provider_of_a_plugin_is_known_everywhere_and_keeps_what_it_says(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install(site, "slow", {"slow": SLOW})
    listed, _ = run(tmp_path, site, "providers")
    assert "✓ slow          of the plugin slow; name a model" in listed
    names = [row["name"] for row in json.loads(run(tmp_path, site, "providers", "--json")[0])]
    assert "slow" in names
    config = tmp_path / "config.yaml"
    config.write_text("model: slow:x\n")
    out, _ = run(tmp_path, site, "--config", str(config), "doctor")
    assert "✓ Model           slow:x would answer now, window 8.7K" in out
    typed = "hello\n/status\nexit\n"
    out, _ = run(tmp_path, site, "--config", str(config), typed=typed)
    assert "Warm." in out
    assert "8.8K" in out or "8,765" in out


def test_a_plugin_provider_says_of_itself_what_it_says_later() -> None:
    class Changing:
        name, model, window = "changing", "x", Window(1_000)

        def __init__(self, model: str) -> None:
            self.takes_images = False

        async def stream(self, request: Request) -> AsyncIterator[Event]:
            self.window = Window(2_000)
            self.takes_images = True
            yield Finished(stop="end")

        async def close(self) -> None:
            """Nothing is open."""

    plugins = Plugins({}, load=False)
    plugins.all().append(Plugin("p", "p 1.0", providers={"changing": Changing}))  # type: ignore[dict-item]
    provider = plugins.provider("changing", "x")
    assert provider is not None
    assert (provider.first_event_seconds, provider.calls_tools) == (120.0, False)

    events_of(provider)

    assert (provider.window, provider.takes_images) == (Window(2_000), True)


FAILING = """
def register(plugin):
    plugin.add_command("burn", burn)
    plugin.add_command("help", burn)
    plugin.add_exporter("ash", ".ash", lambda sessions: 1 / 0)
    plugin.add_provider("ember", Ember)

async def burn(chat, argument):
    "Burn."
    raise KeyError("smoke")

class Ember:
    name, window = "ember", None

    def __init__(self, model):
        from chat_loop.values import Window
        self.model, self.window = model, Window(8000)

    def warm(self):
        pass

    async def stream(self, request):
        raise OSError("out")
        yield

    async def close(self):
        raise OSError("out")
"""


def test_a_plugin_that_fails_later_is_named_and_the_chat_goes_on(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install(site, "failing", {"failing": FAILING})
    typed = "/burn\nhello\n/export ash\n/model ember:x\nagain\n/help\nexit\n"
    out, err = run(tmp_path, site, "--model", "scripted", typed=typed)
    both = " ".join(f"{out} {err}".split())
    assert "The plugin failing failed: KeyError: 'smoke'." in both
    assert "The plugin failing failed: ZeroDivisionError: division by zero." in both
    assert "The plugin failing failed: OSError: out." in both
    assert "You said: hello" in both
    assert "/help COMMAND for details" in both
    out, _ = run(tmp_path, site, "plugins")
    assert "command burn, help (not used: the name is taken)" in out


BLOCKING = """
import time

def register(plugin):
    plugin.add_command("block", block)

async def block(chat, argument):
    "Never give the event loop back."
    print("blocked", end="", flush=True)
    while True:
        time.sleep(60)
"""


def test_ctrl_c_stops_a_command_that_blocks_and_keeps_what_is_typed(tmp_path: Path) -> None:
    site = tmp_path / "site"
    install(site, "blocking", {"blocking": BLOCKING})
    variables = environment(tmp_path, PYTHONPATH=f"{site}:{Path(__file__).parents[1]}")
    command = [sys.executable, "-m", "chat_loop", "--model", "scripted"]
    with PtyChat(command, variables, cwd=tmp_path) as chat:
        chat.wait_for("context")
        chat.line("/block")
        chat.wait_for("blocked")
        chat.send("hello")
        while not settings(chat)[3] & termios.ISIG:
            chat.read_for(0.05)
        chat.ctrl("c")
        chat.wait_for("Stopped.")
        chat.send("\r")
        chat.wait_for("You said: hello")
        chat.line("exit")
        assert chat.exit_code() == 0
