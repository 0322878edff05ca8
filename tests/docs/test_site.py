"""The site of the documentation, as `mkdocs build` makes it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.guide_pages import TREE, text_of

LOADED = re.compile(
    r"<(?:link|script|img|iframe)\b[^>]*?\b(?:href|src)=\"?((?:https?:)?//[^\s\">]+)|@import|url\(//"
)
"""References that make a browser load something from another site."""


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_needs_no_network(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    site = tmp_path / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=TREE,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr

    pages = {page.stem for page in (TREE / "docs").glob("*.md")}
    assert pages <= {page.stem for page in site.glob("*.html")}
    assert (site / "benchmarks/factchain/curve.svg").is_file()
    assert "Keep a Changelog" in text_of(site / "CHANGELOG.html")

    assert "/compact [FOCUS]" in (commands := text_of(site / "commands.html"))
    assert "\\|" not in commands

    files = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert [file.name for file in files if LOADED.search(file.read_text("utf-8"))] == []

    names = re.findall(r"^::: (\S+)$", text_of(TREE / "docs" / "api.md"), re.MULTILINE)
    reference = text_of(site / "api.html")
    assert len(names) > 20
    assert [name for name in names if f'id="{name}"' not in reference] == []
