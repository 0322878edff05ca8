"""Settings: a frozen value, read once from YAML and passed down.

`config.example.yaml` shows every key with its default. Nothing here needs a library while no config file exists.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, get_type_hints

from chat_loop.errors import ConfigError
from chat_loop.frontmatter import read_yaml
from chat_loop.frozen import dataclass

MAX_BYTES = 256 * 1024
SYSTEM_PROMPT = "You are a helpful assistant. Answer clearly and to the point."


@dataclass(frozen=True, kw_only=True)
class AgentConfig:
    default: str = ""
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
class AnthropicConfig:
    base_url: str = ""
    max_tokens: int = 8192


@dataclass(frozen=True, kw_only=True)
class OpenAIConfig:
    base_url: str = ""


@dataclass(frozen=True, kw_only=True)
class CompatibleConfig:
    base_url: str = ""
    api_key_env: str = "COMPATIBLE_API_KEY"
    tools: bool = False


@dataclass(frozen=True, kw_only=True)
class LocalConfig:
    context: int = 8192
    threads: int = 0


@dataclass(frozen=True, kw_only=True)
class ProvidersConfig:
    anthropic: AnthropicConfig = AnthropicConfig()
    openai: OpenAIConfig = OpenAIConfig()
    compatible: CompatibleConfig = CompatibleConfig()
    local: LocalConfig = LocalConfig()


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
    providers: ProvidersConfig = ProvidersConfig()
    models: Mapping[str, ModelConfig] = field(default_factory=dict)
    agents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

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

    @property
    def agents(self) -> Path:
        """The folder of the user's agents, found by their names."""
        return self.config.parent / "agents"

    @property
    def prompts(self) -> Path:
        """The folder of the user's templates."""
        return self.config.parent / "prompts"

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
        if key in settings and (key == "agents" or (isinstance(inner, Mapping) and "default" in inner)):
            wrong = "agents" if key == "agents" else "agent.default"
            raise ConfigError(f"{name}: {where}{wrong} cannot be set for one agent.")
    return _checked(_laid(config, _converted(settings, name, where), settings), name)


def _laid(below: Any, above: Any, settings: Mapping[str, Any]) -> Any:
    changes = {}
    for key, value in settings.items():
        old, new = getattr(below, key), getattr(above, key)
        if is_dataclass(new) and isinstance(value, Mapping):
            changes[key] = _laid(old, new, value)
        else:
            changes[key] = {**old, **new} if isinstance(new, Mapping) else new
    return replace(below, **changes)


def _converted(value: Any, name: str, where: str = "") -> Config:
    import msgspec  # only a file needs it

    _check_keys(value, Config, name, where)
    try:
        return _checked(msgspec.convert(value, Config), name)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$.")
        key = f"{where}{place.rstrip('`')}".removesuffix(".") or "the top level"
        raise ConfigError(
            f"{name}: {key}: {what[:1].lower()}{what[1:]}.", "config.example.yaml shows every key."
        ) from None


def _checked(config: Config, name: str) -> Config:
    """Refuse numbers that mean nothing. Raises ConfigError."""
    auto, context = config.auto_compact, config.context
    for key, share in (("trigger_threshold", auto.trigger_threshold), ("compact_ratio", auto.compact_ratio)):
        if not 0 < share <= 1:
            raise ConfigError(f"{name}: auto_compact.{key} is a share above 0 and at most 1, not {share:g}.")
    default = config.agent.default
    if ("/" in default or os.sep in default) and not Path(default).expanduser().is_absolute():
        raise ConfigError(f"{name}: agent.default must be a name or a whole path, not {default}.")
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
    return config


def _check_keys(value: object, kind: Any, name: str, where: str) -> None:
    """Refuse a key that is not in `kind`: a misspelt setting must not be silently the default."""
    if not isinstance(value, dict) or not is_dataclass(kind):
        return
    hints = get_type_hints(kind)
    known = {entry.name for entry in fields(kind)}
    for key, inner in value.items():
        if key not in known:
            from difflib import get_close_matches

            near = get_close_matches(str(key), known, 1)
            hint = f"Did you mean {where}{near[0]}?" if near else f"Known keys: {', '.join(sorted(known))}."
            raise ConfigError(f"{name}: unknown key {where}{key}.", hint)
        if key == "models" and isinstance(inner, dict):
            for model, setting in inner.items():
                _check_keys(setting, ModelConfig, name, f"models.{model}.")
        else:
            _check_keys(inner, hints[key], name, f"{where}{key}.")
