"""Reads YAML as it is written: nothing is set twice, and no number or date becomes another value.

A key without a value counts as not written, so that a section whose keys are all comments has its
defaults.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from chat_loop.errors import ConfigError

if TYPE_CHECKING:
    from yaml import MappingNode, Node, ScalarNode

_TAG = "tag:yaml.org,2002:"
_CHANGED = {
    "int": (
        (re.compile(r"[-+]?0[0-9_]+"), "a number that begins with 0 is octal in YAML"),
        (re.compile(r".*:.*"), "numbers with colons have the base 60 in YAML"),
    ),
    "float": ((re.compile(r".*:.*"), "numbers with colons have the base 60 in YAML"),),
    "timestamp": ((re.compile(r".*"), "YAML reads this as a date"),),
}
"""The plain values that YAML changes, by their type: their form, and what happens to them."""
_QUOTE = {
    "int": "Write a number without the 0 or the colons, and other text in quotes.",
    "float": "Write a number without the colons, and other text in quotes.",
    "timestamp": "Write it in quotes.",
}


class Source(Struct, frozen=True):
    """Where settings come from: the name for messages, and the text if it is a file in YAML."""

    name: str
    text: str = ""

    def at(self, key_path: str) -> str:
        """Return the name, with the line of the setting at `key_path` (`a.b.c`) if there is one."""
        import yaml

        node = None
        if self.text:
            node = yaml.compose(self.text, yaml.SafeLoader)
        if node is None:
            return self.name
        key = node
        while key_path and isinstance(node, yaml.MappingNode):
            found = _entry(node, key_path)
            if found is None:
                break
            key, node, key_path = found
        item = re.match(r"\[(\d+)\]", key_path)
        if item and isinstance(node, yaml.SequenceNode):
            key = node.value[int(item[1])]
        return f"{self.name}, line {_line(key)}"


def _entry(node: MappingNode, key_path: str) -> tuple[Node, Node, str] | None:
    """Return the key and the value with which `key_path` begins, and what is left of it."""
    for key, value in node.value:
        if not isinstance(key.value, str):  # it is not text, but a list or a mapping
            continue
        if key_path == key.value:
            return key, value, ""
        if key_path.startswith((f"{key.value}.", f"{key.value}[")):
            return key, value, key_path[len(key.value) :].removeprefix(".")
    return None


def read_yaml(data: bytes, name: str) -> Any:
    """Read YAML, which must be UTF-8 and can run no code. Messages call it `name`. Raises
    ConfigError.
    """
    import yaml  # only a file needs it

    try:
        loader = yaml.SafeLoader(data.decode())
        node = loader.get_single_node()
        if node is None:
            return None
        _check(node, name, room=len(data))
        return loader.construct_document(node)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name} is not UTF-8.") from error
    except yaml.MarkedYAMLError as error:
        line = ""
        if error.problem_mark:
            line = f", line {error.problem_mark.line + 1}"
        raise ConfigError(f"{name}{line}: {error.problem or 'not valid YAML'}.") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ConfigError(f"{name} is not valid YAML.") from error


def _check(root: Node, name: str, room: int) -> None:
    """Check a document, and drop its keys without a value. Raises ConfigError.

    Without aliases, each of its nodes takes at least a byte; there may be `room` of them.
    """
    import yaml

    nodes: list[tuple[Node, Node | None]] = [(root, None)]
    while nodes:
        node, key = nodes.pop()
        inner: list[tuple[Node, Node | None]] = []
        if isinstance(node, yaml.ScalarNode):
            _check_value(node, key, name)
        elif isinstance(node, yaml.MappingNode):
            _check_keys([key for key, _ in node.value if isinstance(key, yaml.ScalarNode)], name)
            node.value = [entry for entry in node.value if entry[1].tag != f"{_TAG}null"]
            inner = [(value, key) for key, value in node.value]
        elif isinstance(node, yaml.SequenceNode):
            inner = [(item, key) for item in node.value]
        room -= len(inner)
        if room < 0:
            raise ConfigError(f"{name}: its aliases (*) repeat too much.", "Write it without them.")
        nodes.extend(reversed(inner))


def _check_keys(keys: Iterable[ScalarNode], name: str) -> None:
    """Check that no key of a mapping is there twice; others may be merged into it repeatedly."""
    lines: dict[str, int] = {}
    for key in keys:
        if key.tag == f"{_TAG}merge":
            continue
        if key.value in lines:
            before = lines[key.value]
            line = _line(key)
            where = f"in lines {before} and {line}"
            if before == line:
                where = f"in line {line}"
            message = f"{name}: {key.value[:80]} is there twice, {where}."
            raise ConfigError(message, "Write it once, with everything that belongs to it.")
        lines[key.value] = _line(key)


def _check_value(node: ScalarNode, key: Node | None, name: str) -> None:
    kind = node.tag.removeprefix(_TAG)
    if node.style is not None or kind not in _CHANGED:
        return
    for form, problem in _CHANGED[kind]:
        if form.fullmatch(node.value):
            where = ""
            if key is not None:
                where = f": {str(key.value)[:80]}"
            message = f"{name}, line {_line(node)}{where}: {problem}."
            raise ConfigError(message, _QUOTE[kind])


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def split_front(text: str) -> tuple[str, str]:
    """Return the YAML between two `---` lines at the beginning, and the rest. Raises ValueError."""
    first, *lines = text.split("\n")
    if first.rstrip() != "---":
        return "", text
    for number, line in enumerate(lines):
        if line.rstrip() == "---":
            # the empty line makes a parser's line numbers match the file
            return "\n".join(["", *lines[:number]]), "\n".join(lines[number + 1 :])
    raise ValueError("the line --- that ends its beginning is missing")
