"""`chat-loop doctor`: check what is installed, stored and set, and say what to do about it.

A check yields findings and changes nothing. Only `online` and `connected` speak to a service.
"""

from __future__ import annotations

import argparse
import asyncio
import locale
import os
import platform
import re
import shutil
import stat
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from chat_loop import __version__, errors
from chat_loop.agent import mcp_servers
from chat_loop.agent.registry import AgentRegistry
from chat_loop.config import Config, Paths, expand_home, expand_variables, find_paths, load_config
from chat_loop.display import plain
from chat_loop.display.rows import unlisted_text
from chat_loop.display.text import one_line, wrapped
from chat_loop.errors import ChatLoopError
from chat_loop.library.index import index_status
from chat_loop.providers import Provider, catalogue, choose
from chat_loop.providers.wire import WireProvider
from chat_loop.sessions import partial as folder_listing
from chat_loop.sessions.files import LOCK_FOLDER, take_lock
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
MAX_READ_BYTES = 32 << 20
"""Bytes of the newest sessions that are read whole, to find damage in their middle."""
MAX_DAMAGED = 10
MIN_FREE_BYTES = 100_000_000
"""Bytes of a disk."""
ONLINE_SECONDS = 60.0
NARROW = 60
"""Below this many columns of a terminal the text stands below the name."""
WIDTH = 15
"""Columns of a finding's name."""
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
    report_lines = []
    for finding in findings(options):
        report_lines.append(finding)
        if not options.as_json:
            plain.out(report(finding))
    states = Counter(finding.state for finding in report_lines)
    problems, warnings = states["problem"], states["warning"]
    if options.as_json:
        plain.out_json({"findings": report_lines, "problems": problems, "warnings": warnings})
    else:
        also = f", {plural(warnings, 'warning')}" if warnings else ""
        plain.out(f"\n{plural(problems, 'problem') if problems else 'No problems'}{also}.\n")
    return int(problems > 0)


def report(finding: Finding) -> str:
    """Return the lines of a finding, broken between words where the output is a terminal."""
    columns, symbols = plain.terminal_columns(), plain.shows_symbols()
    sign = SIGNS[finding.state][0 if symbols else 1]
    name, text = one_line(finding.name, 60), one_line(finding.text, 1_000)
    lines, indent = [f"{sign} {name:<{WIDTH}} {text}"], WIDTH + 3
    if 0 < columns < NARROW:
        lines, indent = [f"{sign} {name}", f"    {text}"], 4
    if finding.hint:
        arrow = "→" if symbols else "->"
        lines.append(f"{' ' * indent}{arrow} {one_line(finding.hint, 1_000)}")
    return "".join(f"{wrapped(line, columns - 1, indent) if columns else line}\n" for line in lines)


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
    except ChatLoopError as error:
        yield problem("Folders", error.message, "export CHAT_LOOP_HOME=/a/folder/of/yours")
        return
    config = Config()
    try:
        path = expand_home(options.config or str(paths.config))
        config = load_config(path, required=bool(options.config))
        missing = "" if path.exists() else "there is no "
        yield passed("Config", f"{missing}{path}{': the defaults hold' if missing else ''}")
    except ChatLoopError as error:
        yield problem("Config", error.message, error.hint or "Fix this before starting chat-loop.")
    try:
        folder = paths.sessions(config, options.sessions_dir)
    except ChatLoopError as error:
        hint = "sessions.directory in the config names it."
        yield problem("Sessions folder", error.message, hint)
        folder = paths.sessions(Config())
    machine = choose.this_machine(paths.models, discover=config.discover_servers)
    installation = Installation(options, config, paths, folder, machine)
    checks: list[Callable[[Installation], Iterator[Finding]]] = [
        *(folders, sessions, locks, index, keys, model),
        *(connected if options.connect else described, agents, terminal),
        *([online] if options.online else []),
    ]
    for check in checks:
        name = check.__name__.capitalize()
        try:
            yield from check(installation)
        except ChatLoopError as error:
            yield problem(name, error.message, error.hint.partition("\n")[0])
        except OSError as error:
            text = f"{error.filename or 'This'} cannot be read: {errors.os_reason(error)}."
            yield problem(name, text)
        except (ValueError, RuntimeError, ImportError) as error:
            yield problem(name, f"This cannot be checked: {type(error).__name__}: {error}.")


