"""Screens of the commands about sessions: lists, search, names, tags, and the trash."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import Command, OptionValues
from chat_loop.errors import UsageError
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.naming import name_of
from chat_loop.sessions.records import Header, Query, Reply, Session
from chat_loop.sessions.writer import render
from tests.support.library_screens import CODE, in_zone, run, shelf
from tests.support.screens import Screen
from tests.support.scripted_chat import START, SUMMARY, said


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    in_zone(monkeypatch)


def after(text: str, line: str) -> str:
    """Return what was shown after a typed line, up to the next one."""
    return text.partition(f"You: {line}\n")[2].partition("\nYou: ")[0]


def test_lists_and_their_filters(tmp_path: Path) -> None:
    shelf(tmp_path)
    lines = [
        "sessions",
        "/sessions --unfold",
        "/sessions kitchen",
        "/sessions #home",
        "/sessions ÖL",
        "/sessions --agent bob",
        "/sessions --tag",
        "/sessions --nope",
        "/sessions --since 99999y",
        "/sessions --since 2999-12-31 --unfold",
        "/sessions --since soon",
        "/sessions --before 2026-11-22 --unfold",
    ]
    assert run(tmp_path, *lines, hours=5) == (
        """\
You: sessions
1  Wie heiß wird [b]Öl[/b]? 漢字 ␛]0;x␇                        2h   1 message  15 tokens
2  Kitchen ⑂1.2 “The gateway listens on port 6000 now.”        3h  3 messages  36 tokens
3  Kitchen ⑂1.2 “The gateway listens on port 5544 now.” #home  3h  4 messages  45 tokens
You: /sessions --unfold
1  Wie heiß wird [b]Öl[/b]? 漢字 ␛]0;x␇  2h   1 message  15 tokens
2  Kitchen                               3h   1 message  12 tokens
3  Kitchen #home                         3h  2 messages  21 tokens
4  Kitchen #home                         4h  2 messages  24 tokens
You: /sessions kitchen
1  Kitchen ⑂1.2 “The gateway listens on port 6000 now.”        3h  3 messages  36 tokens
2  Kitchen ⑂1.2 “The gateway listens on port 5544 now.” #home  3h  4 messages  45 tokens
You: /sessions #home
1  Kitchen ⑂1.2 “The gateway listens on port 5544 now.” #home  3h  4 messages  45 tokens
You: /sessions ÖL
1  Wie heiß wird [b]Öl[/b]? 漢字 ␛]0;x␇  2h  1 message  15 tokens
You: /sessions --agent bob
No matching sessions.
You: /sessions --tag
✗ --tag of /sessions needs a value.
  /help sessions shows how.
You: /sessions --nope
✗ /sessions has no option --nope.
  Options: --unfold, --all, --tag, --agent, --project, --since, --before. Put -- before words with a dash.
You: /sessions --since 99999y
✗ “99999y” is not a date.
  A date such as 2026-11-21, or an age such as 30d.
You: /sessions --since 2999-12-31 --unfold
No matching sessions.
You: /sessions --since soon
✗ “soon” is not a date.
  A date such as 2026-11-21, or an age such as 30d.
You: /sessions --before 2026-11-22 --unfold
1  Kitchen #home  3h  2 messages  21 tokens
2  Kitchen #home  4h  2 messages  24 tokens
Goodbye!
"""
    )


def test_search_show_and_quote(tmp_path: Path) -> None:
    shelf(tmp_path)
    lines = [
        "/search gateway port",
        "/show 1",
        "/show 2 1",
        "/quote 3",
        "/quote 2 2",
        "And now?",
        "/search öl",
        "/search gateway --tag home",
        "/search zebra",
        "/search",
        "/search --foo x",
        "/search -- --foo",
        "/show 99",
        "/show kitchen",
        "/show kitchen 2",
        "/show 1 77",
        "/show .",
        "/show sally_20261121_2230",
        "/show",
        "/quote 2",
        "/quote 9",
    ]
    text = run(tmp_path, *lines, hours=6)
    assert (
        after(text, "/search gateway port")
        == """\
  1  Kitchen · 2.1 · today 00:30
     You: The gateway listens on port 6000 now.
  2  Kitchen · 2.1 · Nov 21, 23:30 #home
     You: The gateway listens on port 5544 now.
  3  Kitchen · 1.2 · Nov 21, 22:30 #home
     You: The gateway listens on port 5432.
