"""Settings: a frozen value, read once from YAML. `config.example.yaml`, which is installed beside
this module, shows every key.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import replace

from chat_loop.errors import ConfigError
from chat_loop.redact import find_secrets
from chat_loop.values import Parameters
from chat_loop.yaml_files import Source, read_yaml

REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""A reference to an environment variable in a value that may contain one."""
MAX_BYTES = 256 * 1024
EXAMPLE = f"{Path(__file__).with_name('config.example.yaml')} shows every key."
DESCRIPTORS = Path("/dev/fd")
"""The folder of pipes that a shell makes for `--config <(command)`."""

WantedField = Literal[
    "thinking", "reasoning_content", "reasoning", "reasoning_details", "extra_content"
]
"""What a service may want back with its calls, by its name on the wire."""
StatusPart = Literal["context", "cost", "summary", "model", "tokens", "session"]
STATUS: tuple[StatusPart, ...] = get_args(StatusPart)
Count = Annotated[int, Meta(ge=0, le=10**9)]
TokenLimit = Annotated[int, Meta(ge=100, le=10**9)]
Share = Annotated[float, Meta(gt=0, le=1)]
Effort = Literal["", "off", "minimal", "low", "medium", "high", "xhigh", "max", "default"]
OURS = ("messages", "model", "stream", "system", "tools")
"""The parameters of a request that the conversation decides about, so that `extra` may not."""


