"""The checks of `chat-loop doctor`: each yields findings and changes nothing. Only `online` and
`connected`, which the user asks for, speak to a service.
"""

from __future__ import annotations

import asyncio
import locale
import os
import platform
import shutil
import stat
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace
from packaging.requirements import Requirement

from chat_loop import __version__
from chat_loop.agent import mcp_servers, mcp_tools
from chat_loop.agent.agent_files import file_of, read_file
from chat_loop.agent.agent_names import AgentNames, Trust
from chat_loop.config import Config, Paths, completed
from chat_loop.display.rows import unlisted_text
from chat_loop.display.text import one_line
from chat_loop.errors import ChatLoopError, NoProvider, SessionError, SessionLocked, UsageError
from chat_loop.library.index import index_status
from chat_loop.models import store
from chat_loop.models.cpu import runs_embedded_models
from chat_loop.providers.catalogue import entries, missing_requirement
from chat_loop.providers.choose import World, at_home, choose
from chat_loop.providers.servers import listens, place_of, server_at, shown
from chat_loop.providers.wire import WireProvider
from chat_loop.sessions import partial
from chat_loop.sessions.files import LOCK_FOLDER, take_lock
from chat_loop.sessions.manager import SessionManager
from chat_loop.values import Message, Request
from chat_loop.wording import counted, file_size_text, install_hint, size_text, window_text

EXTRAS = ("", "local", "search", "mcp", "bedrock")
"""The program's own needs, and those of each extra."""
FIRST_STEPS = (
    "Set a key (export ANTHROPIC_API_KEY=...), or fetch a model that needs none (chat-loop models "
    "install); chat-loop providers says what else there is."
)
READ_WHOLE = 32 << 20
"""Bytes of the newest sessions that are read whole, to find damage in their middle."""
LITTLE_ROOM = 100_000_000
"""Bytes of a disk."""
ONLINE_SECONDS = 60.0


class Finding(Struct, frozen=True):
    """One line of the report. `hint` is what to do; no key is in any of it."""

    name: str
    state: Literal["ok", "warning", "problem"]
    text: str
    hint: str = ""


Check = Callable[[], Iterable[Finding]]


class Here(Struct, frozen=True, kw_only=True):
    """The objects of the checks: `sessions` is the folder, the rest as config and options say."""

    config: Config
    paths: Paths
    sessions: Path
    world: World
    model: str
    base_url: str
    agent: str


def good(name: str, text: str, hint: str = "") -> Finding:
    """Return a finding that needs nothing."""
    return Finding(name, "ok", text, hint)


def doubtful(name: str, text: str, hint: str = "") -> Finding:
    """Return a finding with which the program works."""
    return Finding(name, "warning", text, hint)


def bad(name: str, text: str, hint: str = "") -> Finding:
    """Return a finding that must be mended."""
    return Finding(name, "problem", text, hint)


def installed() -> Iterator[Finding]:
    """Check Python, the packages that the program needs, and those of its extras."""
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    yield good("Python", f"{platform.python_version()}, {system}")
    try:
        left = [Requirement(line) for line in metadata.requires("chat-loop") or ()]
    except metadata.PackageNotFoundError:
        yield doubtful("chat-loop", f"{__version__}, which is not installed as a package.")
        return
    yield good("chat-loop", __version__)
    for extra in EXTRAS:
        there, faults, own = [], [], []
        for need in left:
            if need.marker is not None and not need.marker.evaluate({"extra": extra}):
                continue
            own.append(need)
            try:
                version = metadata.version(need.name)
            except metadata.PackageNotFoundError:
                faults.append(f"{need.name} is missing")
                continue
            there.append(f"{need.name} {version}")
            if not need.specifier.contains(version, prereleases=True):
                faults.append(f"{need.name} {version} is not {need.specifier}")
        left = [need for need in left if need not in own]
        name = f"Extra {extra}" if extra else "Packages"
        if extra and not there:
            yield good(name, "not installed", install_hint(extra))
        elif faults:
            hint = install_hint(extra) if extra else "pip install --upgrade chat-loop"
            yield bad(name, f"{', '.join(faults)}.", hint)
        else:
            yield good(name, ", ".join(there))


