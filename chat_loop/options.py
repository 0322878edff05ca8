"""The command line: its options and commands, and their help."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from difflib import get_close_matches
from functools import partial
from itertools import islice
from typing import Any, NoReturn

from chat_loop import __version__
from chat_loop.errors import UsageError

LAST = "last"  # the value of `--continue`
BROWSE = "browse"  # the value of `--resume` alone: the user chooses
SHELLS = ("bash", "zsh", "fish")
HELP = {"-h", "--help"}
COMMANDS = (
    *("sessions", "mcp", "agents", "models", "providers", "plugins", "doctor", "tour"),
    *("sync", "completion"),
)
SYNONYMS = {"help": ("--help",), "version": ("--version",), "list": ("sessions", "list")}
"""What a single word means that people type, and that is no command."""
ACTIONS = (
    *("add", "approve", "browse", "compact", "export", "fork", "import", "install", "list"),
    *("merge", "remove", "rename", "search", "show", "stats", "tag", "trash", "tree", "why"),
)
"""Words after a command; after a misspelled one they show that it was meant."""
OLD_ACTIONS = {"untag": ("tag", "--remove"), "delete": ("trash",)}
"""What the actions of `sessions` mean that are called as in a chat."""
AMBIGUOUS = {"--agent", "--model", "--json", "--yes"}
"""The options of a chat that some commands have, too, often with another meaning."""
SESSION = "a number of the list, an id, words of its name, or last"
USAGE = """\
chat-loop [OPTIONS] [MESSAGE]
       chat-loop [OPTIONS] COMMAND ..."""
DESCRIPTION = """\
Chat with large language models in your terminal. Every conversation is saved
as a markdown file. Without a COMMAND a chat starts, with MESSAGE as its first
message; type help in it to see what you can do."""
EPILOG = """\
Examples:
  chat-loop                         chat with the first model that is available
  chat-loop "What is a monad?"      the same, and ask this first
  chat-loop -m gemini               chat with Gemini's default model
  chat-loop --continue              continue this project's last conversation
  chat-loop -p "What is a monad?"   print one reply and quit
  git diff | chat-loop -p "Write a commit message for this."
  chat-loop sessions search port    search all conversations
  chat-loop sessions list --help    show the options of a command

Without --model, chat-loop uses a provider whose key is set (for example
ANTHROPIC_API_KEY), else a model server on this machine, else the embedded
model. chat-loop providers lists what is available; chat-loop doctor checks the
setup and shows which files are used. CHAT_LOOP_HOME sets one folder for config,
sessions and models. Exit codes: 0 done, 1 failed or nothing found, 2 wrong
usage, 3 incomplete reply with -p, 130 interrupted."""

DOCTOR = """\
Nothing is changed, no model is asked, no key is shown. Exit codes: 0 no
problem, 1 at least one (✗), 2 wrong usage."""
COMPLETION = """\
To turn it on in every new shell, add the line of your shell:
  in ~/.bashrc                  source <(chat-loop completion bash)
  in ~/.zshrc, after compinit   source <(chat-loop completion zsh)
  in ~/.config/fish/config.fish chat-loop completion fish | source"""
REWORDED = {
    r"argument (\S+): expected .*": r"\1 needs a value",
    r"argument (\S+): not allowed with argument (\S+)": r"\1 cannot be used with \2",
    r"the following arguments are required: (.*)": r"Missing: \1",
    r"argument (\S+): (.*)": r"\1: \2",
}
"""Patterns of argparse's messages, and the texts that replace them."""


