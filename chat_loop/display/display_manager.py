"""DisplayManager: shows events as they happen."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, TextIO, cast

import msgspec

from chat_loop import events
from chat_loop.characters import one_line
from chat_loop.display.markdown.theme import theme_of
from chat_loop.display.questions import Question, act_lines
from chat_loop.display.reply import FoldedText, ReplyText, markdown_on
from chat_loop.display.sanitizer import cells, cut_to, padded, printable, wrapped
from chat_loop.display.screen import STOP_HINT, Screen, Waiting
from chat_loop.errors import ChatLoopError
from chat_loop.terminal import PROMPT, PROMPT_STYLE, columns, styled
from chat_loop.values import (
    ALLOWED,
    STOPS,
    ToolCall,
    compact_number,
    compaction_text,
    counts_text,
    dollars_text,
    plural,
    size_text,
    tokens_text,
)

if TYPE_CHECKING:
    from chat_loop.display.styled_console import StyledConsole

MOST_THINKING = 1 << 20  # characters of reasoning that are kept to be shown
MAX_CALL = 160
"""The most characters shown of a tool call's arguments."""
COMMAND_TOOL = "run_command"
"""The tool whose output is shown, as far as it fits into `OUTPUT_LINES`."""
OUTPUT_LINES = 5
MAX_VALUE = 60
"""The most characters shown of one argument or of a result. A longer result also shows its size."""
LISTED = 3
"""The most topics, and changed files, that the lines of an automatic compaction name."""

_SUMMARY_USES = {
    "restored": " It replaces the extract.",
    "late": " It came after your message: the next compaction uses it.",
}


