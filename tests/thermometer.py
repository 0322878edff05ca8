"""What a reader of the package must hold at once, counted: `python -m tests.thermometer [FOLDER]`.

The linters' step runs it. It fails when a figure exceeds its limit. A limit is only ever lowered.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case)
LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
LIMITS = {  # figure: (limit, goal)
    "assignments of several unrelated values": (0, 30),
    "conditional expressions per 1,000 statements": (20.0, 25.0),
    "nested conditional expressions": (0, 0),
    "comprehensions per 1,000 statements": (30.0, 30.0),
    "percent of functions with more than 12 branches": (0.2, 2.0),
    "names of the type Any": (50, 60),
    "imports inside functions": (71, 60),
    "tokens": (334_905, 225_000),
}


def is_packed(node: ast.AST) -> bool:
    """Return True for an assignment of several values that only exchanges nothing."""
    if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)):
        return False
    target = node.targets[0]
    if not isinstance(target, ast.Tuple) or len(target.elts) != len(node.value.elts):
        return False
    names = {ast.unparse(each) for each in target.elts}
    return names != {ast.unparse(each) for each in node.value.elts}


def is_nested(conditional: ast.AST) -> bool:
    """Return True when a conditional expression contains another one."""
    return sum(isinstance(node, ast.IfExp) for node in ast.walk(conditional)) > 1


def branches_of(function: ast.AST) -> int:
    """Return the number of branches of a function, without those of functions in it."""
    inner = [node for node in ast.iter_child_nodes(function) if not isinstance(node, FUNCTIONS)]
    return sum(isinstance(node, BRANCHES) + branches_of(node) for node in inner)


def late_imports(tree: ast.AST) -> set[ast.AST]:
    """Return the imports inside of functions."""
    functions = (node for node in ast.walk(tree) if isinstance(node, FUNCTIONS))
    inner = (node for function in functions for node in ast.walk(function))
    return {node for node in inner if isinstance(node, ast.Import | ast.ImportFrom)}


def count(path: Path) -> Counter[str]:
    """Return what one module has of each."""
    text = path.read_text("utf-8")
    counts: Counter[str] = Counter()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        counts["tokens"] += token.type not in LAYOUT
    tree = ast.parse(text)
    counts["late imports"] = len(late_imports(tree))
    for node in ast.walk(tree):
        is_conditional = isinstance(node, ast.IfExp)
        counts["statements"] += isinstance(node, ast.stmt)
        counts["packed"] += is_packed(node)
        counts["conditionals"] += is_conditional
        counts["nested"] += is_conditional and is_nested(node)
        counts["comprehensions"] += isinstance(node, COMPREHENSIONS)
        counts["functions"] += isinstance(node, FUNCTIONS)
        counts["any"] += isinstance(node, ast.Name) and node.id == "Any"
        counts["long"] += isinstance(node, FUNCTIONS) and branches_of(node) > 12
    return counts


def main() -> int:
    """Print the figures and return 1 when one of them exceeds its limit."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "chat_loop")
    counts: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.py")):
        counts += count(path)
    figures = (
        counts["packed"],
        1000 * counts["conditionals"] / counts["statements"],
        counts["nested"],
        1000 * counts["comprehensions"] / counts["statements"],
        100 * counts["long"] / counts["functions"],
        counts["any"],
        counts["late imports"],
        counts["tokens"],
    )
    is_above = False
    for (name, (limit, goal)), figure in zip(LIMITS.items(), figures, strict=True):
        is_above = is_above or figure > limit
        note = "  ABOVE THE LIMIT" if figure > limit else ""
        print(f"{figure:>9,.1f}  {name} (limit {limit:,}, goal {goal:,}){note}")
    return int(is_above)


if __name__ == "__main__":
    sys.exit(main())