class _Parser(argparse.ArgumentParser):
    """A parser that raises UsageError, with a sentence and a hint, instead of exiting, so that the
    prompt can be erased. If it `takes_words`, the caller gets the words that are not options.
    """

    takes_words = False

    def parse_known_args(self, args: Iterable[str] | None = None, namespace: object = None) -> Any:
        options, rest = super().parse_known_args(args, namespace)
        for word in rest:
            if word.startswith("-") and " " not in word:
                name = word.partition("=")[0]
                known = [*self._option_string_actions]
                longer = [option for option in known if option[1:].startswith(name)]
                self._refuse(
                    f"Unknown option {name}", [*get_close_matches(name, known, 1, 0.75), *longer]
                )
            if not self.takes_words:
                self._refuse(f"Unexpected argument “{word[:60]}”")
        return options, rest

    def error(self, message: str) -> NoReturn:
        choice = re.match(r"argument (COMMAND|ACTION|SHELL): invalid choice: '(.*?)'", message)
        if choice is not None:
            names = []
            for action in self._actions:
                for name in action.choices or ():
                    names.append(name)
            near = get_close_matches(choice[2], names, 1)
            self._refuse(f"Unknown {choice[1].lower()} “{choice[2][:60]}”", near)
        for pattern, replacement in REWORDED.items():
            message = re.sub(f"{pattern}$", replacement, message)
        self._refuse(message)

    def _refuse(self, sentence: str, near: Sequence[str] = ()) -> NoReturn:
        meant = ""
        if near:
            meant = f" Did you mean {near[0]}?"
        raise UsageError(f"{sentence}.{meant}", f"{self.prog} --help shows how.")


def parser(arguments: Sequence[str] = COMMANDS, action: str = "") -> argparse.ArgumentParser:
    """Return the parser of the command line, with the actions of `sessions` if `arguments` contain
    it. If `action` only reads, the actions that change something and the other commands are left
    out.
    """
    made = _chat_parser()
    commands = made.add_subparsers(
        dest="command", metavar="COMMAND", title="commands", prog="chat-loop"
    )
    codes = "Exit codes: 0 done, 1 failed or nothing found, 2 wrong usage."
    text = "list, search, show, branch and share conversations"
    sessions = _command(commands, "sessions", text, more=f"Without ACTION: list. {codes}")
    if "sessions" in arguments:  # a chat does not need them
        actions = sessions.add_subparsers(dest="action", required=True, metavar="ACTION")
        _add_reading(partial(_command, actions))
        if action in actions.choices:
            return made
        _add_changing(partial(_command, actions))
        _add_keeping(partial(_command, actions))
    _add_other_commands(partial(_command, commands))
    return made


def _value(
    made: argparse._ActionsContainer, names: str, metavar: str, text: str, **more: Any
) -> None:
    if more.get("nargs") not in ("*", "+"):
        more.setdefault("default", "")
    made.add_argument(*names.split(), metavar=metavar, help=text, **more)


def _flag(made: argparse._ActionsContainer, names: str, text: str, **more: Any) -> None:
    made.add_argument(*names.split(), help=text, **{"action": "store_true", **more})


def _json(made: argparse._ActionsContainer) -> None:
    _flag(made, "--json", "print JSON", dest="as_json")


def _session(made: argparse.ArgumentParser, name: str = "reference") -> None:
    made.add_argument(name, metavar="SESSION", help=SESSION)


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text)):
        raise argparse.ArgumentTypeError(f"“{text[:40]}” is not a number above 0")
    return int(text)


def _effort(text: str) -> str:
    from chat_loop.values import EFFORTS, USUAL_EFFORT  # most command lines do not name one

    level = {"none": "off", "auto": USUAL_EFFORT}.get(text, text)
    if level not in (*EFFORTS, USUAL_EFFORT):
        levels = ", ".join((*EFFORTS, USUAL_EFFORT))
        raise argparse.ArgumentTypeError(f"“{text[:40]}” is not one of {levels}")
    return level


def _command(
    commands: argparse._SubParsersAction[_Parser],
    name: str,
    text: str,
    *examples: str,
    more: str = "",
    epilog: str = "",
) -> _Parser:
    """Add a command or an action. Each of its `examples` follows `chat-loop sessions`."""
    description = f"{text[0].upper()}{text[1:]}. {more}".rstrip()
    made = commands.add_parser(name, help=text, description=description, allow_abbrev=False)
    if examples:
        epilog = "\n  chat-loop sessions ".join(("For example:", *examples))
    if epilog:
        made.epilog = epilog
        made.formatter_class = argparse.RawDescriptionHelpFormatter
    return made