class Section(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the settings. An unknown key is an error, not silently ignored."""


class AgentConfig(Section, frozen=True):
    default: str = ""
    name: str = "Assistant"
    system_prompt: str = "You are a helpful assistant. Answer clearly and to the point."
    summary_instructions: str = ""
    tools: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        path = Path(self.default)
        if path.name != self.default and not (path.is_absolute() or path.parts[0][0] == "~"):
            raise ValueError(f"default must be a name or a whole path, not {self.default}")


class ToolsConfig(Section, frozen=True):
    timeout: Annotated[float, Meta(gt=0)] = 60.0
    max_steps: Annotated[int, Meta(ge=1, le=10**6)] = 12


class SessionsConfig(Section, frozen=True):
    directory: str = ""
    auto_resume: bool = False
    store: str = ""

    def __post_init__(self) -> None:
        if self.store and not re.fullmatch(r"(s3|gs|az)://[\w.-]+(/[\w./-]*)?", self.store, re.A):
            raise ValueError("store must be s3://BUCKET/PREFIX, or the same with gs:// or az://")


class SearchConfig(Section, frozen=True):
    meaning: bool = True


class ResumeConfig(Section, frozen=True):
    mode: Literal["auto", "summary", "full"] = "auto"
    acknowledge: bool = True


class ContextConfig(Section, frozen=True):
    max_history_messages: Count = 0
    max_history_tokens: Count = 0
    attach_from_archive: bool = True


class AutoCompactConfig(Section, frozen=True):
    enabled: bool = True
    trigger_threshold: Share = 0.8
    compact_ratio: Share = 0.4
    target_compression: Share = 0.75
    preserve_recent: Count = 10
    use_ai_summary: bool = True
    summary_provider: str = ""
    summary_model: str = ""
    summary_max_tokens: TokenLimit = 2048
    summary_timeout: float = 120.0
    summary_on_exit: Literal["", "wait", "background", "later"] | bool = ""
    show_summary_markers: bool = False
    compact_on_resume: bool = False


class LimitsConfig(Section, frozen=True):
    session_cost: Annotated[float, Meta(ge=0)] = 0.0
    day_cost: Annotated[float, Meta(ge=0)] = 0.0


class MemoryConfig(Section, frozen=True):
    enabled: bool = True
    max_tokens: TokenLimit = 1500


class InputConfig(Section, frozen=True):
    keys: Literal["emacs", "vi"] = "emacs"


class DisplayConfig(Section, frozen=True):
    markdown: bool = True
    theme: Literal["auto", "dark", "light"] = "auto"
    wrap: Literal["words", "terminal"] = "words"


class ProviderConfig(Section, frozen=True):
    """Settings of one provider. Empty, 0 or None keeps the value of the catalogue."""

    base_url: str = ""
    api_key_env: str = ""
    model: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    tools: bool | None = None
    wants_back: tuple[WantedField, ...] | None = None
    max_tokens: Count = 0
    region: str = ""
    profile: str = ""
    context: Count = 0
    threads: Count = 0

    def __post_init__(self) -> None:
        # names are shown, but never keys: a key must not be given as its variable's name
        name = self.api_key_env
        plain = re.fullmatch(r"[A-Za-z_]\w{0,23}|(?=\w*_)[A-Za-z_]\w{0,63}", name, re.A)
        if name and (not plain or find_secrets(name)):
            raise ValueError("api_key_env takes the name of a variable, such as MY_KEY, not a key")


class ModelConfig(Section, frozen=True):
    window: int = 0
    images: bool | None = None
    input_price: float | None = None
    output_price: float | None = None
    effort: Effort | bool = ""  # YAML reads off as false
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    max_tokens: Count = 0
    extra: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.effort is True:
            raise ValueError(f"effort takes {', '.join(get_args(Effort)[1:])}, not true")
        if ours := [name for name in OURS if name in self.extra]:
            raise ValueError(f"extra cannot set {ours[0]}: the conversation decides about it")

    @property
    def parameters(self) -> Parameters:
        """How the model is asked to answer."""
        effort = str(self.effort)
        if self.effort is False:
            effort = "off"
        return Parameters(
            effort=effort,
            temperature=self.temperature,
            top_p=self.top_p,
            max_tokens=self.max_tokens or None,
        )


class McpServer(Section, frozen=True):
    """An MCP server: a command to start, or the URL of a running one. `timeout` is in seconds."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: Annotated[float, Meta(ge=1, le=600)] = 20.0
    tools: tuple[str, ...] = ()
    ask: bool = True
    unasked: tuple[str, ...] = ()
    enabled: bool = True

    @property
    def fault(self) -> str:
        """The rule that the server breaks; empty when there is none."""
        command = self.command
        url = self.url
        local = bool(self.args or self.env or self.cwd)
        rules = {
            "it needs a command or a url, and only one of them": bool(command) != bool(url),
            "args, env and cwd go with a command": command or not local,
            "headers go with a url": url or not self.headers,
            "a url begins with http:// or https://": command or re.match("https?://", url),
        }
        return next((rule for rule, kept in rules.items() if not kept), "")


class Config(Section, frozen=True):
    """All settings. An empty string or a zero means "choose for me"."""

    model: str = ""
    library: str = ""
    discover_servers: bool = True
    agent: AgentConfig = AgentConfig()
    tools: ToolsConfig = ToolsConfig()
    sessions: SessionsConfig = SessionsConfig()
    search: SearchConfig = SearchConfig()
    resume: ResumeConfig = ResumeConfig()
    context: ContextConfig = ContextConfig()
    auto_compact: AutoCompactConfig = AutoCompactConfig()
    limits: LimitsConfig = LimitsConfig()
    memory: MemoryConfig = MemoryConfig()
    status: tuple[StatusPart, ...] = STATUS
    input: InputConfig = InputConfig()
    display: DisplayConfig = DisplayConfig()
    providers: Mapping[str, ProviderConfig] = field(default_factory=dict)
    models: Mapping[str, ModelConfig] = field(default_factory=dict)
    mcp: Mapping[str, McpServer] = field(default_factory=dict)
    agents: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    plugins: Mapping[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.library and not re.match("postgres(ql)?://", self.library):
            raise ValueError("library must be postgresql://HOST/DATABASE")

    @property
    def windows(self) -> dict[str, int]:
        """Return the windows that the user set, by model name, in tokens."""
        return {name: model.window for name, model in self.models.items() if model.window > 0}

    @property
    def images(self) -> dict[str, bool]:
        """Return the image support that the user set, by model name."""
        models = self.models.items()
        return {name: model.images for name, model in models if model.images is not None}


NAMED = {
    "providers": (ProviderConfig, r"[a-z0-9][a-z0-9_-]{0,31}", "a-z, 0-9, - and _"),
    "models": (ModelConfig, r"(?s).+", "any characters"),
    "mcp": (McpServer, r"(?a)[\w-]{1,32}", "1 to 32 letters, digits, - and _"),
}
"""The sections whose entries have names: the type of an entry, and the form of its name."""

OLD_KEYS = {
    "summary.on_exit": "auto_compact.summary_on_exit",
    "summary.timeout": "auto_compact.summary_timeout",
    "restoration.acknowledge": "resume.acknowledge",
}
"""Settings that have another name today. The old names work until 1.0."""

TYPE_WORDS = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "array": "a list",
    "object": "a mapping",
    "null": "nothing",
}
"""What messages call the types of YAML."""

WRITING = {
    ("str", "bool"): "Write text in quotes: YAML reads yes, no, on and off as true and false.",
    ("str", "int"): "Write text in quotes.",
    ("str", "float"): "Write text in quotes.",
    ("int", "str"): "Write the number with digits only, such as 1000.",
    ("float", "str"): "Write the number without an exponent or a unit, such as 1000 or 0.5.",
    ("float | null", "str"): "Write the number without an exponent or a unit, such as 0.5.",
    ("bool", "str"): "Write true or false.",
    ("bool | null", "str"): "Write true or false.",
}
"""How to write a value of the expected type (first) that YAML has read as another (second)."""


class Paths(Struct, frozen=True):
    """The config file, the data folder, and the folder of what only this machine needs."""

    config: Path
    data: Path
    state: Path

    @property
    def log(self) -> Path:
        return self.state / "chat-loop.log"

    @property
    def models(self) -> Path:
        return self.data / "models"

    @property
    def history(self) -> Path:
        return self.data / "history"

    def sessions(self, config: Config, override: str = "") -> Path:
        """Return the sessions folder: `override`, or else the config's, or else the default one."""
        chosen = override or config.sessions.directory
        if chosen:
            return expand_home(chosen).absolute()
        return self.data / "sessions"


def find_paths(environment: Mapping[str, str] = os.environ) -> Paths:
    """Return the platform's folders, or CHAT_LOOP_HOME for both. Raises ConfigError."""
    if home := environment.get("CHAT_LOOP_HOME", ""):
        base = expand_home(home).absolute()
        return Paths(base / "config.yaml", base, base)
    import platformdirs  # not needed with CHAT_LOOP_HOME

    return Paths(
        Path(platformdirs.user_config_dir("chat-loop", appauthor=False)) / "config.yaml",
        Path(platformdirs.user_data_dir("chat-loop", appauthor=False)),
        Path(platformdirs.user_state_dir("chat-loop", appauthor=False)),
    )


def expand_home(path: str) -> Path:
    """Return a path with `~` replaced by the home directory. Raises ConfigError without one."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        message = f"{path} names a user who does not exist."
        raise ConfigError(message, "Give the whole path.") from None


def expand_variables(values: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return `values` with each `${NAME}` replaced by the environment's. Raises ConfigError."""

    def value_of(reference: re.Match[str]) -> str:
        if value := environment.get(reference[1]):
            return value
        message = f"The environment variable {reference[1]} is not set."
        raise ConfigError(message, f"export {reference[1]}=… sets it.")

    return {key: REFERENCE.sub(value_of, value) for key, value in values.items()}


def choose_servers(
    servers: Mapping[str, McpServer], names: Collection[str], folder: Path, own: Collection[str]
) -> dict[str, McpServer]:
    """Return the servers called `names`. For the `own` servers of an agent, `cwd` is relative to
    `folder`. Raises ConfigError for an unknown name.
    """
    chosen = {}
    for name in names:
        if name not in servers:
            hint = f"The config has: {', '.join(servers) or 'none'}."
            raise ConfigError(f"No MCP server named {name[:32]}.", hint)
        chosen[name] = servers[name]
        if name in own and chosen[name].cwd:
            cwd = folder / Path(chosen[name].cwd).expanduser()
            chosen[name] = replace(chosen[name], cwd=str(cwd))
    return chosen


def load_config(path: Path, *, required: bool, on_old_key: Callable[[str], object] = str) -> Config:
    """Read a config file. If it is missing and not `required`, use defaults. `on_old_key` gets each
    old key in it. Raises ConfigError.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise ConfigError(f"The config file {path} is a folder.", "Name a file in it.")
        if stat.S_ISFIFO(mode) and path.parent != DESCRIPTORS:
            message = f"The config file {path} is a named pipe, which may never end."
            raise ConfigError(message, "Make it a regular file.")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        if not required:
            return Config()
        raise ConfigError(f"No config file at {path}.", EXAMPLE) from None
    except OSError as error:
        raise ConfigError(f"The config file {path} cannot be read: {error.strerror}.") from error
    if len(data) > MAX_BYTES:
        raise ConfigError(f"The config file {path} is larger than {MAX_BYTES // 1024} KB.")
    return parse(data, str(path), on_old_key)


def parse(data: bytes, name: str, on_old_key: Callable[[str], object] = str) -> Config:
    """Read a config from YAML bytes. Messages call the file `name`; `on_old_key` gets each old key.
    Raises ConfigError.
    """
    value = read_yaml(data, name)
    source = Source(name, data.decode())
    config = Config() if value is None else _config_of(value, source, "", on_old_key)
    for agent, settings in config.agents.items():
        overlay(config, settings, source, f"agents.{agent}.")
    return config


def overlay(
    config: Config, settings: Mapping[str, object], source: Source, where: str = ""
) -> Config:
    """Return `config` with `settings` replacing its values key by key. Raises ConfigError.

    `where` is the key path of the settings in `source`, such as `agents.Sally.`.
    """
    merged = msgspec.to_builtins(config)
    for key, value in _renamed(settings, source, where).items():
        wrong = ""
        if key == "agents":
            wrong = f"{where}agents"
        elif key == "agent" and isinstance(value, Mapping) and "default" in value:
            wrong = f"{where}agent.default"
        if wrong:
            raise ConfigError(f"{source.at(wrong)}: {wrong} cannot be set for one agent.")
        before = merged.get(key)
        merged[key] = value
        if isinstance(value, Mapping) and isinstance(before, dict):
            merged[key] = {**before, **value}
    return _config_of(merged, source, where)


def _renamed(
    value: Mapping[str, object],
    source: Source,
    where: str,
    on_old_key: Callable[[str], object] = str,
) -> dict[str, object]:
    """Return the settings with today's names for old keys; a setting that has both keeps today's.
    Raises ConfigError for a wrong value, which the message calls as it is written.
    """
    settings = {**value}
    for old, new in OLD_KEYS.items():
        before, _, key = old.partition(".")
        section, _, today = new.partition(".")
        found = settings.get(before)
        others = settings.get(section, {})
        if not (isinstance(found, Mapping) and key in found and isinstance(others, Mapping)):
            continue
        kind = get_type_hints(type(getattr(Config(), section)))[today]
        convert(found[key], kind, source, f"{where}{old}")
        on_old_key(old)
        settings[section] = {today: found[key], **others}
        settings[before] = {name: kept for name, kept in found.items() if name != key}
    for old in OLD_KEYS:
        before = old.partition(".")[0]
        if settings.get(before) == {}:
            del settings[before]
    return settings


def old_key_text(old: str) -> str:
    """Return the sentence that says how an old key is written today."""
    return f"{old} is {OLD_KEYS[old]} now; {old} works until 1.0."


def _config_of(
    value: object, source: Source, where: str, on_old_key: Callable[[str], object] = str
) -> Config:
    """Return the config that `value` describes. Raises ConfigError."""
    if isinstance(value, Mapping):
        value = _renamed(value, source, where, on_old_key)
    for section, (kind, form, described) in NAMED.items():
        # entry by entry, because msgspec's messages leave out their names
        entries = None
        if isinstance(value, Mapping):
            entries = value.get(section)
        for key, entry in entries.items() if isinstance(entries, Mapping) else ():
            if not re.fullmatch(form, str(key)):
                at = source.at(f"{where}{section}.{key}")
                message = f"{at}: {where}{section}: “{str(key)[:80]}” is not a name."
                raise ConfigError(message, f"A name takes {described}.")
            convert(entry, kind, source, f"{where}{section}.{key}")
    config: Config = convert(value, Config, source, where.rstrip("."))
    for server, settings in config.mcp.items():
        if settings.fault:
            key_path = f"{where}mcp.{server}"
            raise ConfigError(f"{source.at(key_path)}: {key_path}: {settings.fault}.", EXAMPLE)
    return config


def convert(
    value: object, kind: object, source: Source, where: str = "", hint: str = EXAMPLE
) -> Any:
    """Return `value` as a `kind`; `where` is its key path in the source. Raises ConfigError."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        what, _, found = str(error).partition(" - at ")
    if found.startswith("`key`"):
        what = "a key is not text"
    path = found.rpartition("$")[2].strip(".`")
    for part in filter(None, path.split(".")):
        kind = get_type_hints(kind).get(part.partition("[")[0]) if isinstance(kind, type) else None
    key_path = ".".join(filter(None, (where, path)))
    if what.startswith("Object contains unknown field"):
        known = sorted(get_type_hints(kind))
        key = what.split("`")[1]
        below = f"{key_path}." if key_path else ""
        near = get_close_matches(key, known, 1)
        hint = f"Did you mean {below}{near[0]}?" if near else f"Known keys: {', '.join(known)}."
        raise ConfigError(f"{source.at(below + key)}: unknown key {below}{key}.", hint)
    if words := words_of(kind):
        hint = f"It takes {', '.join(words[:-1])} or {words[-1]}."
    elif found_hint := WRITING.get(tuple(re.findall("`(.*?)`", what))):
        hint = found_hint
    reason = re.sub("`(.*?)`", lambda type_name: _described(type_name[1]), what)
    reason = f"{reason[:1].lower()}{reason[1:]}"
    raise ConfigError(f"{source.at(key_path)}: {key_path or 'the top level'}: {reason}.", hint)


def words_of(kind: object) -> tuple[str, ...]:
    """Return the words that a setting of this type takes, none if it takes others, too."""
    if get_origin(kind) is Literal:
        return tuple(filter(None, get_args(kind)))
    words: list[str] = []
    for part in get_args(kind):
        words += words_of(part)
    return tuple(words)


def _described(type_name: str) -> str:
    """Return the words for a type in a message of msgspec, such as `bool | null`."""
    names = type_name.removesuffix(" | null").split(" | ")
    return " or ".join(TYPE_WORDS.get(name, name) for name in names)
