"""The command line: what can be asked for, and its help."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from chat_loop import __version__

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

LAST = "last"
"""What `--continue` takes up."""
BROWSE = "browse"
"""What `--resume` without a value means: the user chooses."""
SESSION = "a number of the list, an id, words of its name, or last"


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    made = argparse.ArgumentParser(
        prog="chat-loop",
        description="Terminal chat for large language models; every conversation is a markdown file.",
        epilog="Exit codes: 0 done, 1 failed, 2 misused, 130 interrupted. Inside the chat, help lists the commands.",
    )
    made.add_argument("--version", action="version", version=f"chat-loop {__version__}")
    made.add_argument("--model", default="", metavar="PROVIDER:MODEL", help="such as anthropic:NAME, local:NAME")
    made.add_argument("--base-url", default="", metavar="URL", help="where the server is, for compatible:MODEL")
    made.add_argument(
        "--local", action="store_true", help="use the embedded model; ask which to fetch if there is none"
    )
    going_on = made.add_mutually_exclusive_group()
    going_on.add_argument(
        "-c", "--continue", dest="resume", action="store_const", const=LAST, help="go on with the last session"
    )
    going_on.add_argument(
        "--resume",
        nargs="?",
        const=BROWSE,
        metavar="N|ID",
        help="go on with a saved session; with no value, choose one",
    )
    going_on.add_argument("--new-session", action="store_true", help="begin anew, whatever sessions.auto_resume says")
    made.set_defaults(resume="")
    made.add_argument("--config", default="", metavar="FILE", help="read this config file")
    made.add_argument("--sessions-dir", default="", metavar="DIR", help="keep the sessions here")
    made.add_argument("-p", "--print", dest="question", default=None, metavar="QUESTION", help="answer once and leave")
    made.add_argument("--json", action="store_true", help="with -p: print one JSON object per event")
    commands = made.add_subparsers(dest="command", metavar="COMMAND")
    sessions = commands.add_parser("sessions", help="find, show, branch, keep and share saved sessions")
    _sessions(sessions.add_subparsers(dest="action", required=True, metavar="ACTION"))
    models = commands.add_parser("models", help="embedded models: list, install, remove").add_subparsers(
        dest="action", required=True, metavar="ACTION"
    )
    models.add_parser("list", help="list the models that can be embedded")
    for action, text in (("install", "fetch a model"), ("remove", "delete a model's file")):
        models.add_parser(action, help=text).add_argument("name", nargs="?", default="", metavar="NAME")
    return made


def _sessions(actions: Actions) -> None:
    _reading(actions)
    _describing(actions)
    _branching(actions)
    _sharing(actions)
    _keeping(actions)


def _reading(actions: Actions) -> None:
    listing = actions.add_parser("list", help="list the conversations, newest first")
    listing.add_argument("words", nargs="*", metavar="WORDS", help="in the name, id, agent, tags, project or summary")
    listing.add_argument("--unfold", action="store_true", help="every session of a chain, not only its newest")
    listing.add_argument("--limit", type=_count, default=None, metavar="N", help="at most so many")
    _filters(listing)
    _json(listing)
    showing = actions.add_parser("show", help="print one session")
    showing.add_argument("reference", metavar="SESSION", help=SESSION)
    showing.add_argument("--show-summaries", action="store_true", help="its chain's summaries and compactions")
    _json(showing)
    searching = actions.add_parser("search", help="find what was said in any session")
    searching.add_argument("words", nargs="+", metavar="WORDS")
    searching.add_argument("--text", action="store_true", help="by words only, not by meaning: faster")
    searching.add_argument("--limit", type=_count, default=10, metavar="N", help="at most so many hits (10)")
    _filters(searching)
    _json(searching)
    tree = actions.add_parser("tree", help="show where a session comes from and where it branches")
    tree.add_argument("reference", metavar="SESSION", help=SESSION)
    _json(tree)
    _json(actions.add_parser("stats", help="show what all sessions come to"))
    browsing = actions.add_parser("browse", help="choose a session on the whole screen, and go on with it")
    browsing.add_argument("words", nargs="*", metavar="WORDS", help="filter from the start")


def _describing(actions: Actions) -> None:
    tagging = actions.add_parser("tag", help="tag a session")
    tagging.add_argument("reference", metavar="SESSION", help=SESSION)
    tagging.add_argument("tags", nargs="+", metavar="TAG")
    tagging.add_argument("--remove", action="store_true", help="take these tags off")
    renaming = actions.add_parser("rename", help="name a session")
    renaming.add_argument("reference", metavar="SESSION", help=SESSION)
    renaming.add_argument("name", nargs="*", metavar="NAME", help="empty: after its summary or first words again")


def _branching(actions: Actions) -> None:
    forking = actions.add_parser("fork", help="begin a session that goes on from an earlier query")
    forking.add_argument("reference", metavar="SESSION", help=SESSION)
    forking.add_argument("--at", type=_count, default=0, metavar="QUERY", help="after this query (the last)")
    merging = actions.add_parser("merge", help="begin a session that goes on from two")
    merging.add_argument("first", metavar="SESSION", help=SESSION)
    merging.add_argument("second", metavar="SESSION")
    merging.add_argument("--prefer", choices=("1", "2", "both"), default="", help="which one holds where they differ")
    compacting = actions.add_parser("compact", help="make the summary of a session, or make it anew")
    _session(compacting)
    compacting.add_argument("--focus", nargs="*", default=[], metavar="WORDS", help="what the summary must keep")
    deleting = actions.add_parser("delete-summary", help="delete the summary of a session; its words stay")
    _session(deleting)
    deleting.add_argument("--summary-id", default="", metavar="ID", help="the id of the session whose summary it is")


def _sharing(actions: Actions) -> None:
    exporting = actions.add_parser("export", help="write a conversation as markdown, JSON or an HTML page")
    exporting.add_argument("reference", metavar="SESSION", help=SESSION)
    exporting.add_argument("file", nargs="?", default="", metavar="FILE", help="- is standard output")
    exporting.add_argument("--as", dest="form", default="", metavar="FORM", help="markdown, json or html")
    exporting.add_argument("--one", action="store_true", help="only this session, without those before it")
    exporting.add_argument("--secrets", action="store_true", help="keep keys and passwords")
    importing = actions.add_parser("import", help="take in exports, or a folder of basic-agent-chat-loop")
    importing.add_argument("files", nargs="+", metavar="FILE|FOLDER")


def _keeping(actions: Actions) -> None:
    throwing = actions.add_parser("trash", help="move sessions to the trash; without any, list it")
    throwing.add_argument("references", nargs="*", metavar="SESSION", help=SESSION)
    _json(throwing)
    restoring = actions.add_parser("restore", help="bring sessions back from the trash")
    restoring.add_argument("ids", nargs="+", metavar="ID")
    cleaning = actions.add_parser("clean", help="move old conversations to the trash, after asking")
    cleaning.add_argument("--older-than", required=True, metavar="AGE", help="not used since: 30d, 12w, 1y, or a date")
    cleaning.add_argument("--originals", action="store_true", help="instead, old sessions that a summary stands for")
    cleaning.add_argument("--dry-run", action="store_true", help="only say what would be moved")
    cleaning.add_argument("--yes", action="store_true", help="do not ask")
    _json(cleaning)
    actions.add_parser("reindex", help="make the index anew from the files")


def _session(made: argparse.ArgumentParser) -> None:
    made.add_argument("reference", nargs="?", default="", metavar="SESSION", help=SESSION)
    made.add_argument("--session", default="", metavar="SESSION", help="the same")


def _filters(made: argparse.ArgumentParser) -> None:
    made.add_argument("--agent", default="", metavar="A")
    made.add_argument("--tag", default="", metavar="T")
    made.add_argument("--project", default="", metavar="P", help="a part of the working directory's path")
    made.add_argument("--since", default="", metavar="DATE", help="such as 2026-11-21, or 30d ago")
    made.add_argument("--before", default="", metavar="DATE")


def _json(made: argparse.ArgumentParser) -> None:
    made.add_argument("--json", action="store_true", dest="as_json", help="as JSON")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text)):
        raise argparse.ArgumentTypeError(f"“{text[:40]}” is not a number above 0")
    return int(text)
