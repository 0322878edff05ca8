"""A real browser for tests of pages: headless Chromium, driven by playwright."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Never

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PATIENCE_MS = 120_000
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--font-render-hinting=none",
)


def chromium_path() -> str:
    """Return the path of Chromium. Skip the test without Chromium or playwright; fail instead when
    CI_REQUIRE_CHROMIUM is 1.
    """
    if importlib.util.find_spec("playwright") is None:
        _missing("the package playwright is not installed: pip install 'chat-loop[test]'")
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        if path := shutil.which(name):
            return path
    return _missing("Chromium is not installed: apt-get install chromium")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Yield a browser that closes at the end of the block."""
    path = chromium_path()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launch = playwright.chromium.launch  # a busy machine may need long to start it
        browser = launch(executable_path=path, args=list(_FLAGS), timeout=PATIENCE_MS)
        try:
            yield browser
        finally:
            browser.close()


def _missing(reason: str) -> Never:
    if os.environ.get("CI_REQUIRE_CHROMIUM") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
