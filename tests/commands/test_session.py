"""Screens of the commands about sessions: lists, search, branches, merges, and names."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from chat_loop.commands.chat import Chat
from chat_loop.commands.registry import Registry
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
1  Wie heiß wird [b]Öl[/b]? 漢字 ␛]0;x␇                        2h    1 query  110 tokens
2  Kitchen ⑂1.2 “The gateway listens on port 6000 now.”        3h  3 queries  330 tokens
3  Kitchen ⑂1.2 “The gateway listens on port 5544 now.” #home  3h  4 queries  440 tokens
You: /sessions --unfold
1  Wie heiß wird [b]Öl[/b]? 漢字 ␛]0;x␇  2h    1 query  110 tokens
2  Kitchen                               3h    1 query  110 tokens
3  Kitchen #home                         3h  2 queries  220 tokens
4  Kitchen #home                         4h  2 queries  220 tokens
You: /sessions kitchen
1  Kitchen ⑂1.2 “The gateway listens on port 6000 now.”        3h  3 queries  330 tokens
2  Kitchen ⑂1.2 “The gateway listens on port 5544 now.” #home  3h  4 queries  440 tokens
You: /sessions #home
1  Kitchen ⑂1.2 “The gateway listens on port 5544 now.” #home  3h  4 queries  440 tokens
You: /sessions ÖL
1  Wie heiß wird [b]Öl[/b]? 漢字 ␛]0;x␇  2h  1 query  110 tokens
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
1  Kitchen #home  3h  2 queries  220 tokens
2  Kitchen #home  4h  2 queries  220 tokens
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
        "/show",
        "/quote 2",
        "/quote 9",
    ]
    assert run(tmp_path, *lines, hours=6) == (
        """\
You: /search gateway port
  1  Kitchen · query 1 · today 00:30
     You: The gateway listens on port 6000 now.
  2  Kitchen · query 1 · Nov 21, 23:30 #home
     You: The gateway listens on port 5544 now.
  3  Kitchen · query 2 · Nov 21, 22:30 #home
     You: The gateway listens on port 5432.
/show N, /resume N and /quote N take these numbers.
You: /show 1
sally_20261122_003015, query 1, 2026-11-22 00:30
You:
The gateway listens on port 6000 now.
Sally:
Noted.
You: /show 2 1
sally_20261121_233015, query 1, 2026-11-21 23:30
You:
The gateway listens on port 5544 now.
Sally:
Noted.
You: /quote 3
From “Kitchen” (sally_20261121_223015, query 2, 2026-11-21) goes with your next message.
You: /quote 2 2
From “Kitchen” (sally_20261121_233015, query 2, 2026-11-21) goes with your next message.
You: And now?
Sally: Noted.
You: /search öl
  1  Wie heiß wird [b]Öl[/b]? 漢字 ␛]0;x␇ · query 1 · today 01:30
     You: Wie heiß wird [b]Öl[/b]? 漢字 ␛]0;x␇
/show N, /resume N and /quote N take these numbers.
You: /search gateway --tag home
  1  Kitchen · query 1 · Nov 21, 23:30 #home
     You: The gateway listens on port 5544 now.
  2  Kitchen · query 2 · Nov 21, 22:30 #home
     You: The gateway listens on port 5432.
/show N, /resume N and /quote N take these numbers.
You: /search zebra
No matches. Try different words; /sessions WORDS looks at names.
You: /search
✗ Usage: /search WORDS
  /help search has more.
You: /search --foo x
✗ /search has no option --foo.
  Options: --tag, --agent, --project, --since, --before. Put -- before words with a dash.
You: /search -- --foo
No matches. Try different words; /sessions WORDS looks at names.
You: /show 99
✗ No session 99: the numbers go from 1 to 3.
  sessions lists them.
