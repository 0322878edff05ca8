"""Importing conversations of Claude, ChatGPT, codex and llm: each becomes a session only once, and
the user is told about omitted parts.
"""

from __future__ import annotations

import io
import json
import sqlite3
import zipfile
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.export import histories
from chat_loop.export.importing import Importer
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Attachment, Query, Reply, Session
from tests.support import fork_server
from tests.support.environments import environment
from tests.support.imported_chain import imported

UUID = "5b1a0c9e-0f43-4d57-9d0f-0c1f2a3b4c5d"


def words(session: Session) -> list[tuple[str, str]]:
    """Return the exchanges of a session as pairs of query and reply texts."""
    return [(one.query.text, one.reply.text if one.reply else "") for one in session.exchanges]


def claude(**values: object) -> dict[str, Any]:
    """Return a conversation as Claude exports it."""
    return {
        "uuid": UUID,
        "name": "Port of the gateway",
        "created_at": "2026-03-01T09:30:00.123456Z",
        "updated_at": "2026-03-01T09:31:00.000000Z",
        "account": {"uuid": "a"},
        "chat_messages": [
            {
                "uuid": "1",
                "text": "Which port?",
                "sender": "human",
                "created_at": "2026-03-01T09:30:01.5Z",
                "content": [{"type": "text", "text": "Which port?", "citations": []}],
                "attachments": [
                    {"file_name": "gateway.toml", "extracted_content": "port = 8443\n"}
                ],
                "files": [{"file_name": "photo.png"}],
            },
            {
                "uuid": "2",
                "text": "",
                "sender": "assistant",
                "created_at": "2026-03-01T09:30:05Z",
                "content": [
                    {"type": "thinking", "thinking": "…"},
                    {"type": "text", "text": "Port 8443."},
                    {"type": "tool_use", "name": "look", "input": {}},
                    {"type": "text", "text": "It is in gateway.toml.\n<!-- chat:end -->"},
                ],
                "attachments": [],
                "files": [],
            },
        ],
        **values,
    }


def node(
    name: str, parent: str | None, role: str, text: object, **values: object
) -> dict[str, Any]:
    """Return a node of ChatGPT's tree."""
    content = {"content_type": "text", "parts": [text]}
    message = {"author": {"role": role}, "content": content, "create_time": 1767225600.5, **values}
    return {"id": name, "parent": parent, "children": [], "message": message}


def chatgpt(**values: object) -> dict[str, Any]:
    """Return a conversation as ChatGPT exports it, in which the first answer was regenerated."""
    nodes = [
        {"id": "root", "parent": None, "children": ["0"], "message": None},
        node("0", "root", "system", ""),
        node("1", "0", "user", "Name a prime."),
        node("2a", "1", "assistant", "Nine."),
        node("2b", "1", "assistant", "import math", recipient="python"),
        node("3", "2b", "tool", "7"),
        node("4", "3", "assistant", "Seven."),
        node("5", "4", "user", {"asset_pointer": "file-service://x"}),
    ]
    nodes[-1]["message"]["content"] = {
        "content_type": "multimodal_text",
        "parts": [{"asset_pointer": "file-service://x"}, "And this one?"],
    }
    return {
        "title": "Primes",
        "create_time": 1767225599.0,
        "mapping": {one["id"]: one for one in nodes},
        "current_node": "5",
        "conversation_id": UUID,
        "default_model_slug": "gpt-5",
        **values,
    }


def line(kind: str, **payload: object) -> str:
    return json.dumps({"timestamp": "2026-04-02T10:00:00.500Z", "type": kind, "payload": payload})


CODEX = "\n".join(
    [
        line("session_meta", id=UUID, cwd="/work/app", cli_version="0.90", git={"branch": "main"}),
        line("turn_context", cwd="/work/app", model="gpt-5-codex"),
        line(
            "response_item",
            type="message",
            role="user",
            content=[{"type": "input_text", "text": "<environment_context>…"}],
        ),
        line("event_msg", type="user_message", message="List the files."),
        line("response_item", type="reasoning", encrypted_content="…"),
        line("response_item", type="function_call", name="shell", arguments="{}", call_id="1"),
        line("response_item", type="function_call_output", call_id="1", output="a.py"),
        line("event_msg", type="agent_message", message="There is a.py."),
        line(
            "response_item",
            type="message",
            role="assistant",
            content=[{"type": "output_text", "text": "There is a.py."}],
        ),
        '{"timestamp": "2026-04-02T10:00:07Z", "type": "event_',
    ]
)

