"""`chat-loop doctor --report`: what a report of a bug needs, without anything private.

The rule does not look for secrets; it lists what may be shown: numbers, true and false, and words
that the program itself knows, such as the names of providers, models and tools. Everything else
that a user can write is left out, wherever it stands. So are all findings that may quote it.
"""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import get_type_hints

from msgspec import Struct

from chat_loop.agent import builtin
from chat_loop.config import Config, words_of
from chat_loop.providers import catalogue, prices
from chat_loop.providers.models import store
from chat_loop.redact import redact_text
from chat_loop.terminal import columns, encoding
from chat_loop.values import Finding, plural

NOT_SHOWN = "(not shown)"
OURS = re.compile(r"Python|chat-loop|Extra \w+|(Sessions|Data|Config) folder")
"""The names of findings whose text is the program's own, apart from the paths of folders."""
COUNTS = ("Sessions", "Index")
"""The names of findings whose text is a count if all is well, and else may quote a file's name."""
OTHER_VARIABLES = (
    *("CHAT_LOOP_HOME", "NO_COLOR", "COLORTERM", "TMUX", "SSH_TTY"),
    *("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", catalogue.AZURE_ENDPOINT),
)
"""Variables that change what the program does, beside those of the keys."""


def public(finding: Finding) -> Finding:
    """Return a finding without what a user may have written, and without its hint."""
    is_count = finding.state == "ok" and finding.name in COUNTS
    if OURS.fullmatch(finding.name) is None and not is_count:
        return Finding(finding.state, finding.name, NOT_SHOWN)
    return Finding(finding.state, finding.name, redact_text(without_names(finding.text)))


def without_names(text: str) -> str:
    """Return a text in which `~` replaces home folders, and the user's name in other paths."""
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home raises
    names = {home.name}
    with suppress(KeyError, OSError):  # an account without a name
        names.add(getpass.getuser())
    if home.name:  # else it is the root
        for folder in (home, home.resolve()):
            text = re.sub(rf"{re.escape(str(folder))}(?=[/,:\s]|$)", "~", text)
    text = re.sub(r"(?<!\S)/(?:home|Users)/[^/,:\s]+", "~", text)
    for name in filter(None, names):
        text = re.sub(rf"(?<=/){re.escape(name)}(?=[/,:\s]|$)", "~", text, flags=re.IGNORECASE)
    return text


def surroundings() -> Iterator[tuple[str, str]]:
    """Yield what is around the program, each with its name: libraries, terminal, variables."""
    versions = []
    for requirement in metadata.requires("chat-loop") or ():
        if "extra ==" not in requirement:
            name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
            versions.append(f"{name} {_version(name)}")
    yield "Libraries", ", ".join(sorted(versions))
    width = columns(unknown=0)
    kind = os.environ.get("TERM", "")
    if not re.fullmatch(r"[\w.+-]{1,40}", kind, re.ASCII):
        kind = "none"
    size = f"{width} columns" if width else "not a terminal"
    yield "Terminal", f"{kind}, {encoding()}, {size}"
    variables = set(OTHER_VARIABLES)
    for entry in catalogue.CATALOGUE.values():
        variables.update(entry.keys)
    found = sorted(name for name in variables if os.environ.get(name))
    yield "Variables", ", ".join(found) or "none of those that chat-loop reads"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "is missing"


def changed_settings(config: Config) -> Iterator[str]:
    """Yield a line for each setting that is not at its default."""
    for line in _changed(config, Config(), ""):
        yield redact_text(line)


def _changed(section: Struct, usual: Struct, prefix: str) -> Iterator[str]:
    """Yield the lines of a section that is called `prefix`, a name that ends in a dot."""
    for name, kind in get_type_hints(type(section)).items():
        value = getattr(section, name)
        default = getattr(usual, name)
        if isinstance(value, Struct):
            yield from _changed(value, default, f"{prefix}{name}.")
        elif isinstance(value, Mapping):
            yield from _entries(value, f"{prefix}{name}")
        elif value != default:
            yield f"{prefix}{name}: {_shown(value, kind)}"


def _entries(entries: Mapping[str, object], prefix: str) -> Iterator[str]:
    """Yield how many entries a mapping has, and the settings of those that are sections."""
    if entries:
        yield f"{prefix}: {plural(len(entries), 'entry')}"
    for name, value in entries.items():
        if isinstance(value, Struct):
            yield from _changed(value, type(value)(), f"{prefix}.{_word(name, ())}.")


def _shown(value: object, kind: object) -> str:
    """Return a value as the report has it. `kind` is the type that its setting takes."""
    if isinstance(value, tuple):
        return f"[{', '.join(_shown(each, kind) for each in value)}]"
    if not isinstance(value, str):
        return str(value).lower()
    provider, colon, model = value.partition(":")
    if colon and provider in catalogue.CATALOGUE:
        return f"{provider}:{_word(model, ())}"
    return _word(value, words_of(kind))


def _word(text: str, words: tuple[str, ...]) -> str:
    """Return a text that the program knows or that is one of its setting's `words`."""
    if not text:
        return "empty"
    if text in words or text in _known():
        return text
    return NOT_SHOWN


@cache
def _known() -> frozenset[str]:
    """Return the names of providers, models and tools that the program knows."""
    embedded = (model.name for model in store.CATALOGUE)
    usual = (entry.model for entry in catalogue.CATALOGUE.values())
    tools = (*builtin.SPECS, "all")
    return frozenset((*catalogue.CATALOGUE, *embedded, *usual, *tools, *prices.listed_names()))
