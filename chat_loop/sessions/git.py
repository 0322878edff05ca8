"""The repository, branch and commit of a folder, read from git's files: no process is started."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from chat_loop.sessions.files import read_part

MAX_BYTES = 4 << 20  # the most bytes that are read of a file; only `packed-refs` is large
_BRANCH = re.compile(r"ref: refs/heads/(?!\.|.*\.\.)([^\x00-\x20\x7f~^:?*\[\\]{1,200})")
_COMMIT = "[0-9a-f]{40}(?:[0-9a-f]{24})?"


def git_head(folder: Path) -> tuple[str, str]:
    """Return the branch and the commit that are checked out in the repository around a folder.
    Either is empty if there is none: a detached head, a branch without a commit, no repository.
    """
    for parent in (folder, *folder.parents):
        git = parent / ".git"
        with suppress(OSError, ValueError):
            if git.is_file():  # of a worktree, or a submodule
                git = _target(git)
            head = _read(git / "HEAD").strip()
            if re.fullmatch(_COMMIT, head):
                return "", head
            branch = _BRANCH.fullmatch(head)
            if branch is None:
                return "", ""
            with suppress(OSError):
                git = _target(git / "commondir")
            return branch[1], _commit_of(git, head.removeprefix("ref: "))
    return "", ""


def project_of(folder: str) -> str:
    """Return the project to which a folder belongs: the main folder of the repository around it,
    which all its worktrees share, or the folder itself. The folder need not exist.
    """
    if not folder.startswith("/") or folder.startswith("//"):  # of another system or machine
        return folder
    for parent in (Path(folder), *Path(folder).parents):
        git = parent / ".git"
        with suppress(OSError, ValueError):
            if git.is_dir():
                return str(parent)
            if git.is_file():
                return str(_main_folder(parent))
    return folder


def _main_folder(folder: Path) -> Path:
    """Return the main folder of a worktree's repository, or `folder` when it is no worktree, as for
    a submodule. The repository must name the worktree, because anybody can write a file `.git`.
    """
    git = folder / ".git"
    with suppress(OSError, ValueError):
        own = _target(git)
        if os.path.realpath(_target(own / "gitdir")) == os.path.realpath(git):
            common = Path(os.path.realpath(_target(own / "commondir")))
            return common.parent if common.name == ".git" else common
    return folder


def _target(file: Path) -> Path:
    """Return the folder that a file names. Raises ValueError for one on another machine."""
    name = _read(file).strip().removeprefix("gitdir: ")
    if not name or name.startswith(("//", "\\\\")):
        raise ValueError(name)
    return file.parent / name


def _commit_of(git: Path, ref: str) -> str:
    """Return the commit of a reference, or an empty string when it has none."""
    packed = rf"^({_COMMIT}) {re.escape(ref)}$"
    for file, pattern in (ref, rf"\A({_COMMIT})\s*\Z"), ("packed-refs", packed):
        with suppress(OSError, ValueError):
            if match := re.search(pattern, _read(git / file), re.MULTILINE):
                return match[1]
    return ""


def _read(file: Path) -> str:
    return read_part(file, MAX_BYTES)[0].decode("utf-8", "replace")
