"""The command line: argv -> config -> run.

Exit codes: 0 done, 1 failed, 2 misused, 3 the reply is incomplete, 130 interrupted. The top of this
file imports only what the instant prompt needs; the rest loads while the user reads it.
"""

from __future__ import annotations

import codecs
import errno
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from chat_loop.input import start

if TYPE_CHECKING:
    import argparse

    from chat_loop.config import Config, Paths

REFUSED = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF}
"""The errors of a standard output that takes nothing: a full disk, a limit, a closed descriptor."""
OK, FAILED, MISUSED, INTERRUPTED = 0, 1, 2, 130
SIGNALLED = 128
"""From here on an exit code names the signal that ended the program."""
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
"""Stand-ins for the program's own signs where the output cannot show them."""


def _plainer(error: UnicodeError) -> tuple[str | bytes, int]:
    """Handle encoding errors: write signs as ASCII, all else by its number."""
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
    _open_closed()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors=PLAINER)  # type: ignore[union-attr]
    instant = start.draw(arguments)
    try:
        if instant is not None:
            gc.disable()  # until everything is loaded there is no garbage, only time to lose
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
    return code if _flush() else FAILED


def _flush() -> bool:
    """Write out what was printed. Return False, and say why, when standard output refuses it."""
    taken = True
    for name in ("stdout", "stderr"):
        try:
            if getattr(sys, name) is not None:
                getattr(sys, name).flush()
        except OSError as error:
            setattr(sys, name, None)  # the interpreter must not fail on it again
            if name == "stdout" and not isinstance(error, BrokenPipeError):
                from chat_loop.display.plain import err
                from chat_loop.errors import OutputError

                err(OutputError(error).message)
                taken = False
    return taken


def _open_closed() -> None:
    """Open the null device in place of each standard stream that was closed, so that no session's
    file gets its descriptor. Standard output still refuses what is written to it.
    """
    for name, mode, flags in (
        ("stdin", "r", os.O_RDONLY),
        ("stdout", "w", os.O_RDONLY),
        ("stderr", "w", os.O_WRONLY),
    ):
        if getattr(sys, name) is None:
            stream = open(os.open(os.devnull, flags), mode, encoding="utf-8")  # noqa: SIM115, PTH123 - until the end
            setattr(sys, name, stream)


def _leave_in_order() -> None:
    """Have signals that end the program give the terminal back, until the chat hears them."""
    import signal

    def leave(number: int, frame: object) -> None:
        raise SystemExit(SIGNALLED + number)

    for name in start.ENDING:
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) is signal.SIG_DFL:
            signal.signal(getattr(signal, name), leave)


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
    misuse = AgentError | ConfigError | UsageError | NoProvider | ModelError
    return MISUSED if isinstance(error, misuse) else FAILED


def _dispatch(options: argparse.Namespace, instant: start.InstantPrompt | None) -> int:
    from chat_loop.config import expanded, find_paths, load_config
    from chat_loop.redact import keys_from

    check(options)
    if options.command == "doctor":
        from chat_loop.subcommands import doctor

        return doctor.doctor(options)
    if options.command == "completion":
        from chat_loop.subcommands import completion

        return completion.completion(options.shell)
    paths = find_paths()
    path = expanded(options.config) if options.config else paths.config
    config = load_config(path, required=bool(options.config))

    def keys() -> Iterator[str]:
        from chat_loop.providers.catalogue import keys_in

        return keys_in(config, os.environ)

    keys_from(keys)
    if options.command in (None, "sessions"):
        from chat_loop.app import App

        return App(options, config, paths, instant).run()
    return _command(options, config, paths)


def _command(options: argparse.Namespace, config: Config, paths: Paths) -> int:
    """Run a command that is no chat and looks at no session."""
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


def check(options: argparse.Namespace) -> None:
    """Raise UsageError for options that do not go together."""
    from chat_loop.errors import UsageError
    from chat_loop.options import BROWSE

    asks, resume, command = options.question is not None, options.resume, options.command
    if options.json and hasattr(options, "as_json"):  # --json stood before the command
        options.as_json, options.json = True, False
    goes_with_p = {
        '--system "Be brief."': options.system is not None,
        "--output reply.md": options.output,
        "--no-save": not options.save,
        "--json": options.json,
    }
    for example, given in goes_with_p.items():
        if given and not asks:
            raise UsageError(
                f"{example.split()[0]} goes with -p.",
                f'For example: chat-loop {example} -p "question".',
            )
    rules = {
        "-p asks one question: it does not go with a command.": asks and command,
        "--continue and --resume begin a chat: they do not go with a command.": resume and command,
        "--yes goes with -p: in a chat you are asked.": options.allow and not asks,
        "--force goes with --output.": options.force and not options.output,
        "--no-save does not go with --continue and --resume: they begin a session that goes on.": (
            resume and not options.save
        ),
    }
    for message, broken in rules.items():
        if broken:
            raise UsageError(message)
    if asks and resume == BROWSE:
        raise UsageError(
            "Which session? With -p --resume needs one.", "--continue takes the last one."
        )
    browses = getattr(options, "action", "") == "browse"
    if browses and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "There is no terminal that can show the browser.", "chat-loop sessions list lists them."
        )
