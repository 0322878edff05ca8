"""Settings: a frozen value, read once from YAML. `config.example.yaml` shows every key."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import replace

from chat_loop.errors import ConfigError
from chat_loop.redact import find_secrets

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""A variable of the environment, in a value that may name one."""
MAX_BYTES = 256 * 1024
EXAMPLE = "config.example.yaml shows every key."

StatusPart = Literal["model", "context", "tokens", "cost", "session", "summary"]
STATUS: tuple[StatusPart, ...] = get_args(StatusPart)
Count = Annotated[int, Meta(ge=0)]
TokenLimit = Annotated[int, Meta(ge=100)]
Share = Annotated[float, Meta(gt=0, le=1)]
Seconds = Annotated[float, Meta(ge=0, le=1e9)]


class AgentConfig(Struct, frozen=True, kw_only=True):
    default: str = ""
    name: str = "Assistant"
    system_prompt: str = "You are a helpful assistant. Answer clearly and to the point."
    summary_instructions: str = ""
    tools: tuple[str, ...] = ()


class ToolsConfig(Struct, frozen=True, kw_only=True):
    timeout: Annotated[float, Meta(gt=0)] = 60.0
    max_steps: Annotated[int, Meta(ge=1)] = 12


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
    max_history_messages: Count = 0
    max_history_tokens: Count = 0
    attach_from_archive: bool = True


class AutoCompactConfig(Struct, frozen=True, kw_only=True):
    enabled: bool = True
    trigger_threshold: Share = 0.8
    compact_ratio: Share = 0.4
    preserve_recent: Count = 10
    use_ai_summary: bool = True
    summary_provider: str = ""
    summary_model: str = ""
    summary_max_tokens: TokenLimit = 2048
    show_summary_markers: bool = False
    compact_on_resume: bool = False


class MemoryConfig(Struct, frozen=True, kw_only=True):
    enabled: bool = True
    max_tokens: TokenLimit = 1500


class NotifyConfig(Struct, frozen=True, kw_only=True):
    after: Seconds = 0.0
    how: Literal["bell", "osc9", "off"] = "bell"


class InputConfig(Struct, frozen=True, kw_only=True):
    keys: Literal["emacs", "vi"] = "emacs"


class DisplayConfig(Struct, frozen=True, kw_only=True):
    markdown: bool = True
    theme: Literal["auto", "dark", "light"] = "auto"
    wrap: Literal["words", "terminal"] = "words"


class ProviderConfig(Struct, frozen=True, kw_only=True):
    """Settings of one provider. Empty, 0 or None keeps what the catalogue says."""

    base_url: str = ""
    api_key_env: str = ""
    model: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    tools: bool | None = None
    max_tokens: Count = 0
    api_version: str = ""
    region: str = ""
    profile: str = ""
    context: Count = 0
    threads: Count = 0


class ModelConfig(Struct, frozen=True, kw_only=True):
    window: int = 0
    images: bool | None = None
    input_price: float | None = None
    output_price: float | None = None


class McpServer(Struct, frozen=True, kw_only=True):
    """An MCP server: a command to start, or the URL of a running one. `timeout` in seconds."""

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

    def fault(self, name: str) -> str:
        """Return what is wrong with a server of this name; empty when nothing is."""
        rules = {
            "a name is 1 to 32 letters, digits, - and _": re.fullmatch(r"[\w-]{1,32}", name, re.A),
            "it needs a command or a url, and only one of them": bool(self.command)
            != bool(self.url),
            "args, env and cwd go with a command": self.command
            or not (self.args or self.env or self.cwd),
            "headers go with a url": self.url or not self.headers,
            "a url begins with http:// or https://": not self.url
            or self.url.startswith(("http://", "https://")),
            "the timeout is from 1 to 600 seconds": 1 <= self.timeout <= 600,
        }
        return next((rule for rule, kept in rules.items() if not kept), "")


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
    status: tuple[StatusPart, ...] = STATUS
    notify: NotifyConfig = NotifyConfig()
    input: InputConfig = InputConfig()
    display: DisplayConfig = DisplayConfig()
    providers: Mapping[str, ProviderConfig] = field(default_factory=dict)
    models: Mapping[str, ModelConfig] = field(default_factory=dict)
    mcp: Mapping[str, McpServer] = field(default_factory=dict)
    agents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def windows(self) -> dict[str, int]:
        """Return the windows that the user set, by model name, in tokens."""
        return {name: model.window for name, model in self.models.items() if model.window > 0}

    @property
    def images(self) -> dict[str, bool]:
        """Return whether models take images, by model name, where the user said so."""
        return {
            name: model.images for name, model in self.models.items() if model.images is not None
        }


