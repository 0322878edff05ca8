"""`chat-loop doctor`: check what is installed, stored and set, and say what to do about it.

A check yields findings and changes nothing. Only --online and --connect speak to a service.
"""

from __future__ import annotations

import argparse
import asyncio
import locale
import os
import platform
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from chat_loop import __version__, errors
from chat_loop.agent import mcp_servers
from chat_loop.config import Config, Paths, expand_home, find_paths, load_config
from chat_loop.display import plain
from chat_loop.display.rows import unlisted_text
from chat_loop.display.text import one_line, wrapped
from chat_loop.library.index import index_status
from chat_loop.providers import Provider, catalogue, choose
from chat_loop.providers.wire import WireProvider
from chat_loop.sessions import partial as listing
from chat_loop.sessions.manager import SessionManager
from chat_loop.subcommands import mcp, providers
from chat_loop.values import Message, Request
from chat_loop.wording import install_hint, plural, size_text, window_text

EXTRAS = {"local": "xllamacpp", "search": "onnxruntime", "mcp": "mcp", "bedrock": "boto3"}
"""The package that each extra stands for."""
FIRST_STEPS = (
    "Set a key (export ANTHROPIC_API_KEY=...), or fetch a model that needs none (chat-loop models "
    "install); chat-loop providers says what else there is."
)
MAX_LOADED = 100
"""The newest sessions, which are read whole to find damage in their middle."""
MAX_DAMAGED = 10
ONLINE_SECONDS = 60.0
SIGNS = {"ok": "✓+", "warning": "!!", "problem": "✗x"}
"""The sign of each state, and its stand-in where only ASCII can be shown."""


class Finding(Struct, frozen=True):
    """A line of the report. `hint` is what to do; no key is in any of it."""

    state: Literal["ok", "warning", "problem"]
    name: str
    text: str
    hint: str = ""


passed = partial(Finding, "ok")
warning = partial(Finding, "warning")
problem = partial(Finding, "problem")


class Installation(Struct, frozen=True):
    """The installation to check; `sessions` is the folder."""

    options: argparse.Namespace
    config: Config
    paths: Paths
    sessions: Path
    machine: choose.Machine

    def model(self) -> Provider:
        """Return the model that would answer now. Raises NoProvider, UsageError."""
        name = self.options.model or ("local" if self.options.local else "")
        return choose.choose(name, self.config, self.machine, base_url=self.options.base_url)


def run(options: argparse.Namespace) -> int:
    """Print each finding as soon as it is there; return 1 when there is a problem."""
    columns, symbols = plain.terminal_columns(), plain.shows_symbols()
    report = []
    for finding in findings(options):
        report.append(finding)
        sign = SIGNS[finding.state][0 if symbols else 1]
        lines = [f"{sign} {one_line(finding.name, 60):<15} {one_line(finding.text, 1_000)}"]
        if finding.hint:
            arrow = "→" if symbols else "->"
            lines.append(f"{'':18}{arrow} {one_line(finding.hint, 1_000)}")
        for line in () if options.as_json else lines:
            plain.out((wrapped(line, columns - 1, 18) if columns else line) + "\n")
    states = Counter(finding.state for finding in report)
    problems, warnings = states["problem"], states["warning"]
    if options.as_json:
        plain.out_json({"findings": report, "problems": problems, "warnings": warnings})
    else:
        also = f", {plural(warnings, 'warning')}" if warnings else ""
        plain.out(f"\n{plural(problems, 'problem') if problems else 'No problems'}{also}.\n")
    return int(problems > 0)


