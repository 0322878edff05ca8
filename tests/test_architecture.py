"""The layers of docs/architecture.md: imports point one way, and each library has one door."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROOT = TESTS.parent / "chat_loop"

LAYERS = (
    ("values", "events", "errors", "redact", "tasks", "text"),
    ("tokens", "config", "options"),
    ("sessions",),
    ("log", "memory", "store"),
    ("library",),
    ("providers",),
    ("agent", "plugins"),
    ("context",),
    ("conversation",),
    ("display", "input", "browser", "export"),
    ("commands",),
    ("loop",),
    ("app", "headless", "interactive", "subcommands"),
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
    "yaml": {"config.py"},
    "rich": {"display/manager.py", "display/listings.py", "display/panels.py"},
    "prompt_toolkit": {
        *("input/composer.py", "input/layout.py", "input/keys.py", "input/frames.py"),
        *("commands/completing.py", "input/history.py", "input/bursts.py"),
        *("browser/app.py", "browser/list.py"),
    },
    "markdown_it": {
        *("export/markup.py", "display/markdown/inline.py", "display/markdown/blocks.py"),
    },
    "platformdirs": {"config.py"},
    "wcwidth": {"display/text.py", "input/keys.py"},
    "termios": {"input/start.py"},
    "sqlite3": {"library/index.py", "export/histories.py", "store/state.py"},
    "obstore": {"store/client.py"},
    "psycopg": {"library/postgres.py"},
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
}

SEAMS = {
    "an SDK, 0.3 to 1 s: warmed up behind the prompt": (
        *("anthropic", "openai", "botocore", "chat_loop.providers.bedrock"),
        *("chat_loop.agent.mcp_connection", "chat_loop.agent.functions"),
        "chat_loop.agent.external_agents",
    ),
    "the embedded engine and its server": ("xllamacpp", "chat_loop.providers.local", "http.client"),
    "the tokenizer and the prices": ("tiktoken", "genai_prices", "chat_loop.providers.prices"),
    "the index and the archive": ("chat_loop.library",),
    "export": ("chat_loop.export",),
    "tools that change something": ("chat_loop.agent.builtin",),
    "a terminal: pipes need none of it": (
        *("rich", "termios", "wcwidth", "chat_loop.input", "chat_loop.browser"),
        "chat_loop.display",
    ),
    "what a part of a conversation needs alone": (
        *("chat_loop.attach", "chat_loop.conversation.resume", "chat_loop.conversation.summaries"),
        "chat_loop.commands.session",
    ),
    "the command line: the prompt is drawn before it is read": (
        *("chat_loop.options", "chat_loop.config", "chat_loop.redact", "chat_loop.subcommands"),
    ),
    "an agent, which a list of sessions does not need": ("chat_loop.app",),
    "files, folders and words that few runs read": (
        *("yaml", "tomllib", "platformdirs", "importlib", "json", "urllib.parse"),
    ),
}
"""The reason for importing inside a function -> what is imported."""
LATE = 59
"""The number of imports inside functions."""


TESTED_ELSEWHERE = {
    "__main__.py": "program",
    "cli.py": "program",
    "interactive.py": "program/test_start.py",
    "errors.py": "program/test_hints.py",
    "library/engine.py": "library/test_search.py",
    "events.py": "display/test_manager.py",
    "values.py": "context/test_messages.py",
    "commands/chat.py": "test_loop.py",
    "conversation/options.py": "commands/test_settings_kept.py",
    "display/clipboard.py": "commands/test_transfer_copy.py",
    "display/listings.py": "commands/test_session_lists.py",
    "display/plain.py": "test_headless.py",
    "display/preview.py": "browser/test_list.py",
    "display/reply.py": "display/test_manager.py",
    "display/markdown/code.py": "display/markdown/test_stream.py",
    "display/markdown/flow.py": "display/markdown/test_stream.py",
    "display/markdown/table.py": "display/markdown/test_stream.py",
    "display/markdown/theme.py": "commands/test_view_theme.py",
    "export/documents.py": "export/test_exporting.py",
    "export/markup.py": "export/test_exporting.py",
    "input/frames.py": "input/test_composer.py",
    "input/layout.py": "input/test_composer.py",
    "input/start.py": "terminal",
    "providers/scripted.py": "subcommands/test_tour.py",
    "sessions/images.py": "conversation/test_attachments.py",
    "sessions/records.py": "sessions/test_parser.py",
    "subcommands/mcp.py": "program/test_mcp.py",
    "subcommands/models.py": "test_headless.py",
    "subcommands/plugins.py": "test_plugins.py",
}
"""A module without its own test file -> the file or folder of `tests/` that tests it."""


@cache
def modules() -> list[tuple[str, Path, ast.Module]]:
    return [
        (str(path.relative_to(ROOT)), path, ast.parse(path.read_text()))
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
    parts = {name.split("/")[0].removesuffix(".py") for name, _, _ in modules()} - {"__init__"}
    assert parts == {component for layer in LAYERS for component in layer}


def test_imports_point_downward() -> None:
    upward = []
    for name, _, tree in modules():
        component = name.split("/")[0].removesuffix(".py")
        if component == "__init__":
            continue
        for target in imported(tree):
            ours = target.startswith("chat_loop.") and part(target) not in ("__version__",)
            if ours and layer_of(part(target)) > layer_of(component):
                upward.append(f"{name} imports {target}")
    assert upward == []


def test_each_library_has_one_door() -> None:
    found: dict[str, set[str]] = {library: set() for library in DOORS}
    for name, _, tree in modules():
        for target in imported(tree):
            library = target.split(".")[0]
            if library in found:
                found[library].add(name)
    assert {
        library: doors - DOORS[library]
        for library, doors in found.items()
        if doors - DOORS[library]
    } == {}


def test_what_is_imported_late_stands_at_a_seam() -> None:
    seams = [f"{target}." for targets in SEAMS.values() for target in targets]
    wrong, number = [], 0
    for name, _, tree in modules():
        kinds = ast.FunctionDef | ast.AsyncFunctionDef
        functions = [node for node in ast.walk(tree) if isinstance(node, kinds)]
        late = {
            node
            for function in functions
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
        number += len(late)
        for node in late:
            targets = [f"{target}." for target in imported(node)]
            if not all(any(target.startswith(seam) for seam in seams) for target in targets):
                wrong.append(f"{name}:{node.lineno}: {ast.unparse(node)}")
    assert wrong == []
    assert number <= LATE


def test_display_prompt_and_browser_know_only_values() -> None:
    allowed = {"values", "events", "errors", "tasks", "display", "input", "__version__"} | {
        "sessions.records",
    }
    wrong = []
    for name, _, tree in modules():
        browser = name.startswith("browser/")
        if browser or name.startswith(("display/", "input/")):
            known = allowed | {"browser"} if browser else allowed | {"redact"}
            ours = [
                target.removeprefix("chat_loop.")
                for target in imported(tree)
                if target.startswith("chat_loop.")
            ]
            wrong += [
                target
                for target in ours
                if not any(f"{target}.".startswith(f"{part}.") for part in known)
            ]
    assert wrong == []


PRINTING = {
    *("display/manager.py", "display/plain.py", "display/nonblocking.py"),
    *("input/composer.py", "input/lines.py", "input/start.py"),
    *("interactive.py", "headless.py", "cli.py"),
    "agent/isolation.py",  # keeps the output of foreign code off the screen
    *("conversation/pdf_child.py", "providers/local_child.py"),  # write to a pipe
}
WRITING = {"sessions/files.py", "display/nonblocking.py"}
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


@pytest.mark.parametrize(
    "line",
    ["print()", "sys.stdout.write('')", "sys.__stderr__.flush()", "os.fdopen(1)", "open(2, 'w')"],
)
def test_what_prints_is_found(line: str) -> None:
    assert len([*prints(ast.parse(line))]) == 1


@pytest.mark.parametrize("line", ["os.write(1, b'')", "put = os.write", "os.writev(2, [])"])
def test_what_writes_to_a_descriptor_is_found(line: str) -> None:
    assert len([*writes(ast.parse(line))]) == 1


def test_nothing_prints_outside_the_doors() -> None:
    found = {name: [*prints(tree)] for name, _, tree in modules()}
    assert {name: lines for name, lines in found.items() if lines and name not in PRINTING} == {}
    assert {name for name, _, tree in modules() if [*writes(tree)]} == WRITING


def broad_excepts(tree: ast.AST) -> Iterator[int]:
    """Yield the lines that catch or suppress every error, whether it is raised again or not."""
    broad = {"Exception", "BaseException", "ExceptionGroup", "BaseExceptionGroup"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
        elif isinstance(node, ast.Call) and dotted(node.func).endswith("suppress"):
            kinds = node.args
        else:
            continue
        if any(kind is None or dotted(kind).rpartition(".")[2] in broad for kind in kinds):
            yield node.lineno


@pytest.mark.parametrize(
    "handler",
    [
        *("except:", "except Exception:", "except BaseException:", "except builtins.Exception:"),
        *("except (ValueError, Exception) as error:", "except* BaseExceptionGroup:"),
    ],
)
def test_a_broad_except_is_found(handler: str) -> None:
    assert [*broad_excepts(ast.parse(f"try:\n    f()\n{handler}\n    raise"))] == [3]
    assert [*broad_excepts(ast.parse("with contextlib.suppress(OSError, Exception): f()"))] == [1]


BROAD = {
    "cli.py": 1,  # the last handler
    "interactive.py": 1,  # the jobs of the loader
    "log.py": 2,  # what reports a bug
    "tasks.py": 1,  # an error in a thread is raised where its result is awaited
    "providers/wire.py": 1,  # an SDK's own code
}
"""A module -> the number of its handlers of all errors."""


def test_no_broad_excepts() -> None:
    found = {name: len([*broad_excepts(tree)]) for name, _, tree in modules()}
    assert {name: number for name, number in found.items() if number} == BROAD


def test_the_prompt_loads_no_sdk() -> None:
    """Nothing that runs before the prompt may import an SDK, a tokenizer or rich."""
    import subprocess
    import sys

    code = """
