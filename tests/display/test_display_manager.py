"""The display of events, and of hostile text from outside."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import pytest

from chat_loop.display.display_manager import DisplayManager
from chat_loop.display.reply import FoldedText
from chat_loop.errors import ChatLoopError
from chat_loop.events import (
    Compacted,
    Event,
    Finished,
    ReplyEnded,
    Restoring,
    Retrying,
    SessionBegun,
    SessionFound,
    SessionSealed,
    SummaryEnded,
    SummaryPrepared,
    SummaryProgress,
    SummaryStarted,
    TextDelta,
    ThinkingDelta,
    ToolCalled,
    ToolReturned,
    Warned,
)
from chat_loop.values import Compaction, StopReason, ToolCall, Usage
from tests.support.rendered import obeyed
from tests.support.screens import Terminal
from tests.support.scripted_chat import START

USAGE = Usage(input=123, output=222)
ESTIMATED = Usage(input=1200, output=40, cached=1000, reasoning=12, estimated=True)
HOSTILE = "\x1b]0;owned\x07\x1b]52;c;cm0=\x07\x9b31m[red]x[/]\u202e:smile:\x1b[2J\r\x7f\x00"
SHOWN = "␛]0;owned␇␛]52;c;cm0=␇<U+009B>31m[red]x[/]<U+202E>:smile:␛[2J␍␡␀"


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)


def shown(events: Sequence[Event], out: io.StringIO | None = None, agent: str = "Sally") -> str:
    out = out or io.StringIO()
    display = DisplayManager(out, agent=agent, resume_command=lambda: "chat-loop --local")
    for event in events:
        display.show(event)
    return out.getvalue()


@pytest.mark.parametrize("out", [io.StringIO, Terminal])
@pytest.mark.parametrize(
    "event",
    [
        TextDelta(HOSTILE),
        ThinkingDelta(HOSTILE),
        Warned(HOSTILE, HOSTILE),
        Retrying(reason=HOSTILE, seconds=1.0, attempt=2, attempts=5),
        SessionFound(
            id=HOSTILE, agent=HOSTILE, created=START, queries=1, tokens=2, damage=(HOSTILE,) * 5
        ),
        SessionSealed(
            id=HOSTILE,
            path=HOSTILE,
            reason="exit",
            queries=1,
            session_tokens=USAGE,
            restoration_tokens=Usage(),
            saved=False,
            summary="none",
        ),
        SummaryEnded(source="none", problem=HOSTILE),
        SummaryEnded(source="extracted", problem=HOSTILE),
    ],
)
def test_hostile_text_is_shown_and_never_obeyed(event: Event, out: type[io.StringIO]) -> None:
    text = shown(
        [event, ReplyEnded(number=1, stop="end", usage=None, seconds=0.0)], out(), agent=HOSTILE
    )
    own = ("\x1b[0m", "\x1b[1;36m", "\x1b[2m", "\x1b[33m", "\x1b[1;31m", "\r\x1b[K")
    rest = text
    for sequence in own if out is Terminal else ():
        rest = rest.replace(sequence, "")
    assert obeyed(rest) == set()
    if isinstance(event, Retrying) and out is Terminal:
        pass  # a terminal shows it only during the pause
    elif isinstance(event, ThinkingDelta) and out is io.StringIO:
        assert "[red]x[/]" not in rest
    else:
        assert "[red]x[/]<U+202E>:smile:␛[2J␍␡␀" in rest


def test_a_hostile_reply_whole() -> None:
    pieces = [TextDelta(HOSTILE[:7]), TextDelta(HOSTILE[7:] + "\r"), TextDelta("\nnext")]
    assert shown([*pieces, ended()]) == f"Sally: {SHOWN}\nnext\nTime: 1.0s\n\n"


def test_errors_and_labeled_lines_are_made_printable() -> None:
    out = io.StringIO()
    display = DisplayManager(out)
    display.error(ChatLoopError(f"No.\n{HOSTILE}", HOSTILE))
    display.lines([("A", HOSTILE), ("Longer", "two\nlines")])
    assert out.getvalue() == f"✗ No. {SHOWN}\n  {SHOWN}\nA:      {SHOWN}\nLonger: two lines\n"


def ended(stop: StopReason = "end", usage: Usage | None = None, seconds: float = 1.0) -> ReplyEnded:
    return ReplyEnded(number=1, stop=stop, usage=usage, seconds=seconds)


def found(**more: Any) -> SessionFound:
    return SessionFound(id="a", agent="Sally", created=START, queries=5, tokens=2345, **more)


def sealed(
    reason: str = "exit", *, restoration: Usage | None = None, saved: bool = True
) -> SessionSealed:
    return SessionSealed(
        id="sally_1",
        path="/home/bob/sally_1.md",
        reason=reason,
        queries=3,
        session_tokens=Usage(input=1000, output=234),
        restoration_tokens=restoration or Usage(),
        saved=saved,
        summary="model",
    )


def compacted(why: str) -> Compacted:
    compaction = Compaction(first="1.1", last="1.4", before=900, after=200, why=why)
    topics = tuple(f"Topic {number}" for number in range(1, 6))
    return Compacted(
        compaction=compaction,
        reason="The context was 80% full",
        source="model",
        block="",
        topics=topics,
        files=("a.py", "b.py"),
    )


@pytest.mark.parametrize(
    ("events", "text"),
    [
        ([compacted("asked")], "📦 Compacted 900 → 200 tokens.\n"),
        (
            [compacted("automatic")],
            (
                "📦 Compacted 900 → 200 tokens. The context was 80% full.\n"
                "   About: Topic 3; Topic 4; Topic 5 and 2 more · Changed: a.py, b.py\n"
            ),
        ),
        ([TextDelta("\n\nHi"), TextDelta(" you")], "Sally: Hi you"),
        ([TextDelta("- a\n- b\n"), Finished(stop="end")], "Sally: - a\n- b\n"),
        (
            [TextDelta("Hi"), ended(usage=USAGE, seconds=3.2)],
            "Sally: Hi\nTime: 3.2s | Tokens: 345 (in: 123, out: 222)\n\n",
        ),
        ([ended("error", seconds=0.04)], "Time: 0.0s | Failed\n\n"),
        (
            [ended("length", ESTIMATED, seconds=61.0)],
            (
                "Time: 61.0s | Tokens: ~1,240 (in: 1,200, out: 40, cached: 1,000, reasoning: 12)"
                " | Cut off at the token limit\n\n"
            ),
        ),
        (
            [TextDelta("Hal"), Retrying(reason="It is down.", seconds=4.2, attempt=2, attempts=5)],
            "Sally: Hal\nIt is down. Trying again in 5 s (2/5); Ctrl-C stops.\n",
        ),
        (
            [SummaryStarted(parts=1), SummaryEnded(source="model")],
            "📝 Generating session summary... ✓\n",
        ),
        (
            [
                SummaryStarted(parts=3),
                SummaryProgress(part=1, parts=3, characters=9),
                SummaryEnded(source="none", problem="Summary skipped."),
            ],
            "📝 Generating session summary (3 parts)...\n⚠️  Summary skipped.\n",
        ),
        (
            [
                SummaryPrepared(usage=Usage(input=900, output=100), cost=0.01),
                SummaryPrepared(usage=None, cost=None, use="restored"),
            ],
            (
                "📝 Summary ready (1K tokens, $0.0100).\n"
                "📝 Summary ready. It replaces the extract.\n"
            ),
        ),
        (
            [SummaryStarted(parts=1), SummaryEnded(source="extracted", problem="It is down.")],
            "📝 Generating session summary...\n⚠️  It is down.\n",
        ),
        (
            [
                found(
                    name="Boats",
                    model="openai:test",
                    brought="a summary and 2 messages",
                    left_out=3,
                    cost=0.01,
                    is_old=True,
                )
            ],
            (
                "✓ Found: Sally - Nov 21 2026, 22:30 (5 queries, 2.3K tokens) · Boats · openai:test"
                " · with a summary and 2 messages · $0.0100\n"
                "  3 messages would not fit and stay summarized.\n"
            ),
        ),
        (
            [found(damage=tuple("abcde"))],
            (
                "✓ Found: Sally - Nov 21, 22:30 (5 queries, 2.3K tokens)\n"
                "  a\n  b\n  c\n  and 2 more faults; the file is kept as it is.\n"
            ),
        ),
        ([Restoring("a", "resume")], "🔄 Restoring context...\n"),
        (
            [sealed("compact"), Restoring("a", "compact")],
            (
                "💾 Saved session: sally_1 (3 queries, 1.2K tokens)\n🔄 Starting new session with "
                "summary...\n"
            ),
        ),
        ([sealed("clear", saved=False)], "NOT saved.\n"),
        (
            [sealed(restoration=Usage(input=89, output=67))],
            (
                "Goodbye!\n✓ Conversation saved successfully!\n  Session ID: sally_1\n  "
                "Queries: 3\n"
                "  Tokens: 1,234 (in: 1,000, out: 234)\n  Restoration: 156 (in: 89, out: "
                "67)\n  Combined Total: 1,390\n"
                "  Resume with: chat-loop --local --resume sally_1\n"
            ),
        ),
        (
            [sealed(saved=False)],
            "Goodbye!\n✗ The conversation is NOT saved: /home/bob/sally_1.md\n",
        ),
        ([Warned("It is late.", "Go home.")], "⚠️  It is late. Go home.\n"),
        (
            [
                SessionBegun(id="a", path="/a.md", model="m"),
                Finished(stop="end"),
                ThinkingDelta("hm"),
            ],
            "",
        ),
    ],
)
def test_how_events_are_shown_without_a_terminal(events: list[Event], text: str) -> None:
    assert shown(events) == text


def test_on_a_terminal_thinking_is_dim_and_stands_apart() -> None:
    events: list[Event] = [ThinkingDelta("two "), ThinkingDelta("and two"), TextDelta("Four.")]
    assert shown([*events, ended()], Terminal()) == (
        "\x1b[2mtwo\x1b[0m\x1b[2m and\x1b[0m\x1b[2m two\x1b[0m\n\x1b[1;36mSally:\x1b[0m Four.\n\x1b[2mTime: "
        "1.0s\x1b[0m\n\n"
    )


@pytest.mark.parametrize(
    ("pieces", "before", "after"),
    [
        (("one\ntwo\nthree\nfour\nfive",), "one\ntwo\nthree\nfour", "\nfive"),
        (("one\n", "two\n\n", "\nfive"), "one\ntwo\n\n", "\nfive"),
        (("x" * 400, "y" * 60), "x" * 400, "y" * 60),
        (("x" * 399, "y" * 1_001), f"{'x' * 399}y", "\n… 1.0 KB more: /thinking shows all"),
        (("a\nb\nc\nd\n" + "e" * 3_000,), "a\nb\nc\nd", "\n… 3.0 KB more: /thinking shows all"),
    ],
)
def test_long_thinking_folds_and_is_kept_whole(
    pieces: tuple[str, ...], before: str, after: str
) -> None:
    display = DisplayManager(out := Terminal())
    for event in (*map(ThinkingDelta, pieces), TextDelta("Four."), ended()):
        display.show(event)
    thought, _, _ = out.getvalue().partition("\n\x1b[1;36m")
    assert re.sub(r"\x1b\[[0-9;]*m", "", thought) == before + after
    assert display.thinking == "".join(pieces)


def test_thinking_is_broken_between_words_however_it_arrives() -> None:
    words = "We weigh both ways. It is\ntwo o'clock, and averylongwordwithoutablank ends.\n\nDone."
    lines = ["We weigh both", "ways. It is", "two o'clock, and"]
    lines += ["averylongwordwithoutablank ends.", "", "Done."]
    for pieces in ([words], [*words]):
        text = FoldedText(is_dim=False, width=18)
        shown = "".join(map(text.feed, pieces)) + text.finish()
        assert shown.split("\n") == lines


def test_the_thinking_of_all_steps_of_the_last_reply_is_kept() -> None:
    display = DisplayManager(Terminal())
    for event in (ThinkingDelta("Old."), TextDelta("A"), ended()):
        display.show(event)
    for event in (ThinkingDelta("First."), TextDelta("B"), ThinkingDelta("Second."), ended()):
        display.show(event)
    assert display.thinking == "First.\n\nSecond."
    display.show(ended())
    for _ in range(120):
        display.show(ThinkingDelta("z" * 9_000))
    assert len(display.thinking) == 1 << 20


def test_clearing_the_screen_is_for_terminals() -> None:
    for out, text in ((io.StringIO(), ""), (Terminal(), "\x1b[H\x1b[2J\x1b[3J")):
        DisplayManager(out).clear_screen()
        assert out.getvalue() == text


def test_a_terminal_shows_a_call_once_and_the_end_of_a_commands_output() -> None:
    out = Terminal()
    display = DisplayManager(out, agent="Sally")
    output = "\n".join(["Exit code 0.", *(f"\tline {number}" for number in range(1, 31))])

    def called(identity: str) -> str:
        """Return what is shown of a call up to its result."""
        out.truncate(0)
        out.seek(0)
        arguments = '{"command": "seq"}'
        display.show(ToolCalled(ToolCall(identity, "run_command", arguments)))
        if identity == "asked":
            display.asks_about("run_command")
        if identity == "stopped":
            display.show(ended("interrupted"))
        else:
            returned = ToolReturned(
                id=identity, name="run_command", text=output, failed=False, seconds=2.0
            )
            display.show(returned)
        return re.sub(r"\x1b\[[0-9;]*m", "", out.getvalue())

    call = "🔧 run_command: command=seq\n"
    result = (
        "  run_command: Exit code 0. (31 lines, 273 characters) (2.0 s)\n"
        "    … 25 lines before; /show shows all\n"
        "        line 26\n        line 27\n        line 28\n        line 29\n        line 30\n"
    )
    assert called("run") == call + result
    assert called("asked") == result, "the question has shown the call"
    assert called("stopped") == f"{call}Time: 1.0s | Interrupted\n\n"