def findings(options: argparse.Namespace) -> Iterator[Finding]:
    """Yield all findings. A failed check is a finding, too."""
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    yield passed("Python", f"{platform.python_version()}, {system}")
    yield passed("chat-loop", __version__)
    for extra, package in EXTRAS.items():
        try:
            yield passed(f"Extra {extra}", f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            yield passed(f"Extra {extra}", "not installed", install_hint(extra))
    try:
        paths = find_paths()
    except errors.ChatLoopError as error:
        yield problem("Folders", error.message, "export CHAT_LOOP_HOME=/a/folder/of/yours")
        return
    config = Config()
    try:
        path = expand_home(options.config or str(paths.config))
        config = load_config(path, required=bool(options.config))
        there = path.exists()
        yield passed("Config", str(path) if there else f"there is no {path}: the defaults hold")
    except errors.ChatLoopError as error:
        yield problem("Config", error.message, error.hint or "Fix this before starting chat-loop.")
    try:
        folder = paths.sessions(config, options.sessions_dir)
    except errors.ChatLoopError as error:
        hint = "sessions.directory in the config names it."
        yield problem("Sessions folder", error.message, hint)
        folder = paths.sessions(Config())
    machine = choose.this_machine(paths.models, discover=config.discover_servers)
    installation = Installation(options, config, paths, folder, machine)
    checks = [folders, sessions, index, keys, model, servers, terminal]
    for check in [*checks, online] if options.online else checks:
        name = check.__name__.capitalize()
        try:
            yield from check(installation)
        except errors.ChatLoopError as error:
            yield problem(name, error.message, error.hint.partition("\n")[0])
        except (OSError, ValueError, RuntimeError, ImportError) as error:
            yield problem(name, f"This cannot be checked: {error}.")


def folders(installation: Installation) -> Iterator[Finding]:
    """Check that the folders can be written to, and by the user alone."""
    for name, folder, private in (
        ("Sessions folder", installation.sessions, 0o077),
        ("Data folder", installation.paths.data, 0o022),
        ("Config folder", installation.paths.config.parent, 0o022),
    ):
        above = folder
        while not os.path.lexists(above):
            above = above.parent
        if not (above.is_dir() and os.access(above, os.R_OK | os.W_OK | os.X_OK)):
            text = f"{above} is not a folder that you can read and write."
            yield problem(name, text, f"chmod u+rwx {above}")
        elif above != folder:
            yield passed(name, f"{folder} is not there yet: it is made when it is needed.")
        elif sys.platform != "win32" and folder.stat().st_mode & private:
            act = "changed" if folder.stat().st_mode & 0o022 else "read"
            yield warning(name, f"{folder} can be {act} by other users.", f"chmod go= {folder}")
        else:
            yield passed(name, f"{folder}, {size_text(shutil.disk_usage(folder).free)} free")


def sessions(installation: Installation) -> Iterator[Finding]:
    """Check the sessions, of which the newest are read whole."""
    folder = installation.sessions
    if not folder.is_dir():
        return
    stamps, manager, damaged = listing.newest_first(folder), SessionManager(folder), []
    for stamp in stamps[:MAX_LOADED]:
        try:
            loaded = manager.load(folder / f"{stamp.id}.md")
            if len(loaded.damage) > loaded.torn_records and not loaded.is_foreign:
                damaged.append(f"{stamp.id}: {loaded.damage[0]}")
        except errors.SessionError as error:
            damaged.append(error.message)
    if unlisted := listing.misnamed_files(folder):
        hint = "Sync tools leave such copies where two machines wrote."
        yield warning("Not listed", unlisted_text(unlisted), hint)
    size = size_text(sum(stamp.size for stamp in stamps))
    yield passed("Sessions", f"{plural(len(stamps), 'session')}, {size}")
    for text in damaged[:MAX_DAMAGED]:
        hint = "What can be read of it can still be resumed and shown."
        yield warning("Damaged", text, hint)


def index(installation: Installation) -> Iterator[Finding]:
    """Check the index, which is made from the sessions."""
    status = index_status(installation.sessions, listing.newest_first(installation.sessions))
    stale = f"{plural(status.stale, 'session')} behind" if status.stale else "up to date"
    if status.trouble:
        yield warning("Index", status.trouble, "chat-loop sessions reindex makes it anew.")
    elif status.size:
        yield passed("Index", f"version {status.version}, {size_text(status.size)}, {stale}")
    else:
        yield passed("Index", "none yet: it is made when sessions are first listed")


def keys(installation: Installation) -> Iterator[Finding]:
    """Check which keys are set, by the names of their variables."""
    entries = catalogue.entries(installation.config.providers).values()
    environment = installation.machine.environment
    names = sorted({name for entry in entries for name in entry.keys if environment.get(name)})
    right = [name for name in names if re.fullmatch(r"[!#-&(-~]{8,}", environment[name])]
    for name in names:
        if name not in right:
            text = f"{name} is no key: it is too short, or has blanks or quotation marks."
            yield problem("Keys", text, f"Set it again: export {name}=...")
    if right:
        yield passed("Keys", f"set: {', '.join(right)}")
    elif not names:
        yield passed("Keys", "none is set", "chat-loop providers says which there are.")


def model(installation: Installation) -> Iterator[Finding]:
    """Check the model that would answer now."""
    try:
        provider = installation.model()
    except errors.NoProvider as error:  # its hint is a whole list
        yield problem("Model", error.message, FIRST_STEPS)
        return
    name = f"{provider.name}:{provider.model}"
    if known := catalogue.entries(installation.config.providers).get(provider.name):
        entry = choose.with_local_port(known, installation.machine)
        entry = replace(entry, base_url=installation.options.base_url or entry.base_url)
        _, missing, hint = providers.state_of(entry, installation.machine)
        if missing:
            yield problem("Model", f"{name} cannot answer: {missing}", hint)
            return
    if isinstance(provider, WireProvider):
        provider.look_up()
    window = provider.window
    text = f"{name} would answer now, window {window_text(window.tokens, window.guessed)}"
    if window.guessed:
        hint = f"models: {{{provider.model}: {{window: N}}}} in the config sets it."
        yield warning("Model", f"{text}: its window is not known.", hint)
    else:
        yield passed("Model", text)


def online(installation: Installation) -> Iterator[Finding]:
    """Ask the model one small question, and tell how long that took."""
    provider = installation.model()
    # a model that reasons first needs room to say a word
    request = Request(system="", messages=(Message("user", "Say OK."),), max_tokens=512)

    async def ask() -> None:
        try:
            async with asyncio.timeout(ONLINE_SECONDS):
                async for _ in provider.stream(request):
                    pass
        finally:
            await provider.close()

    name = f"{provider.name}:{provider.model}"
    provider.warm()
    began = time.monotonic()
    try:
        asyncio.run(ask())
        yield passed("Online", f"{name} answered in {time.monotonic() - began:.1f} s")
    except TimeoutError:
        yield problem("Online", f"{name} gave no whole reply in {ONLINE_SECONDS:.0f} s.")
    except errors.ChatLoopError as error:
        yield problem("Online", f"{name}: {error.message}", error.hint)


def servers(installation: Installation) -> Iterator[Finding]:
    """Check the MCP servers of the config, which are only started with --connect."""
    configs = installation.config.mcp
    if not configs:
        yield passed("MCP", "no server in the config")
    elif find_spec("mcp") is None or find_spec("jsonschema") is None:
        yield problem("MCP", mcp_servers.MISSING, install_hint("mcp"))
    elif not installation.options.connect:
        yield passed("MCP", f"{plural(len(configs), 'server')} in the config; --connect tries it")
    elif connections := mcp_servers.servers_of(configs):
        for state in asyncio.run(mcp.connect(connections)):
            if state.state == "connected":
                yield passed(f"MCP {state.name}", f"connected, {plural(len(state.tools), 'tool')}")
            else:
                yield problem(f"MCP {state.name}", state.problem, "chat-loop mcp shows more.")


def terminal(installation: Installation) -> Iterator[Finding]:
    """Check that text is UTF-8, and that a terminal can edit lines."""
    encoding = locale.getpreferredencoding(False)
    if encoding.replace("-", "").lower() != "utf8":
        text = f"Text is {encoding}, not UTF-8: other characters are shown as codes."
        yield warning("Terminal", text, "export LANG=C.UTF-8")
    elif os.isatty(0) and installation.machine.environment.get("TERM", "") in ("", "dumb"):
        yield warning("Terminal", "no line editor", "export TERM=xterm-256color")
    else:
        yield passed("Terminal", encoding)