SCHEMA = """
    CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT);
    CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT, model TEXT, input_tokens INTEGER,
        output_tokens INTEGER, datetime_utc TEXT);
    CREATE TABLE turn_search (id INTEGER PRIMARY KEY, turn_id TEXT, prompt TEXT, response TEXT);
    CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
    CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT,
        prompt_json TEXT, options_json TEXT, response TEXT, response_json TEXT,
        conversation_id TEXT REFERENCES conversations(id), duration_ms INTEGER, datetime_utc TEXT,
        input_tokens INTEGER, output_tokens INTEGER);
    CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT);
"""


def llm(path: Path, rows: Sequence[tuple[object, ...]]) -> Path:
    """Make a database of llm. It has `rows` of (id, prompt, response, conversation), as versions up
    to 0.31 wrote them, and one turn as newer versions write it.
    """
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SCHEMA)
        database.execute("INSERT INTO conversations VALUES ('01c', 'Cheese', 'gpt-4.1')")
        for number, (identity, prompt, response, conversation) in enumerate(rows):
            database.execute(
                "INSERT INTO responses (id, model, prompt, response, conversation_id, datetime_utc,"
                " input_tokens, output_tokens) VALUES (?, 'gpt-4.1', ?, ?, ?, ?, 12, 5)",
                (identity, prompt, response, conversation, f"2026-02-03T04:05:0{number}"),
            )
        database.execute("INSERT INTO threads VALUES ('02c', 'Bread', NULL)")
        database.execute("INSERT INTO turn_search VALUES (1, '02r', 'Name a bread', 'Rye')")
        database.execute(
            "INSERT INTO turns VALUES ('02r', '02c', 'gpt-5', 3, 4, '2026-05-01T01:02:03.4+00:00')"
        )
        database.execute("INSERT INTO tool_calls VALUES (1, '01r', 'look')")
        database.commit()
    return path


def test_a_conversation_of_claude_with_the_text_of_its_attachment() -> None:
    sessions, complaints = imported(json.dumps([claude()]).encode(), "conversations.json")
    (session,) = sessions
    header = session.header
    assert (header.id, header.agent, header.name) == (
        f"claude_{UUID}",
        "Claude",
        "Port of the gateway",
    )
    assert header.created == datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    assert words(session) == [
        ("Which port?", "Port 8443.\n\nIt is in gateway.toml.\n<!-- chat:end -->")
    ]
    (file,) = session.exchanges[0].attached
    assert (file.name, file.text, file.size) == ("gateway.toml", "port = 8443\n", 12)
    assert complaints == ("conversations.json: Left out: 1 file, 1 thought, 1 tool message.",)


def test_a_conversation_of_chatgpt_along_the_branch_that_was_open() -> None:
    sessions, complaints = imported(json.dumps([chatgpt()]).encode(), "conversations.json")
    (session,) = sessions
    assert (session.header.id, session.header.model) == (f"chatgpt_{UUID}", "gpt-5")
    assert words(session) == [("Name a prime.", "Seven."), ("And this one?", "")]
    assert complaints == (
        "conversations.json: Left out: 1 abandoned message, 1 file, 2 tool messages.",
    )


def test_a_session_of_codex_holds_what_was_typed_and_answered() -> None:
    sessions, complaints = imported(CODEX.encode(), "rollout-x.jsonl")
    (session,) = sessions
    header = session.header
    assert (header.id, header.model, header.project) == (
        f"codex_{UUID}",
        "gpt-5-codex",
        "/work/app",
    )
    assert words(session) == [("List the files.", "There is a.py.")]
    assert complaints == (
        "rollout-x.jsonl: Left out: 1 thought, 2 tool messages, 1 unreadable line.",
    )


def test_the_conversations_of_llm(tmp_path: Path) -> None:
    rows = [
        ("01r", "Name a cheese", "Brie", "01c"),
        ("01s", "Another", "Feta", "01c"),
        ("01t", "Hi", "Hello", None),
    ]
    sessions, complaints = imported(llm(tmp_path / "logs.db", rows))
    ordered = sorted(sessions, key=lambda one: one.header.id)
    assert [(one.header.id, one.header.name, words(one)) for one in ordered] == [
        ("llm_01c", "Cheese", [("Name a cheese", "Brie"), ("Another", "Feta")]),
        ("llm_01t", "", [("Hi", "Hello")]),
        ("llm_02c", "Bread", [("Name a bread", "Rye")]),
    ]
    assert ordered[0].totals.session.total == 34
    assert complaints == ("logs.db: Left out: 1 tool message.",)


