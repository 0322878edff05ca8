"""A report of the price of the live checks."""

from __future__ import annotations

import pytest

from tests.live.spending import report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in report():
        terminalreporter.write_line(line)