import sys
import chat_loop.cli, chat_loop.interactive, chat_loop.input.composer, chat_loop.agent.builtin
import chat_loop.providers.anthropic, chat_loop.providers.openai, chat_loop.providers.scripted
heavy = {
    'anthropic', 'openai', 'httpx2', 'tiktoken', 'rich', 'xllamacpp', 'yaml', 'genai_prices',
    'sqlite3', 'markdown_it', 'pygments', 'numpy', 'onnxruntime', 'boto3', 'botocore', 'mcp', 'anyio',
    'pydantic', 'docstring_parser', 'psycopg',
}
print(sorted(heavy & set(sys.modules)))
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"


def test_the_instant_prompt_loads_nothing_but_itself() -> None:
    """Each module loaded before it delays the prompt; msgspec alone doubles the delay."""
    import subprocess
    import sys

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
    assert result.stdout == f"{[*modules, 'chat_loop.input.start']}\n[]\n"


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
        for _, _, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for member in node.body
        if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert set(re.findall(r"`([A-Z][a-z]\w+\.[a-z_]+)`", page)) <= members


def module_of(name: str, folder: Path) -> str:
    """Return the module of `folder` that `test_MODULE.py` or `test_MODULE_TOPIC.py` is named after,
    or an empty string.
    """
    stems = [path.stem for path in folder.iterdir() if path.suffix == ".py" or path.is_dir()]
    topic = name.removeprefix("test_").removesuffix(".py")
    fitting = [stem for stem in stems if topic == stem or topic.startswith(f"{stem}_")]
    return max(fitting, key=len, default="")


def test_each_module_has_tests_that_are_named_after_it() -> None:
    tested, nameless = set(), []
    for path in TESTS.rglob("test_*.py"):
        folder = path.parent.relative_to(TESTS)
        if not (ROOT / folder).is_dir():
            continue
        if module := module_of(path.name, ROOT / folder):
            tested.add(str(folder / f"{module}.py"))
        elif folder.parts:
            nameless.append(str(folder / path.name))
    assert nameless == []
    own = {name for name, _, _ in modules() if not name.endswith("__init__.py")}
    assert own - tested == set(TESTED_ELSEWHERE)
    assert [place for place in TESTED_ELSEWHERE.values() if not (TESTS / place).exists()] == []


def test_no_test_file_is_imported() -> None:
    """Helpers belong to `tests/support/`."""
    wrong = [
        f"{path.relative_to(TESTS)}: {target}"
        for path in TESTS.rglob("*.py")
        for target in imported(ast.parse(path.read_text()))
        if target.startswith("tests.") and ".test_" in target
    ]
    assert wrong == []
