"""YAML, and markdown with YAML on top, between two lines `---` (pure)."""

from __future__ import annotations

from typing import Any

from chat_loop.errors import ConfigError


def split(text: str) -> tuple[str, str]:
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