def folders(installation: Installation) -> Iterator[Finding]:
    """Check that the folders can be written to, are the user's alone, and have room."""
    yield _folder("Sessions folder", installation.sessions)
    yield _folder("Data folder", installation.paths.data)
    yield _folder("Config folder", installation.paths.config.parent)
    if sys.platform == "win32" or not installation.sessions.is_dir():
        return
    files = [
        installation.paths.history,
        installation.paths.data / "MEMORY.md",
        *installation.sessions.glob("*.md"),
    ]
    modes = [(file, file.lstat().st_mode) for file in files if os.path.lexists(file)]
    readable = [file for file, mode in modes if stat.S_ISREG(mode) and mode & 0o077]
    if readable and installation.sessions.stat().st_mode & 0o077:
        text = f"{plural(len(readable), 'file')} of conversations, such as {readable[0]},"
        hint = f"chmod -R go= {installation.sessions}"
        yield warning("Privacy", f"{text} can be read by other users.", hint)


def _folder(name: str, folder: Path) -> Finding:
    above = folder
    while above != above.parent and not os.path.lexists(above):
        above = above.parent
    if not (above.is_dir() and os.access(above, os.R_OK | os.W_OK | os.X_OK)):
        text = f"{above} is not a folder that you can read and write."
        return problem(name, text, f"chmod u+rwx {above}")
    if above != folder:
        return passed(name, f"{folder} is not there yet: it is made when it is needed.")
    free = shutil.disk_usage(folder).free
    if free < MIN_FREE_BYTES:
        return warning(name, f"{folder}: only {size_text(free)} are free on its disk.")
    if sys.platform != "win32" and folder.stat().st_mode & 0o022:
        return warning(name, f"{folder} can be changed by other users.", f"chmod go-w {folder}")
    return passed(name, f"{folder}, {size_text(free)} free")


def sessions(installation: Installation) -> Iterator[Finding]:
    """Check the sessions, of which the newest are read whole."""
    if not installation.sessions.is_dir():
        return
    stamps, manager = (
        folder_listing.newest_first(installation.sessions),
        SessionManager(installation.sessions),
    )
    damaged, left = [], MAX_READ_BYTES
    for stamp in stamps:
        left -= stamp.size
        if left < 0:
            break
        try:
            loaded = manager.load(installation.sessions / f"{stamp.id}.md")
            if len(loaded.damage) > loaded.torn_records and not loaded.is_foreign:
                damaged.append(f"{stamp.id}: {loaded.damage[0]}")
        except errors.SessionError as error:
            damaged.append(error.message)
    if unlisted := folder_listing.misnamed_files(installation.sessions):
        hint = "Sync tools leave such copies where two machines wrote."
        yield warning("Not listed", unlisted_text(unlisted), hint)
    states = Counter[str](row.state for row in folder_listing.rows(installation.sessions))
    names = {"plain": "of another program", "foreign": "no transcript", "empty": "empty"}
    parts = [plural(len(stamps), "session"), size_text(sum(stamp.size for stamp in stamps))]
    parts += [f"{states[state]:,} {name}" for state, name in names.items() if states[state]]
    yield passed("Sessions", ", ".join(parts))
    for text in damaged[:MAX_DAMAGED]:
        hint = "What can be read of it can still be resumed and shown."
        yield warning("Damaged", text, hint)


def locks(installation: Installation) -> Iterator[Finding]:
    """Check which sessions are open in other processes."""
    locked = []
    for path in sorted((installation.sessions / LOCK_FOLDER).glob("*.lock"))[:2_000]:
        try:
            take_lock(installation.sessions, path.stem).close()
        except errors.SessionLocked:
            locked.append(path.stem)
    text = f"{plural(len(locked), 'session')} open in other processes: {', '.join(locked[:3])}"
    yield passed("Locks", text if locked else "none is held")


def index(installation: Installation) -> Iterator[Finding]:
    """Check the index, which is made from the sessions."""
    status = index_status(installation.sessions, folder_listing.newest_first(installation.sessions))
    stale = f"{plural(status.stale, 'session')} behind" if status.stale else "up to date"
    if status.trouble:
        yield warning("Index", status.trouble, "chat-loop sessions reindex makes it anew.")
    elif status.size:
        yield passed("Index", f"version {status.version}, {size_text(status.size)}, {stale}")
    else:
        yield passed("Index", "none yet: it is made when sessions are first listed")


def fault_of(key: str) -> str:
    """Return the obvious fault of a key, without quoting it; "" when there is none."""
    if not re.fullmatch(r"[!#-&(-~]+", key):
        return "has blanks, quotation marks or other characters that no key has"
    placeholders = ("...", "your", "xxx", "<", "changeme", "insert")
    if len(key) < 8 or key.lower().startswith(placeholders):
        return "is a placeholder, or too short for a key"
    return ""


