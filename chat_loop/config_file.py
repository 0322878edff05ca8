"""Reading settings from YAML: every mistake is named. Nothing here needs a library while no config
file exists.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from chat_loop.config import HOW, STATUS, Config, McpServer, ModelConfig, ProviderConfig
from chat_loop.errors import ConfigError
from chat_loop.frontmatter import read_yaml
from chat_loop.redact import find_secrets

MAX_BYTES = 256 * 1024


def load(path: Path, *, required: bool) -> Config:
    """Read a config file; a missing one is the defaults unless `required`. Raises ConfigError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        if not required:
            return Config()
        raise ConfigError(
            f"There is no config file {path}.", "config.example.yaml shows every key."
        ) from None
    except OSError as error:
        raise ConfigError(f"The config file {path} cannot be read: {error.strerror}.") from error
    if len(data) > MAX_BYTES:
        raise ConfigError(f"The config file {path} is larger than {MAX_BYTES // 1024} KB.")
    return parse(data, str(path))


def parse(data: bytes, name: str) -> Config:
    """Read a config from YAML bytes; `name` is the file's name for messages. Raises ConfigError."""
    value = read_yaml(data, name)
    if value is None:
        return Config()
    config = _converted(value, name)
    for agent, settings in config.agents.items():
        overlaid(config, settings, name, f"agents.{agent}.")
    return config


def overlaid(config: Config, settings: Mapping[str, Any], name: str, where: str = "") -> Config:
    """`config` with what `settings` says in its place, by section and key. Raises ConfigError.

    `name` is the file's name for messages, and `where` the place in it, such as `agents.Sally.`.
    """
    for key in ("agents", "agent"):
        inner = settings.get(key)
        if key in settings and (
            key == "agents" or (isinstance(inner, Mapping) and "default" in inner)
        ):
            wrong = "agents" if key == "agents" else "agent.default"
            raise ConfigError(f"{name}: {where}{wrong} cannot be set for one agent.")
    return _checked(_laid(config, _converted(settings, name, where), settings), name)


def _laid(below: Any, above: Any, settings: Mapping[str, Any]) -> Any:
    changes = {}
    for key, value in settings.items():
        old, new = getattr(below, key), getattr(above, key)
        if isinstance(new, Struct) and isinstance(value, Mapping):
            changes[key] = _laid(old, new, value)
        else:
            changes[key] = {**old, **new} if isinstance(new, Mapping) else new
    return replace(below, **changes)


def _converted(value: Any, name: str, where: str = "") -> Config:
    _check_keys(value, Config, name, where)
    try:
        return _checked(msgspec.convert(value, Config), name)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$.")
        key = f"{where}{place.rstrip('`')}".removesuffix(".") or "the top level"
        words = _words_for(Config, place.rstrip("`").split("."))
        hint = (
            f"It takes {' or '.join(filter(None, (', '.join(words[:-1]), words[-1])))}."
            if words
            else ""
        )
        hint = hint or "config.example.yaml shows every key."
        raise ConfigError(f"{name}: {key}: {what[:1].lower()}{what[1:]}.", hint) from None


def _words_for(kind: Any, parts: Sequence[str]) -> tuple[str, ...]:
    """The words that a setting takes, if it takes words of a list only."""
    for part in parts:
        kind = get_type_hints(kind).get(part) if hasattr(kind, "__struct_fields__") else None
    return get_args(kind) if get_origin(kind) is Literal else ()


