"""`chat-loop doctor`: the report of the checks, and what to do about each finding."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from chat_loop.config import Config, expanded, find_paths, load_config
from chat_loop.display.plain import out, out_json, shows_symbols, terminal_columns
from chat_loop.display.text import one_line, wrapped
from chat_loop.errors import ChatLoopError, os_reason
from chat_loop.providers.choose import real_world
from chat_loop.subcommands import checks
from chat_loop.subcommands.checks import Check, Finding, Here, bad, doubtful, good
from chat_loop.wording import counted

SIGNS = {"ok": "✓", "warning": "!", "problem": "✗"}
PLAIN_SIGNS = {"ok": "+", "warning": "!", "problem": "x"}
NARROW = 60
"""Below this many columns of a terminal the text stands below the name."""
WIDTH = 15
"""Columns of a finding's name."""


def run(options: argparse.Namespace) -> int:
    """Print each finding as soon as it is there; return 1 when there is a problem."""
    found = []
    for finding in findings(options):
        found.append(finding)
        if not options.as_json:
            out(shown(finding))
    problems = sum(finding.state == "problem" for finding in found)
    warnings = sum(finding.state == "warning" for finding in found)
    if options.as_json:
        out_json({"findings": found, "problems": problems, "warnings": warnings})
    else:
        also = f", {counted(warnings, 'warning')}" if warnings else ""
        out(f"\n{counted(problems, 'problem') if problems else 'No problems'}{also}.\n")
    return int(problems > 0)


def shown(finding: Finding) -> str:
    """Return the lines of a finding, broken between words where the output is a terminal."""
    columns, symbols = terminal_columns(), shows_symbols()
    sign = (SIGNS if symbols else PLAIN_SIGNS)[finding.state]
    name, text = one_line(finding.name, 60), one_line(finding.text, 1_000)
    hint = f"{'→' if symbols else '->'} {one_line(finding.hint, 1_000)}" if finding.hint else ""
    indent = 4 if 0 < columns < NARROW else WIDTH + 3
    lines = [f"{sign} {name:<{WIDTH}} {text}"] if indent > 4 else [f"{sign} {name}", f"    {text}"]
    lines += [f"{' ' * indent}{hint}"] if hint else []
    return "".join(f"{wrapped(line, columns - 1, indent) if columns else line}\n" for line in lines)


def findings(options: argparse.Namespace) -> Iterator[Finding]:
    """Yield everything that is found. A failure of a check is its finding."""
    yield from _safe("Installed", checks.installed)
    try:
        paths = find_paths()
    except ChatLoopError as error:
        yield bad("Folders", error.message, "export CHAT_LOOP_HOME=/a/folder/of/yours")
        return
    path = Path(options.config) if options.config else paths.config
    config, finding = _config(path, required=bool(options.config))
    yield finding
    try:
        sessions = paths.sessions(config, options.sessions_dir)
    except ChatLoopError as error:
        yield bad("Sessions folder", error.message, "sessions.directory in the config names it.")
        sessions = paths.sessions(Config())
    here = Here(
        config=config,
        paths=paths,
        sessions=sessions,
        world=real_world(paths.models, discover=config.discover_servers),
        model=options.model or ("local" if options.local else ""),
        base_url=options.base_url,
        agent=options.agent_reference or config.agent.default,
    )
    looked = (checks.folders, checks.sessions, checks.locks, checks.index, checks.keys)
    around = (checks.servers, checks.embedded, checks.model)
    mcp = checks.connected if options.connect else checks.described
    for check in (*looked, *around, mcp, checks.agents, checks.terminal):
        yield from _safe(check.__name__.capitalize(), partial(check, here))
    if options.online:
        yield from _safe("Online", partial(checks.online, here))


def _safe(name: str, check: Check) -> Iterator[Finding]:
    try:
        yield from check()
    except ChatLoopError as error:
        yield bad(name, error.message, error.hint.partition("\n")[0])
    except OSError as error:
        yield bad(name, f"{error.filename or 'This'} cannot be read: {os_reason(error)}.")
    except (ValueError, RuntimeError, ImportError) as error:
        yield bad(name, f"This cannot be checked: {type(error).__name__}: {error}.")


def _config(path: Path, *, required: bool) -> tuple[Config, Finding]:
    try:
        path = expanded(str(path))
        config = load_config(path, required=required)
        if not path.exists():
            return config, good("Config", f"there is no {path}: the defaults hold")
        if path.stat().st_mode & 0o022:
            text = f"{path} can be changed by other users."
            return config, doubtful("Config", text, f"chmod go-w {path}")
        return config, good("Config", str(path))
    except ChatLoopError as error:
        hint = error.hint or "Fix this before starting chat-loop."
        return Config(), bad("Config", error.message, hint)
    except (OSError, ValueError, RuntimeError) as error:
        return Config(), bad("Config", f"{path} cannot be read: {error}.")
