"""`chat-loop doctor`: what is installed, stored and set, what is wrong with it, and what to do."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from chat_loop.config import Config, expanded, find_paths, load_config
from chat_loop.display.plain import out, out_json, shows_symbols, terminal_columns
from chat_loop.display.text import one_line, wrapped
from chat_loop.errors import ChatLoopError
from chat_loop.providers.choose import real_world
from chat_loop.subcommands.checks import answering, around, installed, places, stored
from chat_loop.subcommands.checks.finding import Finding, Here, bad, doubtful, good
from chat_loop.wording import counted

SIGNS = {"ok": "✓", "warning": "!", "problem": "✗"}
PLAIN_SIGNS = {"ok": "+", "warning": "!", "problem": "x"}
"""Where the output cannot show the others."""
NARROW = 60
"""Below this many columns of a terminal what was found stands below its name."""
_LONGEST = 1_000
_WIDTH = 15


def doctor(options: argparse.Namespace) -> int:
    """Print what was found, as it is found; return 1 when there is a problem."""
    found = []
    columns = terminal_columns()
    symbols = shows_symbols()
    for finding in findings(options):
        found.append(finding)
        if not options.as_json:
            out("".join(f"{line}\n" for line in shown(finding, columns, symbols=symbols)))
    problems = sum(finding.state == "problem" for finding in found)
    warnings = sum(finding.state == "warning" for finding in found)
    if options.as_json:
        out_json(
            {
                "findings": found,
                "problems": problems,
                "warnings": warnings,
            }
        )
    else:
        told = [counted(problems, "problem")] if problems else ["No problems"]
        told += [counted(warnings, "warning")] if warnings else []
        out(f"\n{', '.join(told)}.\n")
    return int(problems > 0)


def shown(finding: Finding, columns: int = 0, *, symbols: bool = True) -> list[str]:
    """The lines of a finding, broken between words for a terminal of so many columns; 0: for none,
    so not at all.
    """
    sign = (SIGNS if symbols else PLAIN_SIGNS)[finding.state]
    name = one_line(finding.name, 60)
    text, hint = one_line(finding.text, _LONGEST), one_line(finding.hint, _LONGEST)
    hint = f"{'→' if symbols else '->'} {hint}" if hint else ""
    if not columns:
        return [f"{sign} {name:<{_WIDTH}} {text}", *([f"  {'':<{_WIDTH}} {hint}"] if hint else [])]
    if columns < NARROW:
        parts, indent = [f"{sign} {name}", f"    {text}", f"    {hint}" if hint else ""], 4
    else:
        indent = _WIDTH + 3
        parts = [f"{sign} {name:<{_WIDTH}} {text}", f"{' ' * indent}{hint}" if hint else ""]
    return [
        line for part in parts if part for line in wrapped(part, columns - 1, indent).split("\n")
    ]


def findings(options: argparse.Namespace) -> Iterator[Finding]:
    """Everything that is looked at. Nothing is raised: what a check runs into is its finding."""
    yield from _safe("Installed", installed.installed)
    try:
        paths = find_paths()
    except ChatLoopError as error:
        yield bad("Folders", error.message, "export CHAT_LOOP_HOME=/a/folder/of/yours")
        return
    path = Path(options.config) if options.config else paths.config
    config, told = _config(path, required=bool(options.config))
    yield told
    try:
        sessions = paths.sessions(config, options.sessions_dir)
    except ChatLoopError as error:
        yield bad("Sessions folder", error.message, "sessions.directory in the config names it.")
        sessions = paths.sessions(Config())
    here = Here(
        config=config,
        config_file=path,
        paths=paths,
        sessions=sessions,
        world=real_world(paths.models, discover=config.discover_servers),
        model=options.model or ("local" if options.local else ""),
        base_url=options.base_url,
        agent=options.agent_reference or config.agent.default,
    )
    checks: list[tuple[str, Callable[[Here], Iterable[Finding]]]] = [
        ("Folders", places.places),
        ("Sessions", stored.stored),
        ("Keys", answering.keys),
        ("Servers here", answering.servers),
        ("Embedded model", answering.embedded),
        ("Model", answering.model),
        ("MCP", around.connected if options.connect else around.described),
        ("Agents", around.agents),
        ("Terminal", around.terminal),
    ]
    if options.online:
        checks.append(("Online", answering.online))
    for name, check in checks:
        yield from _safe(name, lambda check=check: check(here))  # type: ignore[misc]


def _safe(name: str, check: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """What a check finds, and after it what it ran into."""
    try:
        yield from check()
    except ChatLoopError as error:
        yield bad(name, error.message, error.hint.partition("\n")[0])
    except (OSError, ValueError, RuntimeError, ImportError) as error:
        yield bad(name, f"This could not be looked at: {type(error).__name__}: {error}.")


def _config(path: Path, *, required: bool) -> tuple[Config, Finding]:
    try:
        path = expanded(str(path))
        config = load_config(path, required=required)
        if not path.exists():
            return config, good("Config", f"there is no {path}: the defaults hold")
        if path.stat().st_mode & 0o022:
            return config, doubtful(
                "Config", f"{path} can be changed by other users.", f"chmod go-w {path}"
            )
        return config, good("Config", str(path))
    except ChatLoopError as error:
        return Config(), bad(
            "Config", error.message, error.hint or "chat-loop does not start before that is mended."
        )
    except (OSError, ValueError, RuntimeError) as error:
        return Config(), bad("Config", f"{path} cannot be read: {error}.")
