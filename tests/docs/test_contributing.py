"""CONTRIBUTING.md: its recipes for a command, a provider and a tool, followed word for word."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest

from tests.support.guide_pages import TREE

RECIPE = re.compile(
    r"(?:In the new file|At\s+the\s+end\s+of|In)\s`([\w./]+)`(?:, above `([^`]+)`)?:"
    r"\n\n```\w+\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
COPIED = ("chat_loop", "docs", "tests/docs", "tests/support", "benchmarks/support")


def copy_project(root: Path) -> None:
    """Copy the package, the pages, and the files that the tests need."""
    ignored = shutil.ignore_patterns("__pycache__", "*.svg", "*.png")
    for folder in COPIED:
        shutil.copytree(TREE / folder, root / folder, ignore=ignored)
    for file in ("pyproject.toml", "tests/__init__.py", "tests/conftest.py"):
        shutil.copy(TREE / file, root / file)


def follow(root: Path, file: str, anchor: str, code: str) -> None:
    """Make the change that a recipe describes."""
    path = root / file
    text = path.read_text("utf-8") if path.exists() else ""
    if anchor:
        [line] = [line for line in text.split("\n") if anchor in line]
        if file.endswith(".py"):  # the page shows a method without its class
            code = indent(code, line[: len(line) - len(line.lstrip())]) + "\n"
        text = text.replace(line, f"{code}{line}")
    else:
        text = f"{text}\n\n{code}" if text else code
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


@pytest.mark.slow
def test_the_recipes_work_as_they_are_written(tmp_path: Path) -> None:
    recipes = RECIPE.findall((TREE / "CONTRIBUTING.md").read_text("utf-8"))
    files = [file for file, _, _ in recipes]
    tests = [file for file in files if file.startswith("tests/")]
    assert (len(files), len(tests)) == (7, 3)
    copy_project(tmp_path)
    for file, anchor, code in recipes:
        follow(tmp_path, file, anchor, code)

    def run(*arguments: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("tests.docs")
    assert "| `/words` |" in (tmp_path / "docs/commands.md").read_text("utf-8")
    assert "| `example` | `EXAMPLE_API_KEY` |" in (tmp_path / "docs/providers.md").read_text(
        "utf-8"
    )
    out = run("pytest", "-q", "-p", "no:cacheprovider", *tests, "tests/docs/test_tables.py")
    assert "5 passed" in out
