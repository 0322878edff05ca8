"""The cost of a context, which a resume shows before anything is sent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback
from tests.support.headless import QUESTION, begun, chat


@pytest.mark.slow
def test_the_cost_of_the_context_is_that_of_input(tmp_path: Path) -> None:
    with Loopback() as server:
        identity = begun(tmp_path, server)
        prices = "models: {test-model: {input_price: 1000, output_price: 7000}}\n"
        (tmp_path / "config.yaml").write_text(f"{prices}auto_compact: {{summary_on_exit: later}}\n")
        shown = " ".join(chat(tmp_path, server, "/info", options=("-r", identity)).split())
    found = re.search(r"\(1 query, ([\d,]+) tokens\) .* · \$([\d.]+)", shown)
    assert found is not None, shown
    tokens = int(found[1].replace(",", ""))
    assert tokens > len(QUESTION.split())
    assert float(found[2]) == tokens / 1_000