def _chat_parser() -> _Parser:
    made = _Parser(
        prog="chat-loop",
        allow_abbrev=False,
        usage=USAGE,
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, max_help_position=30),
    )
    made.add_argument("--version", action="version", version=f"chat-loop {__version__}")
    made.set_defaults(resume="", message="", command=None)

    model = made.add_argument_group("model")
    _value(model, "-m --model", "MODEL", "anthropic:NAME, gpt-5, or gemini for its default model")
    _value(model, "--agent", "NAME|PATH", "use this agent", dest="agent_reference")
    _flag(model, "--trust-agent", "run that agent this time without asking")
    text = "use the project's AGENTS.md, CLAUDE.md and MEMORY.md this time without asking"
    _flag(model, "--trust-project", text)
    _value(model, "--base-url", "URL", "the server for --model compatible:NAME")
    _flag(model, "--local", "use the embedded model; offers to download one")
    _value(model, "--max-tokens", "N", "maximum length of a reply", type=_count, default=None)
    text = "how much the model thinks: off, low, high, or another level of /effort"
    _value(model, "--effort", "LEVEL", text, type=_effort, default=None)
    _value(model, "--tools", "NAME,...", "tools for the model, e.g. read_file,run_command, or all")
    _value(model, "--config", "FILE", "read settings from this file")

    conversation = made.add_argument_group("conversation")
    start = conversation.add_mutually_exclusive_group()
    text = "continue the last conversation of this project"
    _flag(start, "-c --continue", text, dest="resume", action="store_const", const=LAST)
    text = "continue a saved conversation; without a value, choose one"
    _value(start, "-r --resume", "N|ID", text, nargs="?", const=BROWSE)
    _flag(start, "--new-session", "start a new conversation even with sessions.auto_resume")
    _value(conversation, "--name", "NAME", "name the conversation", dest="title")
    _value(conversation, "--sessions-dir", "DIR", "keep sessions in this folder")

    terminal = made.add_argument_group("terminal")
    _flag(terminal, "--no-plugins", "load no plugins", dest="plugins", action="store_false")
    _flag(terminal, "--plain", "whole lines, no colors, nothing redrawn: for screen readers")

    question = made.add_argument_group("one reply, without a chat (docs/headless.md)")
    text = "print one reply and quit; piped input follows QUESTION, and - reads only that"
    _value(question, "-p --print", "QUESTION", text, dest="question", default=None)
    _flag(question, "--json", "print one JSON object per event")
    _flag(question, "--yes", "run tools without asking", dest="allow")
    _value(question, "--system", "TEXT", "replace the agent's system prompt", default=None)
    _flag(question, "--no-save", "don't save the conversation", dest="save", action="store_false")
    return made


def _add_reading(add: Callable[..., _Parser]) -> None:
    made = add("list", "list conversations, most recent first", "list --tag work --since 30d")
    _value(made, "words", "WORDS", "in the name, id, agent, tags, project or summary", nargs="*")
    _flag(made, "--unfold", "list each session of a conversation separately")
    _flag(made, "--all", "include -p runs and conversations without a reply")
    _value(made, "--limit", "N", "show at most N", type=_count, default=None)
    _add_filters(made)

    made = add("show", "print one session as its file has it", "show 1", "show last --json")
    _session(made)
    _flag(made, "--show-summaries", "its chain's summaries and compactions")
    _json(made)

    made = add("search", "search what was said in all conversations", "search port --agent Sally")
    _value(made, "words", "WORDS", "words, or exact ids and numbers", nargs="+")
    _flag(made, "--text", "by words only, not by meaning: faster")
    _value(made, "--limit", "N", "show at most N hits (default: 10)", type=_count, default=10)
    _add_filters(made)

    about = "show where a text comes from, what carried it on, and what dropped it"
    made = add("why", about, "why port 5544", "why 'port 5544' --session 3 --json")
    _value(made, "text", "TEXT", "a value, some words or a sentence", nargs="+")
    about = "of the conversation with this number, id or name (default: last)"
    _value(made, "--session", "SESSION", about, default=LAST)
    _json(made)

    _session(add("tree", "show where a session comes from and where it branches", "tree 2"))
    _json(add("stats", "show totals over all conversations"))
    made = add("browse", "choose a session in a full-screen browser and continue it")
    _value(made, "words", "WORDS", "initial filter", nargs="*")


