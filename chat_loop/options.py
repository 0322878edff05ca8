"""The command line: what can be asked for, and its help."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from chat_loop import __version__

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

LAST = "last"
"""What `--continue` takes up."""
BROWSE = "browse"
"""What `--resume` without a value means: the user chooses."""
SHELLS = ("bash", "zsh", "fish")
SESSION = "a number of the list, an id, words of its name, or last"


def parser(arguments: Sequence[str] = ("sessions",)) -> argparse.ArgumentParser:
    """The command line; its part about sessions only where `arguments` ask for it: a chat does not wait for that."""
    made = argparse.ArgumentParser(
        prog="chat-loop",
        description="Terminal chat for large language models; every conversation is a markdown file.",
        epilog="Exit codes: 0 done, 1 failed or nothing found, 2 misused, 130 interrupted. "
        "Inside the chat, help lists the commands.",
    )
    made.add_argument("--version", action="version", version=f"chat-loop {__version__}")
    made.add_argument("--model", default="", metavar="PROVIDER:MODEL", help="such as anthropic:NAME, local:NAME")
    made.add_argument("--agent", dest="agent_reference", default="", metavar="NAME|PATH", help="the agent that answers")
    made.add_argument("--trust-agent", action="store_true", help="let that agent run this once, approved or not")
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
    made.add_argument(
        "--tools", default="", metavar="NAME,...", help="what the model may use, such as read_file,run_command"
    )
    made.add_argument("--config", default="", metavar="FILE", help="read this config file")
    made.add_argument("--sessions-dir", default="", metavar="DIR", help="keep the sessions here")
    made.add_argument(
        "-p", "--print", dest="question", default=None, metavar="QUESTION", help="answer once and leave; - reads it"
    )
    made.add_argument("--json", action="store_true", help="with -p: print one JSON object per event")
    made.add_argument("--yes", dest="allow", action="store_true", help="with -p: run tools without asking")
    made.add_argument(
        "--system", default=None, metavar="TEXT", help="with -p: the system prompt, instead of the agent's"
    )
    made.add_argument(
        "--output", default="", metavar="FILE", help="with -p: write the reply into this file, when whole"
    )
    made.add_argument("--force", action="store_true", help="with --output: replace the file if it is there")
    made.add_argument("--no-save", dest="save", action="store_false", help="with -p: leave nothing on the disk")
    commands = made.add_subparsers(dest="command", metavar="COMMAND")
    sessions = commands.add_parser(
        "sessions",
        help="find, show, branch, keep and share saved sessions",
        description="Find, show, branch, keep and share saved sessions. Exit codes: 0 done, 1 failed or nothing found, "
        "2 misused.",
    )
    if "sessions" in arguments:
        _sessions(sessions.add_subparsers(dest="action", required=True, metavar="ACTION"))
    mcp = commands.add_parser(
        "mcp",
        help="connect to the MCP servers of the config, and list them with their tools",
        description="Connect to the MCP servers of the config, and list them with their tools. Exit codes: 0 all are "
        "connected, 1 one failed, 2 misused.",
    )
    mcp.add_argument("action", nargs="?", default="list", choices=("list",), metavar="list", help="the same")
    _json(mcp)
    agents = commands.add_parser(
        "agents",
        help="agents: list, show, name and approve them",
        description="List, show, name and approve agents: files in markdown, YAML or Python.",
    )
    if "agents" in arguments:
        _agents(agents)
    models = commands.add_parser("models", help="embedded models: list, install, remove").add_subparsers(
        dest="action", required=True, metavar="ACTION"
    )
    _json(commands.add_parser("providers", help="say which providers can be used now, and what the others need"))
    _doctor(commands)
    _completion(commands)
    models.add_parser("list", help="list the models that can be embedded")
    for action, text in (("install", "fetch a model"), ("remove", "delete a model's file")):
        models.add_parser(action, help=text).add_argument("name", nargs="?", default="", metavar="NAME")
    return made


def _doctor(commands: Actions) -> None:
    text = "check what is installed, stored and set, and say what to do"
    made = commands.add_parser(
        "doctor",
        help=text,
        description="Check what is installed, stored and set, and say what to do. Nothing is changed, no service is "
        "asked, no key is shown. Exit codes: 0 no problem, 1 at least one (✗), 2 misused.",
    )
    made.add_argument("--online", action="store_true", help="ask the model that would answer one small question")
    made.add_argument("--connect", action="store_true", help="start the MCP servers of the config, and connect to them")
    _json(made)


def _completion(commands: Actions) -> None:
    made = commands.add_parser(
        "completion",
        help="print a script that completes this command line",
        description="Print a script that completes this command line in a shell. Exit codes: 0 done, 2 misused.",
        epilog="To use it now and in every new shell, put into ~/.bashrc:  source <(chat-loop completion bash); "
        "into ~/.zshrc, after compinit:  source <(chat-loop completion zsh); "
        "into ~/.config/fish/config.fish:  chat-loop completion fish | source",
    )
    made.add_argument("shell", nargs="?", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")
    made.add_argument("--values", default="", help=argparse.SUPPRESS)  # what the scripts ask for


def _agents(made: argparse.ArgumentParser) -> None:
    _json(made)
    actions = made.add_subparsers(dest="action", metavar="ACTION")
    _json(actions.add_parser("list", help="list the agents that have a name"))
    adding = actions.add_parser("add", help="give an agent a name")
    adding.add_argument("name", metavar="NAME", help="up to 60 letters, digits and _ . + -")
    adding.add_argument("path", metavar="PATH", help="its file, or the folder of its agent.py, agent.md or agent.yaml")
    removing = actions.add_parser("remove", help="take a name away; the file stays")
    removing.add_argument("name", metavar="NAME")
    showing = actions.add_parser("show", help="show what an agent's file says; nothing in it runs")
    showing.add_argument("name", metavar="NAME|PATH")
    _json(showing)
    approving = actions.add_parser("approve", help="approve an agent as it is now, so that it runs unasked")
    approving.add_argument("name", metavar="NAME|PATH")


def _sessions(actions: Actions) -> None:
    _reading(actions)
    _describing(actions)
    _branching(actions)
    _sharing(actions)
    _keeping(actions)


def _reading(actions: Actions) -> None:
    listing = _action(actions, "list", "list the conversations, newest first", "list --tag work --since 30d")
    listing.add_argument("words", nargs="*", metavar="WORDS", help="in the name, id, agent, tags, project or summary")
    listing.add_argument("--unfold", action="store_true", help="every session of a chain, not only its newest")
    listing.add_argument("--limit", type=_count, default=None, metavar="N", help="at most so many")
    _filters(listing)
    _json(listing)
    showing = _action(actions, "show", "print one session as its file has it", "show 1", "show last --json")
    _reference(showing)
    showing.add_argument("--show-summaries", action="store_true", help="its chain's summaries and compactions")
    _json(showing)
    searching = _action(actions, "search", "find what was said in any session", "search token bucket --agent Sally")
    searching.add_argument("words", nargs="+", metavar="WORDS", help="words, or ids and numbers as they stand")
    searching.add_argument("--text", action="store_true", help="by words only, not by meaning: faster")
    searching.add_argument("--limit", type=_count, default=10, metavar="N", help="at most so many hits (10)")
    _filters(searching)
    _json(searching)
    tree = _action(actions, "tree", "show where a session comes from and where it branches", "tree 2")
    _reference(tree)
    _json(tree)
    _json(_action(actions, "stats", "show what all sessions come to"))
    browsing = _action(actions, "browse", "choose a session on the whole screen, and go on with it")
    browsing.add_argument("words", nargs="*", metavar="WORDS", help="filter from the start")


def _describing(actions: Actions) -> None:
    tagging = _action(actions, "tag", "tag a session", "tag 1 work urgent", "tag 1 urgent --remove")
    _reference(tagging)
    tagging.add_argument("tags", nargs="+", metavar="TAG", help="letters, digits and _ . / + -")
    tagging.add_argument("--remove", action="store_true", help="take these tags off")
    renaming = _action(actions, "rename", "name a session", "rename 1 Rate limiter")
    _reference(renaming)
    renaming.add_argument("name", nargs="*", metavar="NAME", help="none: after its summary or first words again")


def _branching(actions: Actions) -> None:
    forking = _action(actions, "fork", "begin a session that goes on from an earlier query", "fork 1 --at 3")
    _reference(forking)
    forking.add_argument("--at", type=_count, default=0, metavar="QUERY", help="after this query (the last)")
    merging = _action(actions, "merge", "begin a session that goes on from two", "merge 1 2 --prefer 1")
    _reference(merging, "first")
    merging.add_argument("second", metavar="SESSION", help="the other one")
    merging.add_argument(
        "--prefer", choices=("1", "2", "both"), default="", help="which one holds where they differ, instead of asking"
    )
    compacting = _action(
        actions,
        "compact",
        "make the summary of a session, or make it anew",
        'compact 3 --model anthropic:NAME --focus "ports and paths"',
    )
    _session(compacting)
    compacting.add_argument("--focus", nargs="+", default=[], metavar="WORDS", help="what the summary must keep")
    compacting.add_argument(
        "--model", default=argparse.SUPPRESS, metavar="PROVIDER:MODEL", help="who writes it, instead of the usual one"
    )
    deleting = _action(actions, "delete-summary", "delete the summary of a session; its words stay", "delete-summary 3")
    _session(deleting)
    deleting.add_argument("--summary-id", default="", metavar="ID", help="the id of the session whose summary it is")


def _sharing(actions: Actions) -> None:
    exporting = _action(
        actions,
        "export",
        "write a conversation as markdown, JSON or an HTML page",
        "export 1 talk.html",
        "export 1 - --as json > talk.json",
    )
    _reference(exporting)
    exporting.add_argument(
        "file", nargs="?", default="", metavar="FILE", help="a new file or a folder; - is standard output"
    )
    exporting.add_argument(
        "--as", dest="form", default="", metavar="FORM", help="markdown, json or html (what FILE ends in)"
    )
    exporting.add_argument("--one", action="store_true", help="only this session, without those before it")
    exporting.add_argument("--secrets", action="store_true", help="keep keys and passwords")
    importing = _action(
        actions, "import", "take in exports, or a folder of basic-agent-chat-loop", "import talk.json ~/old_sessions"
    )
    importing.add_argument("files", nargs="+", metavar="FILE|FOLDER", help="what is to be read; - is standard input")


def _keeping(actions: Actions) -> None:
    throwing = _action(actions, "trash", "move sessions to the trash; without any, list it", "trash 4 5")
    throwing.add_argument("references", nargs="*", metavar="SESSION", help=SESSION)
    _json(throwing)
    restoring = _action(actions, "restore", "bring sessions back from the trash", "restore sally_20261101_100000")
    restoring.add_argument("ids", nargs="+", metavar="ID", help="as trash lists it")
    cleaning = _action(
        actions, "clean", "move old conversations to the trash, after asking", "clean --older-than 90d --dry-run"
    )
    cleaning.add_argument("--older-than", required=True, metavar="AGE", help="not used since: 30d, 12w, 1y, or a date")
    cleaning.add_argument("--originals", action="store_true", help="instead, old sessions that a summary stands for")
    cleaning.add_argument("--dry-run", action="store_true", help="only say what would be moved")
    cleaning.add_argument("--yes", action="store_true", help="do not ask")
    _json(cleaning)
    _action(actions, "reindex", "make the index anew from the files")


def _action(actions: Actions, name: str, text: str, *examples: str) -> argparse.ArgumentParser:
    """An action with its help, and with examples that work as they stand."""
    shown = "\n".join(f"  chat-loop sessions {example}" for example in examples)
    return actions.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=f"For example:\n{shown}" if examples else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _reference(made: argparse.ArgumentParser, name: str = "reference") -> None:
    made.add_argument(name, metavar="SESSION", help=SESSION)


def _session(made: argparse.ArgumentParser) -> None:
    made.add_argument("reference", nargs="?", default="", metavar="SESSION", help=SESSION)
    made.add_argument("--session", default="", metavar="SESSION", help="the same")


def _filters(made: argparse.ArgumentParser) -> None:
    made.add_argument("--agent", default="", metavar="A", help="a part of the agent's name")
    made.add_argument("--tag", default="", metavar="T", help="with this tag")
    made.add_argument("--project", default="", metavar="P", help="a part of the working directory's path")
    made.add_argument("--since", default="", metavar="DATE", help="used since 2026-11-21, or 30d for so long ago")
    made.add_argument("--before", default="", metavar="DATE", help="not used since then")


def _json(made: argparse.ArgumentParser) -> None:
    made.add_argument("--json", action="store_true", dest="as_json", help="as JSON")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text)):
        raise argparse.ArgumentTypeError(f"“{text[:40]}” is not a number above 0")
    return int(text)
