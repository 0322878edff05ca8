"""The layers of docs/architecture.md: imports point one way, and each library has one door."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1] / "chat_loop"

LAYERS = (
    (
        "values",
        "events",
        "errors",
        "redact",
        "tasks",
        "text",
        "characters",
        "caches",
        "terminal",
        "watchdog",
    ),
    ("yaml_files", "tokens", "config", "options"),
    ("sessions",),
    ("log", "memory", "store"),
    ("library",),
    ("team",),
    ("providers",),
    ("agent", "plugins"),
    ("context",),
    ("conversation",),
    ("display", "input", "browser", "export"),
    ("commands",),
    ("loop", "loader"),
    ("process", "consent"),
    ("parts",),
    ("assembly",),
    ("beginning", "relaunch"),
    ("headless", "interactive"),
    ("subcommands",),
    ("cli", "__main__"),
)
"""Lowest first: a module imports from its own layer or below; `events` imports only `values`."""

DOORS = {
    "anthropic": {"providers/anthropic.py", "providers/bedrock.py"},
    "openai": {"providers/openai.py"},
    "httpx2": {
        *(
            "providers/wire.py",
            "providers/stream.py",
            "providers/refusals.py",
            "providers/openai.py",
            "agent/mcp_connection.py",
        ),
        "providers/models/install.py",
    },
    "boto3": {"providers/bedrock.py"},
    "botocore": {"providers/bedrock.py"},
    "xllamacpp": {"providers/local_child.py"},
    "tiktoken": {"tokens.py"},
    "genai_prices": {"providers/prices.py"},
    "yaml": {"yaml_files.py"},
    "rich": {"display/styled_console.py"},
    "prompt_toolkit": {
        *("input/composer.py", "input/bottom.py", "input/host.py", "input/layout.py"),
        *("input/keys.py", "input/frames.py", "input/menu.py"),
        *("commands/completing.py", "input/history.py", "input/bursts.py"),
        *("input/sequences.py", "input/pasting.py"),
        *(
            "browser/app.py",
            "browser/list.py",
            "browser/message_picker.py",
            "browser/model_picker.py",
        ),
        *("browser/full_screen.py", "browser/row_list.py"),
    },
    "markdown_it": {
        *("export/markup.py", "display/markdown/inline.py", "display/markdown/blocks.py"),
        "display/markdown/dialect.py",
    },
    "platformdirs": {"config.py"},
    "wcwidth": {"display/sanitizer.py", "input/keys.py"},
    "termios": {"terminal.py"},
    "sqlite3": {"library/index.py", "export/histories.py", "store/state.py"},
    "obstore": {"store/client.py"},
    "psycopg": {"team/postgres.py"},
    "numpy": {"library/vectors.py"},
    "onnxruntime": {"library/vectors.py"},
    "tokenizers": {"library/vectors.py"},
    "mcp": {"agent/mcp_connection.py"},
    "mcp_types": {"agent/mcp_connection.py"},
    "anyio": {"agent/mcp_connection.py"},
    "pydantic": {"agent/functions.py"},
    "pydantic_core": {"agent/functions.py"},
    "docstring_parser": {"agent/functions.py"},
    "jsonschema": {"agent/mcp_tools.py"},
    "argcomplete": {"subcommands/completion.py"},
    "pypdf": {"conversation/pdf_child.py"},
    "PIL": {"conversation/image_child.py"},
}


@cache
def modules() -> list[tuple[str, ast.Module]]:
    return [
        (str(path.relative_to(ROOT)), ast.parse(path.read_text()))
        for path in sorted(ROOT.rglob("*.py"))
    ]


def dotted(node: ast.AST | None) -> str:
    """Return a name such as `open` or `os.write`, else an empty string."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def part(name: str) -> str:
    """The part of the package that a dotted name belongs to: the component after `chat_loop`."""
    return name.split(".")[1] if name.count(".") else ""


def layer_of(component: str) -> int:
    return next(number for number, layer in enumerate(LAYERS) if component in layer)