def keys(installation: Installation) -> Iterator[Finding]:
    """Check which keys are set, by the names of their variables."""
    entries = catalogue.entries(installation.config.providers).values()
    environment = installation.machine.environment
    names = sorted({name for entry in entries for name in entry.keys if environment.get(name)})
    faults = {name: fault_of(environment[name]) for name in names}
    for name in filter(faults.get, names):
        yield problem("Keys", f"{name} {faults[name]}.", f"Set it again: export {name}=...")
    if right := [name for name in names if not faults[name]]:
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

    async def ask() -> float:
        """Return the seconds until the end of the reply."""
        try:
            async with asyncio.timeout(ONLINE_SECONDS):
                await asyncio.to_thread(provider.warm)
                began = time.monotonic()
                async for _ in provider.stream(request):
                    pass
            return time.monotonic() - began
        finally:
            await provider.close()

    name = f"{provider.name}:{provider.model}"
    try:
        yield passed("Online", f"{name} answered in {asyncio.run(ask()):.1f} s")
    except TimeoutError:
        yield problem("Online", f"{name} gave no whole reply in {ONLINE_SECONDS:.0f} s.")
    except ChatLoopError as error:
        yield problem("Online", f"{name}: {error.message}", error.hint)


def described(installation: Installation) -> Iterator[Finding]:
    """Check whether the MCP servers of the config could be started, without starting one."""
    if installation.config.mcp and any(find_spec(name) is None for name in ("mcp", "jsonschema")):
        yield problem("MCP", mcp_servers.MISSING, install_hint("mcp"))
    known = installation.machine.environment
    for name, server in installation.config.mcp.items():
        if not server.enabled:
            yield passed(f"MCP {name}", "switched off")
            continue
        try:
            environment = {**known, **expand_variables(server.env, known)}
            expand_variables(server.headers, known)
        except ChatLoopError as error:
            yield problem(f"MCP {name}", error.message, error.hint)
            continue
        path = server.command
        if "/" in path:
            path = str(Path(server.cwd).expanduser() / path)
        if server.url or shutil.which(path, path=environment.get("PATH")):
            yield passed(f"MCP {name}", "described; --connect tries it")
        else:
            text = f"Its command {server.command} is not found."
            yield problem(f"MCP {name}", text, "Install it, or name its whole path.")
    if not installation.config.mcp:
        yield passed("MCP", "no server in the config")


def connected(installation: Installation) -> Iterator[Finding]:
    """Connect to the MCP servers and report the result of each."""
    servers = mcp_servers.servers_of(installation.config.mcp)
    for state in asyncio.run(mcp.connect(servers)) if servers is not None else ():
        if state.state == "connected":
            text = f"connected, {plural(len(state.tools), 'tool')}"
            yield passed(f"MCP {state.name}", text)
        else:
            yield problem(f"MCP {state.name}", state.problem, "chat-loop mcp shows more.")


def agents(installation: Installation) -> Iterator[Finding]:
    """Check the agents that have a name, and whether the one that would be used now may run."""
    registry = AgentRegistry(installation.paths)
    yield passed("Agents", f"{plural(len(registry.all()), 'agent')} with a name")
    if reference := installation.options.agent_reference or installation.config.agent.default:
        file = registry.read(reference)
        if registry.question(file) is not None:
            hint = f"chat-loop agents approve {reference}"
            yield warning("Agent", f"{file.path} is not approved.", hint)
        else:
            yield passed("Agent", str(file.path))


def terminal(installation: Installation) -> Iterator[Finding]:
    """Check the terminal's kind and size, and whether it takes UTF-8."""
    encoding = locale.getpreferredencoding(False)
    if encoding.replace("-", "").lower() == "utf8":
        yield passed("Locale", encoding)
    else:
        text = f"Text is {encoding}, not UTF-8: other characters are shown as codes."
        yield warning("Locale", text, "export LANG=C.UTF-8")
    kind = installation.machine.environment.get("TERM", "")
    if not (os.isatty(0) and os.isatty(1)):
        yield passed("Terminal", "not a terminal: plain text, no line editor")
    elif kind in ("", "dumb", "unknown"):
        yield warning("Terminal", "no line editor", "export TERM=xterm-256color")
    else:
        size = os.get_terminal_size(1)
        yield passed("Terminal", f"{kind}, {size.columns}×{size.lines}")
