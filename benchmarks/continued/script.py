"""The scripted turns of a conversation: tasks that begin, and small talk."""

from __future__ import annotations

from pathlib import Path
from random import Random

import msgspec
from msgspec import Struct

from benchmarks.factchain.composing import Composer
from benchmarks.factchain.talk import Turn
from benchmarks.factchain.wording import language

FOLDER = Path(__file__).parent / "conversations"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))
SMALL_TALK = 38
"""The number of exchanges about other things; one follows the beginning of each task."""


class Task(Struct, frozen=True, forbid_unknown_fields=True):
    """A task: the exchange that begins it, what is asked in the end, a right answer, and the check.

    The check is Python that sees the names that the answer's code defines.
    """

    name: str
    query: str
    reply: str
    ask: str
    solution: str
    check: str


class Conversation(Struct, frozen=True, forbid_unknown_fields=True):
    """The tasks of one conversation, in the order in which they begin."""

    tasks: tuple[Task, ...]


def read(name: str) -> Conversation:
    """Read a conversation's tasks."""
    path = FOLDER / f"{name}.toml"
    return msgspec.toml.decode(path.read_bytes(), type=Conversation)


def turns(name: str, tasks: tuple[Task, ...]) -> list[Turn]:
    """Return the exchanges before the last one of a conversation."""
    words = language("unseen", "en")
    talk = iter(Composer(Random(f"continued {name}")).turns(words, SMALL_TALK, ()))
    found: list[Turn] = []
    for task in tasks:
        found += Turn(task.query, task.reply), next(talk)
    return [*found, *talk]


def path_of(folder: Path, task: Task, arm: str) -> Path:
    """Return the file of a task's result with an arm."""
    return folder / f"{task.name}.{slug(arm)}.json"


def slug(arm: str) -> str:
    """Return the name of an arm in the name of a file."""
    return arm.replace(" ", "-")
