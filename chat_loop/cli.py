"""The composition root: argv -> config -> objects -> run.

Exit codes: 0 done, 1 failed, 2 misused, 3 the reply is incomplete, 130 interrupted.

The top of this file imports only what the instant prompt needs; everything else is loaded while the
user reads it.
"""

from __future__ import annotations

import codecs
import errno
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from chat_loop import start

if TYPE_CHECKING:
    import argparse

    from chat_loop.composing import Composing
    from chat_loop.config import Config, Paths
    from chat_loop.sessions.manager import SessionManager

REFUSED = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF}
"""What a standard output that takes nothing says: a full disk, a limit, a closed descriptor."""
OK, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130
SIGNALLED = 128
"""From here on an exit code says which signal ended the program."""


PLAINER = "chat-loop-plainer"
PLAIN = {
    "·": "-",
    "…": "...",
    "→": "->",
    "“": '"',
    "”": '"',
    "’": "'",
    "–": "-",
    "✓": "+",
    "✗": "x",
    "×": "x",
}
"""What stands for the program's own signs where the output cannot show them."""


def _plainer(error: UnicodeError) -> tuple[str | bytes, int]:
    """The handler of errors that is named `PLAINER`: signs as ASCII, all else by its number."""
    if not isinstance(error, UnicodeEncodeError):
        return codecs.backslashreplace_errors(error)
    signs = error.object[error.start : error.end]
    shown = (PLAIN.get(sign) or sign.encode("ascii", "backslashreplace").decode() for sign in signs)
    return "".join(shown), error.end


