"""Converts the conversations that other chat programs export or keep to sessions.

Claude and ChatGPT export a zip with `conversations.json`, codex keeps a `rollout-*.jsonl` for each
session, and llm keeps the SQLite database `logs.db`. The messages of both sides are imported, and
the text of Claude's attachments. Everything else is counted and reported.
"""

from __future__ import annotations

import json
import re
import sqlite3
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from chat_loop.characters import one_line
from chat_loop.export.documents import ImportRefused
from chat_loop.sessions.naming import MAX_NAME
from chat_loop.sessions.records import EPOCH, Attachment, Entry, Header, Query, Reply, Session
from chat_loop.values import Usage, plural, sha256, size_text

_EXPORTS = re.compile(r"(.*/)?conversations(-\d+)?\.json")  # in a zip
_STEPS = 50_000_000  # of SQLite's machine for one query; else a hostile view could run forever
_TURNS = {
    "turns": """
        SELECT t.id, coalesce(t.thread_id, t.id), h.name, t.model, s.prompt, s.response,
               t.datetime_utc, t.input_tokens, t.output_tokens
        FROM turns t JOIN turn_search s ON s.turn_id = t.id
             LEFT JOIN threads h ON h.id = t.thread_id
        ORDER BY 2, t.datetime_utc, t.id
    """,
    "responses": """
        SELECT r.id, coalesce(r.conversation_id, r.id), c.name, r.model, r.prompt, r.response,
               r.datetime_utc, r.input_tokens, r.output_tokens
        FROM responses r LEFT JOIN conversations c ON c.id = r.conversation_id
        ORDER BY 2, r.datetime_utc, r.id
    """,
}
"""The queries for llm's turns, by the table that they read: since version 0.32, and before."""
_NOT_TAKEN = {
    "parts": ("SELECT count(*) FROM parts WHERE type <> 'text'", "other part"),
    "tool_calls": ("SELECT count(*) FROM tool_calls", "tool message"),
    "prompt_attachments": ("SELECT count(*) FROM prompt_attachments", "file"),
}
"""By table of llm's, the query that counts the parts that are left out, and their noun."""


class _Message(Struct):
    """A message of one side. `files` are the names and texts of its attachments."""

    is_user: bool
    text: str
    at: datetime | None = None
    files: tuple[tuple[str, str], ...] = ()
    usage: Usage | None = None


class _MessagePart(Struct):
    """A part of a message: a text, or something of another type."""

    type: str = ""
    text: str | None = None


class _File(Struct):
    file_name: str = ""
    extracted_content: str | None = None


class _ClaudeMessage(Struct):
    sender: str
    text: str = ""
    created_at: str = ""
    content: list[_MessagePart] = []
    attachments: list[_File] = []
    files: list[object] = []


class _ClaudeConversation(Struct):
    uuid: str
    chat_messages: list[_ClaudeMessage]
    name: str | None = None
    created_at: str = ""


class _Author(Struct):
    role: str = ""


class _Content(Struct):
    content_type: str = ""
    parts: list[object] | None = None


class _ChatGPTMessage(Struct):
    author: _Author
    content: _Content
    create_time: float | None = None
    recipient: str | None = None
    metadata: dict[str, object] | None = None


class _Node(Struct):
    parent: str | None = None
    message: _ChatGPTMessage | None = None


class _ChatGPTConversation(Struct):
    mapping: dict[str, _Node]
    current_node: str
    conversation_id: str = ""
    id: str = ""
    title: str | None = None
    create_time: float | None = None
    default_model_slug: str | None = None


class _Payload(Struct):
    """The content of a line of codex: its metadata, a message or an event."""

    type: str = ""
    id: str = ""
    cwd: str = ""
    git: dict[str, object] | None = None
    role: str = ""
    content: list[_MessagePart] | None = None
    message: str | None = None
    model: str | None = None


class _Line(Struct):
    type: str
    payload: _Payload
    timestamp: str = ""


def read_zip(data: bytes, max_bytes: int, problems: list[str]) -> list[Session]:
    """Return the conversations of an export in its downloaded zip. Raises ImportRefused."""
    sessions: list[Session] = []
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            names = [name for name in archive.namelist() if _EXPORTS.fullmatch(name)]
            for name in names:
                with archive.open(name) as member:
                    text = member.read(max_bytes + 1)
                if len(text) > max_bytes:
                    problems.append(f"{name} is larger than {size_text(max_bytes)} and left out.")
                    continue
                sessions += read_export(text, problems)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, RuntimeError, EOFError, OSError) as error:
        raise ImportRefused(f"The archive cannot be read: {error}.") from error
    except NotImplementedError as error:
        raise ImportRefused("The archive is compressed in a way that is not supported.") from error
    if not names:
        raise ImportRefused("There is no conversations.json in it.")
    return sessions


