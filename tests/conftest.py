"""Settings, hooks and fixtures for all tests."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from benchmarks.support.loopback import Loopback
from benchmarks.support.postgres_server import PostgresServer, temporary_server
from tests.support.engines import require_server

# `--hypothesis-profile=gate` takes another one. No check of time: it depends on the machine.
# A failure says how to repeat it.
settings.register_profile(
    "quick",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    max_examples=20,
    derandomize=True,
)
settings.register_profile("gate", settings.get_profile("quick"), max_examples=100)
settings.register_profile(
    "nightly", settings.get_profile("quick"), max_examples=500, derandomize=False
)
settings.load_profile("quick")


def pytest_configure() -> None:
    """Let Ctrl-C interrupt the tests. A shell that starts a run in the background makes it ignore
    SIGINT, and the programs that tests start would inherit that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return one worker more than there are cores, since tests of whole programs spend half of
    their time waiting.
    """
    return (os.cpu_count() or 1) + 1


def pytest_collection(session: pytest.Session) -> None:
    """Begin with another part of the test modules in each worker of xdist. pytest rewrites and
    compiles a module at its first import, which takes most of the time of a collection, and the
    workers then find each other's results.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw")
    if not worker:
        return
    root = session.config.rootpath
    files: list[Path] = []
    for argument in session.config.args:
        path = root / argument.partition("::")[0]
        files += sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
    start = len(files) * int(worker) // int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
    for file in files[start:] + files[:start]:
        with suppress(pytest.skip.Exception):
            importlib.import_module(".".join(file.relative_to(root).with_suffix("").parts))


LONG = ("test_a_whole_run_on_a_real_embedded_model", "test_kills", "test_from_wire_to_wire")
"""Tests that would keep one worker busy after all others have ended."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run the longest tests first. Leave out tests that cost money, and those of the night, unless
    `-m` asks for them.
    """
    items.sort(key=lambda item: not item.name.startswith(LONG))
    for asked in ("live", "nightly"):
        if asked in config.getoption("markexpr"):
            continue
        left_out = [item for item in items if item.get_closest_marker(asked)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not item.get_closest_marker(asked)]


def pytest_collection_finish() -> None:
    """Leave the modules of all tests out of collections, which take most of their time there."""
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Let pytest's last collection look at everything."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run the tests that are coroutines in an event loop of asyncio."""
    return "asyncio"


@pytest.fixture(autouse=True)
def no_garbage() -> Iterator[None]:
    """Collect what a test left, so that a warning about it fails this test and no later one."""
    yield
    gc.collect()
    gc.freeze()  # what is still in use is not looked at after each of the next tests


@pytest.fixture(autouse=True)
def machine_zone() -> Iterator[None]:
    """Restore the machine's time zone after a test that changed TZ."""
    yield
    time.tzset()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Yield a PostgreSQL server for all tests of a worker."""
    require_server()
    with temporary_server() as running:
        yield running


@pytest.fixture
def server() -> Iterator[Loopback]:
    """Yield a server on loopback that ends after the test."""
    with Loopback() as loopback:
        yield loopback
