"""The table of known bugs follows the code."""

from __future__ import annotations

import pytest

from tests.mutants.mutants import ROOT, Mutant, load

pytestmark = pytest.mark.slow

MUTANTS = [*load()]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_known_bug_can_be_put_back(mutant: Mutant) -> None:
    assert mutant.apply(ROOT) != (ROOT / "chat_loop" / mutant.file).read_text("utf-8")
    for test in mutant.tests:
        file, _, name = test.partition("::")
        function = name.partition("[")[0].rpartition("::")[2]
        assert f"def {function}" in (ROOT / file).read_text("utf-8"), test


def test_there_are_enough_known_bugs_and_each_has_its_name() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len({*names}) == len(names) >= 40
