"""A result says whether the code that it measures has changed since."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks import ages, report
from benchmarks.ages import Age, Recorded
from benchmarks.support import code
from benchmarks.support.results import Result, Results, keep, origin

pytestmark = pytest.mark.slow


def test_the_hash_of_a_folder_is_the_one_that_git_gives(tmp_path: Path) -> None:
    part = tmp_path / "part"
    for name in ("a/deep.py", "a.py", "a-b.py", "empty.py", "ü.md"):
        (part / name).parent.mkdir(parents=True, exist_ok=True)
        (part / name).write_text(name if name != "empty.py" else "", "utf-8")

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(tmp_path), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    git("add", ".")
    (part / "__pycache__").mkdir()
    (part / "__pycache__" / "a.pyc").write_bytes(b"not kept")
    (part / "nothing").mkdir()
    assert code.content_hash(part) == git("rev-parse", f"{git('write-tree')}:part")


def test_a_result_is_bound_to_the_parts_that_it_measures() -> None:
    before = {"display": "1", "export": "1"}
    measured = Recorded("0" * 40, "2026-11-30T01:02:03+00:00", before)
    for after, changed in (
        ({"display": "1", "export": "2"}, []),
        ({"display": "2", "export": "1"}, ["display"]),
        ({"export": "1"}, ["display"]),
    ):
        assert ages.age(measured, ("display",), after).changed == changed
    assert ages.age(measured, (), {"display": "1", "export": "2"}).changed == ["export"]
    assert ages.age(replace(measured, code={}), (), before).changed is None


@pytest.mark.parametrize(
    ("age", "text"),
    [
        (Age("c1", "", [], 7), "the code it measures is unchanged"),
        (Age("c1", "", ["display"], 1), "code changed since: 1 commit"),
        (Age("c1", "", ["display"], 41), "code changed since: 41 commits"),
        (
            Age("c1", "", ["display"], None),
            "the code it measures has changed since; its commit is not in the history",
        ),
        (
            Age("c1-dirty", "", None, 3),
            "what has changed since is not known; measured with changes that were never committed",
        ),
        (Age("", "", [], None), "the code it measures is unchanged; its commit was not recorded"),
    ],
)
def test_an_age_in_words(age: Age, text: str) -> None:
    assert str(age) == text


def test_a_page_whose_code_has_changed_says_so(tmp_path: Path) -> None:
    results = Results()
    results.add("CPU of a token", [1.0], "µs")
    measured = origin()
    for parts, words in (
        (measured.code, "the code it measures is unchanged"),
        (measured.code | {"display": "changed"}, "changed since"),
    ):
        result = Result(
            benchmark="render",
            origin=replace(measured, code=parts),
            seconds=1.0,
            measures=results.measures,
            not_measured={},
        )
        keep(tmp_path / "render.json", result)
        report.write(tmp_path, tmp_path / "page.md")
        tables = (tmp_path / report.TABLES).read_text("utf-8")
        assert words in tables.partition("### render")[2].partition("###")[0]
        assert words in tables.partition("## Ages")[2]
