"""A bug in the program: one of its functions raises an error that nothing expects."""

from __future__ import annotations

from pathlib import Path

KEY = "sk-ant-api03-" + "a1B2" * 10
"""A secret in the message of the error."""
MESSAGE = "a bug that nobody knows"

_CODE = """
from importlib import import_module
from operator import attrgetter

def broken(target, make_error):
    def raises(*arguments, **options):
        raise make_error()

    module, _, path = target.partition(":")
    holder, _, name = path.rpartition(".")
    owner = import_module(module)
    setattr(attrgetter(holder)(owner) if holder else owner, name, raises)

"""


def bug(folder: Path, *targets: str, error: str = "") -> dict[str, str]:
    """Return variables for the program in which each of `targets`, as `module:Class.function`,
    raises `error`. The code that breaks them is in `folder`.
    """
    folder.mkdir(exist_ok=True)
    code = _CODE
    for target in targets:
        raised = error or f'TypeError("{MESSAGE}, in {target}, {KEY}")'
        code += f'broken("{target}", lambda: {raised})\n'
    (folder / "sitecustomize.py").write_text(code)
    return {"PYTHONPATH": str(folder)}
