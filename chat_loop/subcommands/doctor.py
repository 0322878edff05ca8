"""`chat-loop doctor`: checks the installation, the sessions and the settings, and suggests fixes.

A check yields findings and changes nothing. Only --online sends a request to a model.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from importlib import metadata
from pathlib import Path

from chat_loop import __version__, errors
from chat_loop.characters import one_line
from chat_loop.config import Config, Paths, expand_home, find_paths, load_config, old_key_text
from chat_loop.display import plain
from chat_loop.display.conversation_rows import unlisted_text
from chat_loop.errors import install_hint
from chat_loop.library.index import FILE, stale_count
from chat_loop.parts import Parts, build
from chat_loop.plugins import Plugins
from chat_loop.providers import Provider, catalogue, choose
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.rows import misnamed_files, newest_first
from chat_loop.subcommands import providers, report
from chat_loop.values import Finding, Message, Request, plural, size_text, window_text

EXTRAS = {
    "local": "xllamacpp",
    "search": "onnxruntime",
    "mcp": "mcp",
    "bedrock": "boto3",
    "pdf": "pypdf",
    "images": "pillow",
    "s3": "obstore",
    "postgres": "psycopg",
}
"""The package that shows that an extra is installed."""
FIRST_STEPS = (
    "Set a key (export ANTHROPIC_API_KEY=...), or install a model that needs none (chat-loop "
    "models install); chat-loop providers says what else there is."
)
MAX_LOADED = 100  # the number of newest sessions that are read whole, to find damage inside
MAX_DAMAGED = 10
ONLINE_SECONDS = 60.0
REPORT_END = (
    "This report has no keys, no words of conversations and no texts of your settings. "
    "chat-loop doctor shows what is left out; read it before you share it."
)
SIGNS = {"ok": "✓", "note": "·", "warning": "!", "problem": "✗"}


passed = partial(Finding, "ok")
noted = partial(Finding, "note")
warning = partial(Finding, "warning")
problem = partial(Finding, "problem")


def run(options: argparse.Namespace) -> int:
    """Print each finding as soon as it is made; return 1 when there is a problem."""
    if options.report:
        return _report(options)
    found = []
    for finding in findings(options):
        found.append(finding)
        if not options.as_json:
            _print(finding)
    states = [finding.state for finding in found]
    problems = states.count("problem")
    warnings = states.count("warning")
    if options.as_json:
        plain.out_json({"findings": found, "problems": problems, "warnings": warnings})
        return int(problems > 0)
    count = "No problems"
    if problems:
        count = plural(problems, "problem")
    also = ""
    if warnings:
        also = f", {plural(warnings, 'warning')}"
    plain.out(f"\n{count}{also}.\n")
    return int(problems > 0)


def _report(options: argparse.Namespace) -> int:
    """Print what can be pasted into a report of a bug."""
    for finding in findings(options):
        _print(report.public(finding))
    for name, text in report.surroundings():
        _print(noted(name, text))
    try:
        path = expand_home(options.config or str(find_paths().config))
        settings = [*report.changed_settings(load_config(path, required=bool(options.config)))]
    except errors.ChatLoopError:
        settings = ["The config cannot be read."]
    plain.out("\nSettings that were changed:\n")
    for line in settings or ["none"]:
        plain.out_line(f"  {one_line(line, 1_000)}", 4)
    plain.out_line(f"\n{REPORT_END}")
    return 0


def _print(finding: Finding) -> None:
    text = one_line(finding.text, 1_000)
    plain.out_line(f"{SIGNS[finding.state]} {finding.name:<15} {text}", 18)
    if finding.hint:
        plain.out_line(f"{'':18}→ {one_line(finding.hint, 1_000)}", 18)


def findings(options: argparse.Namespace) -> Iterator[Finding]:
    """Yield all findings. A failed check is a finding, too."""
    yield passed("Python", f"{platform.python_version()}, {platform.platform()}")
    yield passed("chat-loop", f"{__version__} in {sys.prefix}")
    for extra, package in EXTRAS.items():
        try:
            yield passed(f"Extra {extra}", f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            yield noted(f"Extra {extra}", "not installed", install_hint(extra))
    try:
        paths = find_paths()
    except errors.ChatLoopError as error:
        yield problem("Folders", error.message, "export CHAT_LOOP_HOME=/a/folder/of/yours")
        return
    try:
        path = expand_home(options.config or str(paths.config))
        old: list[str] = []
        config = load_config(path, required=bool(options.config), on_old_key=old.append)
        names = " ".join(map(old_key_text, old))
        yield passed("Config", str(path) if path.exists() else f"no {path}; using defaults", names)
        parts = build(options, config, paths)
    except errors.ChatLoopError as error:
        yield problem("Config", error.message, error.hint or "Fix this before starting chat-loop.")
        config = Config()
        defaults = argparse.Namespace(**{**vars(options), "sessions_dir": ""})
        parts = build(defaults, config, paths)
    checks = {
        "Folders": check_folders(paths, parts.sessions.directory),
        "Sessions": check_sessions(parts.sessions),
        "Library": check_library(parts),
        "Store": check_store(parts),
        "Keys": check_keys(config, parts.machine),
        "Model": check_model(options, config, parts.machine),
        "Plugins": check_plugins(parts.plugins),
    }
    for name, check in checks.items():
        try:
            with parts.log.reporting():
                yield from _without_failures(name, check)
        except errors.ChatLoopError as error:
            hint = error.hint if "\n" not in error.hint else FIRST_STEPS  # a list of models
            yield problem(name, error.message, hint)


def _without_failures(name: str, check: Iterator[Finding]) -> Iterator[Finding]:
    """Yield the findings of a check. If the check itself fails, that is the last finding."""
    try:
        yield from check
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        yield problem(name, f"Could not be checked: {error}.")


def check_plugins(plugins: Plugins) -> Iterator[Finding]:
    """Check that the installed plugins load."""
    for plugin in plugins.all():
        if plugin.has_failed:
            yield warning("Plugin", f"{plugin.name} ({plugin.package}): {plugin.problem}")
        else:
            state = "switched off" if plugin.problem else "loaded"
            yield passed("Plugin", f"{plugin.name} ({plugin.package}), {state}")


def check_folders(paths: Paths, sessions: Path) -> Iterator[Finding]:
    """Check that the user can use the folders, and that others cannot change or read them."""
    for name, folder, private in (
        ("Sessions folder", sessions, 0o077),
        ("Data folder", paths.data, 0o022),
        ("Config folder", paths.config.parent, 0o022),
    ):
        above = folder
        while not os.path.lexists(above):
            above = above.parent
        text, hint = _obstacle(above)
        if text:
            yield problem(name, text, hint)
        elif above != folder:
            yield passed(name, f"{folder} does not exist yet; it is created when needed")
        elif (mode := folder.stat().st_mode) & private:
            act = "changed" if mode & 0o022 else "read"
            yield warning(name, f"{folder} can be {act} by other users.", f"chmod go= {folder}")
        else:
            yield passed(name, f"{folder}, {size_text(shutil.disk_usage(folder).free)} free")


def _obstacle(folder: Path) -> tuple[str, str]:
    """Return why the user cannot use a folder, and what to do; empty texts if nothing is wrong."""
    elsewhere = "set CHAT_LOOP_HOME to another folder"
    if not folder.is_dir():
        return f"{folder} is not a folder.", f"Move it away, or {elsewhere}."
    if os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return "", ""
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        return f"{folder} is on a read-only disk.", f"Mount it for writing, or {elsewhere}."
    return f"You may not read and write {folder}.", f"chmod u+rwx {folder}"


def check_sessions(manager: SessionManager) -> Iterator[Finding]:
    """Check the sessions and their index. Only the newest sessions are read whole."""
    folder = manager.directory
    stamps = newest_first(folder) if folder.is_dir() else []
    damaged: list[str] = []
    for stamp in stamps[:MAX_LOADED]:
        try:
            loaded = manager.load(folder / f"{stamp.id}.md")
            if len(loaded.damage) > loaded.torn_records and not loaded.is_foreign:
                damaged.append(f"{stamp.id}: {loaded.damage[0]}")
        except errors.SessionError as error:
            damaged.append(error.message)
    if unlisted := misnamed_files(folder):
        yield warning("Not listed", unlisted_text(unlisted), "Sync tools leave such copies.")
    size = size_text(sum(stamp.size for stamp in stamps))
    yield passed("Sessions", f"{plural(len(stamps), 'session')}, {size}")
    for text in damaged[:MAX_DAMAGED]:
        yield warning("Damaged", text, "Its readable part can still be resumed and shown.")
    try:
        stale = stale_count(folder, stamps)
    except errors.IndexUnavailable as error:
        yield warning("Index", str(error), "chat-loop sessions reindex rebuilds it.")
    else:
        text = "up to date"
        if stale:
            text = f"{plural(stale, 'session')} behind"
        missing = "none yet; it is created when sessions are first listed"
        if stale is not None and not os.access(folder / FILE, os.W_OK):
            hint = "Lists and searches work, but take longer the more sessions are new."
            yield warning("Index", f"{text}; {folder / FILE} may not be written.", hint)
        else:
            yield passed("Index", missing if stale is None else text)


def check_library(parts: Parts) -> Iterator[Finding]:
    """Check that the team's library answers, if the config names one."""
    if (shared := parts.shared) is None:
        return
    try:
        with closing(shared):
            yield passed("Library", shared.check())
    except errors.IndexUnavailable as error:
        yield problem("Library", str(error), "Using the local index until then.")


