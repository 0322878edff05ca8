"""docs/api.md: its example runs, and its objects exist."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from tests.support.guide_pages import FENCE, TREE, text_of

pytestmark = pytest.mark.slow

PAGE = text_of(TREE / "docs" / "api.md")


def test_the_example_prints_a_session(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(TREE)
    [(language, code)] = FENCE.findall(PAGE)
    assert language == "python"
    exec(compile(code, "docs/api.md", "exec"), {})
    assert capsys.readouterr().out.startswith("1.1 ")


@pytest.mark.parametrize("name", re.findall(r"^::: (\S+)$", PAGE, re.MULTILINE))
def test_what_it_names_has_a_docstring(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    assert getattr(import_module(module), attribute).__doc__
