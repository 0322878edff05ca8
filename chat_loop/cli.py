"""The command line: argv -> config -> run.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 the reply is incomplete, 130 interrupted. The top of
this file imports only what the instant prompt needs. The rest loads while the user reads the
prompt.
"""

from __future__ import annotations

import codecs
import errno
import gc
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module

if os.name == "nt":  # the modules below need POSIX
    raise SystemExit("chat-loop runs on Linux and macOS; on Windows, run it in WSL.")

from chat_loop import errors
from chat_loop.input import start

OK = 0
FAILED = 1
MISUSED = 2
INTERRUPTED = 130
MISUSES = (errors.AgentError, errors.ConfigError, errors.UsageError, errors.NoProvider)
REFUSED = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF}
"""The errors of a standard output that cannot be written: a full disk, a limit, a closed one."""
STREAMS = (
    ("stdin", "r", os.O_RDONLY),
    ("stdout", "w", os.O_RDONLY),  # writing to a closed one still fails
    ("stderr", "w", os.O_WRONLY),
)
ASCII = {
    **dict(zip("·“”’–✓✗×─│├└░▁▂▃", '-""\'-+xx-||`....', strict=True)),
    **dict.fromkeys("•◦▪●☑☐▲⚠📋📎📝📦🔄🔎🔧💾", "*"),
    **dict.fromkeys("▄▅▆▇█", "#"),
    "…": "...",
    "→": "->",
    "←": "<-",
    "\ufe0f": " ",
}
"""Replacements for the program's own symbols if the output cannot encode them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; return its exit code."""
    if "_ARGCOMPLETE" in os.environ:  # a shell asks for completions
        import_module("chat_loop.subcommands.completion").complete()
    arguments = list(sys.argv[1:] if argv is None else argv)
    _prepare_streams()
    gc.disable()  # until everything is loaded, collections find no garbage and cost time
    instant = start.draw(arguments)
    try:
        if instant is not None:
            start.end_on_signals(instant.terminal)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, start.PROMPT_SIGNALS)
        code = _run(arguments, instant)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        code = OK  # nobody reads the output any more
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else FAILED
    finally:
        gc.enable()
        if instant is not None:
            instant.restore()
    return code if _flush() else FAILED


def _prepare_streams() -> None:
    """Replace closed streams with the null device. Let the others write in ASCII if they must."""
    for name, mode, flags in STREAMS:
        if getattr(sys, name) is None:  # else a session's file would get its descriptor
            descriptor = os.open(os.devnull, flags)
            setattr(sys, name, open(descriptor, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - until the end
    codecs.register_error("chat-loop-ascii", _in_ascii)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="chat-loop-ascii")  # type: ignore[union-attr]


def _in_ascii(error: UnicodeError) -> tuple[str | bytes, int]:
    """Handle encoding errors: write known symbols as ASCII, other characters as escapes."""
    if not isinstance(error, UnicodeEncodeError):
        return codecs.backslashreplace_errors(error)
    signs = error.object[error.start : error.end]
    shown = (ASCII.get(sign) or sign.encode("ascii", "backslashreplace").decode() for sign in signs)
    return "".join(shown), error.end


def _flush() -> bool:
    """Flush the output streams. If standard output fails, report why and return False."""
    written = True
    for name in ("stdout", "stderr"):
        try:
            if getattr(sys, name) is not None:
                getattr(sys, name).flush()
        except OSError as error:
            _discard(name)
            if name == "stdout" and not isinstance(error, BrokenPipeError):
                _report(errors.OutputError(error))
                written = False
    return written


def _discard(name: str) -> None:
    """Drop the rest of a stream, which the interpreter would try to write at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), getattr(sys, name).fileno())


def _tell(text: str) -> None:
    from chat_loop.display.plain import err  # few starts have something to tell

    err(text)


def _report(error: errors.ChatLoopError) -> None:
    _tell(f"{error.message}\n{error.hint}" if error.hint else error.message)


def _run(arguments: list[str], instant: start.InstantPrompt | None) -> int:
    """Run the command of the arguments; return the exit code."""
    try:
        return _dispatch(arguments, instant)
    except errors.ChatLoopError as failure:
        error = failure
    except BrokenPipeError:
        raise
    except OSError as failure:
        is_output = failure.filename is None and failure.errno in REFUSED
        error = errors.OutputError(failure) if is_output else errors.os_failure(failure)
    except MemoryError:
        error = errors.ChatLoopError("No memory is left.", "What was said is saved.")
    except Exception as failure:  # noqa: BLE001 - the last handler: a bug ends in a sentence, too
        log = import_module("chat_loop.log").user_log(saves="--no-save" not in arguments)
        error = log.report(failure)
    if isinstance(error, errors.OutputError):
        _discard("stdout")
    elif instant is not None:
        instant.erase()
    _report(error)
    if isinstance(error, (*MISUSES, errors.ModelError)):
        return MISUSED
    return FAILED


def _load_msgspec() -> None:
    """Load msgspec without typing_extensions, of which it takes only what `typing` has as well. Its
    modules, among them `inspect`, would take 9 of 28 ms.
    """
    name = "typing_extensions"
    if name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        import_module("msgspec")
    finally:
        del sys.modules[name]


def _dispatch(arguments: list[str], instant: start.InstantPrompt | None) -> int:
    from chat_loop.options import parse

    options = parse(arguments)
    _load_msgspec()
    name = options.command
    if name in ("doctor", "tour", "completion"):  # they need no config, or read it themselves
        return int(import_module(f"chat_loop.subcommands.{name}").run(options))
    from chat_loop import config, redact

    paths = config.find_paths()
    path = paths.config
    if options.config:
        path = config.expand_home(options.config)
    old_keys: list[str] = []
    settings = config.load_config(path, required=bool(options.config), on_old_key=old_keys.append)
    catalogue = "chat_loop.providers.catalogue"
    redact.keys_from(lambda: import_module(catalogue).keys_in(settings, os.environ))
    if name is None or getattr(options, "action", "") == "browse":
        if old_keys and instant is not None:
            instant.erase()
        for key in old_keys:
            _tell(config.old_key_text(key))
        parts = import_module("chat_loop.parts").build(options, settings, paths, instant)
        way = "interactive" if options.question is None else "headless"
        module = import_module(f"chat_loop.{way}")
        if instant is None:
            gc.freeze()  # modules are never garbage, so no collection needs to scan them
            gc.enable()
        try:
            return int(module.run(parts))
        finally:
            if parts.shared is not None:
                parts.shared.close()
    return int(import_module(f"chat_loop.subcommands.{name}").run(options, settings, paths))
