"""`chat-loop sessions …`: one function for each action."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

from chat_loop.config import Config
from chat_loop.errors import SaveError
from chat_loop.library.library import Library
from chat_loop.sessions.manager import SessionManager
from chat_loop.subcommands.shelf import Models, Progress, Shelf

UNSAVED = "Not saved: "
Action = Callable[[Shelf, argparse.Namespace], int]


def run(
    options: argparse.Namespace,
    sessions: SessionManager,
    config: Config,
    models: Callable[[], Models],
) -> int:
    """Do what the command line asks for; return the exit code."""
    progress = Progress()
    library = Library(sessions.directory, sessions.now, progress, thorough=True)
    shelf = Shelf(sessions=sessions, library=library, config=config, models=models)
    try:
        return _actions(options.action)[options.action](shelf, options)
    except SaveError as error:
        if error.message.startswith(UNSAVED):  # in a chat it is tried again; here it is not
            raise SaveError(
                error.message.removeprefix(UNSAVED), "Free some space or fix the permissions."
            ) from error
        raise
    finally:
        progress.end()
        library.close()


def _actions(wanted: str) -> Mapping[str, Action]:
    """The actions of the part that `wanted` belongs to: what only reads need not load what
    changes.
    """
    from chat_loop.subcommands import listing

    reading: dict[str, Action] = {
        "list": listing.list_sessions,
        "show": listing.show_session,
        "search": listing.search,
        "tree": listing.tree,
        "stats": listing.stats,
    }
    if wanted in reading:
        return reading
    from chat_loop.subcommands import changing

    files: dict[str, Action] = {
        "tag": changing.tag,
        "rename": changing.rename,
        "delete-summary": changing.delete_summary,
        "export": changing.export,
        "import": changing.import_,
    }
    if wanted in files:
        return files
    from chat_loop.subcommands import keeping

    kept: dict[str, Action] = {
        "trash": keeping.to_trash,
        "restore": keeping.restore,
        "clean": keeping.clean,
        "reindex": keeping.reindex,
    }
    if wanted in kept:
        return kept
    from chat_loop.subcommands import going_on

    return {"fork": going_on.fork, "merge": going_on.merge, "compact": going_on.compact}
