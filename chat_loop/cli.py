"""The composition root: argv -> config -> objects -> run. Exit codes: 0 done, 1 failed, 2 misused, 130 interrupted.

The top of this file imports only what the instant prompt needs; everything else is loaded while the user reads it.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from chat_loop import __version__, start

if TYPE_CHECKING:
    import argparse

    from chat_loop.agent.agent import Agent
    from chat_loop.config import Config, Paths
    from chat_loop.providers import Provider
    from chat_loop.sessions.manager import SessionManager

OK, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    instant = start.draw(arguments)
    if instant is not None:
        gc.disable()  # until everything is loaded (`Interactive`): there is no garbage yet, only time to lose
    try:
        return _run(arguments, instant)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return OK  # nobody reads any more
    finally:
        if instant is not None:
            instant.terminal.restore()
        for name in ("stdout", "stderr"):
            try:
                getattr(sys, name).flush()
            except OSError:
                setattr(sys, name, None)  # the pipe or the terminal is gone: the interpreter must not fail on it again


def _run(arguments: list[str], instant: start.InstantPrompt | None) -> int:
    from chat_loop.errors import ChatLoopError, ConfigError, ModelError, NoProvider, UsageError

    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    options = _parser().parse_args(arguments)
    try:
        return _dispatch(options, instant)
    except ChatLoopError as error:
        if instant is not None:
            instant.erase()
        from chat_loop.display.plain import err

        err(f"{error.message}\n{error.hint}" if error.hint else error.message)
        return MISUSED if isinstance(error, ConfigError | UsageError | NoProvider | ModelError) else FAILED


def _parser() -> argparse.ArgumentParser:
    import argparse

    parser = argparse.ArgumentParser(
        prog="chat-loop",
        description="Terminal chat for large language models; every conversation is a markdown file.",
        epilog="Exit codes: 0 done, 1 failed, 2 misused, 130 interrupted. Inside the chat, help lists the commands.",
    )
    parser.add_argument("--version", action="version", version=f"chat-loop {__version__}")
    parser.add_argument("--model", default="", metavar="PROVIDER:MODEL", help="such as anthropic:NAME, local:NAME")
    parser.add_argument("--base-url", default="", metavar="URL", help="where the server is, for compatible:MODEL")
    parser.add_argument(
        "--local", action="store_true", help="use the embedded model; ask which to fetch if there is none"
    )
    parser.add_argument("--resume", default="", metavar="N|ID", help="go on with a saved session")
    parser.add_argument("--config", default="", metavar="FILE", help="read this config file")
    parser.add_argument("--sessions-dir", default="", metavar="DIR", help="keep the sessions here")
    parser.add_argument(
        "-p", "--print", dest="question", default=None, metavar="QUESTION", help="answer once and leave"
    )
    parser.add_argument("--json", action="store_true", help="with -p: print one JSON object per event")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    sessions = commands.add_parser("sessions", help="list or show saved sessions").add_subparsers(
        dest="action", required=True, metavar="ACTION"
    )
    listing = sessions.add_parser("list", help="list the sessions, newest first")
    listing.add_argument("--json", action="store_true", dest="as_json", help="one JSON array")
    showing = sessions.add_parser("show", help="print one session")
    showing.add_argument("reference", metavar="N|ID", help="a number of the list, an id, or current")
    showing.add_argument("--json", action="store_true", dest="as_json", help="as one JSON object")
    models = commands.add_parser("models", help="embedded models: list, install, remove").add_subparsers(
        dest="action", required=True, metavar="ACTION"
    )
    models.add_parser("list", help="list the models that can be embedded")
    for action, text in (("install", "fetch a model"), ("remove", "delete a model's file")):
        models.add_parser(action, help=text).add_argument("name", nargs="?", default="", metavar="NAME")
    return parser


def _dispatch(options: argparse.Namespace, instant: start.InstantPrompt | None) -> int:
    from pathlib import Path

    from chat_loop import config as configuration

    paths = configuration.find_paths()
    file = Path(options.config).expanduser() if options.config else paths.config
    config = configuration.load(file, required=bool(options.config))
    if options.command == "models":
        from chat_loop import subcommands

        return subcommands.models(options.action, getattr(options, "name", ""), paths.models)
    from chat_loop.sessions.manager import SessionManager

    sessions = SessionManager(paths.sessions(config, options.sessions_dir), project=_working_directory())
    if options.command == "sessions":
        from chat_loop import subcommands

        if options.action == "list":
            return subcommands.list_sessions(sessions, as_json=options.as_json)
        return subcommands.show_session(sessions, options.reference, as_json=options.as_json)
    if options.json and options.question is None:
        from chat_loop.errors import UsageError

        raise UsageError("--json goes with -p.", 'For example: chat-loop --json -p "question".')
    if options.question is not None:
        from chat_loop import headless
        from chat_loop.memory.notebook import place_of

        question = headless.whole_question(options.question)
        agent = _agent(options, config, paths, None)
        place = place_of(config, paths, agent.provider.window.tokens)
        return headless.ask(agent, sessions, question, config, place, as_json=options.json)
    agent = _agent(options, config, paths, instant)
    return _interact(options, config, paths, agent, _summariser(config, paths, agent), sessions, instant)


def _working_directory() -> str:
    from pathlib import Path

    try:
        return str(Path.cwd())
    except OSError:  # it was removed
        return ""


def _summariser(config: Config, paths: Paths, agent: Agent) -> Provider | None:
    """Who writes the summaries, when the config names somebody. Raises UsageError and ConfigError."""
    from chat_loop.providers import choose

    auto = config.auto_compact
    if not (auto.summary_provider or auto.summary_model):
        return None
    provider = auto.summary_provider or agent.provider.name
    same = provider == agent.provider.name
    model = auto.summary_model or (agent.provider.model if same else choose.DEFAULT_MODELS.get(provider, ""))
    if not model:
        from chat_loop.errors import ConfigError

        raise ConfigError(f"auto_compact.summary_model is missing: which model of {provider}?")
    return choose.create(f"{provider}:{model}", config, choose.real_world(paths.models))


def _agent(options: argparse.Namespace, config: Config, paths: Paths, instant: start.InstantPrompt | None) -> Agent:
    from chat_loop.agent.agent import Agent
    from chat_loop.providers.choose import choose, real_world

    reference = options.model
    if options.local and not reference:
        from chat_loop import subcommands

        if instant is not None and not subcommands.any_installed(paths.models):
            instant.erase()
            instant.terminal.restore()
            instant = None
        reference = f"local:{subcommands.ensure_installed(paths.models)}"
    provider = choose(reference, config, real_world(paths.models), base_url=options.base_url)
    return Agent(name=config.agent.name, system_prompt=config.agent.system_prompt, provider=provider)


def _interact(
    options: argparse.Namespace,
    config: Config,
    paths: Paths,
    agent: Agent,
    summariser: Provider | None,
    sessions: SessionManager,
    instant: start.InstantPrompt | None,
) -> int:
    import asyncio
    import shlex

    from chat_loop.interactive import Interactive, Setting
    from chat_loop.memory.notebook import place_of

    known = ["--config", "--sessions-dir", "--model", "--base-url"]
    given = [(name, getattr(options, name[2:].replace("-", "_"))) for name in known]
    command = ["chat-loop", *(["--local"] if options.local else [])]
    command += [part for name, value in given if value for part in (name, value)]
    setting = Setting(
        config=config,
        agent=agent,
        summariser=summariser,
        sessions=sessions,
        history=paths.history,
        facts=(("Sessions", str(sessions.directory)), ("Config", options.config or str(paths.config))),
        resume_command=shlex.join(command),
        resume=options.resume,
        memory=place_of(config, paths, agent.provider.window.tokens),
    )
    return asyncio.run(Interactive(setting, instant).run())
