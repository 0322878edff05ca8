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
from chat_loop.agent import mcp_servers
from chat_loop.agent.agent_files import AgentNames, Trust, file_of, read_file
from chat_loop.config import Config, McpServer, Paths, completed
from chat_loop.display.rows import unlisted_text
from chat_loop.display.text import one_line
from chat_loop.errors import ChatLoopError, ConfigError, NoProvider, SessionError, SessionLocked
from chat_loop.events import Finished, TextDelta, ThinkingDelta
from chat_loop.library.index_file import index_status
from chat_loop.models import store
from chat_loop.models.cpu import runs_embedded_models
from chat_loop.providers import Provider
from chat_loop.providers.catalogue import entries, missing_requirement
from chat_loop.providers.choose import World, at_home, choose
from chat_loop.providers.servers import is_foreign, listens, place_of, server_at, shown
from chat_loop.providers.wire import WireProvider
from chat_loop.sessions import partial
from chat_loop.sessions.files import LOCK_FOLDER, take_lock
from chat_loop.sessions.manager import SessionManager
from chat_loop.values import Message, Request
from chat_loop.wording import counted, file_size_text, install_hint, size_text, window_text

EXTRAS = {
    "": "the program itself",
    "local": "the embedded model",
    "search": "searching by meaning",
    "mcp": "MCP servers",
    "bedrock": "Amazon Bedrock",
}
FIRST_STEPS = (
    "Set a key (export ANTHROPIC_API_KEY=...), or fetch a model that needs none (chat-loop models "
    "install); chat-loop providers says what else there is."
)
READ_WHOLE = 32 << 20
"""Bytes of the newest sessions that are read whole, to find damage in their middle."""
MOST_LOCKS = 2_000
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
    """What the checks look at: `sessions` is the folder, the rest as config and options say."""

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
        needs = [Requirement(line) for line in metadata.requires("chat-loop") or ()]
    except metadata.PackageNotFoundError:
        yield doubtful("chat-loop", f"{__version__}, which is not installed as a package.")
        return
    yield good("chat-loop", __version__)
    extras, missing = [], []
    for extra, purpose in EXTRAS.items():
        own = [need for need in needs if _belongs(need, extra)]
        there, faults = _versions(own)
        if faults and (there or not extra):
            package = f"chat-loop[{extra}]" if extra else "chat-loop"
            hint = f"pip install --upgrade '{package}'"
            yield bad(f"Packages {extra}".rstrip(), f"{', '.join(faults)}.", hint)
        elif not extra:
            yield good("Packages", ", ".join(there))
        elif there:
            extras.append(f"{extra} ({', '.join(there)})")
        else:
            missing.append(f"{extra} ({purpose})")
    if extras:
        yield good("Extras", ", ".join(extras))
    if missing:
        hint = f"For example: {install_hint(missing[0].partition(' ')[0])}"
        yield good("Not installed", ", ".join(missing), hint)


def _belongs(need: Requirement, extra: str) -> bool:
    """Tell the program's own needs (no extra) and those of each extra apart."""
    own = need.marker is None or need.marker.evaluate({"extra": ""})
    return (
        own
        if not extra
        else not own and need.marker is not None and need.marker.evaluate({"extra": extra})
    )


def _versions(needs: Iterable[Requirement]) -> tuple[list[str], list[str]]:
    """Return the packages that are installed, and what is wrong with each that does not do."""
    there, faults = [], []
    for need in needs:
        try:
            version = metadata.version(need.name)
        except metadata.PackageNotFoundError:
            faults.append(f"{need.name} is missing")
            continue
        there.append(f"{need.name} {version}")
        if not need.specifier.contains(version, prereleases=True):
            faults.append(f"{need.name} {version} is not {need.specifier}")
    return there, faults


def folders(here: Here) -> Iterator[Finding]:
    """Check that the folders can be written to, are the user's alone, and have room."""
    named = {
        here.sessions: "Sessions folder",
        here.paths.data: "Data folder",
        here.paths.config.parent: "Config folder",
    }
    for folder, name in reversed(named.items()):
        yield _folder(name, folder)
    try:
        closed = not here.sessions.stat().st_mode & 0o077
    except OSError:
        return
    files = [here.paths.history, here.paths.data / "MEMORY.md", *here.sessions.glob("*.md")]
    readable = [file for file in files if _is_readable(file)]
    if readable and not closed and sys.platform != "win32":
        text = f"{counted(len(readable), 'file')} of conversations, such as {readable[0]},"
        hint = f"chmod -R go= {here.sessions}"
        yield doubtful("Privacy", f"{text} can be read by other users.", hint)


