"""A bug in the program: one of its functions raises an error that nothing expects."""

from __future__ import annotations

from pathlib import Path

KEY = "sk-ant-api03-" + "a1B2" * 10
"""A secret in the message of the error."""
MESSAGE = "a bug that nobody knows"

_CODE = """
from operator import attrgetter
import {module} as module

def broken(*arguments, **options):
    raise {error}

holder, _, name = "{path}".rpartition(".")
setattr(attrgetter(holder)(module) if holder else module, name, broken)
"""


def bug(folder: Path, target: str, error: str = f'TypeError("{MESSAGE}, {KEY}")') -> dict[str, str]:
    """Return variables for the program in which `target`, as `module:Class.function`, raises
    `error`. The code that breaks it is in `folder`.
    """
    module, _, path = target.partition(":")
    folder.mkdir(exist_ok=True)
    code = _CODE.format(module=module, path=path, error=error)
    (folder / "sitecustomize.py").write_text(code)
    return {"PYTHONPATH": str(folder)}