def test_every_part_has_a_layer() -> None:
    parts = {name.split("/")[0].removesuffix(".py") for name, _ in modules()} - {"__init__"}
    assert parts == {component for layer in LAYERS for component in layer}


def test_no_name_of_a_module_means_two() -> None:
    names = Counter(Path(name).stem for name, _ in modules())
    assert {name for name, number in names.items() if number > 1} == {
        "__init__",
        "plugins",  # `chat_loop.plugins` is public, and `chat-loop plugins` a subcommand
    }


def test_no_name_of_a_class_means_two() -> None:
    names = Counter(
        node.name
        for _, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    )
    assert {name for name, number in names.items() if number > 1} == set()


def test_imports_point_downward() -> None:
    upward = []
    for name, tree in modules():
        component = name.split("/")[0].removesuffix(".py")
        if component == "__init__":
            continue
        for target in imported(tree):
            ours = target.startswith("chat_loop.") and part(target) not in ("__version__",)
            if ours and layer_of(part(target)) > layer_of(component):
                upward.append(f"{name} imports {target}")
    assert upward == []


def test_no_modules_or_parts_import_each_other() -> None:
    names = {name.removesuffix(".py").replace("/", ".") for name, _ in modules()}
    imports: dict[str, set[str]] = {}
    for name, tree in modules():
        found = {target.removeprefix("chat_loop.") for target in imported(tree)}
        found |= {target.rpartition(".")[0] for target in found}  # a name of the module
        module = name.removesuffix(".py").replace("/", ".")
        imports[module] = (found & names) - {module}
    parts: dict[str, set[str]] = {}
    for module, others in imports.items():
        part_of = module.partition(".")[0]
        parts.setdefault(part_of, set()).update(other.partition(".")[0] for other in others)
    for part_of, others in parts.items():
        others.discard(part_of)
    assert _circles(imports) == []
    assert _circles(parts) == []


