"""The composition root: argv -> config -> objects -> run. Exit codes: 0 done, 1 failed, 2 misused, 130 interrupted.

The top of this file imports only what the instant prompt needs; everything else is loaded while the user reads it.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from chat_loop import start

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
    from chat_loop.options import parser

    options = parser(arguments).parse_args(arguments)
    try:
        return _dispatch(options, instant)
    except ChatLoopError as error:
        if instant is not None:
            instant.erase()
        from chat_loop.display.plain import err

        err(f"{error.message}\n{error.hint}" if error.hint else error.message)
        return MISUSED if isinstance(error, ConfigError | UsageError | NoProvider | ModelError) else FAILED


def _dispatch(options: argparse.Namespace, instant: start.InstantPrompt | None) -> int:
    from pathlib import Path

    from chat_loop import config as configuration

    _check(options)
    paths = configuration.find_paths()
    file = Path(options.config).expanduser() if options.config else paths.config
    config = configuration.load(file, required=bool(options.config))
    if options.command == "models":
        from chat_loop.subcommands import models

        return models.models(options.action, getattr(options, "name", ""), paths.models)
    if options.command == "providers":
        from chat_loop.providers.choose import real_world
        from chat_loop.subcommands import providers

        return providers.providers(config, real_world(paths.models), as_json=options.as_json)
    from chat_loop.sessions.manager import SessionManager

    sessions = SessionManager(paths.sessions(config, options.sessions_dir), project=_working_directory())
    if options.command == "sessions" and options.action != "browse":
        from chat_loop.subcommands import sessions as about_sessions

        return about_sessions.run(options, sessions, config, lambda: _models(options, config, paths))
    if options.question is not None:
        from chat_loop import headless
        from chat_loop.memory.notebook import place_of

        question = headless.whole_question(options.question)
        agent = _agent(options, config, paths, None)
        place = place_of(config, paths, agent.provider.window.tokens)
        return headless.ask(agent, sessions, question, config, place, as_json=options.json)
    agent = _agent(options, config, paths, instant)
    return _interact(options, config, paths, agent, _summariser(config, paths, agent), sessions, instant)


def _check(options: argparse.Namespace) -> None:
    """Raises UsageError for options that do not go together."""
    from chat_loop.errors import UsageError

    if options.question is not None and (options.command or options.resume):
        what = "a command" if options.command else "--continue and --resume"
        raise UsageError(f"-p asks one question in a session of its own: it does not go with {what}.")
    if options.resume and options.command:
        raise UsageError("--continue and --resume begin a chat: they do not go with a command.")
    if options.json and hasattr(options, "as_json"):
        options.as_json = True
    elif options.json and options.question is None:
        raise UsageError("--json goes with -p.", 'For example: chat-loop --json -p "question".')
    if getattr(options, "action", "") == "browse" and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("There is no terminal that can show the browser.", "chat-loop sessions list lists them.")


def _models(options: argparse.Namespace, config: Config, paths: Paths) -> tuple[Agent, Provider | None]:
    """Who answers and who writes the summaries. A model that the command line names does both."""
    agent = _agent(options, config, paths, None)
    return agent, None if options.model or options.local else _summariser(config, paths, agent)


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
    same, world = provider == agent.provider.name, choose.real_world(paths.models)
    model = auto.summary_model or (agent.provider.model if same else choose.default_model(provider, config, world))
    if not model:
        from chat_loop.errors import ConfigError

        raise ConfigError(f"auto_compact.summary_model is missing: which model of {provider}?")
    return choose.create(f"{provider}:{model}", config, world)


def _agent(options: argparse.Namespace, config: Config, paths: Paths, instant: start.InstantPrompt | None) -> Agent:
    from chat_loop.agent.agent import Agent
    from chat_loop.providers.choose import choose, real_world

    reference = options.model
    if options.local and not reference:
        from chat_loop.subcommands import models

        if instant is not None and not models.any_installed(paths.models):
            instant.erase()
            instant.terminal.restore()
            instant = None
        reference = f"local:{models.ensure_installed(paths.models)}"
    provider = choose(reference, config, real_world(paths.models), base_url=options.base_url)
    return Agent(name=config.agent.name, system_prompt=config.agent.system_prompt, provider=provider)


def _first(options: argparse.Namespace, config: Config, sessions: SessionManager) -> str:
    """The command that the chat begins with, if any."""
    from chat_loop.options import BROWSE, LAST

    if options.command == "sessions":
        return f"/sessions browse {' '.join(options.words)}".rstrip()
    if options.resume == BROWSE:
        return "/sessions browse"
    reference = options.resume
    if not reference and config.sessions.auto_resume and not options.new_session and sessions.current():
        reference = LAST
    return f"/resume {reference}" if reference else ""


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

    first = _first(options, config, sessions)
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
        first=first,
        offer=not (first or options.new_session),
        memory=place_of(config, paths, agent.provider.window.tokens),
    )
    return asyncio.run(Interactive(setting, instant).run())
