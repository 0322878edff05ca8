"""The engines of the library. Tests of an index run on each of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.engines import on_postgres


@pytest.fixture(name="engine", params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def _engine(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "postgres":
        with on_postgres(request.getfixturevalue("postgres")):
            yield request.param
    else:
        yield request.param
