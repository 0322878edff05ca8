"""The command line of the commands that look at no session, and their help."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

SHELLS = ("bash", "zsh", "fish")


def add_commands(commands: Actions, arguments: Sequence[str]) -> None:
    """Add all but `sessions`; the parts below `agents` only where `arguments` ask for them."""
    mcp = _command(
        commands,
        "mcp",
        "connect to the MCP servers of the config, and list them with their tools",
        "Exit codes: 0 all are connected, 1 one failed, 2 misused.",
    )
    mcp.add_argument(
        "action", nargs="?", default="list", choices=("list",), metavar="list", help="the same"
    )
    add_json(mcp)
    agents = _command(
        commands,
        "agents",
        "list, show, name and approve agents: files in markdown, YAML or Python",
        "Without ACTION: list.",
    )
    if "agents" in arguments:
        _agents(agents)
    _models(
        _command(
            commands,
            "models",
            "list, install and remove embedded models, which need no key and no network",
        )
    )
    providers = _command(
        commands,
        "providers",
        "say which providers can be used now, and what the others need",
        "Servers on this machine are asked whether they are there; no key is shown.",
    )
    add_json(providers)
    _doctor(commands)
    _completion(commands)


def _command(
    commands: Actions, name: str, text: str, more: str = "", epilog: str = ""
) -> argparse.ArgumentParser:
    """A command that is described by what its help says, and by `more`."""
    described = f"{text[0].upper()}{text[1:]}. {more}".rstrip()
    return commands.add_parser(name, help=text, description=described, epilog=epilog or None)


def add_json(made: argparse.ArgumentParser) -> None:
    """Let a command print JSON."""
    made.add_argument("--json", action="store_true", dest="as_json", help="as JSON")


def _models(made: argparse.ArgumentParser) -> None:
    actions = made.add_subparsers(dest="action", required=True, metavar="ACTION")
    _command(
        actions, "list", "list the models that can be embedded, and which of them are installed"
    )
    for action, text, which in (
        (
            "install",
            "fetch a model; one that was broken off goes on",
            "which one; with none the one that is recommended",
        ),
        ("remove", "delete a model's file", "which one"),
    ):
        _command(actions, action, text).add_argument(
            "name", nargs="?", default="", metavar="NAME", help=which
        )


def _agents(made: argparse.ArgumentParser) -> None:
    add_json(made)
    actions = made.add_subparsers(dest="action", metavar="ACTION")
    add_json(_command(actions, "list", "list the agents that have a name"))
    adding = _command(actions, "add", "give an agent a name")
    adding.add_argument("name", metavar="NAME", help="up to 60 letters, digits and _ . + -")
    adding.add_argument(
        "path",
        metavar="PATH",
        help="its file, or the folder of its agent.py, agent.md or agent.yaml",
    )
    removing = _command(actions, "remove", "take a name away; the file stays")
    removing.add_argument("name", metavar="NAME", help="as the list has it")
    showing = _command(actions, "show", "show what an agent's file says; nothing in it runs")
    showing.add_argument("name", metavar="NAME|PATH", help="the agent")
    add_json(showing)
    approving = _command(
        actions, "approve", "approve an agent as it is now, so that it runs unasked"
    )
    approving.add_argument("name", metavar="NAME|PATH", help="the agent")


def _doctor(commands: Actions) -> None:
    made = _command(
        commands,
        "doctor",
        "check what is installed, stored and set, and say what to do",
        "Nothing is changed, no service is asked, no key is shown. Exit codes: 0 no problem, 1 at "
        "least one (✗), 2 misused.",
    )
    made.add_argument(
        "--online", action="store_true", help="ask the model that would answer one small question"
    )
    made.add_argument(
        "--connect",
        action="store_true",
        help="start the MCP servers of the config, and connect to them",
    )
    add_json(made)


def _completion(commands: Actions) -> None:
    made = _command(
        commands,
        "completion",
        "print a script that completes this command line",
        "Exit codes: 0 done, 2 misused.",
        "To have it in every new shell, put into ~/.bashrc: source <(chat-loop completion bash); "
        "into ~/.zshrc, after compinit: source <(chat-loop completion zsh); "
        "into ~/.config/fish/config.fish: chat-loop completion fish | source",
    )
    made.add_argument("shell", choices=SHELLS, metavar="SHELL", help="bash, zsh or fish")
