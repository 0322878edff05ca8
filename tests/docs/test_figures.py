"""Every measured figure on the pages comes from a committed result.

Measured figures are in blocks that are made from `benchmarks/results/`. Everything else that looks
like a measurement is listed here with the reason why it is not one.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks import figures, report
from benchmarks.support.results import RESULTS, keep, read
from tests.support.guide_pages import CODE, TREE, named, prose, text_of

PAGES = [TREE / "README.md", *sorted((TREE / "docs").glob("*.md"))]
MADE = TREE / "docs" / "benchmarks.md"
QUANTITY = re.compile(
    r"(?<![\w.,/-])\d[\d,.]*\s?(?:%|percent|ms|µs|s|seconds?|minutes?|MiB|MB|GB|KB|×|times)(?![\w/])"
)
COUNT = re.compile(r"\*{0,2}\d[\d,.]*\*{0,2}(?: of \d[\d,.]*)?")
"""A cell of a table that is a number."""

NOT_MEASURED = {
    "1.1 GB": "the size of a model to download",
    "1.12 GB": "the size of a model to download",
    "491 MB": "the size of a model to download",
    "98 MB": "the size of a model to download",
    "135 MB": "the size of packages to download",
    "15 seconds": "a limit: PDFs",
    "2 seconds": "a limit: a connection to the library",
    "3 seconds": "a limit: the wait at exit",
    "60 times": "an assumption: starts in a month",
    "20 seconds": "a rule: when an upload is tried again",
    "60 seconds": "a default: tools.timeout",
    "40 %": "a default: compact_ratio",
    "75 %": "a rule: when a summary is prepared",
    "80 %": "a default: trigger_threshold",
    "92 %": "a limit: branch coverage",
    "95 %": "a rule: the last warning",
    "60 %": "a setting of FactChain: its stand-in for a model",
    "30 s": "an example of a sentence",
    "45 s": "an example of a sentence",
    "1 MB": "a limit: attachments of undo",
    "3.9 MB": "a limit: images",
    "4 MB": "a limit: text files, messages of MCP servers",
    "20 MB": "the size of a session that is measured",
    "32 MB": "a limit: the part of a transcript that is searched",
    "34 MB": "a limit: PDFs",
    "45 MB": "what a known bug did",
    "75 KB": "a limit: the clipboard",
    "256 MB": "a limit: objects of a store",
    "50 times": "how often a trial kills the server",
    "512 KB": "a limit: the history",
}
COUNTED = {
    "fault": "written by `python -m tests.faults`, with its seed, commit and date on the page",
    "scenario": "asserted by tests/sessions/test_live_power_loss.py",
    "known bug": "written by `python -m tests.mutants --table`",
    "place": "asserted by tests/program/test_secrets_everywhere.py",
    "measured": "branch coverage, measured by .ci/nightly, with its commit on the page",
    "version": "numbers of versions",
    "code": "exit codes",
}
"""Tables of counts, by their first headings, each with the source of its counts."""


def outside_of_blocks(page: Path) -> str:
    """Return the prose of a page without its blocks of figures and its inline code."""
    return CODE.sub("`code`", figures.BLOCK.sub("", prose(page)))


def counted_tables(page: Path) -> Iterator[str]:
    """Yield the first heading of each table that has cells of numbers."""
    heading = ""
    for line in outside_of_blocks(page).split("\n"):
        if not line.startswith("|"):
            heading = ""
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        heading = heading or cells[0]
        if any(COUNT.fullmatch(cell) for cell in cells):
            yield heading


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(named(page)))
def test_the_blocks_are_those_of_the_committed_results(page: Path) -> None:
    text = text_of(page)
    assert figures.with_figures(text, RESULTS) == text, "run: python -m benchmarks --report"
    for block in figures.BLOCK.finditer(text):
        assert figures.BLOCKS[block["name"]](RESULTS)


def test_the_report_is_that_of_the_committed_results() -> None:
    results = report.results_in(RESULTS)
    assert text_of(MADE) == report.text(results, RESULTS, MADE)
    for name, picture in report.pictures(results):
        assert (RESULTS / name).read_text("utf-8") == picture


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page != MADE], ids=lambda page: str(named(page))
)
def test_what_looks_like_a_measurement_is_in_a_block_or_is_none(page: Path) -> None:
    found = {*QUANTITY.findall(outside_of_blocks(page))}
    assert found - NOT_MEASURED.keys() == set(), (
        "take it from a result, in a block of benchmarks/figures.py, or say here why it is none"
    )
    assert {*counted_tables(page)} - COUNTED.keys() == set()


def test_no_exception_is_left_over() -> None:
    pages = {page: outside_of_blocks(page) for page in PAGES if page != MADE}
    found = {quantity for text in pages.values() for quantity in QUANTITY.findall(text)}
    assert NOT_MEASURED.keys() - found == set()
    assert COUNTED.keys() - {heading for page in pages for heading in counted_tables(page)} == set()


def test_a_figure_that_nobody_measured_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "It starts in 24 ms, `as 12 ms`, of 38 MiB.\n\n| act | runs |\n|---|---|\n| a | 5,000 |\n"
        "\n<!-- figures: facts -->\n\n11 percent\n\n<!-- end of figures -->\n",
        "utf-8",
    )
    assert QUANTITY.findall(outside_of_blocks(page)) == ["24 ms", "38 MiB"]
    assert [*counted_tables(page)] == ["act"]
    with pytest.raises(FileNotFoundError):
        figures.facts(tmp_path)
    assert "11 percent" not in figures.with_figures(text_of(page), RESULTS)


def test_the_front_page_compares_only_with_several_programs(tmp_path: Path) -> None:
    for name in ("factchain-16k", "factchain-64k", "embedded-answers"):
        shutil.copy(RESULTS / f"{name}.json", tmp_path)
    result = read(RESULTS / "peers.json")
    assert result is not None
    for programs in (("codex",), ("codex", "pi")):
        kept = tuple(f", {program}" for program in ("chat-loop", "bare client", *programs))
        measures = {name: one for name, one in result.measures.items() if name.endswith(kept)}
        keep(tmp_path / "peers.json", replace(result, measures=measures))
        assert ("Measured beside" in figures.facts(tmp_path)) == (len(programs) > 1)
