"""Secrets on each way to a model: in a script marks replace them and places of keys are left out, and
a chat asks.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Attachment, LeftOut, Query, Result, Session
from chat_loop.sessions.rows import read_rows
from tests.support.approvals import SENDING as QUESTION
from tests.support.headless import run
from tests.support.mcp_descriptions import RAW, listing
from tests.support.pty_chat import PtyChat
from tests.support.tool_chat import PATIENCE, at_prompt, calling, chatting

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="pseudo-terminals and shells of POSIX"
)

PASSWORD = "hunter2hunter2"
OPAQUE = "a value that no rule recognizes"
NOTE = "Reason: a well-known place of keys, and there is nobody to ask. Go on without it.]"


def session(folder: Path) -> Session:
    """Return the only session of a folder."""
    sessions = SessionManager(folder)
    (row,) = read_rows(folder)
    return sessions.load(row.path).session


def configure(home: Path) -> None:
    """Write a config with an MCP server whose tools need no question."""
    resource = {"uri": "file:///notes", "text": f"DB_PASSWORD={PASSWORD}"}
    script = {
        "pages": [listing("read", "fetch")],
        "results": {
            "read": {"content": [{"type": "text", "text": f"DB_PASSWORD={PASSWORD}"}]},
            "fetch": {"content": [{"type": "resource", "resource": resource}]},
        },
    }
    (home / "script.json").write_text(json.dumps(script))
    server = {"command": sys.executable, "args": [RAW, str(home / "script.json")], "ask": False}
    (home / "config.yaml").write_text(json.dumps({"mcp": {"notes": server}}))


@pytest.mark.slow
def test_a_script_sends_no_secret_on_any_way(
    tmp_path: Path, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    (project / "notes.txt").write_text(f"port = 5432\nDB_PASSWORD={PASSWORD}\n")
    (project / ".env").write_text(f"NAME={OPAQUE}\n")
    (project / "link").symlink_to(project / ".env")
    own = tmp_path / "own"
    own.mkdir()
    configure(own)
    server.enqueue(
        calling(
            ("read_file", {"path": "notes.txt"}),
            ("read_file", {"path": "./x/../link"}),
            ("search_files", {"text": "="}),
            ("run_command", {"command": "cat notes.txt"}),
            ("run_command", {"command": "cat .env"}),
            ("notes_read", {}),
            ("notes_fetch", {}),
            ("notes_read", {"path": "/home/kim/.netrc"}),
        ),
        Reply(chunks=("Read.",)),
    )
    options = ("--model", "openai:gpt-test", "--tools", "all", "--yes")
    ended = run(
        own,
        *options,
        "-p",
        "Look at @notes.txt and @.env.",
        stdin=f"API_PASSWORD={PASSWORD}".encode(),
        keys={
            "OPENAI_API_KEY": "sk-test",
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "HOME": str(tmp_path),
        },
    )
    assert (ended.returncode, ended.stdout) == (0, b"Read.\n")

    bodies = json.dumps([request.body for request in server.requests])
    assert PASSWORD not in bodies
    assert OPAQUE not in bodies
    first, second = (request.body["messages"] for request in server.requests)
    asked = first[-1]["content"]
    assert "DB_PASSWORD=[REDACTED:password:1]" in asked
    words = "Look at @notes.txt and @.env.\n\nAPI_PASSWORD=[REDACTED:password:1]"
    assert asked.endswith(f"{words}\n\n[.env was not sent: it may contain keys.]")
    results = [message["content"] for message in second if message["role"] == "tool"]
    results = [text.removeprefix("[allowed by the user]\n") for text in results]
    marked = "DB_PASSWORD=[REDACTED:password:1]"
    assert results == [
        f"port = 5432\n{marked}\n",
        f"[Left out: .env. {NOTE}",
        f"notes.txt:1: port = 5432\nnotes.txt:2: {marked}\n[Left out: .env. {NOTE}",
        f"Exit code 0.\nport = 5432\n{marked}",
        f"[Left out: the output of `cat .env`. {NOTE}",
        marked,
        f"[resource file:///notes]\n{marked}",
        f"[Left out: the result of notes_read: path: /home/kim/.netrc. {NOTE}",
    ]

    told = ended.stderr.decode()
    nobody = ", and there is nobody to ask. A chat on a terminal asks about it.\n"
    for name in ("notes.txt", "standard input", "the output of `cat notes.txt`"):
        sentence = "What looks like a key or a password is not sent: marks replace it in"
        assert told.count(f"{sentence} {name}.\n") == 1
    for name, place in ((".env", ".env"), ("the output of `cat .env`", ".env")):
        sentence = f"{name} is not sent: a well-known place of keys ({place})"
        assert told.count(f"{sentence}{nobody}") == 1
    assert PASSWORD not in told

    entries = session(own / "sessions").entries
    left_out = [entry for entry in entries if isinstance(entry, LeftOut)]
    assert {entry.reason for entry in left_out} == {"place"}
    assert sorted(entry.text for entry in left_out) == [
        ".env",  # as a file of the message
        ".env",  # as a file of a tool
        "the output of `cat .env`",
        "the result of notes_read: path: /home/kim/.netrc",
    ]
    assert [entry.name for entry in entries if isinstance(entry, Attachment)] == ["notes.txt"]


def test_a_question_from_standard_input_goes_through_the_rule(
    tmp_path: Path, server: Loopback
) -> None:
    keys = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": f"{server.url}/v1"}
    words = f"What is wrong with DB_PASSWORD={PASSWORD}"
    ended = run(tmp_path, "--model", "openai:gpt-test", "-p", "-", stdin=words.encode(), keys=keys)
    assert ended.returncode == 0
    sent = server.request().body["messages"][-1]["content"]
    assert sent == "What is wrong with DB_PASSWORD=[REDACTED:password:1]"
    assert ended.stderr.decode() == (
        "What looks like a key or a password is not sent: marks replace it in standard input.\n"
    )


@pytest.mark.slow
def test_tools_in_the_home_folder_say_what_that_means_once(
    tmp_path: Path, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": f"{server.url}/v1"}
    options = ("--model", "openai:gpt-test", "-p", "x")
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    keys["HOME"] = str(home)
    said = "the model may read all its files without asking, except what looks like a key"

    def told(folder: Path, *more: str) -> str:
        monkeypatch.chdir(folder)
        ended = run(tmp_path, *options, *more, keys=keys)
        assert ended.returncode == 0
        return ended.stderr.decode()

    assert told(home, "--tools", "read_file,search_files").count(said) == 1
    above = told(tmp_path, "--tools", "search_files")
    assert f"The tools work in {tmp_path}, which contains your home folder: " in above
    assert told(home / "project", "--tools", "read_file") == ""
    assert told(home, "--tools", "write_file") == ""
    assert told(home) == ""
    monkeypatch.chdir(home)
    chat = ("--model", "openai:gpt-test", "--tools", "read_file")
    shown = run(tmp_path, *chat, stdin=b"hello\n", keys=keys).stdout.decode()
    assert " ".join(shown.split()).count(said) == 1


def answer_about_tools(chat: PtyChat) -> None:
    """Let a model read two files, with an answer about each, and stop a third question."""
    chat.line("Read them.")
    chat.wait_for(QUESTION.strip(), PATIENCE)
    screen = "\n".join(chat.screen())
    assert "  notes.txt: 1 text that may be secret (password)\n" in screen
    assert PASSWORD not in screen
    chat.mark()
    chat.line("m")
    chat.wait_for(".env: a well-known place of keys (.env)", PATIENCE, output=True)
    chat.wait_for(QUESTION.strip(), PATIENCE, output=True)
    assert "notes.txt: 1 text" not in chat.output()
    chat.line("n")
    chat.wait_for("Both read.", PATIENCE, output=True)
    at_prompt(chat)
    # a question that is stopped stops the reply
    chat.mark()
    chat.line("And the other one.")
    chat.wait_for("  other.txt: 1 text", PATIENCE, output=True)
    chat.ctrl("c")
    chat.wait_for(re.compile(r"Interrupted.*You:", re.DOTALL), PATIENCE, output=True)


def answer_about_own_words(chat: PtyChat) -> None:
    """Run a command twice and name a file, with an answer about each."""
    # output of a command: no, then as it is
    for answer, said in (("n", "Not sent."), ("y", "It goes with your next message")):
        chat.mark()
        chat.line("!cat other.txt")
        chat.wait_for(QUESTION.strip(), PATIENCE, output=True)
        chat.line(answer)
        chat.wait_for(said, PATIENCE, output=True)
    # a file of a message: the same file was allowed as the output of a command only
    chat.mark()
    chat.line("What is in @other.txt")
    chat.wait_for(QUESTION.strip(), PATIENCE, output=True)
    chat.line("m")
    chat.wait_for("It arrived.", PATIENCE, output=True)
    at_prompt(chat)


@pytest.mark.slow
def test_a_chat_asks_on_every_way(tmp_path: Path, server: Loopback) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "notes.txt").write_text(f"DB_PASSWORD={PASSWORD}\n")
    (project / ".env").write_text(f"NAME={OPAQUE}\n")
    server.enqueue(
        calling(("read_file", {"path": "notes.txt"})),
        calling(("read_file", {"path": "notes.txt"}), ("read_file", {"path": ".env"})),
        Reply(chunks=("Both read.",)),
        calling(("read_file", {"path": "other.txt"})),
        Reply(chunks=("It arrived.",)),
    )
    (project / "other.txt").write_text(f"DB_PASSWORD={PASSWORD}\n")
    with chatting(tmp_path, server, tools="read_file") as chat:
        answer_about_tools(chat)
        answer_about_own_words(chat)
        chat.ctrl("d")
        assert chat.exit_code(PATIENCE) == 0
    saved = session(tmp_path / "own" / "sessions")
    results = [entry.text for entry in saved.entries if isinstance(entry, Result)]
    marked = "DB_PASSWORD=[REDACTED:password:1]\n"
    assert results[:2] == [marked, marked]
    assert results[2].startswith("[Left out: .env. Reason: the user did not allow it.")
    left_out = [entry for entry in saved.entries if isinstance(entry, LeftOut)]
    assert [(entry.text, entry.reason) for entry in left_out] == [(".env", "refused")]
    queries = [entry.text for entry in saved.entries if isinstance(entry, Query)]
    assert queries[-1].count(PASSWORD) == 1
    assert queries[-1].endswith("What is in @other.txt")
    [attached] = [entry for entry in saved.entries if isinstance(entry, Attachment)]
    assert attached.text == marked
    assert OPAQUE not in json.dumps([request.body for request in server.requests])
