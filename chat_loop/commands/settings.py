"""The command config: the settings that hold, and where they stand. What may be a key is never
shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import registry
from chat_loop.config import Config, McpServer, ModelConfig, ProviderConfig
from chat_loop.display.text import one_line
from chat_loop.errors import UsageError
from chat_loop.redact import redacted

HIDDEN = "(not shown)"
_SECRET = ("headers", "env")
"""Mappings whose values are keys more often than not; so are the arguments (`args`) of some
commands.
"""
_VARIABLES = re.compile(r"(?:Bearer )?\$\{[A-Za-z_][A-Za-z0-9_]{0,63}\}")
_QUERY = re.compile(r"\?.+", re.DOTALL)
_USER = re.compile(r"//[^/@\s]{1,200}@")
LONGEST = 200


@registry.command("config", argument="[KEY]")
async def config(chat: Chat, argument: str) -> None:
    """Show the settings that are not as by default, and their file; /config KEY shows one, or a
    section.

    /config auto_compact    a section, with its defaults
    /config status          one setting
    What the file says and what the agent's file says stand together; the command line's options
    count over both.
    """
    defaults, found = dict(leaves(_defaults(chat.config))), dict(leaves(chat.config))
    if not argument:
        path = dict(chat.facts).get("Config", "")
        if path:
            chat.display.line(
                f"Config: {one_line(path, 2000)}{'' if _is_there(path) else ' (there is none yet)'}"
            )
        changed = {key: value for key, value in found.items() if defaults.get(key) != value}
        if not changed:
            chat.display.line(
                "Every setting is as by default; config.example.yaml shows them all.", "dim"
            )
        chat.display.lines(changed.items())
        return
    key = argument.strip().rstrip(".:")
    chosen = {
        name: value for name, value in found.items() if name == key or name.startswith(f"{key}.")
    }
    if not chosen:
        from difflib import get_close_matches  # only a misspelt key needs it

        known = {*found, *(name.partition(".")[0] for name in found)}
        near = get_close_matches(key, sorted(known), 1)
        hint = f"Did you mean {near[0]}?" if near else "config.example.yaml shows every key."
        raise UsageError(f"There is no setting {key[:60]}.", hint)
    chat.display.lines((name, _beside(value, defaults.get(name))) for name, value in chosen.items())


def _is_there(path: str) -> bool:
    return Path(path).expanduser().exists()


def _defaults(config: Config) -> Config:
    """The defaults, with those of everything that the user has named."""
    return Config(
        providers=dict.fromkeys(config.providers, ProviderConfig()),
        models=dict.fromkeys(config.models, ModelConfig()),
        mcp=dict.fromkeys(config.mcp, McpServer()),
    )


def leaves(value: object) -> Iterator[tuple[str, str]]:
    """Every setting below `value` with its whole key and its value as text, without what may be a
    secret.
    """
    return ((".".join(parts), text) for parts, text in branches(value))


def branches(value: object, parts: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """As `leaves`, each key in its parts: the name of a model may hold a dot."""
    if isinstance(value, Struct):
        inner: Mapping[str, object] = asdict(value)
    elif isinstance(value, Mapping) and value:
        inner = value
    else:
        yield parts, _shown(value, parts)
        return
    for name, one in inner.items():
        yield from branches(one, (*parts, str(name)))


def _shown(value: object, parts: tuple[str, ...]) -> str:
    if value is None or (isinstance(value, Mapping) and not value):
        return "not set"
    if isinstance(value, bool):
        return str(value).lower()
    text = f"[{', '.join(map(str, value))}]" if isinstance(value, tuple | list) else str(value)
    if not text:
        return "empty"
    *above, last = parts
    if last == "args" or any(part in _SECRET for part in above):
        return text if _VARIABLES.fullmatch(text) else HIDDEN
    if last.endswith("url"):
        text = _QUERY.sub("?…", text)
    return one_line(redacted(_USER.sub("//…@", text)), LONGEST)


def _beside(value: str, default: str | None) -> str:
    """A value, with the default where that is another one."""
    return value if default in (value, None) else f"{value} (by default: {default})"
