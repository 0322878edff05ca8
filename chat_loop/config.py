"""Settings: a frozen value, read once (`config_file`) and passed down. `config.example.yaml` shows
every key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field

from chat_loop.errors import ConfigError

STATUS = ("model", "context", "tokens", "cost", "session", "summary")
"""What the status line can tell."""
HOW = ("bell", "osc9", "off")
"""The ways to tell that a reply has come."""
REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""A variable of the environment, in a value of the config that may name one."""
SYSTEM_PROMPT = "You are a helpful assistant. Answer clearly and to the point."


class AgentConfig(Struct, frozen=True, kw_only=True):
    default: str = ""
    name: str = "Assistant"
    system_prompt: str = SYSTEM_PROMPT
    summary_instructions: str = ""
    tools: tuple[str, ...] = ()


class ToolsConfig(Struct, frozen=True, kw_only=True):
    timeout: float = 60.0
    max_steps: int = 12


class SessionsConfig(Struct, frozen=True, kw_only=True):
    directory: str = ""
    auto_resume: bool = False


class SearchConfig(Struct, frozen=True, kw_only=True):
    meaning: bool = True


class SummaryConfig(Struct, frozen=True, kw_only=True):
    on_exit: bool = True
    timeout: float = 120.0


class RestorationConfig(Struct, frozen=True, kw_only=True):
    acknowledge: bool = True


class ContextConfig(Struct, frozen=True, kw_only=True):
    max_history_messages: int = 0
    max_history_tokens: int = 0
    attach_from_archive: bool = True


class AutoCompactConfig(Struct, frozen=True, kw_only=True):
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


class MemoryConfig(Struct, frozen=True, kw_only=True):
    enabled: bool = True
    max_tokens: int = 1500


class NotifyConfig(Struct, frozen=True, kw_only=True):
    """What tells that a reply has come, or a command is done, that took at least `after` seconds; 0
    is never.
    """

    after: float = 0.0
    how: str = "bell"


class InputConfig(Struct, frozen=True, kw_only=True):
    keys: str = "emacs"


class DisplayConfig(Struct, frozen=True, kw_only=True):
    markdown: bool = True
    theme: Literal["auto", "dark", "light"] = "auto"
    wrap: Literal["words", "terminal"] = "words"


class ProviderConfig(Struct, frozen=True, kw_only=True):
    """What the user says of one provider; what is left empty, 0 or None stays as the catalogue has
    it.
    """

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


class ModelConfig(Struct, frozen=True, kw_only=True):
    window: int = 0
    images: bool | None = None
    input_price: float | None = None
    output_price: float | None = None


class McpServer(Struct, frozen=True, kw_only=True):
    """An MCP server: a command that is started, or the URL of one that runs. `timeout` is in
    seconds.
    """

    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 20.0
    tools: tuple[str, ...] = ()
    ask: bool = True
    unasked: tuple[str, ...] = ()
    enabled: bool = True


class Config(Struct, frozen=True, kw_only=True):
    """All settings. An empty string or a zero means "choose for me"."""

    model: str = ""
    discover_servers: bool = True
    agent: AgentConfig = AgentConfig()
    tools: ToolsConfig = ToolsConfig()
    sessions: SessionsConfig = SessionsConfig()
    search: SearchConfig = SearchConfig()
    summary: SummaryConfig = SummaryConfig()
    restoration: RestorationConfig = RestorationConfig()
    context: ContextConfig = ContextConfig()
    auto_compact: AutoCompactConfig = AutoCompactConfig()
    memory: MemoryConfig = MemoryConfig()
    status: tuple[str, ...] = STATUS
    notify: NotifyConfig = NotifyConfig()
    input: InputConfig = InputConfig()
    display: DisplayConfig = DisplayConfig()
    providers: Mapping[str, ProviderConfig] = field(default_factory=dict)
    models: Mapping[str, ModelConfig] = field(default_factory=dict)
    mcp: Mapping[str, McpServer] = field(default_factory=dict)
    agents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def windows(self) -> dict[str, int]:
        """The windows that the user set, by model name, in tokens."""
        return {name: model.window for name, model in self.models.items() if model.window > 0}

    @property
    def images(self) -> dict[str, bool]:
        """Which models take images, as far as the user said so, by model name."""
        return {
            name: model.images for name, model in self.models.items() if model.images is not None
        }


class Paths(Struct, frozen=True):
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
        """The sessions folder: of the command line, else the config, else in the data directory.
        Raises ConfigError.
        """
        chosen = override or config.sessions.directory
        return expanded(chosen).absolute() if chosen else self.data / "sessions"


def expanded(path: str) -> Path:
    """A path with `~` as the home directory. Raises ConfigError when there is no such home."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise ConfigError(
            f"{path} is in the home directory of nobody.", "Give the whole path."
        ) from None


def completed(values: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """The values of `env` or `headers`, with each `${NAME}` replaced by the environment's. Raises
    ConfigError.
    """

    def of(match: re.Match[str]) -> str:
        name = match.group(1)
        if not environment.get(name):
            raise ConfigError(
                f"The environment variable {name} is not set.", f"export {name}=… sets it."
            )
        return environment[name]

    return {key: REFERENCE.sub(of, value) for key, value in values.items()}


def find_paths(environment: Mapping[str, str] = os.environ) -> Paths:
    """The platform's directories for config and data, or CHAT_LOOP_HOME for both. Raises
    ConfigError.
    """
    home = environment.get("CHAT_LOOP_HOME", "")
    if home:
        base = expanded(home).absolute()
        return Paths(base / "config.yaml", base)
    import platformdirs  # not needed with CHAT_LOOP_HOME

    return Paths(
        Path(platformdirs.user_config_dir("chat-loop", appauthor=False)) / "config.yaml",
        Path(platformdirs.user_data_dir("chat-loop", appauthor=False)),
    )
