"""Sessions of basic-agent-chat-loop as Session values: read, never rewritten."""

from __future__ import annotations

from datetime import UTC, datetime, time
from pathlib import Path

from chat_loop.sessions import summary_block
from chat_loop.sessions.plain import PlainExchange, is_plain, read_plain
from chat_loop.sessions.records import ID_PATTERN, Entry, Header, Query, Reply, Seal, Session
from chat_loop.values import Usage

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read(data: bytes, path: Path) -> tuple[Session | None, tuple[str, ...]]:
    """Return the session and what was wrong with the file; None when it is not in that format."""
    if not is_plain(data[:4096]):
        return None, ()
    plain = read_plain(data)
    created = _created(plain.created)
    entries: list[Entry] = []
    for number, exchange in enumerate(plain.exchanges, 1):
        at = _clock(created, exchange.time)
        entries.append(Query(number=number, at=at, text=exchange.query))
        if exchange.reply:
            entries.append(
                Reply(
                    number=number,
                    at=at,
                    text=exchange.reply,
                    seconds=exchange.seconds,
                    usage=_usage(exchange),
                )
            )
    session = Session(
        header=Header(
            id=path.stem,
            created=created,
            agent=plain.agent,
            agent_path=plain.agent_path,
            parent=plain.resumed_from if ID_PATTERN.fullmatch(plain.resumed_from) else "",
            parent_path=plain.previous_session,
        ),
        entries=tuple(entries),
        seal=Seal(
            at=created, reason="exit", source="model", summary=summary_block.parse(plain.summary)
        )
        if plain.summary.strip()
        else None,
    )
    return session, plain.damage


def _created(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError):
        return _EPOCH


def _clock(created: datetime, text: str) -> datetime:
    try:
        return datetime.combine(created.date(), time.fromisoformat(text), created.tzinfo)
    except ValueError:
        return created


def _usage(exchange: PlainExchange) -> Usage | None:
    if exchange.input is None and exchange.output is None:
        return None
    return Usage(input=exchange.input or 0, output=exchange.output or 0)
