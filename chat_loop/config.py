"""Settings: a frozen value, read once from YAML and passed down.

`config.example.yaml` shows every key with its default. Nothing here needs a library while no config file exists.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

from chat_loop.errors import ConfigError
from chat_loop.frozen import dataclass

MAX_BYTES = 256 * 1024
SYSTEM_PROMPT = "You are a helpful assistant. Answer clearly and to the point."


@dataclass(frozen=True, kw_only=True)
class AgentConfig:
    name: str = "Assistant"
    system_prompt: str = SYSTEM_PROMPT
    summary_instructions: str = ""


@dataclass(frozen=True, kw_only=True)
class SessionsConfig:
    directory: str = ""
    auto_resume: bool = False


@dataclass(frozen=True, kw_only=True)
class SearchConfig:
    meaning: bool = True


@dataclass(frozen=True, kw_only=True)
class SummaryConfig:
    on_exit: bool = True
    timeout: float = 120.0


@dataclass(frozen=True, kw_only=True)
class RestorationConfig:
    acknowledge: bool = True


@dataclass(frozen=True, kw_only=True)
class ContextConfig:
    max_history_messages: int = 0
    max_history_tokens: int = 0
    attach_from_archive: bool = True


@dataclass(frozen=True, kw_only=True)
class AutoCompactConfig:
    enabled: bool = True
    trigger_threshold: float = 0.8
    compact_ratio: float = 0.4
    preserve_recent: int = 10
    use_ai_summary: bool = True
    summary_provider: str = ""
    summary_model: str = ""
    summary_max_tokens: int = 2048
    show_summary_markers: bool = False
    compact_on_resume: bool = False


@dataclass(frozen=True, kw_only=True)
class MemoryConfig:
    enabled: bool = True
    max_tokens: int = 1500


@dataclass(frozen=True, kw_only=True)
class ProviderConfig:
    """What the user says of one provider; what is left empty, 0 or None stays as the catalogue has it."""

    base_url: str = ""
    api_key_env: str = ""
    model: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    tools: bool | None = None
    max_tokens: int = 0
    api_version: str = ""
    region: str = ""
    profile: str = ""
    context: int = 0
    threads: int = 0


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    window: int = 0
    input_price: float | None = None
    output_price: float | None = None


@dataclass(frozen=True, kw_only=True)
class Config:
    """All settings. An empty string or a zero means "choose for me"."""

    model: str = ""
    agent: AgentConfig = AgentConfig()
    sessions: SessionsConfig = SessionsConfig()
    search: SearchConfig = SearchConfig()
    summary: SummaryConfig = SummaryConfig()
    restoration: RestorationConfig = RestorationConfig()
    context: ContextConfig = ContextConfig()
    auto_compact: AutoCompactConfig = AutoCompactConfig()
    memory: MemoryConfig = MemoryConfig()
    providers: Mapping[str, ProviderConfig] = field(default_factory=dict)
    models: Mapping[str, ModelConfig] = field(default_factory=dict)

    @property
    def windows(self) -> dict[str, int]:
        """The windows that the user set, by model name, in tokens."""
        return {name: model.window for name, model in self.models.items() if model.window > 0}


@dataclass(frozen=True)
class Paths:
    """Where things are. `home` is CHAT_LOOP_HOME, which moves config and data together."""

    config: Path
    data: Path

    @property
    def models(self) -> Path:
        return self.data / "models"

    @property
    def history(self) -> Path:
        return self.data / "history"

    def sessions(self, config: Config, override: str = "") -> Path:
        """The sessions folder: the command line's, else the config's, else in the data directory."""
        chosen = override or config.sessions.directory
        return Path(chosen).expanduser().absolute() if chosen else self.data / "sessions"


def find_paths(environment: Mapping[str, str] = os.environ) -> Paths:
    """The platform's directories for config and data, or CHAT_LOOP_HOME for both."""
    home = environment.get("CHAT_LOOP_HOME", "")
    if home:
        base = Path(home).expanduser().absolute()
        return Paths(base / "config.yaml", base)
    import platformdirs  # not needed with CHAT_LOOP_HOME

    return Paths(
        Path(platformdirs.user_config_dir("chat-loop", appauthor=False)) / "config.yaml",
        Path(platformdirs.user_data_dir("chat-loop", appauthor=False)),
    )


