"""The command that runs a shell command of the user."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from chat_loop.agent import shell
from chat_loop.agent.secret_gate import judged
from chat_loop.agent.tools import MAX_RESULT
from chat_loop.characters import one_line
from chat_loop.commands.registry import NextQuery, OptionValues, registry, usage_error
from chat_loop.errors import NoWorkingFolder, UsageError
from chat_loop.sessions.files import working_folder
from chat_loop.tokens import shorten

if TYPE_CHECKING:
    from chat_loop.commands.chat import Chat


@registry.command("run [COMMAND]", "Model and tools", shows="", bare=r"!(!?[^!\s].*)")
async def run(chat: Chat, argument: str, options: OptionValues) -> NextQuery | None:
    """Run a shell command and send its output with your next message; so does `!COMMAND`.

    !git diff               show the end of the output, and send all with your next message
    !!make test             only show it, with all its lines
    /run                    show all that the last command printed
    It gets no input and may run for ten minutes. The chat asks before it sends what looks like a
    key.
    """
    command = argument.removeprefix("!").strip()
    if not chat.reader.has_editor:
        if chat.reader.typed.startswith("!"):  # a line of a pipe is text, however it begins
            return f"!{argument}", ()
        raise UsageError("/run needs a terminal with the line editor.", "Nothing was run or sent.")
    if not argument and chat.last_output:
        chat.display.line(chat.last_output)
        return None
    if not command:
        raise usage_error("run")
    if (folder := working_folder()) is None:
        raise NoWorkingFolder
    chat.display.begin_waiting(f"Running {one_line(command, 60)} …")
    output = await shell.run_command(command, folder, os.environ, shell.MAX_SECONDS)
    output = output.encode("utf-8", "replace").decode()  # no request can carry lone surrogates
    limit = min(MAX_RESULT, chat.conversation.window // 4)
    output = shorten(output, limit, ": print less at once")
    chat.display.stop_waiting()
    chat.last_output = output.removeprefix("Exit code 0.\n")
    if argument.startswith("!"):
        chat.display.line(chat.last_output)
    else:
        outcome, _, printed = output.partition("\n")
        if outcome != "Exit code 0.":
            chat.display.line(outcome)
        if printed:
            chat.display.output(printed.split("\n"), "/run")
        outgoing = await judged(output, shell.source_of(command))
        [sent] = await chat.secrets.release([outgoing], by_user=True)
        chat.display.stop_waiting()
        if sent.left_out:
            chat.display.line("Not sent.", "dim")
            return None
        chat.quotes.append(f"I ran `{command}`:\n\n````\n{sent.text}\n````")
        chat.display.line("It goes with your next message; !! only shows the output.", "dim")
    return None