def read_export(data: bytes, problems: list[str]) -> list[Session]:
    """Return the conversations of a `conversations.json`. Raises ImportRefused."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ImportRefused(f"It is not JSON: {str(error).partition(' (')[0]}.") from error
    conversations = [document]
    if isinstance(document, list):
        conversations = document
    left_out = Counter[str]()
    sessions: list[Session | None] = []
    for number, value in enumerate(conversations, 1):
        try:
            if isinstance(value, dict) and "chat_messages" in value:
                sessions.append(_claude(value, left_out))
            else:
                sessions.append(_chatgpt(value, left_out))
        except ValidationError as error:
            problems.append(f"Conversation {number} is left out: {error}.")
    return _reported(sessions, left_out, problems)


def read_codex(data: bytes, problems: list[str]) -> list[Session]:
    """Return the session of a rollout of codex."""
    lines: list[_Line] = []
    left_out = Counter[str]()
    for text in data.split(b"\n"):
        try:
            if text.strip():
                lines += [convert(json.loads(text), type=_Line)]
        except (ValueError, RecursionError, ValidationError):
            left_out["unreadable line"] += 1
    return _reported([_codex(lines, left_out)], left_out, problems)


def read_llm(path: Path, problems: list[str]) -> list[Session]:
    """Return the conversations of llm's database. Raises ImportRefused."""
    conversations: dict[str, tuple[str, str, list[_Message]]] = {}
    left_out = Counter[str]()
    seen = set[str]()
    try:
        address = f"{path.absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=5)) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            database.set_progress_handler(lambda: 1, _STEPS)
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
            if tables.isdisjoint(_TURNS):
                raise ImportRefused("It is not a database of llm.")
            for texts, usage in _turns(database, tables):
                turn, identity, name, model, prompt, response, time = texts
                if turn in seen:
                    continue  # the older tables still contain the turns of the newer ones
                seen.add(turn)
                found = conversations.setdefault(identity, (name, model, []))
                at = _moment(time)
                found[2].append(_Message(True, prompt, at))
                found[2].append(_Message(False, response, at, usage=usage))
            for table, (query, noun) in _NOT_TAKEN.items():
                if table in tables:
                    left_out[noun] += int(database.execute(query).fetchone()[0])
    except (sqlite3.Error, OverflowError) as error:
        raise ImportRefused(f"The database cannot be read: {error}.") from error
    sessions = []
    for identity, (name, model, messages) in conversations.items():
        session = _session("llm", identity, name, EPOCH, messages, left_out, model=model)
        sessions.append(session)
    return _reported(sessions, left_out, problems)


def _turns(
    database: sqlite3.Connection, tables: set[str]
) -> Iterator[tuple[list[str], Usage | None]]:
    """Yield llm's turns: the texts of a row, in order, and its tokens. A value of a wrong type
    becomes an empty text, or the count 0.
    """
    for table, query in _TURNS.items():
        if table not in tables:
            continue
        for *values, tokens, made in database.execute(query):
            texts = [value if isinstance(value, str) else "" for value in values]
            counts = [n if isinstance(n, int) and n >= 0 else 0 for n in (tokens, made)]
            usage = None
            if any(counts):
                usage = Usage(input=counts[0], output=counts[1])
            yield texts, usage


def _claude(value: object, left_out: Counter[str]) -> Session | None:
    """Return a conversation of Claude. Raises ValidationError."""
    conversation = convert(value, type=_ClaudeConversation, strict=False)
    messages = []
    for message in conversation.chat_messages:
        texts = [block.text for block in message.content if block.type == "text" and block.text]
        for block in message.content:
            left_out[_noun(block.type)] += block.type != "text"
        left_out["file"] += len(message.files)
        files = tuple((one.file_name, one.extracted_content or "") for one in message.attachments)
        text = "\n\n".join(texts) or message.text
        at = _moment(message.created_at)
        messages.append(_Message(message.sender == "human", text, at, files))
    created = _moment(conversation.created_at) or EPOCH
    return _session("Claude", conversation.uuid, conversation.name, created, messages, left_out)


def _chatgpt(value: object, left_out: Counter[str]) -> Session | None:
    """Return a conversation of ChatGPT, along the branch that was open. Raises ValidationError."""
    conversation = convert(value, type=_ChatGPTConversation, strict=False)
    path: dict[str, _Node] = {}
    at: str | None = conversation.current_node
    while at is not None and at not in path and (node := conversation.mapping.get(at)) is not None:
        path[at] = node
        at = node.parent
    for name in conversation.mapping.keys() - path.keys():
        message = conversation.mapping[name].message
        if message is not None and message.author.role in ("user", "assistant"):
            left_out["abandoned message"] += 1
    messages = []
    for node in reversed(path.values()):
        message = node.message
        if message is None:
            continue
        hidden = (message.metadata or {}).get("is_visually_hidden_from_conversation")
        if message.author.role not in ("user", "assistant", "tool") or hidden:
            continue
        kind = message.content.content_type
        parts = message.content.parts or []
        if message.author.role == "tool" or message.recipient not in (None, "all"):
            left_out["tool message"] += 1
        elif kind in ("text", "multimodal_text"):
            texts = [part for part in parts if isinstance(part, str)]
            left_out["file"] += len(parts) - len(texts)
            when = _moment(message.create_time)
            messages.append(_Message(message.author.role == "user", "\n\n".join(texts), when))
        else:
            left_out[_noun(kind)] += 1
    identity = conversation.conversation_id or conversation.id
    created = conversation.create_time
    return _session(
        *("ChatGPT", identity, conversation.title, _moment(created) or EPOCH, messages),
        left_out,
        model=conversation.default_model_slug or "",
    )