def _add_filters(made: argparse.ArgumentParser) -> None:
    _value(made, "--agent", "A", "a part of the agent's name")
    _value(made, "--tag", "T", "with this tag")
    _value(made, "--project", "P", "a part of the working directory's path")
    _value(made, "--since", "DATE", "used since 2026-11-21, or 30d for the last 30 days")
    _value(made, "--before", "DATE", "not used since that date")
    _json(made)


def _add_changing(add: Callable[..., _Parser]) -> None:
    made = add("tag", "tag a session", "tag 1 work urgent", "tag 1 urgent --remove")
    _session(made)
    _value(made, "tags", "TAG", "letters, digits and _ . / + -", nargs="+")
    _flag(made, "--remove", "take these tags off")

    made = add("rename", "name a session", "rename 1 Rate limiter")
    _session(made)
    _value(made, "name", "NAME", "without it: named after its summary or first words", nargs="*")

    made = add("fork", "start a new session from an earlier message", "fork 1 --at 3")
    _session(made)
    about = "after this message (default: the last)"
    _value(made, "--at", "MESSAGE", about, type=_count, default=0)

    made = add("merge", "start a new session that continues two others", "merge 1 2")
    _session(made, "first")
    _value(made, "second", "SESSION", "the other one")

    made = add("compact", "summarize a session, or redo its summary", "compact 3 --focus ports")
    _session(made)
    _value(made, "--focus", "WORDS", "what the summary must keep", nargs="+", default=[])
    _flag(made, "--late", argparse.SUPPRESS)  # an exit starts this
    _value(made, "--model", "MODEL", "the model that writes it", default=argparse.SUPPRESS)

    _session(add("delete-summary", "delete the summary of a session; its words stay"))

    text = "delete a text from a conversation for good, wherever it stands"
    made = add("redact", text, "redact 1 'correct horse'", "redact 1 - --yes < secret.txt")
    _session(made)
    _value(made, "text", "TEXT", "at least 4 characters; - reads it from standard input")
    _flag(made, "--yes", "do not ask")

    made = add("purge", "delete a session for good, not to the trash; asks first", "purge 3")
    _session(made)
    _flag(made, "--yes", "do not ask; SESSION is a whole id")


def _add_keeping(add: Callable[..., _Parser]) -> None:
    text = "export a conversation as an HTML page, markdown or JSON"
    made = add("export", text, "export 1 talk.html", "export 1 - --as json > talk.json")
    _session(made)
    _value(made, "file", "FILE", "a new file or a folder; - is standard output", nargs="?")
    _value(made, "--as", "FORM", "markdown, json or html (default: what FILE ends in)", dest="form")
    _flag(made, "--one", "only this session, without those before it")
    _flag(made, "--secrets", "keep keys and passwords")

    made = add("import", "import exports, also those of Claude, ChatGPT, codex and llm")
    _value(made, "files", "FILE|FOLDER", "what to read; - is standard input", nargs="+")

    made = add("trash", "move conversations to the trash; without any, list it", "trash 4 5")
    _value(made, "references", "SESSION", SESSION, nargs="*")
    made = add("restore", "restore sessions from the trash")
    _value(made, "ids", "ID", "as trash lists it", nargs="+")

    text = "move old conversations to the trash; asks first"
    made = add("clean", text, "clean --older-than 90d --dry-run")
    _value(made, "--older-than", "AGE", "not used since: 30d, 12w, 1y, or a date", required=True)
    _flag(made, "--originals", "instead, old sessions that have a summary")
    _flag(made, "--dry-run", "only show what would be moved")
    _flag(made, "--yes", "do not ask")
    add("reindex", "rebuild the search index")