def load(path: Path, *, required: bool) -> Config:
    """Read a config file; a missing one is the defaults unless `required`. Raises ConfigError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        if not required:
            return Config()
        raise ConfigError(f"There is no config file {path}.", "config.example.yaml shows every key.") from None
    except OSError as error:
        raise ConfigError(f"The config file {path} cannot be read: {error.strerror}.") from error
    if len(data) > MAX_BYTES:
        raise ConfigError(f"The config file {path} is larger than {MAX_BYTES // 1024} KB.")
    return parse(data, str(path))


def parse(data: bytes, name: str) -> Config:
    """Read a config from YAML bytes; `name` is the file's name for messages. Raises ConfigError."""
    import msgspec  # only a config file needs these two
    import yaml

    try:
        value = yaml.safe_load(data.decode())
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name} is not UTF-8.") from error
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{name}{line}: {error.problem or 'not valid YAML'}.") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigError(f"{name} is not valid YAML.") from error
    if value is None:
        return Config()
    _check_keys(value, Config, name, "")
    try:
        return _checked(msgspec.convert(value, Config), name)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$.")
        key = where.rstrip("`") or "the top level"
        raise ConfigError(
            f"{name}: {key}: {what[:1].lower()}{what[1:]}.", "config.example.yaml shows every key."
        ) from None


def _checked(config: Config, name: str) -> Config:
    """Refuse numbers that mean nothing. Raises ConfigError."""
    auto, context = config.auto_compact, config.context
    for key, share in (("trigger_threshold", auto.trigger_threshold), ("compact_ratio", auto.compact_ratio)):
        if not 0 < share <= 1:
            raise ConfigError(f"{name}: auto_compact.{key} is a share above 0 and at most 1, not {share:g}.")
    counts = {
        "auto_compact.preserve_recent": auto.preserve_recent,
        "auto_compact.summary_max_tokens": auto.summary_max_tokens - 100,
        "memory.max_tokens": config.memory.max_tokens - 100,
        "context.max_history_messages": context.max_history_messages,
        "context.max_history_tokens": context.max_history_tokens,
    }
    for key, number in counts.items():
        if number < 0:
            least = "at least 100" if key.endswith("max_tokens") else "not negative"
            raise ConfigError(f"{name}: {key} must be {least}.")
    for provider, setting in config.providers.items():
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,31}", provider):
            raise ConfigError(f"{name}: “{provider[:80]}” is no name for a provider.", "It takes a-z, 0-9, - and _.")
        if setting.api_key_env and not _names_variable(setting.api_key_env):
            where = f"{name}: providers.{provider}.api_key_env"
            raise ConfigError(f"{where} takes the name of a variable, not a key.", "For example: api_key_env: MY_KEY.")
        if min(setting.max_tokens, setting.context, setting.threads) < 0:
            raise ConfigError(f"{name}: providers.{provider}: numbers must not be negative.")
    return config


def _names_variable(text: str) -> bool:
    """Whether `text` may be a variable's name, and is no key that was put in its place: names are shown, keys never."""
    from chat_loop.redact import redacted

    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", text) or redacted(text) != text:
        return False
    return len(text) <= 24 or "_" in text


_NAMED = {"models": ModelConfig, "providers": ProviderConfig}
"""Keys whose own keys are names of the user's choice."""


def _check_keys(value: object, kind: Any, name: str, where: str) -> None:
    """Refuse a key that is not in `kind`: a misspelt setting must not be silently the default."""
    if not isinstance(value, dict) or not is_dataclass(kind):
        return
    hints = get_type_hints(kind)
    known = {one.name for one in fields(kind)}
    for key, inner in value.items():
        if key not in known:
            from difflib import get_close_matches

            near = get_close_matches(str(key), known, 1)
            hint = f"Did you mean {where}{near[0]}?" if near else f"Known keys: {', '.join(sorted(known))}."
            raise ConfigError(f"{name}: unknown key {where}{key}.", hint)
        if key in _NAMED and isinstance(inner, dict):
            for entry, setting in inner.items():
                _check_keys(setting, _NAMED[key], name, f"{key}.{entry}.")
        else:
            _check_keys(inner, hints[key], name, f"{where}{key}.")