def folders(here: Here) -> Iterator[Finding]:
    """Check that the folders can be written to, are the user's alone, and have room."""
    yield _folder("Sessions folder", here.sessions)
    for name, folder in (("Data folder", here.paths.data), ("Config folder", here.paths.config)):
        yield _folder(name, folder.parent if folder == here.paths.config else folder)
    if sys.platform == "win32" or not here.sessions.is_dir():
        return
    files = [here.paths.history, here.paths.data / "MEMORY.md", *here.sessions.glob("*.md")]
    modes = [(file, file.lstat().st_mode) for file in files if os.path.lexists(file)]
    readable = [file for file, mode in modes if stat.S_ISREG(mode) and mode & 0o077]
    if readable and here.sessions.stat().st_mode & 0o077:
        text = f"{counted(len(readable), 'file')} of conversations, such as {readable[0]},"
        hint = f"chmod -R go= {here.sessions}"
        yield doubtful("Privacy", f"{text} can be read by other users.", hint)


def _folder(name: str, folder: Path) -> Finding:
    above = folder
    while above != above.parent and not os.path.lexists(above):
        above = above.parent
    if not above.is_dir():
        return bad(name, f"{above} is not a folder that can be opened.", "Move it away.")
    if not os.access(above, os.R_OK | os.W_OK | os.X_OK):
        return bad(name, f"{above} is not yours to read and write.", f"chmod u+rwx {above}")
    if above != folder:
        return good(name, f"{folder} is not there yet: it is made when it is needed.")
    free = shutil.disk_usage(folder).free
    if free < LITTLE_ROOM:
        return doubtful(name, f"{folder}: only {size_text(free)} are free on its disk.")
    if sys.platform != "win32" and folder.stat().st_mode & 0o022:
        return doubtful(name, f"{folder} can be changed by other users.", f"chmod go-w {folder}")
    return good(name, f"{folder}, {size_text(free)} free")


def sessions(here: Here) -> Iterator[Finding]:
    """Check the sessions, of which the newest are read whole, their locks and their index."""
    if not here.sessions.is_dir():
        return
    stamps, manager = partial.newest_first(here.sessions), SessionManager(here.sessions)
    damaged, left = [], READ_WHOLE
    for stamp in stamps:
        left -= stamp.size
        if left < 0:
            break
        try:
            loaded = manager.load(here.sessions / f"{stamp.id}.md")
        except SessionError as error:
            damaged.append(error.message)
            continue
        if len(loaded.damage) > loaded.tears and not loaded.plain:
            damaged.append(f"{stamp.id}: {loaded.damage[0]}")
    if unlisted := partial.unlisted(here.sessions):
        hint = "Sync tools leave such copies where two machines wrote."
        yield doubtful("Not listed", unlisted_text(unlisted), hint)
    states = Counter(row.state for row in partial.rows(here.sessions))
    names = {"plain": "of another program", "foreign": "no transcript", "empty": "empty"}
    parts = [counted(len(stamps), "session"), file_size_text(sum(stamp.size for stamp in stamps))]
    parts += [f"{states[state]:,} {name}" for state, name in names.items() if states[state]]  # type: ignore[index]
    yield good("Sessions", ", ".join(parts))
    for text in damaged[:3]:
        yield doubtful("Damaged", text, "What can be read of it can still be resumed and shown.")
    if len(damaged) > 3:
        yield doubtful("Damaged", f"{len(damaged) - 3:,} more sessions.")


def locks(here: Here) -> Iterator[Finding]:
    """Check which sessions are open in other processes."""
    held, stale = [], 0
    for path in sorted((here.sessions / LOCK_FOLDER).glob("*.lock"))[:2_000]:
        stale += not (here.sessions / f"{path.stem}.md").exists()
        try:
            take_lock(here.sessions, path.stem).release()
        except SessionLocked:
            held.append(path.stem)
    text = f"{counted(len(held), 'session')} open in other processes: {', '.join(held[:3])}"
    idle = f"; {counted(stale, 'stale lock')} (harmless)" if stale else ""
    yield good("Locks", f"{text if held else 'none is held'}{idle}")


def index(here: Here) -> Iterator[Finding]:
    """Check the index, which is made from the sessions."""
    if not here.sessions.is_dir():
        return
    found = index_status(here.sessions, partial.newest_first(here.sessions))
    if found.trouble:
        yield doubtful("Index", found.trouble, "chat-loop sessions reindex makes it anew.")
    elif not found.size:
        yield good("Index", "none yet: it is made when sessions are first listed")
    else:
        behind = f"{counted(found.stale, 'session')} behind" if found.stale else "up to date"
        yield good("Index", f"version {found.version}, {file_size_text(found.size)}, {behind}")