codecs.register_error(PLAINER, _plainer)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; return its exit code."""
    if "_ARGCOMPLETE" in os.environ:  # a shell wants to know what Tab can offer
        from chat_loop.subcommands.completion import complete

        complete()
    arguments = list(sys.argv[1:] if argv is None else argv)
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _open_closed()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors=PLAINER)  # type: ignore[union-attr]
    instant = start.draw(arguments)
    if instant is not None:
        # until everything is loaded (`Interactive`): there is no garbage yet, only time to lose
        gc.disable()
    try:
        if instant is not None:
            _leave_in_order()
        code = _run(arguments, instant)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = OK  # nobody reads any more
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else FAILED
    finally:
        if instant is not None:
            instant.terminal.restore()
    return code if _flushed() else FAILED


def _flushed() -> bool:
    """Write out what was printed; return False, and say why, when standard output does not take
    it.
    """
    taken = True
    for name in ("stdout", "stderr"):
        try:
            if getattr(sys, name) is not None:
                getattr(sys, name).flush()
        except OSError as error:
            setattr(sys, name, None)  # the interpreter must not fail on it again
            if name == "stdout" and not isinstance(error, BrokenPipeError):
                _say(error)
                taken = False
    return taken


def _say(error: OSError) -> None:
    from chat_loop.display.plain import err
    from chat_loop.errors import OutputError

    err(OutputError(error).message)


def _leave_in_order() -> None:
    """Have the signals that end the program give the terminal back, until `Interactive` hears
    them.
    """
    import signal

    def leave(number: int, frame: object) -> None:
        raise SystemExit(SIGNALLED + number)

    for name in start.ENDING:
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is signal.SIG_DFL:
            signal.signal(getattr(signal, name), leave)


def _open_closed() -> None:
    """Have the null device for each standard stream that was closed by whoever started the program.

    In this order each gets its own descriptor: none is left to be that of a session's file.
    Standard output still takes nothing, so that whoever writes to it hears that it is closed.
    """
    for name, mode, flags in (
        ("stdin", "r", os.O_RDONLY),
        ("stdout", "w", os.O_RDONLY),
        ("stderr", "w", os.O_WRONLY),
    ):
        if getattr(sys, name) is None:
            stream = open(os.open(os.devnull, flags), mode, encoding="utf-8")  # noqa: SIM115, PTH123 - until the end
            setattr(sys, name, stream)


def _run(arguments: list[str], instant: start.InstantPrompt | None) -> int:
    from chat_loop.errors import (
        AgentError,
        ChatLoopError,
        ConfigError,
        ModelError,
        NoProvider,
        OutputError,
        UsageError,
    )
    from chat_loop.options import parser

    try:
        return _dispatch(parser(arguments).parse_args(arguments), instant)
    except ChatLoopError as failure:
        error = failure
    except OSError as failure:
        if failure.filename is not None or failure.errno not in REFUSED:
            raise
        error = OutputError(failure)
    if isinstance(error, OutputError):
        sys.stdout = None  # what it did not take is not tried again
    elif instant is not None:
        instant.erase()
    from chat_loop.display.plain import err

    err(f"{error.message}\n{error.hint}" if error.hint else error.message)
    return (
        MISUSED
        if isinstance(error, AgentError | ConfigError | UsageError | NoProvider | ModelError)
        else FAILED
    )


def _dispatch(options: argparse.Namespace, instant: start.InstantPrompt | None) -> int:
    from chat_loop.config import expanded, find_paths, load_config
    from chat_loop.redact import keys_from

    _check(options)
    if options.command == "doctor":
        from chat_loop.subcommands import doctor

        return doctor.doctor(options)
    if options.command == "completion":
        from chat_loop.subcommands import completion

        return completion.completion(options.shell)
    paths = find_paths()
    path = expanded(options.config) if options.config else paths.config
    config = load_config(path, required=bool(options.config))
    keys_from(lambda: _keys_in(config))
    if options.command in _COMMANDS:
        return _command(options, config, paths)
    return _talk(options, config, paths, instant)


def _keys_in(config: Config) -> Iterator[str]:
    from chat_loop.providers.catalogue import keys_in

    return keys_in(config, os.environ)


_COMMANDS = frozenset({"models", "mcp", "agents", "providers"})
"""Those that are no chat and look at no session."""


def _command(options: argparse.Namespace, config: Config, paths: Paths) -> int:
    if options.command == "models":
        from chat_loop.subcommands import models

        return models.models(options.action, getattr(options, "name", ""), paths.models)
    if options.command == "mcp":
        from chat_loop.agent.mcp_servers import servers_of
        from chat_loop.subcommands import mcp

        return mcp.list_servers(servers_of(config.mcp), as_json=options.as_json)
    if options.command == "agents":
        from chat_loop.subcommands import agents

        return agents.run(options, paths)
    from chat_loop.providers.choose import real_world
    from chat_loop.subcommands import providers

    world = real_world(paths.models, discover=config.discover_servers)
    return providers.providers(config, world, as_json=options.as_json)


def _talk(
    options: argparse.Namespace, config: Config, paths: Paths, instant: start.InstantPrompt | None
) -> int:
    from chat_loop.sessions.manager import SessionManager

    chat = options.command != "sessions" or options.action == "browse"
    reference = options.agent_reference or (config.agent.default if chat else "")
    definition = None
    if reference:
        from chat_loop.subcommands.trusting import open_asked

        asked = options.question is None and sys.stdin.isatty() and sys.stdout.isatty()
        definition, instant = open_asked(
            reference, paths, instant, asked=asked, trusted=options.trust_agent
        )
    from chat_loop.composing import Composing, configured

    config = configured(config, definition)
    composing = Composing(
        options=options, config=config, paths=paths, definition=definition, instant=instant
    )
    folder = paths.sessions(config, options.sessions_dir)
    if not options.save:
        from chat_loop.sessions.ephemeral import UnsavedManager

        sessions: SessionManager = UnsavedManager(folder, project=composing.directory)
    else:
        mode = "" if options.question is None else "print"
        sessions = SessionManager(folder, project=composing.directory, mode=mode)
    if not chat:
        from chat_loop.subcommands import sessions as about_sessions

        return about_sessions.run(options, sessions, config, composing.models)
    if options.question is not None:
        from chat_loop import headless

        return headless.ask(composing.asked(headless.whole_question(options.question), sessions))
    return _interact(composing, sessions, instant)


def _check(options: argparse.Namespace) -> None:
    """Raises UsageError for options that do not go together."""
    from chat_loop.errors import UsageError

    if options.question is None:
        _check_chat(options)
    elif options.command:
        raise UsageError("-p asks one question: it does not go with a command.")
    if options.resume and options.command:
        raise UsageError("--continue and --resume begin a chat: they do not go with a command.")
    if options.resume and options.question is not None:
        _check_resumed(options)
    if options.json and hasattr(options, "as_json"):
        options.as_json = True
    elif options.json and options.question is None:
        raise UsageError("--json goes with -p.", 'For example: chat-loop --json -p "question".')
    if options.force and not options.output:
        raise UsageError("--force goes with --output.")
    if getattr(options, "action", "") == "browse" and not (
        sys.stdin.isatty() and sys.stdout.isatty()
    ):
        raise UsageError(
            "There is no terminal that can show the browser.", "chat-loop sessions list lists them."
        )


def _check_chat(options: argparse.Namespace) -> None:
    from chat_loop.errors import UsageError

    if options.allow:
        raise UsageError("--yes goes with -p: in a chat you are asked.")
    examples = {
        ' --system "Be brief."': options.system is not None,
        " --output reply.md": options.output,
        " --no-save": not options.save,
    }
    for example in (example for example, given in examples.items() if given):
        raise UsageError(
            f"{example.split()[0]} goes with -p.", f'For example: chat-loop{example} -p "question".'
        )


def _check_resumed(options: argparse.Namespace) -> None:
    from chat_loop.errors import UsageError
    from chat_loop.options import BROWSE

    if options.resume == BROWSE:
        raise UsageError(
            "Which session? With -p --resume needs one.", "--continue takes the last one."
        )
    if not options.save:
        raise UsageError(
            "--no-save does not go with --continue and --resume: they begin a session that goes on."
        )


def _first(options: argparse.Namespace, config: Config, sessions: SessionManager) -> str:
    """The command that the chat begins with, if any."""
    from chat_loop.options import BROWSE, LAST

    if options.command == "sessions":
        return f"/sessions browse {' '.join(options.words)}".rstrip()
    if options.resume == BROWSE:
        return "/sessions browse"
    reference = options.resume
    if (
        not reference
        and config.sessions.auto_resume
        and not options.new_session
        and sessions.current()
    ):
        reference = LAST
    return f"/resume {reference} --quick" if reference else ""


def _interact(
    composing: Composing, sessions: SessionManager, instant: start.InstantPrompt | None
) -> int:
    import asyncio
    import shlex

    from chat_loop.display.unhurried import settle, unhurried_output
    from chat_loop.interactive import Interactive, Setting

    options, paths = composing.options, composing.paths
    agent = composing.agent()
    first = _first(options, composing.config, sessions)
    known = ["--config", "--sessions-dir", "--model", "--base-url", "--tools", "--max-tokens"]
    given = [(name, getattr(options, name[2:].replace("-", "_"))) for name in known]
    command = ["chat-loop", *(["--local"] if options.local else [])]
    if options.agent_reference:
        from chat_loop.agent.named_agents import is_path

        command += [
            "--agent",
            agent.path if is_path(options.agent_reference) else options.agent_reference,
        ]
    command += [part for name, value in given if value for part in (name, str(value))]
    setting = Setting(
        config=composing.config,
        agent=agent,
        summarizer=composing.summarizer(agent),
        sessions=sessions,
        history=paths.history,
        facts=(
            ("Sessions", str(sessions.directory)),
            ("Config", options.config or str(paths.config)),
        ),
        resume_command=shlex.join(command),
        first=first,
        offer=not (first or options.new_session),
        models=composing.others(),
        memory=composing.memory(agent),
        servers=composing.servers(),
        prompts=paths.prompts,
    )
    with unhurried_output():
        code = asyncio.run(Interactive(setting, instant).run())
        if code < SIGNALLED:  # else who asked it to go does not wait
            settle(sys.stdout)
    return code
