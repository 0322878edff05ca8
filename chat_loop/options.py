"""The command line: what can be asked for, and its help."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from chat_loop import __version__
from chat_loop.errors import UsageError
from chat_loop.options_commands import add_commands, add_json

if TYPE_CHECKING:
    from chat_loop.options_commands import Actions

LAST = "last"
"""What `--continue` takes up."""
BROWSE = "browse"
"""What `--resume` without a value means: the user chooses."""
DESCRIPTION = """\
Terminal chat for large language models; every conversation is a markdown file.
Without COMMAND and without -p a chat begins, in which help lists what can be
done."""
EPILOG = """\
For example:
  chat-loop                         chat with the model that can be asked now
  chat-loop --model gemini          chat with another one, the usual of Gemini
  chat-loop --continue              go on with the last conversation
  chat-loop -p "What is a monad?"   ask one question, and print the reply
  git diff | chat-loop -p "Write a commit message for this."
  chat-loop sessions search port    find what was said in any conversation
  chat-loop sessions list --help    the options of a command

Who answers: the provider whose key is set (such as ANTHROPIC_API_KEY), else a
server on this machine, else the embedded model; chat-loop providers says who
can, and what the others need. chat-loop doctor says which files are used.
CHAT_LOOP_HOME is the folder of config, sessions and models, instead of those
of the system. Exit codes: 0 done, 1 failed or nothing found, 2 misused,
130 interrupted."""
SESSION = "a number of the list, an id, words of its name, or last"


class _Parser(argparse.ArgumentParser):
    """A command line that raises UsageError instead of leaving: who drew the prompt takes it back
    first.
    """

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._words = list(args or ())
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        if "invalid choice" in message and (unknown := self._unknown()):
            message = f"unknown option {unknown}{self._meant(unknown)}"
        raise UsageError(f"{self.format_usage()}{self.prog}: error: {message}")

    def _unknown(self) -> str:
        """Return the first option that is none here; argparse would take its value for a
        command.
        """
        words = (word.partition("=")[0] for word in self._words if word.startswith("-"))
        return next(
            (
                word
                for word in words
                if not self._get_option_tuples(word) and word not in self._known
            ),
            "",
        )

    @property
    def _known(self) -> Collection[str]:
        return self._option_string_actions.keys()

    def _meant(self, unknown: str) -> str:
        from difflib import get_close_matches  # nobody waits for it but who mistyped

        near = get_close_matches(unknown, self._known, 1) or [
            name for name in self._known if name[1:].startswith(unknown)
        ]
        return f"; did you mean {near[0]}?" if near else ""


def parser(arguments: Sequence[str] = ("sessions",)) -> argparse.ArgumentParser:
    """The command line; its part about sessions only where `arguments` ask for it: a chat does not
    wait for that.
    """
    made: argparse.ArgumentParser = _Parser(
        prog="chat-loop",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"chat-loop {__version__}")
    _who_answers(made.add_argument_group("who answers"))
    _which_session(made.add_argument_group("which conversation"))
    made.set_defaults(resume="")
    _one_question(made.add_argument_group("one question, without a terminal (docs/headless.md)"))
    commands = made.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    sessions = commands.add_parser(
        "sessions",
        help="find, show, branch, keep and share saved sessions",
        description="Find, show, branch, keep and share saved sessions. Exit codes: 0 done, 1 "
        "failed or nothing found, "
        "2 misused.",
    )
    if "sessions" in arguments:
        _sessions(sessions.add_subparsers(dest="action", required=True, metavar="ACTION"))
    add_commands(commands, arguments)
    return made


def _who_answers(made: argparse._ArgumentGroup) -> None:
    made.add_argument(
        "--model",
        default="",
        metavar="PROVIDER:MODEL",
        help="such as anthropic:NAME; gemini for its usual one",
    )
    made.add_argument(
        "--agent",
        dest="agent_reference",
        default="",
        metavar="NAME|PATH",
        help="its name, or its file",
    )
    made.add_argument(
        "--trust-agent", action="store_true", help="let that agent run this once, approved or not"
    )
    made.add_argument(
        "--base-url", default="", metavar="URL", help="a server, for --model compatible:NAME"
    )
    made.add_argument(
        "--local",
        action="store_true",
        help="use the embedded model; ask which to fetch if there is none",
    )
    made.add_argument(
        "--max-tokens", type=_count, default=None, metavar="N", help="the longest reply, in tokens"
    )
    made.add_argument(
        "--tools",
        default="",
        metavar="NAME,...",
        help="what the model may use, such as read_file,run_command",
    )
    made.add_argument(
        "--config", default="", metavar="FILE", help="read the settings from this file"
    )


def _which_session(made: argparse._ArgumentGroup) -> None:
    going_on = made.add_mutually_exclusive_group()
    going_on.add_argument(
        "-c",
        "--continue",
        dest="resume",
        action="store_const",
        const=LAST,
        help="go on with the last session",
    )
    going_on.add_argument(
        "--resume",
        nargs="?",
        const=BROWSE,
        metavar="N|ID",
        help="go on with a saved session; with no value, choose one",
    )
    going_on.add_argument(
        "--new-session", action="store_true", help="begin anew, whatever sessions.auto_resume says"
    )
    made.add_argument("--sessions-dir", default="", metavar="DIR", help="keep the sessions here")


def _one_question(made: argparse._ArgumentGroup) -> None:
    made.add_argument(
        "-p",
        "--print",
        dest="question",
        default=None,
        metavar="QUESTION",
        help="answer once and leave; what is piped in follows the question, and - stands for it "
        "alone",
    )
    made.add_argument("--json", action="store_true", help="print one JSON object per event")
    made.add_argument("--yes", dest="allow", action="store_true", help="run tools without asking")
    made.add_argument(
        "--system", default=None, metavar="TEXT", help="the system prompt, instead of the agent's"
    )
    made.add_argument(
        "--output", default="", metavar="FILE", help="write the reply into this file, when whole"
    )
    made.add_argument(
        "--force", action="store_true", help="with --output: replace the file if it is there"
    )
    made.add_argument(
        "--no-save", dest="save", action="store_false", help="leave nothing on the disk"
    )


def _sessions(actions: Actions) -> None:
    _reading(actions)
    _describing(actions)
    _branching(actions)
    _sharing(actions)
    _keeping(actions)


def _reading(actions: Actions) -> None:
    listing = _action(
        actions, "list", "list the conversations, last used first", "list --tag work --since 30d"
    )
    listing.add_argument(
        "words", nargs="*", metavar="WORDS", help="in the name, id, agent, tags, project or summary"
    )
    listing.add_argument(
        "--unfold", action="store_true", help="every session of a conversation by itself"
    )
    listing.add_argument(
        "--all", action="store_true", help="runs of -p and conversations without a reply as well"
    )
    listing.add_argument("--limit", type=_count, default=None, metavar="N", help="at most so many")
    _filters(listing)
    add_json(listing)
    showing = _action(
        actions, "show", "print one session as its file has it", "show 1", "show last --json"
    )
    _reference(showing)
    showing.add_argument(
        "--show-summaries", action="store_true", help="its chain's summaries and compactions"
    )
    add_json(showing)
    searching = _action(
        actions, "search", "find what was said in any session", "search token bucket --agent Sally"
    )
    searching.add_argument(
        "words", nargs="+", metavar="WORDS", help="words, or ids and numbers as they stand"
    )
    searching.add_argument(
        "--text", action="store_true", help="by words only, not by meaning: faster"
    )
    searching.add_argument(
        "--limit", type=_count, default=10, metavar="N", help="at most so many hits (10)"
    )
    _filters(searching)
    add_json(searching)
    tree = _action(
        actions, "tree", "show where a session comes from and where it branches", "tree 2"
    )
    _reference(tree)
    add_json(tree)
    add_json(_action(actions, "stats", "show what all sessions come to"))
    browsing = _action(actions, "browse", "choose a session on the whole screen, and go on with it")
    browsing.add_argument("words", nargs="*", metavar="WORDS", help="filter from the start")


def _describing(actions: Actions) -> None:
    tagging = _action(actions, "tag", "tag a session", "tag 1 work urgent", "tag 1 urgent --remove")
    _reference(tagging)
    tagging.add_argument("tags", nargs="+", metavar="TAG", help="letters, digits and _ . / + -")
    tagging.add_argument("--remove", action="store_true", help="take these tags off")
    renaming = _action(actions, "rename", "name a session", "rename 1 Rate limiter")
    _reference(renaming)
    renaming.add_argument(
        "name", nargs="*", metavar="NAME", help="none: after its summary or first words again"
    )


def _branching(actions: Actions) -> None:
    forking = _action(
        actions, "fork", "begin a session that goes on from an earlier query", "fork 1 --at 3"
    )
    _reference(forking)
    forking.add_argument(
        "--at", type=_count, default=0, metavar="QUERY", help="after this query (the last)"
    )
    merging = _action(
        actions, "merge", "begin a session that goes on from two", "merge 1 2 --prefer 1"
    )
    _reference(merging, "first")
    merging.add_argument("second", metavar="SESSION", help="the other one")
    merging.add_argument(
        "--prefer",
        choices=("1", "2", "both"),
        default="",
        help="which one holds where they differ, instead of asking",
    )
    compacting = _action(
        actions,
        "compact",
        "make the summary of a session, or make it anew",
        'compact 3 --model anthropic:NAME --focus "ports and paths"',
    )
    _session(compacting)
    compacting.add_argument(
        "--force",
        dest="anyway",
        action="store_true",
        help="also where a summary is larger than the words",
    )
    compacting.add_argument(
        "--focus", nargs="+", default=[], metavar="WORDS", help="what the summary must keep"
    )
    compacting.add_argument(
        "--model",
        default=argparse.SUPPRESS,
        metavar="PROVIDER:MODEL",
        help="who writes it, instead of the usual one",
    )
    deleting = _action(
        actions,
        "delete-summary",
        "delete the summary of a session; its words stay",
        "delete-summary 3",
    )
    _session(deleting)
    deleting.add_argument(
        "--summary-id", default="", metavar="ID", help="the id of the session whose summary it is"
    )


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
        "file",
        nargs="?",
        default="",
        metavar="FILE",
        help="a new file or a folder; - is standard output",
    )
    exporting.add_argument(
        "--as",
        dest="form",
        default="",
        metavar="FORM",
        help="markdown, json or html (what FILE ends in)",
    )
    exporting.add_argument(
        "--one", action="store_true", help="only this session, without those before it"
    )
    exporting.add_argument("--secrets", action="store_true", help="keep keys and passwords")
    importing = _action(
        actions,
        "import",
        "take in exports, or a folder of basic-agent-chat-loop",
        "import talk.json ~/old_sessions",
    )
    importing.add_argument(
        "files", nargs="+", metavar="FILE|FOLDER", help="what is to be read; - is standard input"
    )


def _keeping(actions: Actions) -> None:
    throwing = _action(
        actions, "trash", "move sessions to the trash; without any, list it", "trash 4 5"
    )
    throwing.add_argument("references", nargs="*", metavar="SESSION", help=SESSION)
    add_json(throwing)
    restoring = _action(
        actions, "restore", "bring sessions back from the trash", "restore sally_20261101_100000"
    )
    restoring.add_argument("ids", nargs="+", metavar="ID", help="as trash lists it")
    cleaning = _action(
        actions,
        "clean",
        "move old conversations to the trash, after asking",
        "clean --older-than 90d --dry-run",
    )
    cleaning.add_argument(
        "--older-than", required=True, metavar="AGE", help="not used since: 30d, 12w, 1y, or a date"
    )
    cleaning.add_argument(
        "--originals", action="store_true", help="instead, old sessions that a summary stands for"
    )
    cleaning.add_argument("--dry-run", action="store_true", help="only say what would be moved")
    cleaning.add_argument("--yes", action="store_true", help="do not ask")
    add_json(cleaning)
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
    made.add_argument(
        "--project", default="", metavar="P", help="a part of the working directory's path"
    )
    made.add_argument(
        "--since", default="", metavar="DATE", help="used since 2026-11-21, or 30d for so long ago"
    )
    made.add_argument("--before", default="", metavar="DATE", help="not used since then")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text)):
        raise argparse.ArgumentTypeError(f"“{text[:40]}” is not a number above 0")
    return int(text)