You: /show kitchen
1  Kitchen ⑂1.2 “The gateway listens on port 6000 now.”        4h  3 queries  330 tokens
2  Kitchen ⑂1.2 “The gateway listens on port 5544 now.” #home  5h  4 queries  440 tokens
✗ 2 sessions fit “kitchen”.
  Say which one by its number.
You: /show kitchen 2
1  Kitchen ⑂1.2 “The gateway listens on port 6000 now.”        4h  3 queries  330 tokens
2  Kitchen ⑂1.2 “The gateway listens on port 5544 now.” #home  5h  4 queries  440 tokens
✗ 2 sessions fit “kitchen”.
  Say which one by its number.
You: /show 1 77
✗ No query 77 in this session: it has 1 query.
  Undone ones do not count.
You: /show .
And now?
sally_20261122_043015 · scripted:test · 2026-11-22 04:30, no summary yet · 1 query, 110 tokens

[1] You: > From “Kitchen” (sally_20261121_223015, query 2, 2026-11-21): > You: The gateway listens on port 5432. > Sally: Noted. > From “Kitchen” (sally_20261121_233015, query 2, 2026-11-21): > You: Decision: we take oak fronts. > Sally: Noted. And now?
Sally: Noted.
You: /show
✗ Usage: /show N|ID [QUERY]
  /help show has more.
You: /quote 2
✗ Usage: /quote N|ID [QUERY]
  /help quote has more.
You: /quote 9
✗ Usage: /quote N|ID [QUERY]
  /help quote has more.
Goodbye!
✓ Conversation saved successfully!
  Session ID: sally_20261122_043015
  Queries: 1
  Tokens: 110 (in: 100, out: 10)
  Resume with: chat-loop --resume sally_20261122_043015
"""
    )


def test_a_tree_with_forks(tmp_path: Path) -> None:
    shelf(tmp_path)
    lines = [
        "/tree kitchen",
        "/resume 1",
        "/tree",
        "/fork",
        "Ida has 3 cats.",
        "/fork 1",
        "/undo",
        "/fork 1.x",
        "/fork 9",
        "/tree",
    ]
    assert run(tmp_path, *lines, hours=7) == (
        """\
You: /tree kitchen
1  Kitchen ⑂1.2 “The gateway listens on port 6000 now.”        5h  3 queries  330 tokens
2  Kitchen ⑂1.2 “The gateway listens on port 5544 now.” #home  5h  4 queries  440 tokens
✗ 2 sessions fit “kitchen”.
  Say which one by its number.
You: /resume 1
📋 Loading session...
✓ Found: Sally - Nov 22, 00:30 (1 query, 110 tokens; --full: 180 tokens)
  168 tokens: the summary
🔄 Restoring context...
**Background Context:** Before: The budget of the kitchen is 8,400 euros. [1.1]; The gateway listens on port 5432. [1.2]

**Current Session Summary:**
**Topics Discussed:**
- The gateway listens on port 6000 now. [2.1]

**Decisions Made:**
*none*

**Pending:**
*none*

**Key Facts:**
- The budget of the kitchen is 8,400 euros.
+ The gateway listens on port 5432. [1 user]
- The gateway listens on port 6000 now. [2 user]
You: /tree
3 sessions, 550 tokens:
  1  ● Kitchen #home
       Nov 21, 22:30 · 2 queries, 220 tokens
  2  ├─● “The gateway listens on port 6000 now.”
     │   today 00:30 · 1 query, 110 tokens
  3  └─● “The gateway listens on port 5544 now.” #home
         Nov 21, 23:30 · 2 queries, 220 tokens
You: /fork
🔄 Restoring context...
Forked after query 1: 1 exchange in the context. The original is saved: /resume sally_20261122_003015
You: Ida has 3 cats.
Sally: Noted.
You: /fork 1
💾 Saved session: sally_20261122_053015 (1 query, 110 tokens)
🔄 Restoring context...
Forked after query 1: 2 exchanges in the context. The original is saved: /resume sally_20261122_053015
You: /undo
✗ No messages in this session yet.
  /tree shows the sessions before it; /fork and /uncompact go back to them.