def fault_of(key: str) -> str:
    """Return what is obviously wrong with a key, without a part of it; "" when nothing is."""
    if key != key.strip():
        return "begins or ends with a blank or a line's end"
    if any(character.isspace() for character in key):
        return "has a blank in it"
    if key[0] in "\"'" or key[-1] in "\"'":
        return "stands in quotation marks"
    if not (key.isascii() and key.isprintable()):
        return "has characters that no key has"
    if key.lower().startswith(("...", "…", "your", "xxx", "<", "changeme", "insert")):
        return "is a placeholder"
    return "is too short for a key" if len(key) < 8 else ""


def keys(here: Here) -> Iterator[Finding]:
    """Check which keys are set, by the names of their variables."""
    names = {name for entry in entries(here.config.providers).values() for name in entry.keys}
    environment = here.world.environment
    faults = {name: fault_of(environment[name]) for name in sorted(names) if environment.get(name)}
    for name, fault in faults.items():
        if fault:
            yield bad("Keys", f"{name} {fault}.", f"Set it again: export {name}=...")
    if right := [name for name, fault in faults.items() if not fault]:
        yield good("Keys", f"set: {', '.join(right)}")
    elif not faults:
        yield good("Keys", "none is set", "chat-loop providers says which there are.")


def servers(here: Here) -> Iterator[Finding]:
    """Check what listens on this machine, on the usual ports and where the config says."""
    silent = []
    for known in entries(here.config.providers).values():
        entry = at_home(known, here.world)
        if entry.here and not listens(entry.base_url):
            silent.append(entry.name)
        elif entry.here:
            server = server_at(entry.base_url, entry.key(here.world.environment))
            where = f"{entry.name} at {shown(entry.base_url)}"
            if server is not None and server.models:
                yield good("Server", f"{where} serves {server.models[0]}")
            else:
                yield doubtful("Server", f"{where} listens and names no model yet.")
    if silent:
        yield good("Servers here", f"nothing listens for {', '.join(silent)}")


def embedded(here: Here) -> Iterator[Finding]:
    """Check the embedded models that are installed, and whether they can run."""
    models, name = store.installed(here.paths.models), "Embedded model"
    for model in models:
        yield good(name, f"{model.name}, {size_text(model.size)}, complete")
    if not models:
        yield good(name, "none is installed", "chat-loop models list shows what there is.")
    elif find_spec("xllamacpp") is None:
        text = "The package xllamacpp is missing, which runs it."
        yield doubtful(name, text, install_hint("local"))
    elif not runs_embedded_models():
        yield doubtful(name, "This processor has no AVX2, which it needs.")


def model(here: Here) -> Iterator[Finding]:
    """Check the model that would answer now."""
    try:
        provider = choose(here.model, here.config, here.world, base_url=here.base_url)
    except NoProvider as error:  # its hint is a whole list
        yield bad("Model", error.message, FIRST_STEPS)
        return
    name = f"{provider.name}:{provider.model}"
    if known := entries(here.config.providers).get(provider.name):
        entry = at_home(known, here.world)
        entry = replace(entry, base_url=here.base_url or entry.base_url)
        lack = missing_requirement(entry, here.world.environment)
        near = place_of(entry.base_url)[0] in ("127.0.0.1", "localhost")
        if lack is None and near and not listens(entry.base_url):
            hint = f"Start {entry.title}, or take another model with --model."
            lack = NoProvider(f"nothing listens at {shown(entry.base_url)}.", hint)
        if lack is not None:
            yield bad("Model", f"{name} cannot answer: {lack.message}", lack.hint)
            return
    if isinstance(provider, WireProvider):
        provider.look_up()
    window = provider.window
    text = f"{name} would answer now, window {window_text(window.tokens, window.guessed)}"
    if window.guessed:
        hint = f"models: {{{provider.model}: {{window: N}}}} in the config sets it."
        yield doubtful("Model", f"{text}: its window is not known.", hint)
    else:
        yield good("Model", text)


def online(here: Here) -> Iterator[Finding]:
    """Ask the model one small question, and tell how long that took."""
    provider = choose(here.model, here.config, here.world, base_url=here.base_url)
    # a model that reasons first needs room to say a word
    request = Request(system="", messages=(Message("user", "Say OK."),), max_tokens=512)

    async def seconds() -> tuple[float, float]:
        """Return the seconds until the first event, and until the end."""
        first = 0.0
        try:
            async with asyncio.timeout(ONLINE_SECONDS):
                await asyncio.to_thread(provider.warm)
                began = time.monotonic()
                async for _ in provider.stream(request):
                    first = first or time.monotonic() - began
            return first, time.monotonic() - began
        finally:
            await provider.close()

    name = f"{provider.name}:{provider.model}"
    try:
        first, whole = asyncio.run(seconds())
    except TimeoutError:
        yield bad("Online", f"{name} gave no whole reply in {ONLINE_SECONDS:.0f} s.")
    except ChatLoopError as error:
        yield bad("Online", f"{name}: {error.message}", error.hint)
    else:
        text = f"first words after {first:.1f} s, all after {whole:.1f} s"
        yield good("Online", f"{name} answered: {text}")


