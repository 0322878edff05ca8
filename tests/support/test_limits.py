"""The limits of the tests themselves: endless work is stopped."""

from __future__ import annotations

import re

import pytest

from tests.support.limits import cpu_limit


def test_work_that_takes_too_long_fails() -> None:
    with pytest.raises(AssertionError, match="CPU time"), cpu_limit(0.1):
        re.match("(a+)+$", "a" * 40 + "b")


def test_work_within_the_limit_and_after_it_goes_on() -> None:
    with cpu_limit(5):
        pass
    assert re.match("(a+)+$", "a" * 40)