You: /fork 1.x
✗ Usage: /fork [QUERY]
  /help fork has more.
You: /fork 9
✗ No query 9 in this session: it has 1 query.
  Undone ones do not count.
You: /tree
4 sessions, 660 tokens:
  1  ● Kitchen #home
       Nov 21, 22:30 · 2 queries, 220 tokens
  2  ├─● “The gateway listens on port 6000 now.”
     │   today 00:30 · 1 query, 110 tokens
  3  │ ● “Ida has 3 cats.”
     │   forked at 2.1 · today 05:30 · 1 query, 110 tokens
  4  └─● “The gateway listens on port 5544 now.” #home
         Nov 21, 23:30 · 2 queries, 220 tokens
Goodbye!
  Nothing was added since: no session was saved.
  Resume with: chat-loop --resume sally_20261122_053015
"""
    )


def test_a_merge(tmp_path: Path) -> None:
    shelf(tmp_path)
    lines = [
        "sessions",
        "/merge",
        "/merge 2 2",
        "/merge 2 9",
        "/merge 2 1",
        "/merge 2 3",
        "/tree",
        "/show 4",
        "The lamp has 40 watts.",
        "/undo",
        "/undo",
        "/undo 3",
        "/uncompact",
        "/history",
    ]
    assert run(tmp_path, *lines, hours=7, answers=("n",)) == (
        """\
You: sessions
1  Wie heiß wird [b]Öl[/b]? 漢字 ␛]0;x␇                        4h    1 query  110 tokens
2  Kitchen ⑂1.2 “The gateway listens on port 6000 now.”        5h  3 queries  330 tokens
3  Kitchen ⑂1.2 “The gateway listens on port 5544 now.” #home  5h  4 queries  440 tokens
You: /merge
✗ Usage: /merge A [B]
  /help merge has more.
You: /merge 2 2
✗ Both are sally_20261122_003015.
  merge takes two sessions; /tree shows the branches of this one.
You: /merge 2 9
✗ No session 9: the numbers go from 1 to 3.
  sessions lists them.
You: /merge 2 1
These sessions are unrelated. Merge anyway? (y/n) n
Not merged.
You: /merge 2 3
Going on with both, 201 tokens. sally_20261122_003015 and sally_20261121_233015 stay as they are.
🔄 Restoring context...
You: /tree
4 sessions, 550 tokens:
  1  ● Kitchen #home
       Nov 21, 22:30 · 2 queries, 220 tokens
  2  ├─● “The gateway listens on port 6000 now.”
     │   today 00:30 · 1 query, 110 tokens
  3  │ ● Kitchen #home  ← you are here
     │   merged with number 4 · today 05:30 · 0 queries, 0 tokens
  4  └─● “The gateway listens on port 5544 now.” #home
         Nov 21, 23:30 · 2 queries, 220 tokens
  5    ● number 3 above
You: /show 4
Kitchen #home
sally_20261121_233015 · scripted:test · 2026-11-21 23:30 · 2 queries, 220 tokens · session 2 of its chain, after sally_20261121_223015
Topics: The gateway listens on port 5544 now. [2.1]; Decision: we take oak fronts. [2.2]
Decisions: Decision: we take oak fronts. [2 user]

[1] You: The gateway listens on port 5544 now.
Sally: Noted.
[2] You: Decision: we take oak fronts.
Sally: Noted.
You: The lamp has 40 watts.
Sally: Noted.
You: /undo
Undone: “The lamp has 40 watts.”
You: /undo
✗ No messages in this session yet.
  /tree shows the sessions before it; /fork and /uncompact go back to them.
You: /undo 3
✗ /undo takes no argument.
  To send it as text, start with a space.
You: /uncompact
✗ This session was not compacted.
  /tree shows the sessions before it.
You: /history
Session history (10 messages total):

[Summary 1] Messages 1-4 (sally_20261121_223015):
  The budget of the kitchen is 8,400 euros. [1.1]
  The gateway listens on port 5432. [1.2]