def described(here: Here) -> Iterator[Finding]:
    """Check whether the MCP servers of the config could be started, without starting one."""
    enabled = {name: server for name, server in here.config.mcp.items() if server.enabled}
    if enabled and any(find_spec(name) is None for name in ("mcp", "jsonschema")):
        yield bad("MCP", mcp_servers.MISSING, install_hint("mcp"))
    for name, server in enabled.items():
        title, command = f"MCP {name}", one_line(server.command)
        try:
            environment = {
                **here.world.environment,
                **completed(server.env, here.world.environment),
            }
            completed(server.headers, here.world.environment)
            folder = Path(server.cwd).expanduser() if server.cwd else Path()
            path = str(folder / server.command) if "/" in server.command else server.command
            if not folder.is_dir():
                raise UsageError(f"Its folder {server.cwd} is not there.", "cwd: names it.")
            if not server.url and shutil.which(path, path=environment.get("PATH")) is None:
                hint = "Install it, or name its whole path."
                raise UsageError(f"Its command {command} is not found.", hint)
        except ChatLoopError as error:
            yield bad(title, error.message, error.hint)
        else:
            text = "described" if server.url else f"described, {command} is there"
            yield good(title, f"{text}; --connect tries it")
    off = len(here.config.mcp) - len(enabled)
    if off or not enabled:
        text = f"{counted(off, 'server')} switched off" if off else "no server in the config"
        yield good("MCP", text)


def connected(here: Here) -> Iterator[Finding]:
    """Connect to the MCP servers, and tell what became of each."""

    async def settled(servers: mcp_servers.Servers) -> tuple[mcp_tools.ServerState, ...]:
        try:
            await servers.settled()
            return servers.states()
        finally:
            await servers.close()

    servers = mcp_servers.servers_of(here.config.mcp)
    for state in asyncio.run(settled(servers)) if servers is not None else ():
        if state.state == "connected":
            yield good(f"MCP {state.name}", f"connected, {counted(len(state.tools), 'tool')}")
        else:
            problem = one_line(state.problem, 500)
            yield bad(f"MCP {state.name}", problem, "chat-loop mcp shows more.")


def agents(here: Here) -> Iterator[Finding]:
    """Check the agents that have a name, and the one that would be used now."""
    names = AgentNames(here.paths)
    named = names.all()
    for place in named:
        try:
            file_of(place.path)
        except ChatLoopError as error:
            hint = f"chat-loop agents remove {place.name}"
            yield doubtful("Agents", f"{place.name}: {error.message}", hint)
    yield good("Agents", f"{counted(len(named), 'agent')} with a name")
    if here.agent:
        file = read_file(names.find(here.agent))
        asks = file.kind == "python" and Trust(here.paths.config.parent).question(file) is not None
        hint = f"chat-loop agents approve {here.agent}"
        text = f"{file.path} is not approved."
        yield doubtful("Agent", text, hint) if asks else good("Agent", str(file.path))


def terminal(here: Here) -> Iterator[Finding]:
    """Check the terminal's kind and size, and whether it takes UTF-8."""
    encoding = locale.getpreferredencoding(False)
    if encoding.replace("-", "").lower() == "utf8":
        yield good("Locale", encoding)
    else:
        text = f"Text is {encoding}, not UTF-8: other characters are shown as codes."
        yield doubtful("Locale", text, "export LANG=C.UTF-8")
    if not (os.isatty(0) and os.isatty(1)):
        yield good("Terminal", "not a terminal: plain text, no line editor")
        return
    kind, size = here.world.environment.get("TERM", ""), os.get_terminal_size(1)
    text = f"{one_line(kind) or 'no TERM'}, {size.columns}×{size.lines}"
    if kind in ("", "dumb", "unknown"):
        hint = "export TERM=xterm-256color"
        yield doubtful("Terminal", f"{text}: no line editor, no bracketed paste.", hint)
    else:
        yield good("Terminal", text)