def _circles(imports: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups that import each other, directly or through others."""
    reached = {module: _reached(module, imports) for module in imports}
    circles = {
        frozenset(other for other in reached[module] if module in reached[other])
        for module in imports
        if module in reached[module]
    }
    return sorted(map(sorted, circles))


def _reached(module: str, imports: dict[str, set[str]]) -> set[str]:
    """Return the modules that a module imports, and those that they import, and so on."""
    found: set[str] = set()
    pending = [*imports[module]]
    while pending:
        other = pending.pop()
        if other not in found:
            found.add(other)
            pending += imports[other]
    return found


def test_each_library_has_one_door() -> None:
    found: dict[str, set[str]] = {library: set() for library in DOORS}
    for name, tree in modules():
        for target in imported(tree):
            library = target.split(".")[0]
            if library in found:
                found[library].add(name)
    assert {
        library: doors - DOORS[library]
        for library, doors in found.items()
        if doors - DOORS[library]
    } == {}


PRINTING = {
    *("display/display_manager.py", "display/plain.py", "display/nonblocking.py"),
    *("input/composer.py", "input/lines.py", "input/start.py", "input/ahead.py"),
    *("interactive.py", "headless.py", "cli.py", "terminal.py"),
    "agent/isolation.py",  # keeps the output of foreign code off the screen
    # these write to a pipe
    *("conversation/pdf_child.py", "conversation/image_child.py", "providers/local_child.py"),
}
WRITING = {*("sessions/files.py", "display/nonblocking.py", "input/ahead.py", "terminal.py")}
"""The modules that write to descriptors; the first one only to those of files."""
_STREAMS = {f"sys.{name}" for name in ("stdout", "stderr", "__stdout__", "__stderr__")}
_OPENING = {"open", "os.fdopen", "os.dup", "os.dup2"}


def prints(tree: ast.AST) -> Iterator[str]:
    """Yield what reaches standard output or error: `print`, a stream, or its descriptor."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and dotted(node) in _STREAMS:
            yield f"{node.lineno} uses {dotted(node)}"
        elif isinstance(node, ast.Call):
            called = dotted(node.func)
            first = node.args[0] if node.args else None
            is_stream = isinstance(first, ast.Constant) and first.value in (1, 2)
            if called == "print" or (called in _OPENING and is_stream):
                yield f"{node.lineno} calls {ast.unparse(node)}"


def writes(tree: ast.AST) -> Iterator[str]:
    """Yield the calls that write to a descriptor, whose number may be that of a stream."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and dotted(node) in ("os.write", "os.writev"):
            yield f"{node.lineno} uses {dotted(node)}"


def test_nothing_prints_outside_the_doors() -> None:
    found = {name: [*prints(tree)] for name, tree in modules()}
    assert {name: lines for name, lines in found.items() if lines and name not in PRINTING} == {}
    assert {name for name, tree in modules() if [*writes(tree)]} == WRITING


def test_the_prompt_loads_no_sdk() -> None:
    """Nothing that runs before the prompt may import an SDK, a tokenizer or rich."""
    code = """
import sys
import chat_loop.cli, chat_loop.interactive, chat_loop.input.composer, chat_loop.agent.builtin
import chat_loop.providers.anthropic, chat_loop.providers.openai, chat_loop.providers.scripted
heavy = {
    'anthropic', 'openai', 'httpx2', 'tiktoken', 'rich', 'xllamacpp', 'yaml', 'genai_prices',
    'sqlite3', 'markdown_it', 'pygments', 'numpy', 'onnxruntime', 'boto3', 'botocore', 'mcp', 'anyio',
    'pydantic', 'docstring_parser', 'psycopg', 'PIL',
}
print(sorted(heavy & set(sys.modules)))
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"


def test_the_instant_prompt_loads_nothing_but_itself() -> None:
    """Each module loaded before it delays the prompt; msgspec alone doubles the delay."""
    code = """
import sys
import chat_loop.cli
packages = {name.partition('.')[0] for name in sys.modules}
print(sorted(name for name in sys.modules if name.startswith('chat_loop')))
print(sorted({'msgspec', 'inspect', 'json', 'textwrap', 'asyncio', 'prompt_toolkit'} & packages))
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    modules = ["chat_loop", "chat_loop.cli", "chat_loop.errors", "chat_loop.input"]
    modules += ["chat_loop.input.ahead", "chat_loop.input.start", "chat_loop.terminal"]
    assert result.stdout == f"{modules}\n[]\n"


def test_a_list_loads_no_more_than_it_needs(tmp_path: Path) -> None:
    """Each of these takes some milliseconds, and an SDK still gets them afterwards."""
    code = """
import sys
from chat_loop.cli import main
assert main(['sessions', 'list']) == 0
print(sorted({'typing_extensions', 'inspect', '_hashlib', 'asyncio', 'rich'} & set(sys.modules)))
import typing_extensions
"""
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "CHAT_LOOP_HOME": str(tmp_path)},
    )
    assert result.stdout == "[]\n"


def test_the_architecture_page_names_the_parts_and_modules_that_exist() -> None:
    page = (ROOT.parent / "docs" / "architecture.md").read_text()
    table = page.partition("## The folders")[2].partition("\n## ")[0]
    first_cells = [line.split("|")[1] for line in table.split("\n") if line.startswith("| `")]
    parts = {name.rstrip("/") for cell in first_cells for name in re.findall(r"`([^`]+)`", cell)}
    assert parts == {
        path.name
        for path in ROOT.iterdir()
        if (path / "__init__.py").is_file() or path.suffix == ".py"
    } - {"__init__.py"}
    for name in re.findall(r"`([a-z_]+/[a-z_/.]*)`", page):
        assert any((folder / name).exists() for folder in (ROOT, ROOT.parent)), name
    members = {
        f"{node.name}.{member.name}"
        for _, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for member in node.body
        if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert set(re.findall(r"`([A-Z][a-z]\w+\.[a-z_]+)`", page)) <= members