[Summary 2] Messages 5-6 (sally_20261122_003015):
  The gateway listens on port 6000 now. [2.1]

[Summary 3] Messages 7-10 (sally_20261121_233015):
  The gateway listens on port 5544 now. [2.1]
  Decision: we take oak fronts. [2.2]
  Decisions: Decision: we take oak fronts. [2 user]
Goodbye!
✓ Conversation saved successfully!
  Session ID: sally_20261122_053015
  Queries: 1
  Tokens: 110 (in: 100, out: 10)
  Resume with: chat-loop --resume sally_20261122_053015
"""
    )


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
        "/untag",
        "/untag a zzz",
        "/untag #a",
        "/rename  \x1b[2J\n two  words",
        "/rename xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "/rename",
        "Hi",
        "/rename",
        "/undo",
    ]
    assert run(tmp_path, *lines, hours=7) == (
        """\
You: /fork
✗ This conversation has no messages yet.
  Send a message first, or name a session.
You: /undo
✗ No messages in this session yet.
You: /tree
✗ This conversation has no messages yet.
  Send a message first, or name a session.
You: /merge 1
✗ This conversation has no messages yet.
  Send a message first, or name a session.
You: /tag a,b C
Tags: #a #b #c
It is saved with your first message.
You: /tag
Tags: #a #b #c
It is saved with your first message.
You: /tag two/ok -x
✗ “-x” is not a tag.
  Tags are up to 40 letters, digits and any of _ . / + - without spaces.
You: /untag
✗ Usage: /untag TAG …
  /help untag has more.
You: /untag a zzz
✗ Usage: /untag TAG …
  /help untag has more.
You: /untag #a
Tags: #b #c
It is saved with your first message.
You: /rename  \x1b[2J
 two  words
This conversation is named “␛[2J two words”.
It is saved with your first message.
You: /rename xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
✗ A name has at most 80 characters; this one has 81.
You: /rename
This conversation will be named after its first words.
It is saved with your first message.
You: Hi
Sally: Noted.
You: /rename
This conversation is named “Hi”.
You: /undo
Undone: “Hi”
Goodbye!
✓ Conversation saved successfully!
  Session ID: sally_20261122_053015
  Queries: 1
  Tokens: 110 (in: 100, out: 10)
  Resume with: chat-loop --resume sally_20261122_053015
"""
    )


def test_resume_last_and_by_words(tmp_path: Path) -> None:
    shelf(tmp_path)
    lines = [
        "/resume zebra",
        "/resume kitchen",
        "/resume heiß",
        "/resume .",
        "/resume",
    ]
    assert run(tmp_path, *lines, hours=7) == (
        """\
You: /resume zebra
✗ No session named zebra.
  sessions lists them.
You: /resume kitchen
1  Kitchen ⑂1.2 “The gateway listens on port 6000 now.”        5h  3 queries  330 tokens
2  Kitchen ⑂1.2 “The gateway listens on port 5544 now.” #home  5h  4 queries  440 tokens
✗ 2 sessions fit “kitchen”.
  Say which one by its number.
You: /resume heiß
📋 Loading session...
✓ Found: Sally - Nov 22, 01:30 (1 query, 110 tokens; --full: 17 tokens)
  132 tokens: the summary
🔄 Restoring context...
**Background Context:** Initial session.

**Current Session Summary:**
**Topics Discussed:**
- Wie heiß wird [b]Öl[/b]? [1.1]

**Decisions Made:**
*none*

**Pending:**
*none*

**Key Facts:**
- Wie heiß wird [b]Öl[/b]?
+ 漢字 ␛]0;x␇ [1 user]
You: /resume .
📋 Loading session...
✓ Found: Sally - Nov 22, 01:30 (1 query, 110 tokens; --full: 17 tokens)
  138 tokens: the summary
🔄 Restoring context...
**Background Context:** Initial session.

**Current Session Summary:**
**Topics Discussed:**
- Wie heiß wird [b]Öl[/b]? [1.1]

**Decisions Made:**
*none*

**Pending:**
*none*

**Key Facts:**
- Wie heiß wird [b]Öl[/b]?
+ 漢字 ␛]0;x␇ [1 user]
You: /resume
*  Wie heiß wird [b]Öl[/b]? 漢字 ␛]0;x␇                        4h    1 query  110 tokens
1  Kitchen ⑂1.2 “The gateway listens on port 6000 now.”        5h  3 queries  330 tokens
2  Kitchen ⑂1.2 “The gateway listens on port 5544 now.” #home  5h  4 queries  440 tokens
Type resume and a number, or resume last.
Goodbye!
  Nothing was added since: no session was saved.
  Resume with: chat-loop --resume sally_20261122_013015