class DisplayManager:
    """Writes to `out`. Pipes get plain text, and with `plain` so do terminals.

    `resume_command()` returns the command that the exit lines name. `show_blocks` shows the summary
    block of each compaction. `markdown` renders replies in the colors of `theme`; `wraps` breaks
    their lines between words.
    """

    def __init__(
        self,
        out: TextIO | None = None,
        *,
        agent: str = "",
        resume_command: Callable[[], str] = lambda: "chat-loop",
        show_blocks: bool = False,
        markdown: bool = True,
        theme: str = "auto",
        wraps: bool = True,
        plain: bool = False,
    ) -> None:
        self.waiting = Waiting()
        self.out = Screen(out or sys.stdout, self.waiting, plain=plain)
        self.agent = agent
        self.is_terminal = self.out.isatty()
        self._redraws = self.is_terminal and os.environ.get("TERM") != "dumb"
        self.resume_command = resume_command
        self.show_blocks = show_blocks
        self.theme = theme if markdown and self._redraws else ""
        """The theme of the next reply; empty if replies are not rendered."""
        self._wraps = wraps
        self._reply = ReplyText(self._write_reply)
        self._thoughts = ReplyText(self._write_reply)
        self._in_reply = self._in_thinking = self._line_open = False
        self._has_ended = True  # the reply whose reasoning is kept
        self._pieces: list[str] = []  # of that reasoning
        self._room = MOST_THINKING
        self._calls: dict[str, ToolCall] = {}
        """The calls by their ids that are not printed yet."""

    @cached_property
    def console(self) -> StyledConsole:
        """Return the console, loaded when the first styled line is printed."""
        from chat_loop.display.styled_console import StyledConsole

        return StyledConsole(cast(TextIO, self.out))

    def load(self) -> None:
        """Load the modules for styled lines and replies. Called in a thread before any output."""
        _ = self.console
        self._new_reply()

    def on(self, out: TextIO) -> DisplayManager:
        """Return a display of the same kind that writes to `out`."""
        return DisplayManager(
            out,
            agent=self.agent,
            resume_command=self.resume_command,
            markdown=bool(self.theme),
            theme=self.theme or "auto",
            wraps=self._wraps,
        )

    def show(self, event: events.Event) -> None:  # noqa: C901, PLR0912 - one case each
        """Show one event."""
        match event:
            case events.TextDelta():
                self._text(event.text)
            case events.ThinkingDelta():
                self._thinking(event.text)
            case events.Arriving():
                size = size_text(event.characters)
                self.waiting.progress = f" writing {one_line(event.name, 60)} … {size}"
            case events.Retrying():
                self._retrying(event)
            case events.ToolCalled():
                self._tool_called(event)
            case events.ToolReturned():
                self._tool_returned(event)
            case events.ReplyEnded():
                self._reply_ended(event)
            case events.SessionFound():
                self._session_found(event)
            case events.Compacted():
                self._compacted(event)
            case events.Connecting():
                self._connecting(event)
            case events.Recalled():
                self.line(f"From the archive: {', '.join(event.refs)}", "dim", symbol="🔎")
            case events.Attached():
                self.files(event.files)
            case events.Restoring() if event.reason != "automatic":
                with_summary = "Starting new session with summary..."
                text = "Restoring context..."
                if event.reason == "compact":
                    text = with_summary
                self.prose(text, symbol="🔄")
                self.begin_waiting()
            case events.SummaryStarted():
                self._summary_started(event)
            case events.SummaryProgress():
                part = ""
                if event.parts > 1:
                    part = f"part {event.part} of {event.parts}, "
                self.waiting.progress = f" {part}{event.characters} characters"
            case events.SummaryEnded():
                self._summary_ended(event)
            case events.SummaryPrepared():
                self._summary_prepared(event)
            case events.SessionSealed():
                self._session_sealed(event)
            case events.Warned():
                self.warn(event.message, event.hint)

    def entry(self, text: str) -> None:
        """Print what the user has entered, behind the prompt."""
        self._close_line()
        width = columns(cast(TextIO, self.out)) - len(PROMPT)
        style = theme_of(self.theme or "auto").entry
        rows = wrapped(text, max(width, 10), 0).split("\n")
        texts = [f"\x1b[{style}m{row}\x1b[0m" if style and row else row for row in rows]
        prompt = styled(PROMPT, PROMPT_STYLE)
        self.out.write(prompt + f"\n{' ' * len(PROMPT)}".join(texts) + "\n")

    def line(self, text: str = "", style: str = "", *, symbol: str = "") -> None:
        """Print one line, preceded by `symbol` if there is one."""
        self._close_line()
        if symbol:
            text = f"{symbol} {text}"
        self.console.print(printable(text), style=style or None)

    def prose(self, text: str, style: str = "", *, indent: int = 0, symbol: str = "") -> None:
        """Print a sentence. On a terminal it is wrapped between words and indented.

        `line` leaves the wrapping to the terminal, so that a path or a command can be copied whole.
        """
        if symbol:
            text = f"{symbol} {text}"
            indent = cells(symbol.strip()) + 1
        if self.is_terminal:
            text = wrapped(text, max(self.console.width - 1, 10), indent)
        self.line(text, style)

    def act(self, question: Question) -> None:
        """Print everything that a question is about, with all its lines, and a diff in color."""
        for text, style in act_lines(question):
            self.line(text, style)

    def reply(self, text: str) -> None:
        """Print a complete reply on separate lines, rendered as if streamed."""
        self._close_line()
        reply = self._new_reply()
        reply.feed(text)
        reply.finish()
        self._close_line()

    def draw(self, lines: Iterable[str]) -> None:
        """Print lines that have their styles already."""
        self._close_line()
        for line in lines:
            self.out.write(f"{line}\n")

    def rendered(self, text: str, *, leads: int = 0, indent: int = 0) -> str:
        """Return a text as a reply is drawn in the theme, for lines that begin after `indent`
        columns. The first one begins `leads` columns later.
        """
        out = cast(TextIO, self.out)
        stream = markdown_on(out, self.theme, wraps=self._wraps, leads=leads, indent=indent)
        return stream.feed(printable(text)) + stream.finish()

    def panel(self, text: str, title: str) -> None:
        """Print a text in a frame with a title."""
        self._close_line()
        self.console.panel(text, title)

    def table(
        self, rows: Sequence[Sequence[str]], *, numbers: Collection[int] = (), gap: str = "  "
    ) -> None:
        """Print rows with aligned columns. The columns in `numbers` are aligned to the right."""
        widths = [max(map(cells, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            columns = enumerate(zip(row, widths, strict=True))
            texts = (padded(text, width, right=at in numbers) for at, (text, width) in columns)
            self.line(gap.join(texts).rstrip())

    def lines(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Print aligned label-value lines."""
        self.table([(f"{label}:", one_line(value, 2000)) for label, value in pairs], gap=" ")

    def files(self, files: Iterable[str]) -> None:
        """Print attached files with their sizes (`notes.txt, 2.1 KB`)."""
        self.prose(" · ".join(one_line(file, 200) for file in files), "dim", symbol="📎")

    def warn(self, message: str, hint: str = "") -> None:
        """Print a warning with its hint."""
        text = " ".join(filter(None, (one_line(message, 1000), hint)))
        self.prose(text, "yellow", symbol="⚠️ ")

    def error(self, error: ChatLoopError) -> None:
        """Print a failure with its hint."""
        self.prose(one_line(error.message, 1000), "red", symbol="✗")
        if error.hint:
            for line in printable(error.hint).split("\n"):
                self.prose(f"  {line}", indent=2)

    def begin_waiting(
        self, text: str = "", *, hint: str = STOP_HINT, at_once: bool = False
    ) -> None:
        """Start waiting for a reply, or for the work that `text` names; `hint` names a key."""
        self._in_reply = self._in_thinking = False
        self._close_line()
        text = text or f"{one_line(self.agent, 60)} …"
        self.waiting.begin(text, hint=hint, at_once=at_once)
        self.out.repaint()

    def progress(self, done: float, of: int) -> None:
        """Show the progress of a long read on a terminal; safe in any thread."""
        if done < of or (of and self.waiting.progress):
            if not self.waiting.is_active:
                self.waiting.begin("Reading sessions:", hint="")
            self.waiting.progress = f" {int(done):,} of {of:,}, {done / of:.0%}"
            self.out.repaint()

    def stop_waiting(self) -> None:
        """Stop waiting, because the work was canceled or the user has to answer a question."""
        self.waiting.end()
        self._close_line()

    def clear_screen(self) -> None:
        """Clear the screen of a terminal."""
        if self._redraws:
            self.out.send("\x1b[H\x1b[2J\x1b[3J")

    async def settle(self) -> None:
        """Draw the reply up to now, while other tasks get turns. If canceled, forget the rest."""
        await self._thoughts.settle()
        await self._reply.settle()

    def _close_line(self) -> None:
        self._thoughts.finish()
        self._reply.finish()
        if self._line_open:
            self.out.write("\n")
            self._line_open = False

    def _new_reply(self, leads: int = 0) -> ReplyText:
        """Return a new reply that begins after `leads` columns."""
        stream = None
        if self.theme:
            out = cast(TextIO, self.out)
            stream = markdown_on(out, self.theme, wraps=self._wraps, leads=leads)
        return ReplyText(self._write_reply, stream, self.out.show_unsettled)

    def _write_reply(self, text: str) -> None:
        self._line_open = True
        self.out.write(text, breaks=not self._reply.is_in_code)

    def _text(self, text: str) -> None:
        if not self._in_reply:
            self._close_line()
            self._print_calls(*self._calls)  # those that got no result
            name = f"{one_line(self.agent, 60)}:"
            self._reply = self._new_reply(cells(name))
            label = f"{name} "
            if self.theme:
                label = f"\x1b[{theme_of(self.theme).name}m{name}\x1b[0m"
            self.out.write(label)
            self._in_reply = True
            self._line_open = True
            self._in_thinking = False
        elif self._in_thinking:
            self._close_line()
            self._in_thinking = False
        self.waiting.postpone()
        self._reply.feed(text)

    def _thinking(self, text: str) -> None:
        if not self.is_terminal:
            return
        if not self._in_thinking:
            self._close_line()
            width = 0
            if self._redraws:
                width = self.console.width
            folded = FoldedText(is_dim=self._redraws, width=width)
            self._thoughts = ReplyText(self._write_reply, folded, self.out.show_unsettled)
            self._in_thinking = self._line_open = True
            if self._has_ended:
                self._has_ended = False
                self._pieces = []
                self._room = MOST_THINKING
            self._pieces.append("\n\n")
        self.waiting.postpone()
        if self._room:
            self._pieces.append(text[: self._room])
            self._room = max(self._room - len(text), 0)
        self._thoughts.feed(text)

    @property
    def thinking(self) -> str:
        """What the model thought for its last reply that shows any, as far as it is kept."""
        return "".join(self._pieces).strip("\n")

    def _reply_ended(self, event: events.ReplyEnded) -> None:
        self._has_ended = True
        if event.stop == "interrupted":
            self._reply.drop()
            self._thoughts.drop()
        self._print_calls(*self._calls)
        self.begin_waiting()  # text that arrives later begins a new reply
        parts = [f"Time: {event.seconds:.1f}s"]
        if event.usage:
            parts += [f"Tokens: {tokens_text(event.usage)}"]
        if event.stop in STOPS:
            parts += [STOPS[event.stop].capitalize()]
        self.prose(" | ".join(parts), "dim")
        self.line()
        self.waiting.end()

    def _retrying(self, event: events.Retrying) -> None:
        """Show why a request failed and when it is retried. A pipe gets only the first reason."""
        reason = one_line(event.reason, 300)
        attempt = f"{event.attempt}/{event.attempts}"
        when = ""
        if event.seconds:
            when = f" in {ceil(event.seconds)} s"
        if self._redraws:
            if self._in_reply or self._in_thinking or not self.waiting.is_active:
                self.begin_waiting()
            self.waiting.progress = f" Trying again{when} ({attempt}): {reason}"
        elif event.attempt == events.FIRST_RETRY:
            text = f"{reason} Trying again{when} ({attempt}); Ctrl-C stops."
            self.prose(text, "yellow", indent=2)

    def _tool_called(self, event: events.ToolCalled) -> None:
        """Show a call: on a terminal as what is waited for, until its result or its question."""
        text = call_line(event.call.name, event.call.arguments)
        if self._redraws:
            self.begin_waiting(f"🔧 {text}")
            self._calls[event.call.id] = event.call
        else:
            self.begin_waiting()
            self.prose(text, "dim", symbol="🔧")

    def asks_about(self, tool: str) -> None:
        """Do not print the next call of a tool: the question about it shows it."""
        for identity, call in self._calls.items():
            if call.name == tool:
                del self._calls[identity]
                return

    def _print_calls(self, *identities: str) -> None:
        """Print the calls that are not printed yet."""
        for identity in identities:
            if call := self._calls.pop(identity, None):
                self.prose(call_line(call.name, call.arguments), "dim", symbol="🔧")

    def _connecting(self, event: events.Connecting) -> None:
        """Wait for MCP servers, or for the model once they have answered."""
        text = ""
        if event.servers:
            text = f"Connecting to {one_line(', '.join(event.servers))} …"
        self.begin_waiting(text)

    def _tool_returned(self, event: events.ToolReturned) -> None:
        """Show the beginning and the size of a tool's result, or why the tool failed."""
        self._print_calls(event.id)
        took = ""
        if event.seconds >= 0.1:
            took = f" ({event.seconds:.1f} s)"
        text = event.text.removeprefix(ALLOWED)
        if event.denied:
            self.line(f"  {event.name} denied", "yellow")
        elif event.failed:
            self.line(f"  {event.name} failed: {one_line(text, 300)}{took}", "red")
        else:
            text = text.strip("\n")
            lines = text.count("\n") + 1
            size = ""
            if lines > 1 or len(text) > MAX_VALUE:
                size = f" ({plural(lines, 'line')}, {compact_number(len(text))} characters)"
            first = one_line(text.partition("\n")[0], MAX_VALUE)
            self.line(f"  {event.name}: {first}{size}{took}", "dim")
            if event.name == COMMAND_TOOL and self._redraws:
                self.output(text.split("\n")[1:], "/show")

    def output(self, lines: Sequence[str], command: str) -> None:
        """Show the last lines of a command's output, and the `command` that shows all."""
        shown = lines[-OUTPUT_LINES:]
        if hidden := len(lines) - len(shown):
            self.line(f"    … {plural(hidden, 'line')} before; {command} shows all", "dim")
        width = max(self.console.width - 5, 10)
        for line in shown:
            self.line(f"    {cut_to(printable(line.expandtabs(4)), width)}", "dim")

    def _session_found(self, event: events.SessionFound) -> None:
        """Show the session that is about to be resumed, and the damage to its file."""
        counts = counts_text(event.queries, event.tokens)
        year = f" {event.created:%Y}" if event.is_old else ""
        when = f"{event.created:%b %d}{year}, {event.created:%H:%M}"
        agent = one_line(event.agent, 60)
        parts = [f"Found: {agent} - {when} ({counts})"]
        if event.name:
            parts += [one_line(event.name, 60)]
        if event.model:
            parts += [one_line(event.model, 60)]
        if event.brought:
            parts += [f"with {event.brought}"]
        if event.cost:
            parts += [dollars_text(event.cost)]
        self.prose(" · ".join(parts), symbol="✓")
        if event.left_out:
            text = f"{plural(event.left_out, 'message')} would not fit and stay summarized."
            self.prose(f"  {text}", "dim", indent=2)
        for sentence in event.damage[:3]:
            self.line(f"  {one_line(sentence)}", "yellow")
        if more := len(event.damage[3:]):
            self.line(f"  and {more} more faults; the file is kept as it is.", "yellow")

    def _compacted(self, event: events.Compacted) -> None:
        """Show the sizes, what an automatic compaction was about, and with `show_blocks` the block
        between markers.
        """
        without = " · without a model"
        if event.source == "model":
            without = ""
        audit = event.compaction
        text = compaction_text(audit)
        why = f" {event.reason}."
        if audit.why == "asked":
            why = ""
        is_larger = audit.why == "asked" and audit.after > audit.before
        if is_larger:
            why = " The context became larger; /uncompact goes back."
        if self._redraws and not (is_larger or self.show_blocks):
            sizes, *kept = text.split(" · ")
            row = " · ".join([f"Compacted {sizes}", "/summary shows it", *kept])
            self.prose(f"{row}{without}", "dim", symbol="📦")
        else:
            self.prose(f"Compacted {text}{without}.{why}", "dim", symbol="📦")
        parts = [_some("About", event.topics, "; "), _some("Changed", event.files, ", ")]
        if audit.why != "asked" and any(parts):
            self.prose(f"   {' · '.join(filter(None, parts))}", "dim", indent=3)
        if self.show_blocks:
            self.line(f"[SUMMARY: {event.compaction.first} to {event.compaction.last}]", "dim")
            self.line(event.block, "dim")
            self.line("[END SUMMARY]", "dim")

    def _summary_started(self, event: events.SummaryStarted) -> None:
        """Begin a line that `_summary_ended` ends. A terminal also shows the progress."""
        parts = ""
        if event.parts > 1:
            parts = f" ({event.parts} parts)"
        text = f"📝 Generating session summary{parts}..."
        hint = STOP_HINT
        if event.optional:
            hint = " · Esc to skip"
        self.begin_waiting(text, hint=hint, at_once=True)
        if not self._redraws:
            self.out.write(text)
            self._line_open = True

    def _summary_ended(self, event: events.SummaryEnded) -> None:
        """End the line, or say why the model has not made the summary."""
        text = self.waiting.text
        self.waiting.end()
        if event.source == "background":
            self.prose("Summary continues in the background.", "dim", symbol="📝")
        elif event.source != "model":
            made = ""
            if event.source == "extracted":
                made = "Summary made without a model."
            self.warn(event.problem or made)
        elif self._redraws:
            self.prose(f"{text} ✓", indent=3)
        else:
            self.out.write(" ✓\n")
            self._line_open = False

    def _summary_prepared(self, event: events.SummaryPrepared) -> None:
        """Show the cost and the use of a summary that was made in the background."""
        text = "Summary ready"
        if event.usage:
            text += f" ({compact_number(event.usage.total)} tokens"
            if event.cost is not None:
                text += f", {dollars_text(event.cost)}"
            text += ")"
        text += f".{_SUMMARY_USES.get(event.use, '')}"
        self.prose(text, "dim", symbol="📝")

    def _session_sealed(self, event: events.SessionSealed) -> None:
        """Show all the totals at the exit, and at most one line during a conversation."""
        total = event.session_tokens.total + event.restoration_tokens.total
        if event.reason == "exit":
            self.line("Goodbye!")
            if not event.saved:
                text = f"The conversation is NOT saved: {event.path}"
                self.line(text, "bold red", symbol="✗")
                return
            tokens = "0"
            if event.session_tokens.total:
                tokens = tokens_text(event.session_tokens)
            self.prose("Conversation saved successfully!", symbol="✓")
            self.line(f"  Session ID: {event.id}")
            self.line(f"  Queries: {event.queries}")
            self.prose(f"  Tokens: {tokens}", indent=4)
            if event.restoration_tokens.total:
                self.prose(f"  Restoration: {tokens_text(event.restoration_tokens)}", indent=4)
                self.line(f"  Combined Total: {total:,}")
            self.line(f"  Resume with: {self.resume_command()} --resume {event.id}")
        elif not event.saved:
            self.line("NOT saved.", "bold red")
        elif event.reason != "automatic":
            text = f"Saved session: {event.id} ({counts_text(event.queries, total)})"
            self.prose(text, symbol="💾")


def _some(label: str, items: Sequence[str], separator: str) -> str:
    """Return the newest few of a list behind its label; nothing for an empty list."""
    if not items:
        return ""
    texts = separator.join(one_line(item, 60) for item in items[-LISTED:])
    if len(items) > LISTED:
        texts += f" and {len(items) - LISTED} more"
    return f"{label}: {texts}"


def call_line(name: str, arguments: str) -> str:
    """Return a tool call on one line: `read_file: path=a.py, first=3`."""
    return f"{name}: {_arguments(arguments)}".rstrip(": ")


def _arguments(text: str) -> str:
    """Return a call's arguments as `path=a.py, first=3`, or unparsed if not a JSON object."""
    try:
        arguments = msgspec.json.decode(text.strip() or "{}", type=dict[str, object])
    except (msgspec.DecodeError, RecursionError):
        return one_line(text, MAX_CALL)
    parts = []
    for name, value in arguments.items():
        value_text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        parts.append(f"{one_line(name, MAX_VALUE)}={one_line(value_text, MAX_VALUE)}")
    return one_line(", ".join(parts), MAX_CALL)