def _is_readable(file: Path) -> bool:
    try:
        mode = file.lstat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) and bool(mode & 0o077)


def _folder(name: str, folder: Path) -> Finding:
    above = folder
    while above != above.parent and not os.path.lexists(above):
        above = above.parent
    usable = above.is_dir() and os.access(above, os.W_OK | os.X_OK)
    if above != folder and usable:
        return good(name, f"{folder} is not there yet: it is made when it is needed.")
    if above != folder:
        hint = "Set CHAT_LOOP_HOME to a folder that you can write to."
        return bad(name, f"{folder} is not there and cannot be made in {above}.", hint)
    if not folder.is_dir():
        hint = "Move it away: the folder is made anew."
        return bad(name, f"{folder} is not a folder that can be opened.", hint)
    if not (usable and os.access(folder, os.R_OK)):
        return bad(name, f"{folder} is not yours to read and write.", f"chmod u+rwx {folder}")
    free = shutil.disk_usage(folder).free
    if free < LITTLE_ROOM:
        return doubtful(name, f"{folder}: only {size_text(free)} are free on its disk.")
    if sys.platform != "win32" and folder.stat().st_mode & 0o022:
        return doubtful(name, f"{folder} can be changed by other users.", f"chmod go-w {folder}")
    return good(name, f"{folder}, {size_text(free)} free")


def sessions(here: Here) -> Iterator[Finding]:
    """Check the sessions; the newest are read whole."""
    if not here.sessions.is_dir():
        return
    stamps = partial.newest_first(here.sessions)
    states = Counter(row.state for row in partial.rows(here.sessions))
    manager, damaged, whole, left = SessionManager(here.sessions), [], 0, READ_WHOLE
    for stamp in stamps:
        left -= stamp.size
        if left < 0:
            break
        whole += 1
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
    size = file_size_text(sum(stamp.size for stamp in stamps))
    names = {
        "not ended": states["unsealed"],
        "of another program": states["plain"],
        "no transcript": states["foreign"],
        "empty": states["empty"],
    }
    parts = [counted(len(stamps), "session"), size]
    parts += [f"{number:,} {name}" for name, number in names.items() if number]
    unread = "" if whole == len(stamps) else f"; the newest {whole:,} were read whole"
    yield good("Sessions", f"{', '.join(parts)}{unread}")
    for text in damaged[:3]:
        yield doubtful("Damaged", text, "What can be read of it can still be resumed and shown.")
    if len(damaged) > 3:
        yield doubtful("Damaged", f"{len(damaged) - 3:,} more sessions.")


def locks(here: Here) -> Iterator[Finding]:
    """Check which sessions are open in other processes."""
    folder = here.sessions / LOCK_FOLDER
    if not os.path.lexists(folder):
        return
    ids = sorted(path.stem for path in folder.iterdir() if path.suffix == ".lock")[:MOST_LOCKS]
    held = []
    for identity in ids:
        try:
            take_lock(here.sessions, identity).release()
        except SessionLocked:
            held.append(identity)
    stale = sum(not (here.sessions / f"{identity}.md").exists() for identity in ids)
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
        if not entry.here:
            continue
        if not listens(entry.base_url):
            silent.append(entry.name)
            continue
        server = server_at(entry.base_url, entry.key(here.world.environment))
        where = f"{entry.name} at {shown(entry.base_url)}"
        if server is not None and server.loading:
            yield doubtful("Server", f"{where} is loading its model.")
        elif server is None or not server.models:
            yield doubtful("Server", f"{where} listens and names no model.")
        else:
            foreign = is_foreign(entry.base_url, here.world.sockets)
            also = "; it is another user's: only used when it is named" if foreign else ""
            yield good("Server", f"{where} serves {server.models[0]}{also}")
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
    if not runs_embedded_models():
        text = "This processor has no AVX2, which an embedded model needs."
        yield doubtful(name, text) if models else good(name, text)


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
    try:
        provider = choose(here.model, here.config, here.world, base_url=here.base_url)
    except NoProvider:
        return  # told before
    name = f"{provider.name}:{provider.model}"
    try:
        first, whole = asyncio.run(_timed(provider))
    except TimeoutError:
        yield bad("Online", f"{name} gave no whole reply in {ONLINE_SECONDS:.0f} s.")
    except ChatLoopError as error:
        yield bad("Online", f"{name}: {error.message}", error.hint)
    else:
        seconds = f"first words after {first:.1f} s, all after {whole:.1f} s"
        yield good("Online", f"{name} answered: {seconds}")