def _add_other_commands(add: Callable[..., _Parser]) -> None:
    text = "connect to the configured MCP servers and list their tools"
    add("mcp", text, more="Exit codes: 0 all are connected, 1 one failed, 2 wrong usage.")

    made = add("agents", "list, show, name and approve agents", more="Without ACTION: list.")
    actions = made.add_subparsers(dest="action", required=True, metavar="ACTION")
    _json(_command(actions, "list", "list named agents"))
    made = _command(actions, "add", "give an agent a name")
    _value(made, "name", "NAME", "up to 60 letters, digits and _ . + -")
    _value(made, "path", "PATH", "its file, or the folder of its agent.py, agent.md or agent.yaml")
    made = _command(actions, "remove", "remove a name; the file stays")
    _value(made, "name", "NAME", "as the list has it")
    made = _command(actions, "show", "show an agent's file without running it")
    _value(made, "name", "NAME|PATH", "the agent")
    made = _command(actions, "approve", "approve an agent as it is now: it runs without asking")
    _value(made, "name", "NAME|PATH", "the agent")

    made = add("models", "list, install and remove embedded models")
    actions = made.add_subparsers(dest="action", required=True, metavar="ACTION")
    _command(actions, "list", "list embedded models and which are installed")
    made = _command(actions, "install", "download a model, or resume an interrupted download")
    _value(made, "name", "NAME", "which one (default: the recommended one)", nargs="?")
    made = _command(actions, "remove", "delete a model's file")
    _value(made, "name", "NAME", "which one")

    text = "show which providers are available and what the others need"
    more = "Looks for model servers on this machine; no key is shown."
    _json(add("providers", text, more=more))
    made = add("doctor", "check the installation and suggest fixes", more=DOCTOR)
    _flag(made, "--online", "send the model one small question")
    output = made.add_mutually_exclusive_group()
    _flag(output, "--report", "print what a bug report needs, without anything private")
    _json(output)
    _json(add("plugins", "list the installed plugins and what they add"))
    text = "synchronize the sessions with their store"
    codes = "Exit codes: 0 done, 1 something has to wait, 2 wrong usage."
    made = add("sync", text, more=codes)
    _flag(made, "--late", argparse.SUPPRESS)  # an exit starts this
    add("tour", "take a one-minute tour: no key, no network, nothing saved")
    codes = "Exit codes: 0 done, 2 wrong usage."
    made = add("completion", "print a shell completion script", more=codes, epilog=COMPLETION)
    made.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options that a command line gives. Raises UsageError."""
    words = [*arguments]
    chat = _chat_parser()
    index = _first_word(chat, words)
    if words[index:] and words[index] in SYNONYMS and not words[index + 1 :]:
        words[index:] = SYNONYMS[words[index]]
    elif words[index : index + 1] == ["help"] and words[index + 1] in COMMANDS:
        words[index:] = [words[index + 1], "--help"]
    name, after = [*words[index:], "", ""][:2]
    if name in COMMANDS:
        words = _options_first(chat, words, index, own=AMBIGUOUS)
        index = _first_word(chat, words)
        after = "".join(words[index + 1 : index + 2])
    if name in COMMANDS or not HELP.isdisjoint(words):
        lists = name in ("sessions", "models", "agents")
        if lists and after[:1] in ("", "-") and after not in HELP:
            words.insert(index + 1, "list")
        elif name == "sessions" and after in OLD_ACTIONS:
            words[index + 1 : index + 2] = OLD_ACTIONS[after]
        made = parser(words, "".join(words[index + 1 : index + 2]))
        if name in COMMANDS:
            words = _options_first(chat, words, index, own=_options_of(made, words[index:]))
        options = made.parse_args(words)
    else:
        options = _parse_chat(chat, words)
    check(options)
    return options


def _options_of(made: argparse.ArgumentParser, words: Sequence[str]) -> set[str]:
    """Return the options of the command and action that `words` begin with."""
    for word in words[:2]:
        for action in made._actions:
            if isinstance(action, argparse._SubParsersAction):
                made = action.choices.get(word, made)
    return set(made._option_string_actions)


def _options_first(
    chat: argparse.ArgumentParser, arguments: Sequence[str], index: int, own: Collection[str]
) -> list[str]:
    """Return the arguments with the options of a chat before the command at `index`, except for
    those that the command has as its `own`, that ask for help, or whose value may be left out.
    """
    before = [*arguments[:index]]
    after: list[str] = []
    rest = iter(arguments[index:])
    for word in rest:
        name, equals, _ = word.partition("=")
        action = chat._option_string_actions.get(name)
        if word == "--":
            after += [word, *rest]
        elif action is None or name in own or name in HELP or action.nargs == "?":
            after.append(word)
        elif action.nargs == 0 or equals:
            before.append(word)
        else:
            before += [word, *islice(rest, 1)]
    return before + after


def _first_word(chat: argparse.ArgumentParser, arguments: Sequence[str]) -> int:
    """Return the index of the first argument that is neither an option nor an option's value."""
    index = 0
    while index < len(arguments) and arguments[index].startswith("-") and arguments[index] != "--":
        action = chat._option_string_actions.get(arguments[index])
        index += 1
        if action is not None and action.nargs != 0:
            is_left_out = action.nargs == "?" and "".join(arguments[index : index + 1])[:1] == "-"
            index += not is_left_out
    return index