def zipped(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(f"{name.replace('__', '/')}.json", data)
    return buffer.getvalue()


def test_a_zip_is_read_as_it_was_downloaded() -> None:
    data = zipped(
        **{"conversations-000": json.dumps([chatgpt()]).encode(), "user": b"{}"},
        export__conversations=json.dumps([claude()]).encode(),
    )
    sessions, _ = imported(data, "export.zip")
    assert {one.header.agent for one in sessions} == {"Claude", "ChatGPT"}


def test_a_second_import_changes_nothing_also_when_the_conversation_grew(tmp_path: Path) -> None:
    manager = SessionManager(tmp_path)

    def stored(document: object) -> list[bool]:
        importer = Importer()
        importer.add_document(json.dumps(document).encode(), "conversations.json")
        return [one.is_new for one in importer.store(manager)]

    longer = claude()
    longer["chat_messages"] += claude()["chat_messages"]
    assert stored([claude(), chatgpt()]) == [True, True]
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.md")}
    assert stored([longer, chatgpt()]) == [False, False]
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.md")} == before


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"[]", "There is no conversation in it."),
        (b"[1]", "Conversation 1 is left out: Expected `object`, got `int`"),
        (b"[" * 100_000, "It is not JSON"),
        (json.dumps([claude(uuid=7)]).encode(), "Conversation 1 is left out: Expected `str`"),
        (
            json.dumps([chatgpt(mapping=[])]).encode(),
            "Conversation 1 is left out: Expected `object`",
        ),
        (json.dumps([claude(chat_messages=[])]).encode(), "Left out: 1 empty conversation."),
        (b"PK\x03\x04 and no archive", "The archive cannot be read"),
        (zipped(user=b"{}"), "There is no conversations.json in it."),
    ],
    ids=["none", "number", "deep", "id", "mapping", "empty", "no zip", "another zip"],
)
def test_what_is_no_history_gets_a_sentence(data: bytes, sentence: str) -> None:
    sessions, complaints = imported(data, "x")
    assert sessions == ()
    assert len(complaints) == 1
    assert sentence in complaints[0]


def test_an_archive_that_unpacks_to_too_much_is_not_unpacked() -> None:
    problems: list[str] = []
    bomb = zipped(conversations=b"[" + b" " * 10_000_000 + b"]")
    assert len(bomb) < 20_000
    assert histories.read_zip(bomb, 1_000_000, problems) == []
    assert problems == ["conversations.json is larger than 1.0 MB and left out."]


def test_a_tree_that_bites_its_tail_ends() -> None:
    value = chatgpt()
    value["mapping"]["0"]["parent"] = "5"
    assert len(imported(json.dumps([value]).encode()).sessions) == 1


@pytest.mark.slow
def test_a_database_of_another_program_and_one_that_never_ends(tmp_path: Path) -> None:
    other, endless = tmp_path / "other.db", tmp_path / "endless.db"
    with closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE notes (text)")
    assert "It is not a database of llm." in imported(other).complaints[0]
    with closing(sqlite3.connect(endless)) as database:
        database.executescript(
            """
            CREATE TABLE conversations (id, name, model);
            CREATE VIEW responses AS WITH RECURSIVE r(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM r)
            SELECT id, '' model, '' prompt, '' response, '' conversation_id, '' datetime_utc,
            0 input_tokens, 0 output_tokens FROM r;
            """
        )
    assert "The database cannot be read: interrupted" in imported(endless).complaints[0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=8,
)
KEYS = (
    sorted({*claude(), *claude()["chat_messages"][0]}),
    sorted({*chatgpt(), "message", "content"}),
)


@given(st.data())
def test_a_document_with_anything_in_any_place_never_raises(data: st.DataObject) -> None:
    made, keys = data.draw(st.sampled_from([(claude, KEYS[0]), (chatgpt, KEYS[1])]))
    document, key, value = made(), data.draw(st.sampled_from(keys)), data.draw(JSON)
    places = [document, *document.get("chat_messages", []), *document.get("mapping", {}).values()]
    data.draw(st.sampled_from(places))[key] = value
    found = imported(json.dumps([document, {**made(), "uuid": "9", "id": "9"}]).encode()).sessions
    assert found, "the second document is not damaged"
    for session in found:
        assert all(isinstance(entry, Query | Reply | Attachment) for entry in session.entries)


def test_from_the_command_line_with_folders(tmp_path: Path) -> None:
    codex = tmp_path / "codex" / "2026" / "04" / "02"
    codex.mkdir(parents=True)
    (codex / "rollout-2026-04-02.jsonl").write_text(CODEX)
    done = fork_server.run(
        ["sessions", "import", str(tmp_path / "codex")], environment(tmp_path), cwd=tmp_path
    )
    assert done.stdout.decode() == f"codex_{UUID}  imported\n"
    assert "Left out: 1 thought, 2 tool messages" in done.stderr.decode()
    assert done.returncode == 0
    done = fork_server.run(["sessions", "list"], environment(tmp_path), cwd=tmp_path)
    assert "List the files." in done.stdout.decode()