"""
    )


def test_on_a_narrow_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    shelf(tmp_path)
    lines = [
        "sessions",
        "/search gateway port",
        "/tree kitchen",
        "/tree 1",
        "/merge 1 2",
    ]
    assert run(tmp_path, *lines, hours=7, answers=("q",)) == (
        """\
You: sessions
1  Wie heiß wird [b]Öl[/b]? 漢字 ␛…  4h
2  Kitchen ⑂1.2 “The gateway liste…  5h
3  Kitchen ⑂1.2 “The gateway… #home  5h
You: /search gateway port
  1  Kitchen · query 1 · today 00:30
     You: The gateway listens on port
     6000 now.
  2  Kitchen · query 1 · Nov 21, 23:30 …
     You: The gateway listens on port
     5544 now.
  3  Kitchen · query 2 · Nov 21, 22:30 …
     You: The gateway listens on port
     5432.
/show N, /resume N and /quote N take these numbers.
You: /tree kitchen
1  Kitchen ⑂1.2 “The gateway liste…  5h
2  Kitchen ⑂1.2 “The gateway… #home  5h
✗ 2 sessions fit “kitchen”.
  Say which one by its number.
You: /tree 1
3 sessions, 550 tokens:
  1  ● Kitchen #home
       Nov 21, 22:30 · 2 queries, 220 t…
  2  ├─● “The gateway listens on port 6…
     │   today 00:30 · 1 query, 110 tok…
  3  └─● “The gateway listens on… #home
         Nov 21, 23:30 · 2 queries, 220…
You: /merge 1 2
✗ sally_20261122_003015 continues sally_20261121_223015: there is nothing to merge.
  /resume sally_20261122_003015 has both.