class Paths(Struct, frozen=True):
    """The config file and the folder of the data."""

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
        return self.config.parent / "agents"

    @property
    def prompts(self) -> Path:
        return self.config.parent / "prompts"

    def sessions(self, config: Config, override: str = "") -> Path:
        """Return the sessions folder: of the command line, else the config, else the data's."""
        chosen = override or config.sessions.directory
        return expanded(chosen).absolute() if chosen else self.data / "sessions"


def find_paths(environment: Mapping[str, str] = os.environ) -> Paths:
    """Return the platform's folders, or CHAT_LOOP_HOME for both. Raises ConfigError."""
    if home := environment.get("CHAT_LOOP_HOME", ""):
        base = expanded(home).absolute()
        return Paths(base / "config.yaml", base)
    import platformdirs  # not needed with CHAT_LOOP_HOME

    return Paths(
        Path(platformdirs.user_config_dir("chat-loop", appauthor=False)) / "config.yaml",
        Path(platformdirs.user_data_dir("chat-loop", appauthor=False)),
    )


def expanded(path: str) -> Path:
    """Return a path with `~` as the home directory. Raises ConfigError when there is none."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise ConfigError(
            f"{path} is in the home directory of nobody.", "Give the whole path."
        ) from None


def completed(values: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return `values` with each `${NAME}` replaced by the environment's. Raises ConfigError."""

    def of(match: re.Match[str]) -> str:
        name = match.group(1)
        if not environment.get(name):
            raise ConfigError(
                f"The environment variable {name} is not set.", f"export {name}=… sets it."
            )
        return environment[name]

    return {key: REFERENCE.sub(of, value) for key, value in values.items()}


def chosen_servers(
    servers: Mapping[str, McpServer], names: Collection[str], folder: Path, own: Collection[str]
) -> dict[str, McpServer]:
    """Return the servers that an agent names; `cwd` of its `own` ones starts from its `folder`.

    Raises ConfigError for a name that no server has.
    """
    found = {}
    for name in names:
        if name not in servers:
            raise ConfigError(
                f"There is no MCP server {name[:32]}.",
                f"The config has: {', '.join(servers) or 'none'}.",
            )
        server = servers[name]
        if name in own and server.cwd:
            server = replace(server, cwd=str(folder / Path(server.cwd).expanduser()))
        found[name] = server
    return found


def load_config(path: Path, *, required: bool) -> Config:
    """Read a config file; a missing one is the defaults unless `required`. Raises ConfigError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        if not required:
            return Config()
        raise ConfigError(f"There is no config file {path}.", EXAMPLE) from None
    except OSError as error:
        raise ConfigError(f"The config file {path} cannot be read: {error.strerror}.") from error
    if len(data) > MAX_BYTES:
        raise ConfigError(f"The config file {path} is larger than {MAX_BYTES // 1024} KB.")
    return parse(data, str(path))


def parse(data: bytes, name: str) -> Config:
    """Read a config from YAML bytes; `name` is the file's for messages. Raises ConfigError."""
    value = read_yaml(data, name)
    config = Config() if value is None else _converted(value, name, "", value)
    for agent, settings in config.agents.items():
        overlaid(config, settings, name, f"agents.{agent}.")
    return config


def overlaid(config: Config, settings: Mapping[str, Any], name: str, where: str = "") -> Config:
    """Return `config` with `settings` over it, by section and key. Raises ConfigError.

    `name` is the file's name for messages, and `where` the place in it, such as `agents.Sally.`.
    """
    agent = settings.get("agent")
    inner = "agent.default" if isinstance(agent, Mapping) and "default" in agent else ""
    if wrong := "agents" if "agents" in settings else inner:
        raise ConfigError(f"{name}: {where}{wrong} cannot be set for one agent.")
    below = msgspec.to_builtins(config)
    above = {
        key: {**below[key], **value}
        if isinstance(value, Mapping) and isinstance(below.get(key), dict)
        else value
        for key, value in settings.items()
    }
    return _converted({**below, **above}, name, where, settings)


