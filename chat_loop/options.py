"""The command line: its options and commands, and their help."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any, NoReturn, TypeAlias

from chat_loop import __version__
from chat_loop.errors import UsageError

LAST = "last"
"""The value of `--continue`."""
BROWSE = "browse"
"""The value of `--resume` alone: the user chooses."""
SHELLS = ("bash", "zsh", "fish")
SESSION = "a number of the list, an id, words of its name, or last"
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
3 the reply of -p is not whole, 130 interrupted."""

DOCTOR = """\
Nothing is changed, no service is asked, no key is shown. Exit codes: 0 no
problem, 1 at least one (✗), 2 misused."""
COMPLETION = """\
To have it in every new shell, put into ~/.bashrc: source <(chat-loop completion
bash); into ~/.zshrc, after compinit: source <(chat-loop completion zsh); into
~/.config/fish/config.fish: chat-loop completion fish | source"""


class _Parser(argparse.ArgumentParser):
    """A parser that raises UsageError instead of leaving, so that a drawn prompt can be erased."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self._words = list(args or ())
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        known = list(self._option_string_actions)
        names = [word.partition("=")[0] for word in self._words if word.startswith("-")]
        unknown = [
            name for name in names if name not in known and not self._get_option_tuples(name)
        ]
        if "invalid choice" in message and unknown:  # argparse took its value for a command
            longer = [option for option in known if option[1:].startswith(unknown[0])]
            near = [*get_close_matches(unknown[0], known, 1), *longer]
            message = f"unknown option {unknown[0]}{f'; did you mean {near[0]}?' if near else ''}"
        raise UsageError(f"{self.format_usage()}{self.prog}: error: {message}")


Group = argparse._ArgumentGroup | argparse._MutuallyExclusiveGroup | argparse.ArgumentParser
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def parser(arguments: Sequence[str] = ("sessions", "agents")) -> argparse.ArgumentParser:
    """Return the command line, with the actions of the commands that `arguments` name."""
    made: argparse.ArgumentParser = _Parser(
        prog="chat-loop",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"chat-loop {__version__}")
    made.set_defaults(resume="")
    _add_chat_options(made)
    commands = made.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    text = "find, show, branch, keep and share saved sessions"
    more = "Exit codes: 0 done, 1 failed or nothing found, 2 misused."
    sessions = _command(commands, "sessions", text, more)
    if "sessions" in arguments:  # a chat does not wait for them
        actions = sessions.add_subparsers(dest="action", required=True, metavar="ACTION")
        _add_reading(actions)
        _add_changing(actions)
        _add_keeping(actions)
    _add_other_commands(commands, agents="agents" in arguments)
    return made


def _value(made: Group, name: str, metavar: str, text: str, **more: Any) -> None:
    if more.get("nargs") not in ("*", "+"):
        more.setdefault("default", "")
    made.add_argument(name, metavar=metavar, help=text, **more)


def _flag(made: Group, name: str, text: str, **more: Any) -> None:
    made.add_argument(name, help=text, **{"action": "store_true", **more})


def _json(made: Group) -> None:
    _flag(made, "--json", "as JSON", dest="as_json")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text)):
        raise argparse.ArgumentTypeError(f"“{text[:40]}” is not a number above 0")
    return int(text)


def _command(
    commands: Commands, name: str, text: str, more: str = "", epilog: str | None = None
) -> argparse.ArgumentParser:
    """Add a command that is described by its help and by `more`."""
    description = f"{text[0].upper()}{text[1:]}. {more}".rstrip()
    return commands.add_parser(name, help=text, description=description, epilog=epilog)


def _action(actions: Commands, name: str, text: str, *examples: str) -> argparse.ArgumentParser:
    """Add an action of `sessions`, with examples that work as they stand."""
    shown = "\n".join(f"  chat-loop sessions {example}" for example in examples)
    made = _command(actions, name, text, epilog=f"For example:\n{shown}" if examples else None)
    made.formatter_class = argparse.RawDescriptionHelpFormatter
    return made


def _add_chat_options(made: argparse.ArgumentParser) -> None:
    who = made.add_argument_group("who answers")
    _value(who, "--model", "PROVIDER:MODEL", "such as anthropic:NAME; gemini for its usual one")
    _value(who, "--agent", "NAME|PATH", "its name, or its file", dest="agent_reference")
    _flag(who, "--trust-agent", "let that agent run this once, approved or not")
    _value(who, "--base-url", "URL", "a server, for --model compatible:NAME")
    _flag(who, "--local", "use the embedded model; ask which to fetch if there is none")
    _value(who, "--max-tokens", "N", "the longest reply, in tokens", type=_count, default=None)
    _value(who, "--tools", "NAME,...", "what the model may use, such as read_file,run_command")
    _value(who, "--config", "FILE", "read the settings from this file")

    which = made.add_argument_group("which conversation")
    one_of = which.add_mutually_exclusive_group()
    text = "go on with the last session"
    goes_on: dict[str, Any] = {"dest": "resume", "action": "store_const", "const": LAST}
    one_of.add_argument("-c", "--continue", help=text, **goes_on)
    text = "go on with a saved session; with no value, choose one"
    one_of.add_argument("--resume", nargs="?", const=BROWSE, metavar="N|ID", help=text)
    _flag(one_of, "--new-session", "begin anew, whatever sessions.auto_resume says")
    _value(which, "--sessions-dir", "DIR", "keep the sessions here")

    terminal = made.add_argument_group("the terminal")
    _flag(terminal, "--plain", "whole lines, no colors, nothing redrawn: for screen readers")

    question = made.add_argument_group("one question, without a terminal (docs/headless.md)")
    text = "answer once and leave; what is piped in follows it, and - stands for that alone"
    question.add_argument("-p", "--print", dest="question", metavar="QUESTION", help=text)
    _flag(question, "--json", "print one JSON object per event")
    _flag(question, "--yes", "run tools without asking", dest="allow")
    _value(question, "--system", "TEXT", "the system prompt, instead of the agent's", default=None)
    _value(question, "--output", "FILE", "write the reply into this file, when whole")
    _flag(question, "--force", "with --output: replace the file if it is there")
    _flag(question, "--no-save", "leave nothing on the disk", dest="save", action="store_false")


def _session(made: argparse.ArgumentParser, name: str = "reference") -> None:
    made.add_argument(name, metavar="SESSION", help=SESSION)


def _optional_session(made: argparse.ArgumentParser) -> None:
    _value(made, "reference", "SESSION", SESSION, nargs="?")
    _value(made, "--session", "SESSION", "the same")


def _filters(made: argparse.ArgumentParser) -> None:
    _value(made, "--agent", "A", "a part of the agent's name")
    _value(made, "--tag", "T", "with this tag")
    _value(made, "--project", "P", "a part of the working directory's path")
    _value(made, "--since", "DATE", "used since 2026-11-21, or 30d for so long ago")
    _value(made, "--before", "DATE", "not used since then")
    _json(made)


def _add_reading(actions: Commands) -> None:
    add = partial(_action, actions)
    made = add("list", "list the conversations, last used first", "list --tag work --since 30d")
    _value(made, "words", "WORDS", "in the name, id, agent, tags, project or summary", nargs="*")
    _flag(made, "--unfold", "every session of a conversation by itself")
    _flag(made, "--all", "runs of -p and conversations without a reply as well")
    _value(made, "--limit", "N", "at most so many", type=_count, default=None)
    _filters(made)

    made = add("show", "print one session as its file has it", "show 1", "show last --json")
    _session(made)
    _flag(made, "--show-summaries", "its chain's summaries and compactions")
    _json(made)

    example = "search token bucket --agent Sally"
    made = add("search", "find what was said in any session", example)
    _value(made, "words", "WORDS", "words, or ids and numbers as they stand", nargs="+")
    _flag(made, "--text", "by words only, not by meaning: faster")
    _value(made, "--limit", "N", "at most so many hits (10)", type=_count, default=10)
    _filters(made)

    made = add("tree", "show where a session comes from and where it branches", "tree 2")
    _session(made)
    _json(made)
    _json(add("stats", "show what all sessions come to"))
    made = add("browse", "choose a session on the whole screen, and go on with it")
    _value(made, "words", "WORDS", "filter from the start", nargs="*")


def _add_changing(actions: Commands) -> None:
    add = partial(_action, actions)
    made = add("tag", "tag a session", "tag 1 work urgent", "tag 1 urgent --remove")
    _session(made)
    _value(made, "tags", "TAG", "letters, digits and _ . / + -", nargs="+")
    _flag(made, "--remove", "take these tags off")

    made = add("rename", "name a session", "rename 1 Rate limiter")
    _session(made)
    _value(made, "name", "NAME", "none: after its summary or first words again", nargs="*")

    made = add("fork", "begin a session that goes on from an earlier query", "fork 1 --at 3")
    _session(made)
    _value(made, "--at", "QUERY", "after this query (the last)", type=_count, default=0)

    made = add("merge", "begin a session that goes on from two", "merge 1 2 --prefer 1")
    _session(made, "first")
    _value(made, "second", "SESSION", "the other one")
    text = "which one holds where they differ, instead of asking"
    made.add_argument("--prefer", choices=("1", "2", "both"), default="", help=text)

    example = 'compact 3 --model anthropic:NAME --focus "ports and paths"'
    made = add("compact", "make the summary of a session, or make it anew", example)
    _optional_session(made)
    _flag(made, "--force", "also where a summary is larger than the words", dest="anyway")
    _value(made, "--focus", "WORDS", "what the summary must keep", nargs="+", default=[])
    text = "who writes it, instead of the usual one"
    _value(made, "--model", "PROVIDER:MODEL", text, default=argparse.SUPPRESS)

    text = "delete the summary of a session; its words stay"
    made = add("delete-summary", text, "delete-summary 3")
    _optional_session(made)
    _value(made, "--summary-id", "ID", "the id of the session whose summary it is")


def _add_keeping(actions: Commands) -> None:
    add = partial(_action, actions)
    text = "write a conversation as markdown, JSON or an HTML page"
    made = add("export", text, "export 1 talk.html", "export 1 - --as json > talk.json")
    _session(made)
    _value(made, "file", "FILE", "a new file or a folder; - is standard output", nargs="?")
    _value(made, "--as", "FORM", "markdown, json or html (what FILE ends in)", dest="form")
    _flag(made, "--one", "only this session, without those before it")
    _flag(made, "--secrets", "keep keys and passwords")

    text = "take in exports, or a folder of basic-agent-chat-loop"
    made = add("import", text, "import talk.json ~/old_sessions")
    _value(made, "files", "FILE|FOLDER", "what is to be read; - is standard input", nargs="+")

    made = add("trash", "move sessions to the trash; without any, list it", "trash 4 5")
    _value(made, "references", "SESSION", SESSION, nargs="*")
    _json(made)
    example = "restore sally_20261101_100000"
    made = add("restore", "bring sessions back from the trash", example)
    _value(made, "ids", "ID", "as trash lists it", nargs="+")

    text = "move old conversations to the trash, after asking"
    made = add("clean", text, "clean --older-than 90d --dry-run")
    _value(made, "--older-than", "AGE", "not used since: 30d, 12w, 1y, or a date", required=True)
    _flag(made, "--originals", "instead, old sessions that a summary stands for")
    _flag(made, "--dry-run", "only say what would be moved")
    _flag(made, "--yes", "do not ask")
    _json(made)
    add("reindex", "make the index anew from the files")


def _add_agents(made: argparse.ArgumentParser) -> None:
    actions = made.add_subparsers(dest="action", metavar="ACTION")
    add = partial(_command, actions)
    _json(add("list", "list the agents that have a name"))
    made = add("add", "give an agent a name")
    _value(made, "name", "NAME", "up to 60 letters, digits and _ . + -")
    path = "its file, or the folder of its agent.py, agent.md or agent.yaml"
    _value(made, "path", "PATH", path)
    made = add("remove", "take a name away; the file stays")
    _value(made, "name", "NAME", "as the list has it")
    made = add("show", "show what an agent's file says; nothing in it runs")
    _value(made, "name", "NAME|PATH", "the agent")
    _json(made)
    made = add("approve", "approve an agent as it is now, so that it runs unasked")
    _value(made, "name", "NAME|PATH", "the agent")


def _add_other_commands(commands: Commands, *, agents: bool) -> None:
    add = partial(_command, commands)
    text = "connect to the MCP servers of the config, and list them with their tools"
    made = add("mcp", text, "Exit codes: 0 all are connected, 1 one failed, 2 misused.")
    _value(made, "action", "list", "the same", nargs="?", default="list", choices=("list",))
    _json(made)

    text = "list, show, name and approve agents: files in markdown, YAML or Python"
    made = add("agents", text, "Without ACTION: list.")
    _json(made)
    if agents:
        _add_agents(made)

    text = "list, install and remove embedded models, which need no key and no network"
    actions = add("models", text).add_subparsers(dest="action", required=True, metavar="ACTION")
    text = "list the models that can be embedded, and which of them are installed"
    _command(actions, "list", text)
    made = _command(actions, "install", "fetch a model; one that was broken off goes on")
    _value(made, "name", "NAME", "which one; with none the one that is recommended", nargs="?")
    made = _command(actions, "remove", "delete a model's file")
    _value(made, "name", "NAME", "which one", nargs="?")

    text = "say which providers can be used now, and what the others need"
    more = "Servers on this machine are asked whether they are there; no key is shown."
    _json(add("providers", text, more))

    text = "check what is installed, stored and set, and say what to do"
    made = add("doctor", text, DOCTOR)
    _flag(made, "--online", "ask the model that would answer one small question")
    _flag(made, "--connect", "start the MCP servers of the config, and connect to them")
    _json(made)

    text = "print a script that completes this command line"
    made = add("completion", text, "Exit codes: 0 done, 2 misused.", COMPLETION)
    made.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options that a command line gives. Raises UsageError."""
    options = parser(arguments).parse_args(arguments)
    check(options)
    return options


def check(options: argparse.Namespace) -> None:
    """Raise UsageError for options that do not go together."""
    asks, resume, command = options.question is not None, options.resume, options.command
    if options.json and hasattr(options, "as_json"):  # --json stood before the command
        options.as_json, options.json = True, False
    only_with_p = {
        "--system": options.system is not None,
        "--output": options.output,
        "--no-save": not options.save,
        "--json": options.json,
        "--yes": options.allow,  # in a chat the user is asked
    }
    rules = {f"{name} goes with -p.": given and not asks for name, given in only_with_p.items()}
    browses = getattr(options, "action", "") == "browse"
    rules |= {
        "-p asks one question: it does not go with a command.": asks and command,
        "--continue and --resume begin a chat: they do not go with a command.": resume and command,
        "--force goes with --output.": options.force and not options.output,
        "--no-save does not go with --continue and --resume.": resume and not options.save,
        "Which session? With -p --resume needs one.": asks and resume == BROWSE,
        "There is no terminal that can show the browser.": browses
        and not (os.isatty(0) and os.isatty(1)),
    }
    for message, broken in rules.items():
        if broken:
            raise UsageError(message, "chat-loop --help shows the options.")