def check_store(parts: Parts) -> Iterator[Finding]:
    """Check that the store of the sessions answers, if the config names one."""
    if parts.mirror is not None:
        yield from parts.mirror.check()


def check_keys(config: Config, machine: choose.Machine) -> Iterator[Finding]:
    """Check which keys are set, by the names of their variables."""
    entries = catalogue.entries(config.providers).values()
    found = set[str]()
    for entry in entries:
        found.update(filter(machine.environment.get, entry.keys))
    names = sorted(found)
    if names:
        yield passed("Keys", f"set: {', '.join(names)}")
    else:
        yield noted("Keys", "none is set", "chat-loop providers lists what there is.")
    for entry in entries:
        try:
            entry.key(machine.environment)
        except errors.AuthenticationFailed as error:
            yield problem("Keys", error.message, error.hint)


def check_model(
    options: argparse.Namespace, config: Config, machine: choose.Machine
) -> Iterator[Finding]:
    """Check the model that would answer now; with --online ask it one small question."""
    reference = options.model or ("local" if options.local else "")
    provider = choose.choose(reference, config, machine, base_url=options.base_url)
    name = f"{provider.name}:{provider.model}"
    if entry := catalogue.entries(config.providers).get(provider.name):
        if options.base_url:
            entry = entry.at(options.base_url)
        _, missing, hint = providers.state_of(entry, machine)
        if missing:
            yield problem("Model", f"{name} cannot answer: {missing}", hint)
            return
    if provider.name != "local":  # which would load the model
        provider.warm()  # as in a chat, this looks up the window
    window = provider.window
    text = f"{name} would answer now, window {window_text(window.tokens, window.guessed)}"
    if window.guessed:
        hint = f"models: {{{provider.model}: {{window: N}}}} in the config sets it."
        yield warning("Model", f"{text}: its window is not known.", hint)
    else:
        yield passed("Model", text)
    if options.online:
        yield check_answer(provider, name)


def check_answer(provider: Provider, name: str) -> Finding:
    """Ask the model one small question."""
    # a model that reasons first needs room before it can answer
    request = Request(system="", messages=(Message("user", "Say OK."),), max_tokens=512)

    async def ask() -> None:
        try:
            async for _ in provider.stream(request):
                pass
        finally:
            await provider.close()

    if provider.name == "local":
        provider.warm()
    began = time.monotonic()
    try:
        asyncio.run(asyncio.wait_for(ask(), ONLINE_SECONDS))
    except TimeoutError:
        return problem("Online", f"{name} did not answer in {ONLINE_SECONDS:.0f} s.")
    except errors.ChatLoopError as error:
        return problem("Online", f"{name}: {error.message}", error.hint)
    return passed("Online", f"{name} answered in {time.monotonic() - began:.1f} s")