async def _timed(provider: Provider) -> tuple[float, float]:
    """Return the seconds until the first content, and until the end."""
    # a model that reasons first needs room to say a word
    request = Request(system="", messages=(Message("user", "Say OK."),), max_tokens=512)
    first = 0.0
    try:
        async with asyncio.timeout(ONLINE_SECONDS):
            await asyncio.to_thread(provider.warm)
            began = time.monotonic()
            async for event in provider.stream(request):
                if isinstance(event, TextDelta | ThinkingDelta | Finished):
                    first = first or time.monotonic() - began
        return first, time.monotonic() - began
    finally:
        await provider.close()


def described(here: Here) -> Iterator[Finding]:
    """Check whether the MCP servers of the config could be started, without starting one."""
    enabled = {name: server for name, server in here.config.mcp.items() if server.enabled}
    if enabled and any(find_spec(name) is None for name in ("mcp", "jsonschema")):
        yield bad("MCP", mcp_servers.MISSING, install_hint("mcp"))
    for name, server in enabled.items():
        yield _described(f"MCP {name}", server, here)
    off = len(here.config.mcp) - len(enabled)
    if off or not enabled:
        text = f"{counted(off, 'server')} switched off" if off else "the config describes no server"
        yield good("MCP", text)


def _described(name: str, server: McpServer, here: Here) -> Finding:
    try:
        environment = completed(server.env, here.world.environment)
        completed(server.headers, here.world.environment)
    except ConfigError as error:
        return bad(name, error.message, error.hint)
    if server.url:
        return good(name, "described; --connect tries it")
    folder = Path(server.cwd).expanduser() if server.cwd else Path()
    if not folder.is_dir():
        return bad(name, f"Its folder {server.cwd} is not there.", "cwd: names it.")
    path = environment.get("PATH") or here.world.environment.get("PATH")
    command = str(folder / server.command) if "/" in server.command else server.command
    if shutil.which(command, path=path) is None:
        hint = "Install it, or name its whole path."
        return bad(name, f"Its command {one_line(server.command)} is not found.", hint)
    return good(name, f"described, {one_line(server.command)} is there; --connect tries it")


def connected(here: Here) -> Iterator[Finding]:
    """Connect to the MCP servers, and tell what became of each."""

    async def settled(servers: mcp_servers.Servers) -> tuple[mcp_servers.ServerState, ...]:
        try:
            await servers.settled()
            return servers.states()
        finally:
            await servers.close()

    servers = mcp_servers.servers_of(here.config.mcp)
    for state in asyncio.run(settled(servers)) if servers is not None else ():
        name = f"MCP {state.name}"
        if state.state == "connected":
            yield good(name, f"connected, {counted(len(state.tools), 'tool')}")
        else:
            yield bad(name, one_line(state.problem, 500), "chat-loop mcp shows more.")


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
        trust = Trust(here.paths.config.parent)
        if file.kind == "python" and trust.question(file) is not None:
            hint = f"chat-loop agents approve {here.agent}"
            yield doubtful("Agent", f"{file.path} is not approved.", hint)
        else:
            yield good("Agent", str(file.path))


def terminal(here: Here) -> Iterator[Finding]:
    """Check the terminal's kind, size and colors, and whether it takes UTF-8."""
    encoding = locale.getpreferredencoding(False)
    if encoding.replace("-", "").lower() == "utf8":
        yield good("Locale", encoding)
    else:
        text = f"Text is {encoding}, not UTF-8: other characters are shown as codes."
        yield doubtful("Locale", text, "export LANG=C.UTF-8")
    if not (os.isatty(0) and os.isatty(1)):
        yield good("Terminal", "not a terminal: plain text, no line editor")
        return
    environment = here.world.environment
    kind = environment.get("TERM", "")
    colors = "256 colors" if "256" in kind else "16 colors"
    if environment.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        colors = "16 million colors"
    if environment.get("NO_COLOR"):
        colors = "no colors (NO_COLOR)"
    columns, lines = os.get_terminal_size(1)
    text = f"{one_line(kind) or 'no TERM'}, {columns}×{lines}, {colors}"
    if kind in ("", "dumb", "unknown"):
        hint = "export TERM=xterm-256color"
        yield doubtful("Terminal", f"{text}: no line editor, no bracketed paste.", hint)
    elif columns < 40:
        yield doubtful("Terminal", f"{text}: too narrow for lists.", "Make it wider.")
    else:
        yield good("Terminal", text)
