"""The command config: shows settings, changes one for this run, and saves it in the config file."""

from __future__ import annotations

import contextlib
import copy
import re
import stat
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

from chat_loop.characters import one_line
from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import OptionValues, registry
from chat_loop.config import NAMED, OLD_KEYS, Config, old_key_text, overlay, parse
from chat_loop.conversation.conversation_options import AT_START, KEPT, options_of
from chat_loop.errors import ConfigError, SaveError, UsageError, os_reason
from chat_loop.redact import redact_text
from chat_loop.sessions.files import Files
from chat_loop.yaml_files import Source, read_yaml

AT_ONCE = ("auto_compact", "context", "resume.acknowledge", "status", "display.theme")
"""The settings and sections that affect a running chat; the others are read when one starts."""


@registry.command("config [KEY [VALUE]]", "View", flags=("save", "session"), shows=r"\S*")
async def config(chat: Chat, argument: str, options: OptionValues) -> None:
    """Show the settings that you changed, or one; /config KEY VALUE changes it for this run.

    /config all                        every setting, with its default
    /config auto_compact               a section, with its defaults
    /config display.theme light        change a setting until you quit
    /config auto_compact.summary_on_exit later --save
    --save                             change it in the config file, too; its comments stay
    --session                          keep a key of auto_compact in this conversation
    Settings of an agent's file count over the config file, options of the command line over both,
    and those of the conversation over all; /config KEY --session takes one of them away.
    """
    key, _, value = argument.partition(" ")
    if key in OLD_KEYS:
        chat.display.prose(old_key_text(key), "dim")
        key = OLD_KEYS[key]
    if "session" in options:
        if key not in KEPT or "save" in options:
            raise UsageError("--session keeps keys of auto_compact only, and without --save.")
        text = settings_of(_with_value(chat, key, value)[1])[key][0] if value else ""
        chat.conversation.keep_setting(key, text)
    elif value:
        _change(chat, key, value, save="save" in options)
        return
    elif options:
        raise UsageError("What should be saved?", "/config KEY VALUE --save changes a setting.")
    display = chat.display
    settings = settings_of(chat.config)
    kept = chat.conversation.session.settings.items()
    in_force = settings_of(chat.conversation.options.config)
    own = {name: in_force[name] for name, text in kept if name in KEPT and text in in_force[name]}
    settings |= own
    origins = dict.fromkeys(chat.changed, "this run") | dict.fromkeys(own, "this conversation")

    def row(name: str) -> tuple[str, str]:
        text, default = settings[name]
        notes = [origins[name]] if name in origins else []
        if key and text != default:
            notes += [f"by default: {default}"]
        return name, f"{text} ({'; '.join(notes)})" if notes else text

    if key:
        named = _named(key.rstrip(".:"), settings) if key != "all" else settings
        display.lines(map(row, named))
        return
    path = dict(chat.facts).get("Config", "")
    missing = "" if Path(path).expanduser().exists() else " (there is none yet)"  # noqa: ASYNC240 - a local file
    display.line(f"Config: {one_line(path, 2000)}{missing}")
    changed = [name for name, (text, default) in settings.items() if text != default or name in own]
    display.lines(map(row, changed))
    if not changed:
        display.line("All settings are at their defaults; /config all shows them.", "dim")