def _codex(lines: Iterable[_Line], left_out: Counter[str]) -> Session | None:
    """Return the session of a rollout. The user's messages are read from events, because the
    model's input also contains instructions and the state of the machine in the user's name.
    """
    meta = _Line("", _Payload())
    model = ""
    messages = []
    for line in lines:
        payload = line.payload
        at = _moment(line.timestamp)
        match line.type, payload.type:
            case "session_meta", _:
                if not meta.type:
                    meta = line
            case "turn_context", _:
                model = payload.model or model
            case "event_msg", "user_message":
                messages.append(_Message(True, payload.message or "", at))
            case "response_item", "message":
                texts = [block.text for block in payload.content or () if block.text]
                if payload.role == "assistant":
                    messages.append(_Message(False, "\n\n".join(texts), at))
            case "response_item", kind:
                left_out[_noun(kind)] += 1
            case "compacted", _:
                left_out["compaction"] += 1
    created = _moment(meta.timestamp) or EPOCH
    project = meta.payload.cwd
    return _session(
        *("Codex", meta.payload.id, "", created, messages, left_out), model=model, project=project
    )


def _noun(kind: str) -> str:
    """Return the noun under which a left-out part of type `kind` is counted."""
    if "tool" in kind or "call" in kind or kind == "code":
        return "tool message"
    if kind.startswith(("thought", "thinking", "reasoning")):
        return "thought"
    return "other part"


def _session(
    agent: str,
    identity: str,
    name: str | None,
    created: datetime,
    messages: Iterable[_Message],
    left_out: Counter[str],
    *,
    model: str = "",
    project: str = "",
) -> Session | None:
    """Return a session, or None if there are no words in it. A second import gets the same id,
    which the importer makes valid.
    """
    entries: list[Entry] = []
    number = 0
    at = created
    for message in messages:
        at = message.at or at
        if created == EPOCH:
            created = at
        last = entries[-1] if entries else None
        if message.is_user and (message.text.strip() or message.files):
            number += 1
            entries.append(Query(number=number, at=at, text=message.text))
            for title, text in message.files:
                data = text.encode("utf-8", "replace")
                entries.append(
                    Attachment(
                        number=number,
                        at=at,
                        name=title or "attachment",
                        media="text/plain",
                        size=len(data),
                        sha256=sha256(data),
                        text=text,
                    )
                )
        elif message.text.strip() and number == 0:
            left_out["message before the first query"] += 1
        elif message.text.strip() and isinstance(last, Reply):
            entries[-1] = replace(last, text=f"{last.text}\n\n{message.text}")
        elif message.text.strip():
            entries.append(Reply(number=number, at=at, text=message.text, usage=message.usage))
    if not entries:
        return None
    if identity:
        identity = f"{agent.lower()}_{identity}"
    header = Header(
        id=identity,
        created=created,
        agent=agent,
        model=model,
        name=one_line(name or "", MAX_NAME),
        project=project,
    )
    return Session(header=header, entries=tuple(entries))


def _reported(
    sessions: Iterable[Session | None], left_out: Counter[str], problems: list[str]
) -> list[Session]:
    """Return the sessions with words, and add a sentence to `problems` on all that is left out."""
    found = []
    for session in sessions:
        if session is None:
            left_out["empty conversation"] += 1
        else:
            found.append(session)
    if counts := [plural(count, noun) for noun, count in sorted(left_out.items()) if count]:
        problems.append(f"Left out: {', '.join(counts)}.")
    if not (found or problems):
        problems.append("There is no conversation in it.")
    return found


def _moment(value: str | float | None) -> datetime | None:
    """Return an ISO time (UTC if it has no zone) or the seconds since 1970 as a local time."""
    try:
        if isinstance(value, str):
            at = datetime.fromisoformat(value)
            if at.tzinfo is None:
                at = at.replace(tzinfo=UTC)
        elif value:
            at = datetime.fromtimestamp(value, UTC)
        else:
            return None
        return at.astimezone().replace(microsecond=0)
    except (ValueError, OverflowError, OSError):
        return None