Goodbye!
"""
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
    text = run(tmp_path, "sessions", "/show 1", "/sessions all", "/show 45", "/show 46", hours=1)
    assert numbers(text, "sessions") == [str(number) for number in range(1, 21)]
    assert "… and 25 older: /sessions all lists them, /sessions WORDS filters." in text
    assert text.partition("You: /show 1\n")[2].startswith("Note 45\nn45 · ")
    assert numbers(text, "/sessions all") == [str(number) for number in range(1, 46)]
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
    assert re.findall(r"✓ Found: .*\n|n\d · 20|n\d, query.*|From .* next", text) == [
        "✓ Found: Sally - Nov 21, 22:30 (1 query, 0 tokens; --full: 13 tokens)\n",
        "n1 · 20",
        "✓ Found: Sally - Nov 21, 22:30 (1 query, 0 tokens; --full: 13 tokens)\n",
        "✓ Found: Sally - Nov 21, 22:30 (1 query, 0 tokens; --full: 13 tokens)\n",
        "n3, query 1, 2026-11-21 22:33",
        "From “Note 4” (n4, query 1, 2026-11-21) goes with your next",
        "n3 · 20",
    ]
    assert text.count("✗ Usage: /quote ") == 1
    text = run(tmp_path, "/search note", "/show note", "/quote 1", "/show 2", hours=2)
    assert text.count("✗ Usage: /quote ") == 1
    assert "sessions fit “note”." in text


def test_a_quote_goes_with_the_next_message_only(tmp_path: Path) -> None:
    notes(tmp_path, 2)
    lines = ["/quote n1 1", "And\nnow?", "Again."]
    screen = Screen(tmp_path, lines, "So.", "So.", hours=1, options=CODE)
    quoted = (
        "> From “Note 1” (n1, query 1, 2026-11-21):\n> You: Note 1\n> Sally: Noted.\n\nAnd\nnow?"
    )
    assert screen.talk.sent == [said(quoted), said(quoted, "So.", "Again.")]
    assert name_of(screen.talk.conversation.session) == "And"


def test_a_query_that_was_undone_is_not_shown(tmp_path: Path) -> None:
    text = run(tmp_path, "One.", "Two.", "/undo", "/show . 2", "/quote . 2", "/show .", hours=0)
    assert text.count("✗ No query 2 in this session: ") == 2
    assert "Two." not in text.partition("You: /show .\n")[2]


OPTIONS = Registry()


@OPTIONS.command("x", "", valued=("tag", "agent"), flags=("all",))
async def take_options(chat: Chat, argument: str) -> None:
    """Take options."""


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
    assert OPTIONS.arguments("x", argument) == expected


@pytest.mark.parametrize(
    "argument", ["--tag", "--tag --all", "--tag=", '--tag ""', "--all=1", "--x", "---tag y"]
)
def test_options_that_are_none(argument: str) -> None:
    with pytest.raises(UsageError) as caught:
        OPTIONS.arguments("x", argument)
    assert caught.value.hint


def test_rewind_goes_back_to_before_a_message(tmp_path: Path) -> None:
    lines = (
        "One.",
        "Two.",
        "Three.",
        "/rewind 2",
        "/rewind",
        "/undo",
        "Four.",
        "Five.",
        "/rewind 9",
        "/rewind",
    )
    shown = run(tmp_path, "/rewind", *lines, hours=0)
    assert shown.startswith("You: /rewind\n✗ No messages in this session yet.")
    assert "Back to before query 2: 1 exchange in the context. The original is saved: " in shown
    assert "You: /rewind\n✗ No messages in this session yet." in shown.partition("/rewind 2")[2]
    assert "✗ No query 9 in this session: it has 2 queries." in shown
    assert "Back to before query 2: 2 exchanges in the context." in shown


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


def test_delete_before_the_first_message_says_what_is_missing(tmp_path: Path) -> None:
    assert "✗ This conversation has no messages yet." in run(tmp_path, "/delete", hours=0)


def test_a_decision_is_kept_like_a_pin(tmp_path: Path) -> None:
    shown = run(tmp_path, "/decide Port 6000.", "/pins", "/decide", hours=0)
    assert "Recorded; it is kept word for word.\n" in shown
    assert "1  Decision: Port 6000.\n" in shown
    assert "✗ Usage: /decide TEXT" in shown


@pytest.mark.parametrize("line", ["/rename Plans", "/tag plans"])
def test_leaving_an_empty_session_says_that_its_name_is_not_saved(
    line: str, tmp_path: Path
) -> None:
    told = "Nothing was said: its name and tags are not saved."
    assert Screen(tmp_path, [line, "exit"]).text.rstrip().endswith(f"Goodbye!\n  {told}")
    assert not [*tmp_path.glob("*.md")]
    assert told not in Screen(tmp_path, ["exit"]).text
    assert told not in Screen(tmp_path, [line, "Hi", "exit"], "Hello", SUMMARY).text


def test_a_pin_keeps_the_name_of_a_session_without_messages(tmp_path: Path) -> None:
    shown = Screen(tmp_path, ["/rename Plans", "/pin the port is 8080", "exit"], SUMMARY).text
    assert "not saved" not in shown
    [path] = tmp_path.glob("*.md")
    assert SessionManager(tmp_path).load(path).session.name == "Plans"
