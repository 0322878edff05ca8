"""The folders: whether they are there, can be written to, are the user's alone, and have room."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from chat_loop.errors import os_reason
from chat_loop.subcommands.checks.finding import Finding, Here, bad, doubtful, good
from chat_loop.wording import counted, size_text

LITTLE_ROOM = 100_000_000
"""Bytes."""
_MOST_FILES = 20_000
_MOUNTS = Path("/proc/mounts")
_FAR = frozenset(
    {
        "nfs",
        "nfs4",
        "cifs",
        "smb3",
        "smbfs",
        "9p",
        "afs",
        "ceph",
        "glusterfs",
        "fuse.sshfs",
        "davfs",
    }
)


def places(here: Here) -> Iterator[Finding]:
    """Yield the folders of the config, the data and the sessions, and whether others can read what
    is in them.
    """
    wanted = {
        "Config folder": here.paths.config.parent,
        "Data folder": here.paths.data,
        "Sessions": here.sessions,
    }
    named: dict[Path, str] = {}
    for name, folder in wanted.items():
        named.setdefault(folder, name)
    for folder, name in named.items():
        yield folder_at(name if name != "Sessions" else "Sessions folder", folder)
    yield from _open_files(here)


def folder_at(name: str, folder: Path) -> Finding:
    """How a folder stands."""
    try:
        status = folder.stat()
    except FileNotFoundError:
        return _missing(name, folder)
    except OSError as error:
        return bad(
            name,
            f"{folder} cannot be looked at: {os_reason(error)}.",
            "Make it a folder of your own.",
        )
    if not stat.S_ISDIR(status.st_mode):
        return bad(
            name, f"{folder} is not a folder.", "Move what is there away: the folder is made anew."
        )
    kind, read_only = mounted(folder)
    if read_only:
        return bad(name, f"{folder} is on a file system that is mounted read-only.")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return bad(name, f"{folder} is not yours to read and write.", f"chmod u+rwx {folder}")
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        return doubtful(
            name,
            f"{folder} belongs to another user.",
            f"chown it, with what is in it, to {os.geteuid()}.",
        )
    free = shutil.disk_usage(folder).free
    if free < LITTLE_ROOM:
        return doubtful(
            name, f"{folder}: only {size_text(free)} are free on its disk.", "Make room."
        )
    if sys.platform != "win32" and stat.S_IMODE(status.st_mode) & 0o022:
        return doubtful(name, f"{folder} can be changed by other users.", f"chmod go-w {folder}")
    if kind in _FAR:
        text = (
            f"{folder} is on a network file system ({kind}): locks and the index may not work "
            "there."
        )
        return doubtful(name, text, "sessions.directory in the config names another folder.")
    return good(name, f"{folder}, {size_text(free)} free")


def _missing(name: str, folder: Path) -> Finding:
    """A folder that is made when it is needed, if it can be."""
    if folder.is_symlink():
        return bad(
            name,
            f"{folder} is a link that leads nowhere.",
            "Delete the link, or make what it leads to.",
        )
    above = folder
    while above != above.parent and not above.exists():
        above = above.parent
    if above.is_dir() and os.access(above, os.W_OK | os.X_OK) and not mounted(above)[1]:
        return good(name, f"{folder} is not there yet: it is made when it is needed.")
    return bad(
        name,
        f"{folder} is not there and cannot be made in {above}.",
        "Set CHAT_LOOP_HOME to a folder that you can write to.",
    )


def mounted(folder: Path, mounts: str | None = None) -> tuple[str, bool]:
    """The kind of file system that a folder is on and whether it is read-only, as Linux tells; ("",
    False) elsewhere.

    `mounts` is the text of /proc/mounts.
    """
    if mounts is None:
        try:
            mounts = _MOUNTS.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return "", False
    best, found = -1, ("", False)
    for line in mounts.split("\n"):
        parts = line.split(" ")
        if len(parts) < 4:
            continue
        place = parts[1]
        for code, sign in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
            place = place.replace(code, sign)
        if len(place) >= best and folder.resolve().is_relative_to(place):
            best, found = len(place), (parts[2], "ro" in parts[3].split(","))
    return found


def _open_files(here: Here) -> Iterator[Finding]:
    """Yield what other users of the machine can read, or change."""
    if sys.platform == "win32":
        return
    readable = []
    for file in [here.paths.history, here.paths.data / "MEMORY.md", *_own_files(here.sessions)]:
        try:
            status = file.lstat()
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) & 0o077:
            readable.append(file)
    private = (
        [here.sessions] if here.sessions.is_dir() and here.sessions.stat().st_mode & 0o077 else []
    )
    if readable and private:  # behind a folder that is closed nobody reaches them
        files = f"{counted(len(readable), 'file')} of conversations, such as {readable[0]},"
        yield doubtful(
            "Privacy", f"{files} can be read by other users.", f"chmod -R go= {here.sessions}"
        )


def _own_files(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number == _MOST_FILES:
                    return
                if entry.name.endswith((".md", ".sqlite")):
                    yield Path(entry.path)
    except OSError:
        return