def _checked(config: Config, name: str) -> Config:
    """Refuse numbers that mean nothing. Raises ConfigError."""
    auto, context = config.auto_compact, config.context
    for key, share in (
        ("trigger_threshold", auto.trigger_threshold),
        ("compact_ratio", auto.compact_ratio),
    ):
        if not 0 < share <= 1:
            raise ConfigError(
                f"{name}: auto_compact.{key} is a share above 0 and at most 1, not {share:g}."
            )
    default = config.agent.default
    if ("/" in default or os.sep in default) and not Path(default).expanduser().is_absolute():
        raise ConfigError(f"{name}: agent.default must be a name or a whole path, not {default}.")
    counts = {
        "auto_compact.preserve_recent": auto.preserve_recent,
        "auto_compact.summary_max_tokens": auto.summary_max_tokens - 100,
        "memory.max_tokens": config.memory.max_tokens - 100,
        "tools.max_steps": config.tools.max_steps - 1,
        "context.max_history_messages": context.max_history_messages,
        "context.max_history_tokens": context.max_history_tokens,
    }
    if config.input.keys not in ("emacs", "vi"):
        raise ConfigError(f"{name}: input.keys is emacs or vi, not {config.input.keys[:40]}.")
    if not config.tools.timeout > 0:
        raise ConfigError(f"{name}: tools.timeout must be above 0 seconds.")
    for key, number in counts.items():
        if number < 0:
            least = "at least 100" if key.endswith("max_tokens") else "not negative"
            least = "at least 1" if key == "tools.max_steps" else least
            raise ConfigError(f"{name}: {key} must be {least}.")
    _check_shown(config, name)
    _check_named(config, name)
    return config


def _check_shown(config: Config, name: str) -> None:
    """Refuse words that the terminal's settings do not know."""
    for key, words, known in (
        ("status", config.status, STATUS),
        ("notify.how", (config.notify.how,), HOW),
    ):
        if wrong := next((word for word in words if word not in known), None):
            raise ConfigError(
                f"{name}: {key} does not know “{wrong[:40]}”.", f"It takes {', '.join(known)}."
            )
    if not 0 <= config.notify.after < float("inf"):
        raise ConfigError(f"{name}: notify.after must be seconds, 0 for never.")


_NAMED = {"models": ModelConfig, "providers": ProviderConfig, "mcp": McpServer}
"""Keys whose own keys are names of the user's choice."""


def _check_named(config: Config, name: str) -> None:
    """The same for what has names of the user's choice."""
    for server, described in config.mcp.items():
        from chat_loop.servers import fault_of  # most configs have none

        fault = fault_of(server, described)
        if fault:
            raise ConfigError(
                f"{name}: mcp.{server}: {fault}.", "config.example.yaml shows what a server needs."
            )
    for provider, setting in config.providers.items():
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,31}", provider):
            raise ConfigError(
                f"{name}: “{provider[:80]}” is no name for a provider.",
                "It takes a-z, 0-9, - and _.",
            )
        if setting.api_key_env and not _names_variable(setting.api_key_env):
            where = f"{name}: providers.{provider}.api_key_env"
            raise ConfigError(
                f"{where} takes the name of a variable, not a key.",
                "For example: api_key_env: MY_KEY.",
            )
        if min(setting.max_tokens, setting.context, setting.threads) < 0:
            raise ConfigError(f"{name}: providers.{provider}: numbers must not be negative.")


def _names_variable(text: str) -> bool:
    """Whether `text` may be a variable's name, and is no key that was put in its place: names are
    shown, keys never.
    """
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", text) or find_secrets(text):
        return False
    return len(text) <= 24 or "_" in text


def _check_keys(value: object, kind: Any, name: str, where: str) -> None:
    """Refuse a key that is not in `kind`: a misspelt setting must not be silently the default."""
    if not isinstance(value, dict) or not hasattr(kind, "__struct_fields__"):
        return
    hints = get_type_hints(kind)
    known = kind.__struct_fields__
    for key, inner in value.items():
        if key not in known:
            from difflib import get_close_matches

            near = get_close_matches(str(key), known, 1)
            hint = (
                f"Did you mean {where}{near[0]}?"
                if near
                else f"Known keys: {', '.join(sorted(known))}."
            )
            raise ConfigError(f"{name}: unknown key {where}{key}.", hint)
        if key in _NAMED and isinstance(inner, dict):
            for entry, setting in inner.items():
                _check_keys(setting, _NAMED[key], name, f"{key}.{entry}.")
        else:
            _check_keys(inner, hints[key], name, f"{where}{key}.")