def _named(key: str, settings: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    """Return the setting called `key`, or all settings of that section. Raises UsageError."""
    wanted = {}
    for name, texts in settings.items():
        if f"{name}.".startswith(f"{key}."):
            wanted[name] = texts
    if not wanted:
        sections = {name.partition(".")[0] for name in settings}
        near = get_close_matches(key, [*settings, *sections], 1)
        hint = "/config all shows every setting."
        if near:
            hint = f"Did you mean {near[0]}?"
        raise UsageError(f"No setting named {key[:60]}.", hint)
    return wanted


def _change(chat: Chat, key: str, text: str, *, save: bool) -> None:
    """Change a setting in the running chat if it can change there, and with `save` in the file.
    Raises ConfigError, UsageError and SaveError.
    """
    section = key.partition(".")[0]
    if section in (*NAMED, "agents"):
        raise UsageError(f"{section} cannot be changed here.", "Edit the config file.")
    _named(key, settings_of(Config()))
    value, new = _with_value(chat, key, text)
    if key not in settings_of(new):
        raise UsageError(f"{key} has several settings.", f"/config {key} lists them.")
    follows = key not in AT_START and any(f"{key}.".startswith(f"{part}.") for part in AT_ONCE)
    if not (follows or save):
        hint = f"/config {key} {text} --save changes it for the next start."
        raise UsageError(f"{key} is read when a chat starts.", hint)
    where = "until you quit"
    if save:
        path = Path(dict(chat.facts)["Config"]).expanduser()
        save_setting(path, key, value, text)
        where = f"in {path}, from the next start on"
        if follows:
            where = f"in {path}"
    if follows:
        chat.config = new
        before = chat.conversation.options
        chat.changed.add(key)
        if section not in ("status", "display"):
            chat.conversation.configure(options_of(new, before.summarizer, before.semantic))
        if key == "display.theme" and chat.display.theme:  # else replies are not rendered
            chat.display.theme = new.display.theme
    kept = chat.conversation.session.settings.get(key, "")
    kept = kept and f"; this conversation keeps {kept}"
    chat.display.prose(f"{key}: {settings_of(new)[key][0]}, {where}{kept}.", "dim")


def _with_value(chat: Chat, key: str, text: str) -> tuple[object, Config]:
    """Parse `text` as a value. Return it, and the config with it. Raises ConfigError."""
    section, _, name = key.partition(".")
    value = read_yaml(text.encode(), "The value")
    return value, overlay(
        chat.config, {section: {name: value} if name else value}, Source("/config")
    )


def save_setting(path: Path, key: str, value: object, text: str) -> None:
    """Write one setting into a config file and leave its other bytes, its mode and a link to it
    unchanged. Raises ConfigError, and SaveError, also if the setting is not on its own line in the
    file.
    """
    section, _, name = key.rpartition(".")
    found: object = None
    try:
        before = b""
        if path.exists():
            before = path.read_bytes()
        wanted = copy.deepcopy(read_yaml(before, str(path))) or {}
        (wanted.setdefault(section, {}) if section else wanted)[name] = value
        after = with_setting(before.decode(), section, name, text).encode()
        with contextlib.suppress(ConfigError):
            found = read_yaml(after, str(path))
        if found != wanted:
            raise ValueError(f"{key} is not on a line of its own")
        parse(after, str(path))
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = None
        if path.exists():
            mode = path.stat().st_mode
        Files().replace(path.resolve(), after)
        if mode is not None:
            Files().set_mode(path.resolve(), stat.S_IMODE(mode))
    except (OSError, ValueError, TypeError, AttributeError) as error:
        reason = os_reason(error) if isinstance(error, OSError) else str(error)
        raise SaveError(f"{path} cannot be changed: {reason}.", "Edit the file.") from error


def with_setting(before: str, section: str, name: str, text: str) -> str:
    """Return the text of a YAML file with the line of a setting replaced or added.

    All other lines and their ends stay; a new line ends as the first one does.
    """
    lines = re.findall(r"[^\n]*\n|[^\n]+", before)
    end = "\r\n" if before.partition("\n")[0].endswith("\r") else "\n"
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += end
    first = 0
    last = len(lines)
    indent = ""
    if section:
        heads = [at for at, line in enumerate(lines) if line.startswith(f"{section}:")]
        if not heads:
            return "".join([*lines, f"{section}:{end}", f"  {name}: {text}{end}"])
        first = heads[-1] + 1
        last = next((at for at in range(first, last) if re.match(r"[^ #\r\n]", lines[at])), last)
        inner = [re.match("( +)[^ #]", line) for line in lines[first:last]]
        indent = next((found[1] for found in inner if found), "  ")
    for at in range(first, last):
        if found := re.fullmatch(rf"({indent}{name}:)(?: .*?)??( +#.*?)?(\r?\n)", lines[at]):
            lines[at] = f"{found[1]} {text}{found[2] or ''}{found[3]}"
            return "".join(lines)
    lines.insert(first if section else last, f"{indent}{name}: {text}{end}")
    return "".join(lines)


def settings_of(config: Config) -> dict[str, tuple[str, str]]:
    """Return every setting and its default by its full key, as text, without secrets."""
    settings: dict[str, tuple[str, str]] = {}

    def collect(value: object, default: object, parts: tuple[str, ...]) -> None:
        if isinstance(value, Struct):
            defaults = default
            if not isinstance(default, Struct):
                defaults = type(value)()
            for name, inner in asdict(value).items():
                collect(inner, getattr(defaults, name), (*parts, name))
        elif isinstance(value, Mapping) and value:
            for name, inner in value.items():
                collect(inner, None, (*parts, str(name)))
        else:
            settings[".".join(parts)] = _setting_text(value, parts), _setting_text(default, parts)

    collect(config, Config(), ())
    return settings


def _setting_text(value: object, parts: tuple[str, ...]) -> str:
    if value is None or value == {}:
        return "not set"
    if isinstance(value, bool):
        return str(value).lower()
    text = f"[{', '.join(map(str, value))}]" if isinstance(value, tuple | list) else str(value)
    if not text:
        return "empty"
    if parts[-1] == "args" or {"headers", "env"}.intersection(parts[:-1]):  # keys, often
        return "(not shown)"
    if parts[-1].endswith("url") or parts == ("library",):
        text = re.sub(r"\?.+", "?…", text, flags=re.DOTALL)
    return one_line(redact_text(re.sub(r"//[^/@\s]{1,200}@", "//…@", text)), 200)
