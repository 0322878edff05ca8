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
    from chat_loop import errors
    from chat_loop.options import check, parser

    try:
        options = parser(arguments).parse_args(arguments)
        check(options)
        return _dispatch(options, instant)
    except errors.ChatLoopError as failure:
        error = failure
    except OSError as failure:
        if failure.filename is not None or failure.errno not in REFUSED:
            raise
        error = errors.OutputError(failure)
    if isinstance(error, errors.OutputError):
        sys.stdout = None  # what it did not take is not tried again
    elif instant is not None:
        instant.erase()
    from chat_loop.display.plain import err

    err(f"{error.message}\n{error.hint}" if error.hint else error.message)
    misuse = (errors.AgentError, errors.ConfigError, errors.UsageError)
    return MISUSED if isinstance(error, (*misuse, errors.NoProvider, errors.ModelError)) else FAILED


def _dispatch(options: argparse.Namespace, instant: start.InstantPrompt | None) -> int:
    from importlib import import_module

    from chat_loop.config import expanded, find_paths, load_config
    from chat_loop.redact import keys_from

    # The module of a command has its name: what it needs is loaded for it alone.
    chats = options.command in (None, "sessions")
    module = import_module("chat_loop.app" if chats else f"chat_loop.subcommands.{options.command}")
    if options.command in ("doctor", "completion"):  # one looks at the config itself, one at none
        return int(module.run(options))
    paths = find_paths()
    path = expanded(options.config) if options.config else paths.config
    config = load_config(path, required=bool(options.config))

    def keys() -> Iterator[str]:
        from chat_loop.providers.catalogue import keys_in

        return keys_in(config, os.environ)

    keys_from(keys)
    if chats:
        return int(module.App(options, config, paths, instant).run())
    return int(module.run(options, config, paths))