def _parse_chat(chat: _Parser, arguments: list[str]) -> argparse.Namespace:
    """Return the options of a chat. The words that are not options are its first message."""
    chat.takes_words = True
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options: argparse.Namespace
    options, words = chat.parse_known_args(arguments[:end])
    is_meant = len(words) == 1 or (1 < len(words) < 4 and words[1] in ACTIONS)
    near = []
    if is_meant:
        near = get_close_matches(words[0], COMMANDS, 1, 0.75)
    if len(words) == 1 and words[0] in SYNONYMS:  # with options behind it
        near = [" ".join(SYNONYMS[words[0]])]
    if near and end == len(arguments):
        text = f"Unknown command “{words[0]}”. Did you mean {' '.join([near[0], *words[1:]])}?"
        raise UsageError(text, f"chat-loop -- {' '.join(words)} sends it as a message.")
    options.message = " ".join([*words, *arguments[end + 1 :]])
    if options.message and options.question is None and not (os.isatty(0) and os.isatty(1)):
        options.question = options.message  # nobody can type: reply once
        options.message = ""
    return options


def check(options: argparse.Namespace) -> None:
    """Raise UsageError for options that do not go together."""
    asks = options.question is not None
    resume = options.resume
    command = options.command
    if options.json and hasattr(options, "as_json"):  # --json was before the command
        options.as_json = True
        options.json = False
    only_with_p = {
        "--system": options.system is not None,
        "--no-save": not options.save,
        "--json": options.json,
        "--yes": options.allow,  # a chat asks the user
    }
    chooses = resume == BROWSE or getattr(options, "action", "") == "browse"
    on_terminal = os.isatty(0) and os.isatty(1)
    rules = {f"{name} needs -p.": used and not asks for name, used in only_with_p.items()} | {
        "-p takes one question: put quotes around it.": asks and options.message,
        "-p asks one question: it cannot be used with a command.": asks and command,
        "--continue and --resume cannot be used with a command.": resume and command,
        "--name starts a chat: it cannot be used with a command.": options.title and command,
        "The tour has its own model: leave out --model and --local.": command == "tour"
        and (options.model or options.local),
        "--no-save cannot be used with --continue and --resume.": resume and not options.save,
        "With -p, --resume needs a session.": asks and resume == BROWSE,
        "The browser needs a terminal.": chooses and not on_terminal,
    }
    for message, broken in rules.items():
        if broken:
            raise UsageError(message, "chat-loop --help shows the options.")
