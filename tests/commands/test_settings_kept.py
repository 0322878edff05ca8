"""Settings that a conversation keeps, the price of a summary before it is made, and the user's
opinion of one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.support.loopback import Loopback
from chat_loop.config import parse
from chat_loop.conversation.conversation_options import Options, options_of
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Session
from chat_loop.values import Usage, Window
from tests.support.headless import keys, run
from tests.support.saved_sessions import last_id
from tests.support.screens import Line, Screen
from tests.support.scripted_chat import SUMMARY, Says, Step

CONFIG = parse(
    b"""\
auto_compact: {compact_ratio: 0.5}
context: {attach_from_archive: false}
restoration: {acknowledge: false}
summary: {on_exit: later}
""",
    "c.yaml",
)
ANSWER: Step = Says(("because",), usage=None)
SUMMED: Step = Says((SUMMARY,), usage=Usage(input=900, output=40))
QUERIES = [f"Question {number}, about boats." for number in range(1, 9)]


def talk(
    folder: Path,
    lines: Sequence[Line],
    *steps: Step,
    hours: int = 0,
    options: Options | None = None,
    window: Window | None = None,
) -> Screen:
    return Screen(
        folder,
        lines,
        *steps,
        answers=["n"],
        hours=hours,
        options=options or options_of(CONFIG, None),
        config=CONFIG,
        facts=(("Config", str(folder / "config.yaml")),),
        window=window,
    )


def shown(screen: Screen, line: str) -> str:
    """Return the output after the last time a line was typed, up to the next line."""
    after = screen.text.rpartition(f"You: {line}\n")[2]
    return after.partition("\nYou: ")[0].partition("\nGoodbye!")[0]


def newest(folder: Path) -> Session:
    sessions = SessionManager(folder)
    return sessions.load(sessions.session_file(last_id(folder))).session


OFF = "/config auto_compact.enabled false --session"


def test_a_setting_is_kept_by_the_session_and_its_children(tmp_path: Path) -> None:
    recent = "/config auto_compact.preserve_recent 4 --session"
    lines = ["Hi", OFF, recent, *QUERIES, "compact", "And?", "/context"]
    screen = talk(tmp_path, [*lines], *[ANSWER] * 9, SUMMED, ANSWER)
    assert "auto_compact.enabled: false (this conversation; by default: true)" in screen.text
    assert "Automatic compaction is off" in shown(screen, "/context")
    again = talk(tmp_path, ["/resume last --quick", "Hi", "/config"], ANSWER, hours=1)
    assert shown(again, "/config").split("\n")[1:] == [
        "resume.acknowledge:           false",
        "context.attach_from_archive:  false",
        "auto_compact.enabled:         false (this conversation)",
        "auto_compact.compact_ratio:   0.5",
        "auto_compact.preserve_recent: 4 (this conversation)",
        "auto_compact.summary_on_exit: later",
    ]
    limits = again.talk.conversation.options.limits
    assert (limits.enabled, limits.compact_ratio, limits.preserve_recent) == (False, 0.5, 4)
    kept = {"auto_compact.enabled": "false", "auto_compact.preserve_recent": "4"}
    assert newest(tmp_path).settings == kept
    assert newest(tmp_path).depth == 3


def test_a_conversation_that_ends_takes_its_settings_with_it(tmp_path: Path) -> None:
    screen = talk(tmp_path, [OFF, "/clear", "/config auto_compact.enabled"])
    assert shown(screen, "/config auto_compact.enabled") == "auto_compact.enabled: true"
    assert list(tmp_path.glob("*.md")) == []


def test_it_counts_over_the_config_until_it_is_taken_away(tmp_path: Path) -> None:
    away = "/config auto_compact.enabled --session"
    lines = [OFF, "/config auto_compact.enabled true", "/config auto_compact.enabled", away]
    screen = talk(tmp_path, [*lines, "Hi"], ANSWER)
    assert "auto_compact.enabled: true, until you quit; this conversation keeps false." in (
        screen.text
    )
    assert "auto_compact.enabled: false (this conversation; by default: true)\n" in screen.text
    assert f"You: {away}\nauto_compact.enabled: true (this run)\n" in screen.text
    assert screen.talk.conversation.options.limits.enabled
    assert newest(tmp_path).settings == {}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("/config display.theme dark --session", "✗ --session keeps keys of auto_compact only"),
        ("/config auto_compact.enabled true --session --save", "✗ --session keeps keys of "),
        (
            "/config auto_compact.summary_model x --session",
            "✗ --session keeps keys of auto_compact",
        ),
        ("/config auto_compact.enabled 3 --session", "✗ /config: auto_compact.enabled: expected"),
        ("/config auto_compact --session", "✗ --session keeps keys of"),
        ("/config auto_compact {enabled: false}", "✗ auto_compact has several settings."),
        ("/config auto_compact {enabled: false} --session", "✗ --session keeps keys of"),
    ],
)
def test_what_cannot_be_kept_is_said(tmp_path: Path, line: str, message: str) -> None:
    screen = talk(tmp_path, [line])
    assert message in screen.text
    assert screen.talk.conversation.session.settings == {}


@pytest.mark.parametrize(
    "settings",
    [
        "[" * 100_000,
        '{"auto_compact.enabled": false}',
        '{"auto_compact.trigger_threshold": "7", "auto_compact.enabled": "[[", "auto_compact": "1"}',
        '{"auto_compact.enabled.x": "false", "model": "evil:model", "": "", "summary": ""}',
        '{"auto_compact.summary_provider": "\\"evil\\"", "auto_compact.compact_ratio": "\\ud800"}',
    ],
    ids=["deep", "no text", "no value", "no key", "strange"],
)
def test_settings_that_are_not_valid_are_not_used(tmp_path: Path, settings: str) -> None:
    talk(tmp_path, ["Hi", "exit"], ANSWER)
    [path] = tmp_path.glob("*.md")
    text = path.read_text().replace("**Model:**", f"**Settings:** {settings}\n\n**Model:**", 1)
    path.write_text(text)
    again = talk(tmp_path, ["/resume last --quick", "Hi", "/config", "exit"], ANSWER, hours=1)
    assert "because" in again.text
    options, configured = again.talk.conversation.options, options_of(CONFIG, None)
    assert (options.limits, options.summarizer) == (configured.limits, None)
    assert "conversation" not in shown(again, "/config")
    assert "evil" not in shown(again, "/config")


def test_a_preview_says_what_the_summary_costs_before_it_is_made(tmp_path: Path) -> None:
    prices = Options(
        acknowledge=False,
        on_exit="later",
        attach_from_archive=False,
        cost=lambda model, usage: usage.input * 1e-6 + usage.output * 1e-5,
    )
    lines: list[Line] = [*QUERIES, "/compact --preview"]
    screen = talk(tmp_path, lines, *[ANSWER] * 8, SUMMED, options=prices)
    line, started, *_ = shown(screen, "/compact --preview").split("\n")
    said = re.fullmatch(
        r"The summary by scripted:test: about (\d+) tokens in, at most 2,048 out, at most "
        r"\$0\.0(\d+)\.",
        line,
    )
    assert said is not None
    assert started.startswith("📝 Generating session summary")
    count, sent = screen.talk.conversation.count, screen.talk.model.requests[8]
    assert int(said[1]) == sum(map(count, sent.texts))
    assert sent.max_tokens == 2048
    assert float(f"0.0{said[2]}") == pytest.approx(int(said[1]) * 1e-6 + 2048e-5, abs=1e-4)


def test_a_price_that_is_unknown_is_said_and_none_without_a_model(tmp_path: Path) -> None:
    lines: list[Line] = [*QUERIES, "/compact --preview"]
    unknown = replace(options_of(CONFIG, None), cost=lambda model, usage: None)
    screen = talk(tmp_path / "a", lines, *[ANSWER] * 8, SUMMED, options=unknown)
    assert " out, price unknown.\n" in shown(screen, "/compact --preview") + "\n"
    off = replace(options_of(CONFIG, None), use_ai_summary=False)
    screen = talk(tmp_path / "b", lines, *[ANSWER] * 8, options=off)
    assert shown(screen, "/compact --preview").startswith("Compacting would shrink")


def test_what_the_user_says_of_a_summary_is_told_when_the_next_one_is_made(tmp_path: Path) -> None:
    lines = ["/summary", *QUERIES, "compact", "/summary", "/summary bad  no ports ", "/summary"]
    screen = talk(tmp_path, [*lines, "/summary worse"], *[ANSWER] * 8, SUMMED)
    assert "✗ This session does not begin with a summary." in screen.text
    assert "Noted for the next one." in shown(screen, "/summary bad  no ports ")
    assert shown(screen, "/summary").endswith("\nYour feedback: bad: no ports")
    assert "\nDecisions Made\n  • Stay polite [1]\n" in shown(screen, "/summary")
    assert "✗ Usage: /summary [edit|good|bad [NOTE]]" in screen.text
    assert all("no ports" not in text for text in screen.talk.model.requests[-1].texts)
    more: list[Line] = ["/resume last --quick", *QUERIES, "compact", "/summary good", "/summary"]
    again = talk(tmp_path, more, *[ANSWER] * 8, SUMMED, hours=1)
    [told] = [text for text in again.talk.model.requests[-1].texts if "no ports" in text]
    assert "(said of the last summary: bad: no ports" in told
    assert shown(again, "/summary").endswith("\nYour feedback: good")


def test_a_stored_summary_that_is_made_anew_heeds_what_was_said_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    screen = talk(folder, [*QUERIES, "compact", "/summary bad no keels"], *[ANSWER] * 8, SUMMED)
    parent = screen.talk.conversation.session.header.parent
    with Loopback() as server:
        arguments = ("--model", "openai:test-model", "sessions", "compact", parent)
        run(tmp_path, *arguments, keys=keys(server))
        assert "(said of the last summary: bad: no keels" in server.requests[0].query
    shown = run(tmp_path, "sessions", "show", screen.talk.path.stem, "--json")
    assert json.loads(json.loads(shown.stdout)["settings"]) == {"summary": "bad: no keels"}


def test_resuming_follows_the_settings_of_the_session_that_is_resumed(tmp_path: Path) -> None:
    off = "/config auto_compact.use_ai_summary false --session"
    talk(tmp_path, ["Hi", off, "exit"], ANSWER)
    again = talk(tmp_path, ["/resume 1 --summary"], hours=1)  # no model is asked
    assert "  Topics: Hi [1.1]\n" in again.text


def test_a_summary_is_made_anew_in_the_chat(tmp_path: Path) -> None:
    lines: list[Line] = [*QUERIES, "compact", "/summary bad no keels", "/uncompact", "compact"]
    screen = talk(tmp_path, lines, *[ANSWER] * 8, SUMMED, SUMMED)
    told = "\n".join(screen.talk.model.requests[-1].texts)
    assert "(said of the last summary: bad: no keels" in told
    assert QUERIES[0] in told