def _converted(value: Any, name: str, where: str, written: object) -> Config:
    """Return the config that `value` is; the keys in `written` are the user's own words."""
    _check_keys(written, Config, name, where)
    try:
        config = msgspec.convert(value, Config)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$.")
        place = place.rstrip("`")
        kind: Any = Config
        for part in place.split("."):
            kind = get_type_hints(kind).get(part.partition("[")[0]) if _is_struct(kind) else None
        if get_origin(kind) is tuple:
            kind = get_args(kind)[0]
        words = get_args(kind) if get_origin(kind) is Literal else ()
        raise ConfigError(
            f"{name}: {f'{where}{place}' or 'the top level'}: {what[:1].lower()}{what[1:]}.",
            f"It takes {' or '.join((', '.join(words[:-1]), words[-1]))}." if words else EXAMPLE,
        ) from None
    default = config.agent.default
    if ("/" in default or os.sep in default) and not Path(default).expanduser().is_absolute():
        raise ConfigError(f"{name}: agent.default must be a name or a whole path, not {default}.")
    for server, described in config.mcp.items():
        if fault := described.fault(server):
            raise ConfigError(
                f"{name}: mcp.{server}: {fault}.", "config.example.yaml shows what a server needs."
            )
    for provider, setting in config.providers.items():
        if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,31}", provider):
            raise ConfigError(
                f"{name}: “{provider[:80]}” is no name for a provider.",
                "It takes a-z, 0-9, - and _.",
            )
        # names are shown, keys never: no key may stand in the place of its variable's name
        variable = setting.api_key_env
        named = re.fullmatch(r"[A-Za-z_]\w{0,23}|(?=\w*_)[A-Za-z_]\w{0,63}", variable, re.A)
        if variable and (not named or find_secrets(variable)):
            raise ConfigError(
                f"{name}: providers.{provider}.api_key_env takes the name of a variable, not a "
                "key.",
                "For example: api_key_env: MY_KEY.",
            )
    return config


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _check_keys(value: object, kind: Any, name: str, where: str) -> None:
    """Refuse unknown keys: a misspelled setting must not silently be the default."""
    if not isinstance(value, Mapping):
        return
    if get_origin(kind) is Mapping:
        for key, inner in value.items():
            _check_keys(inner, get_args(kind)[1], name, f"{where}{key}.")
    if not _is_struct(kind):
        return
    known = get_type_hints(kind)
    for key, inner in value.items():
        if key not in known:
            from difflib import get_close_matches  # only a misspelled key needs it

            near = get_close_matches(str(key), known, 1)
            raise ConfigError(
                f"{name}: unknown key {where}{key}.",
                f"Did you mean {where}{near[0]}?"
                if near
                else f"Known keys: {', '.join(sorted(known))}.",
            )
        _check_keys(inner, known[key], name, f"{where}{key}.")


def split_front(text: str) -> tuple[str, str]:
    """Return the YAML and the rest, each without the lines between them; a text that does not begin
    with one has no YAML. Raises ValueError when the YAML has no end.

    The YAML begins with as many empty lines as stand above it, so that a parser names the file's
    lines.
    """
    first, *lines = text.split("\n")
    if first.rstrip() != "---":
        return "", text
    for number, line in enumerate(lines):
        if line.rstrip() == "---":
            return "\n".join(["", *lines[:number]]), "\n".join(lines[number + 1 :])
    raise ValueError("the line --- that ends its beginning is missing")


def read_yaml(data: bytes, name: str) -> Any:
    """Read YAML, which must be UTF-8; nothing in it is carried out. Raises ConfigError."""
    import yaml  # only a file needs it

    try:
        return yaml.safe_load(data.decode())
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name} is not UTF-8.") from error
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{name}{line}: {error.problem or 'not valid YAML'}.") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:  # ValueError: 2026-02-30
        raise ConfigError(f"{name} is not valid YAML.") from error
