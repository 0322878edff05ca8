"""The tables of commands, keys and providers match the code."""

from __future__ import annotations

import pytest

from tests.docs.tables import DOCS, TABLES, page_with_tables


@pytest.mark.parametrize("page", dict.fromkeys(page for page, _ in TABLES))
def test_the_tables_of_a_page_are_those_of_the_code(page: str) -> None:
    assert (DOCS / page).read_text("utf-8") == page_with_tables(page), "run python -m tests.docs"