/show N, /resume N and /quote N take these numbers."""
    )
    assert (
        after(text, "/show 1")
        == """\
sally_20261122_003015, 2.1, 2026-11-22 00:30
You:
The gateway listens on port 6000 now.
Sally:
Noted."""
    )
    for line, quoted in (("/quote 3", "223015, 1.2"), ("/quote 2 2", "233015, 2.2")):
        told = f"From “Kitchen” (sally_20261121_{quoted}, 2026-11-21) goes with your next message."
        assert after(text, line) == told
    assert "Wie heiß wird" in after(text, "/search öl")
    assert [line[:4] for line in after(text, "/search gateway --tag home").splitlines()[::2]] == [
        *("  1 ", "  2 ", "/sho")
    ]
    for line in ("/search zebra", "/search -- --foo"):
        told = "No matches. Try different words; /sessions WORDS looks at names."
        assert after(text, line) == told
    assert after(text, "/search --foo x").startswith("✗ /search has no option --foo.\n  Options: ")
    assert after(text, "/show 99").startswith("✗ No session 99: the numbers go from 1 to 3.\n")
    for line in ("/show kitchen", "/show kitchen 2"):
        ambiguous = "✗ 2 sessions match “kitchen”.\n  Choose one by number."
        assert after(text, line).endswith(ambiguous)
    assert after(text, "/show 1 77").startswith("✗ No message 2.77: that session has 2.1.\n")
    assert after(text, "/show .").splitlines()[:2] == [
        "And now?",
        "sally_20261122_043015 · scripted:test · 2026-11-22 04:30, no summary yet · 1 query, 110 tokens",
    ]
    assert (
        after(text, "/show sally_20261121_2230")
        .splitlines()[1]
        .startswith("sally_20261121_223015 · ")
    ), "the beginning of an id is enough"
    assert "(sally_20261121_233015, 2.2, 2026-11-21): > You: Decision: we take oak" in text
    assert after(text, "/show").endswith("And now?\nSally:\nNoted.")
    for line in ("/search", "/quote 2", "/quote 9"):
        assert after(text, line).startswith(f"✗ Usage: {line.split()[0]} ")


def test_names_and_tags(tmp_path: Path) -> None:
    shelf(tmp_path)
    lines = [
        "/fork",
        "/undo",
        "/tree",
        "/merge 1",
        "/tag a,b C",
        "/tag",
        "/tag two/ok -x",
        "/tag --remove",
        "/tag --remove a zzz",
        "/tag --remove #a",
        "/rename  \x1b[2J\n two  words",
        "/rename xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "/rename",
        "Hi",
        "/rename",
        "/undo",
    ]
    text = run(tmp_path, *lines, hours=7)
    empty = "✗ This conversation has no messages yet.\n  Send a message first, or name a session."
    for line in ("/tree", "/merge 1"):
        assert after(text, line) == empty
    assert after(text, "/fork") == "✗ This session has no messages yet."
    later = "\nIt is saved with your first message."
    assert after(text, "/tag a,b C") == after(text, "/tag") == f"Tags: #a #b #c{later}"
    assert after(text, "/tag two/ok -x").startswith("✗ “-x” is not a tag.\n")
    for line in ("/tag --remove", "/tag --remove a zzz"):
        assert after(text, line).startswith("✗ /tag --remove takes tags of this conversation.\n")
    assert after(text, "/tag --remove #a") == f"Tags: #b #c{later}"
    assert f"This conversation is named “␛[2J two words”.{later}" in text
    assert "✗ A name has at most 80 characters; this one has 81." in text
    unnamed, named = text.split("You: /rename\n")[1:]
    assert unnamed.startswith(f"This conversation will be named after its first words.{later}")
    assert named.startswith(
        "This conversation is named “Hi”.\nYou: /undo\nUndone: “Hi” (/redo brings it back)\n"
    )


def notes(folder: Path, count: int) -> None:
    """Write the sessions n1, n2, …, the newest last."""
    folder.mkdir(exist_ok=True)
    for number in range(1, count + 1):
        asked = Query(number=1, at=START + timedelta(minutes=number), text=f"Note {number}")
        noted = Reply(number=1, at=asked.at, text="Noted.")
        session = Session(
            header=Header(id=f"n{number}", created=START, agent="Sally"), entries=(asked, noted)
        )
        (folder / f"n{number}.md").write_bytes(render(session))


def numbers(text: str, command: str) -> list[str]:
    """Return the numbers of the lines that a command listed."""
    after = text.partition(f"You: {command}\n")[2].partition("You: ")[0]
    return [line.split()[0] for line in after.split("\n") if line[:3].strip().isdigit()]


def test_a_page_and_all_sessions(tmp_path: Path) -> None:
    notes(tmp_path, 45)
    text = run(tmp_path, "sessions", "/show 1", "/sessions --all", "/show 45", "/show 46", hours=1)
    assert numbers(text, "sessions") == [str(number) for number in range(1, 21)]
    assert "… and 25 older: /sessions --all lists them, /sessions WORDS filters." in text
    assert text.partition("You: /show 1\n")[2].startswith("Note 45\nn45 · ")
    assert numbers(text, "/sessions --all") == [str(number) for number in range(1, 46)]
    assert text.partition("You: /show 45\n")[2].startswith("Note 1\nn1 · ")
    assert "✗ No session 46: the numbers go from 1 to 45." in text


def test_numbers_of_the_last_listing_count_until_there_is_another(tmp_path: Path) -> None:
    notes(tmp_path, 4)
    lines = [
        "sessions",
        "/resume 2",
        "/show 4",
        "/resume 3",
        "/search note",
        "/resume 2",
        "/show 2",
        "/quote 1",
    ]
    text = run(tmp_path, *lines, "/tree", "/show 1", "/sessions note", "/quote 1", hours=1)
    assert re.findall(r"✓ Found: .* · Note \d|n\d · 20|n\d, \d.*|From .* next", text) == [
        "✓ Found: Sally - Nov 21, 22:30 (1 query, 13 tokens) · Note 3",
        "n1 · 20",
        "✓ Found: Sally - Nov 21, 22:30 (1 query, 13 tokens) · Note 2",
        "✓ Found: Sally - Nov 21, 22:30 (1 query, 13 tokens) · Note 3",
        "n3, 1.1, 2026-11-21 22:33",
        "From “Note 4” (n4, 1.1, 2026-11-21) goes with your next",
        "n3 · 20",
    ]
    assert text.count("✗ Usage: /quote ") == 1
    text = run(tmp_path, "/search note", "/show note", "/quote 1", "/show 2", hours=2)
    assert text.count("✗ Usage: /quote ") == 1
    assert "sessions match “note”." in text


def test_a_quote_goes_with_the_next_message_only(tmp_path: Path) -> None:
    notes(tmp_path, 2)
    lines = ["/quote n1 1", "And\nnow?", "Again."]
    screen = Screen(tmp_path, lines, "So.", "So.", hours=1, options=CODE)
    quoted = "> From “Note 1” (n1, 1.1, 2026-11-21):\n> You: Note 1\n> Sally: Noted.\n\nAnd\nnow?"
    assert screen.talk.sent == [said(quoted), said(quoted, "So.", "Again.")]
    assert name_of(screen.talk.conversation.session) == "And"


def test_a_query_that_was_undone_is_not_shown(tmp_path: Path) -> None:
    text = run(tmp_path, "One.", "Two.", "/undo", "/show . 2", "/quote . 2", "/show .", hours=0)
    assert text.count("✗ No message 1.2: that session has 1.1.") == 2
    assert "Two." not in text.partition("You: /show .\n")[2]


async def take(chat: Chat, argument: str, options: OptionValues) -> None:
    """Take an argument and options."""


OPTIONS = Command("x", take, "", "[WORDS]", valued=("tag", "agent"), flags=("all",))
TEXT = Command("x", take, "", "[--all] TEXT", flags=("all",))


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("a b", ("a b", {})),
        ("--tag x a --all b", ("a b", {"tag": "x", "all": ""})),
        ("--tag=x=y", ("", {"tag": "x=y"})),
        ('--agent "Code Helper" a', ("a", {"agent": "Code Helper"})),
        ('--agent="Code  Helper"', ("", {"agent": "Code  Helper"})),
        ("a -- --tag x --", ("a --tag x --", {})),
        ("-x – —tag", ("-x – —tag", {})),
        ("", ("", {})),
    ],
)
def test_options_among_words(argument: str, expected: tuple[str, dict[str, str]]) -> None:
    assert OPTIONS.arguments(argument) == expected


def test_one_option_stands_before_a_text_which_may_have_dashes() -> None:
    assert TEXT.arguments("--all a  --tag b") == ("a  --tag b", {"all": ""})
    assert TEXT.arguments("--tag a --all") == ("--tag a --all", {})
    assert TEXT.arguments("all of it") == ("all of it", {})


@pytest.mark.parametrize(
    "argument", ["--tag", "--tag --all", "--tag=", '--tag ""', "--all=1", "--x", "---tag y"]
)
def test_options_that_are_none(argument: str) -> None:
    with pytest.raises(UsageError) as caught:
        OPTIONS.arguments(argument)
    assert caught.value.hint


def test_delete_moves_to_the_trash_when_told(tmp_path: Path) -> None:
    shelf(tmp_path)
    files = {path.name for path in tmp_path.glob("*.md")}
    run(tmp_path, "sessions", "/delete 2", answers=("n",), hours=4)
    assert {path.name for path in tmp_path.glob("*.md")} == files
    shown = run(tmp_path, "sessions", "/delete 2", "/delete 9", answers=("y",), hours=5)
    [moved] = (tmp_path / ".trash").iterdir()
    assert {path.name for path in tmp_path.glob("*.md")} == files - {moved.name}
    assert f"{moved.stem} is in the trash; chat-loop sessions restore {moved.stem}" in shown
    assert "✗ No session 9" in shown


def test_delete_of_the_open_session_starts_a_new_one(tmp_path: Path) -> None:
    lines = ("Never mind.", "/delete", "Hello.", "/delete")
    shown = run(tmp_path, *lines, answers=("y", "n"), hours=0)
    [moved] = (tmp_path / ".trash").iterdir()
    [kept] = tmp_path.glob("*.md")
    assert b"Never mind." in moved.read_bytes()
    assert b"Hello." in kept.read_bytes()
    assert "Not moved." in shown


def test_delete_takes_all_sessions_of_a_conversation(tmp_path: Path) -> None:
    lines = ("Never mind.", "compact", "Hello.", "/delete")
    shown = run(tmp_path, *lines, answers=("y",), hours=0)
    assert "(2 sessions) to the trash?" in shown
    assert len([*(tmp_path / ".trash").iterdir()]) == 2
    assert not [*tmp_path.glob("*.md")]


def test_delete_before_the_first_message_says_what_is_missing(tmp_path: Path) -> None:
    assert "✗ This conversation has no messages yet." in run(tmp_path, "/delete", hours=0)


def test_a_decision_is_kept_like_a_pin(tmp_path: Path) -> None:
    shown = run(tmp_path, "/decide Port 6000.", "/pin", "/decide", hours=0)
    assert "Decision saved. Compaction won't change it.\n" in shown
    assert "1  Decision: Port 6000.\n" in shown
    assert "✗ Usage: /decide TEXT" in shown


@pytest.mark.parametrize("line", ["/rename Plans", "/tag plans"])
def test_leaving_an_empty_session_says_that_its_name_is_not_saved(
    line: str, tmp_path: Path
) -> None:
    told = "No messages, so its name and tags were not saved."
    assert Screen(tmp_path, [line, "exit"]).text.rstrip().endswith(f"Goodbye!\n  {told}")
    assert not [*tmp_path.glob("*.md")]
    assert told not in Screen(tmp_path, ["exit"]).text
    assert told not in Screen(tmp_path, [line, "Hi", "exit"], "Hello", SUMMARY).text


def test_a_pin_keeps_the_name_of_a_session_without_messages(tmp_path: Path) -> None:
    shown = Screen(tmp_path, ["/rename Plans", "/pin the port is 8080", "exit"], SUMMARY).text
    assert "not saved" not in shown
    [path] = tmp_path.glob("*.md")
    assert SessionManager(tmp_path).load(path).session.name == "Plans"
