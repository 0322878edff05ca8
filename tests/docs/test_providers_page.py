"""docs/providers.md: the tests that it names exist and run for every provider; see also
test_tables.py.
"""

from __future__ import annotations

import ast
import re

import pytest

from chat_loop.providers.catalogue import CATALOGUE
from tests.support.catalogue import ALL
from tests.support.guide_pages import TREE, text_of

pytestmark = pytest.mark.slow

TESTS = re.findall(r"`(test_\w+\.py)::(\w+)`", text_of(TREE / "docs" / "providers.md"))


def test_the_page_names_tests() -> None:
    assert len(TESTS) == 12


@pytest.mark.parametrize(("file", "name"), sorted({*TESTS}))
def test_a_test_that_the_page_names_exists(file: str, name: str) -> None:
    module = ast.parse(text_of(TREE / "tests" / "providers" / file))
    assert name in [node.name for node in module.body if isinstance(node, ast.FunctionDef)]


def test_the_tests_run_for_every_provider_but_the_embedded_models() -> None:
    own = {service.name for service in ALL if service.name in CATALOGUE}
    assert {*CATALOGUE} - own == {"local", "scripted"}
