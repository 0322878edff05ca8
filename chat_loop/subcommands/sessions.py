"""`chat-loop sessions …`: one function for each action."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

from chat_loop.agent.agent import Agent
from chat_loop.config import Config
from chat_loop.library.library import Library
from chat_loop.sessions.manager import SessionManager
from chat_loop.subcommands.shelf import Shelf

Action = Callable[[Shelf, argparse.Namespace], int]


def run(options: argparse.Namespace, sessions: SessionManager, config: Config, agent: Callable[[], Agent]) -> int:
    """Do what the command line asks for; return the exit code."""
    library = Library(sessions.directory, sessions.now)
    shelf = Shelf(sessions=sessions, library=library, config=config, agent=agent)
    try:
        return _actions(options.action)[options.action](shelf, options)
    finally:
        library.close()


def _actions(wanted: str) -> Mapping[str, Action]:
    """The actions of the part that `wanted` belongs to: what only reads need not load what changes."""
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
        "trash": changing.to_trash,
        "restore": changing.restore,
        "clean": changing.clean,
        "reindex": changing.reindex,
    }
    if wanted in files:
        return files
    from chat_loop.subcommands import going_on

    return {"fork": going_on.fork, "merge": going_on.merge, "compact": going_on.compact}
