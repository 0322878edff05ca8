"""The figures on the pages are those of the committed results.

They are in blocks that are made from `benchmarks/results/`.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks import ages, figures, report, tables
from benchmarks.support.results import RESULTS, keep, read
from tests.support.guide_pages import TREE, named, text_of

pytestmark = pytest.mark.slow

PAGES = [TREE / "README.md", *sorted((TREE / "docs").glob("*.md"))]
MADE = TREE / "docs" / "benchmarks.md"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(named(page)))
def test_the_blocks_are_those_of_the_committed_results(page: Path) -> None:
    text = text_of(page)
    assert figures.with_figures(text, RESULTS) == text, "run: python -m benchmarks --report"
    for block in figures.BLOCK.finditer(text):
        assert figures.BLOCKS[block["name"]](RESULTS)


def test_the_report_is_that_of_the_committed_results() -> None:
    results = report.results_in(RESULTS)
    assert text_of(MADE) == report.text(results, RESULTS, MADE), (
        "run: python -m benchmarks --report"
    )
    full = tables.text(results, ages.read(RESULTS))
    assert (RESULTS / report.TABLES).read_text("utf-8") == full


def test_each_committed_result_has_an_age() -> None:
    found = ages.read(RESULTS)
    assert found.keys() == ages.now(RESULTS).keys(), "run: python -m benchmarks --report"
    for name, age in found.items():
        recorded = ages.recorded(RESULTS / f"{name}.json")
        assert (age.commit, age.date) == (recorded.commit, recorded.date[:10])


def test_the_front_page_shows_what_is_lost_beside_what_is_won(tmp_path: Path) -> None:
    for name in ("factchain-automatic", "embedded-answers-19"):
        shutil.copy(RESULTS / f"{name}.json", tmp_path)
    result = read(RESULTS / "peers.json")
    assert result is not None
    slow = {name: one for name, one in result.measures.items() if not name.startswith("exit, pi")}
    for own, other, row in (
        (9.0, 99.0, "| **9 ms** | 99 ms (pi) |"),
        (99.0, 9.0, "| 99 ms | **9 ms (pi)** |"),
    ):
        exits = {"exit, chat-loop": own, "exit, pi": other}
        changed = {name: replace(result.measures[name], median=one) for name, one in exits.items()}
        keep(tmp_path / "peers.json", replace(result, measures=slow | changed))
        assert f"| `exit` {row}" in figures.front(tmp_path)
