"""The code that a result measures: hashes of its parts, and what has changed since.

A part is a folder or a module at the top of the package. Its hash is the name that git gives to its
content, so that it is the same from the files, also without git, and from a commit.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from hashlib import sha1
from importlib.util import find_spec
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
PACKAGE = "chat_loop"


def parts_now() -> dict[str, str]:
    """Return the hash of each part of the package that Python would import."""
    found = find_spec(PACKAGE)
    assert found is not None
    assert found.submodule_search_locations is not None
    [folder] = found.submodule_search_locations
    return {path.name: content_hash(path) for path in _entries(Path(folder))}


def parts_at(commit: str) -> dict[str, str]:
    """Return the hash of each part at a commit; nothing if git does not know it."""
    lines = git("ls-tree", f"{commit}:{PACKAGE}").splitlines()
    entries = (line.partition("\t") for line in lines)
    return {name: facts.split()[2] for facts, _, name in entries}


def content_hash(path: Path) -> str:
    """Return git's name of a file's content, or of a folder's. Raises OSError."""
    if path.is_dir():
        kind, content = "tree", b"".join(map(_entry, _entries(path)))
    else:
        kind, content = "blob", path.read_bytes()
    return sha1(f"{kind} {len(content)}\0".encode() + content, usedforsecurity=False).hexdigest()


def _entries(folder: Path) -> list[Path]:
    """Return what git would keep of a folder, in git's order: a folder sorts as with a slash."""
    found = (each for each in folder.iterdir() if each.name != "__pycache__")
    filled = (each for each in found if each.is_file() or _entries(each))
    return sorted(filled, key=lambda each: f"{each.name}/" if each.is_dir() else each.name)


def _entry(path: Path) -> bytes:
    mode = "40000" if path.is_dir() else "100644"
    return f"{mode} {path.name}\0".encode() + bytes.fromhex(content_hash(path))


def changed(before: dict[str, str], after: dict[str, str], parts: Iterable[str]) -> list[str]:
    """Return the parts that differ, sorted; without `parts`, all of the package are compared."""
    compared = set(parts) or before.keys() | after.keys()
    return sorted(name for name in compared if before.get(name) != after.get(name))


def commits_since(commit: str, parts: Iterable[str]) -> int | None:
    """Return how many commits changed parts of the package since a commit; None if the commit is
    not in the history, or without git.
    """
    if git("merge-base", commit, "HEAD") != git("rev-parse", f"{commit}^{{commit}}") or not commit:
        return None
    paths = [f"{PACKAGE}/{name}" for name in parts] or [PACKAGE]
    found = git("rev-list", "--count", f"{commit}..HEAD", "--", *paths)
    return int(found) if found else None


def git(*arguments: str) -> str:
    """Return what git prints; nothing if it fails or is not there."""
    try:
        found = subprocess.run(
            ["git", *arguments], cwd=TREE, capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return found.stdout.strip() if found.returncode == 0 else ""
