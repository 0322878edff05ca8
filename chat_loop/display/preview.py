"""The preview of a session: its facts, its summary, its last exchanges."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from chat_loop.display.conversation_rows import steady_text
from chat_loop.sessions.records import Session
from chat_loop.values import STOPS, counts_text, plural

EXCHANGES = 8  # a preview shows this many of the last exchanges
CHARACTERS = 250


class Preview(Struct, frozen=True):
    """Texts about a session, and its last messages, each with a heading that may be empty."""

    about: Sequence[tuple[str, str]] = ()
    messages: Sequence[tuple[str, str]] = ()
    earlier: int = 0  # the number of exchanges before those messages


def preview_of(
    session: Session, damage: Sequence[str] = (), price: str = "", *, length: int = CHARACTERS
) -> Preview:
    """Return the preview of a session, with each text cut to `length` characters."""
    header = session.header
    seal = session.seal
    ends = {"compact": ", compacted", "resume": ", resumed", "clear": ", cleared"}
    end = ", no summary yet"
    if seal is not None:
        end = ends.get(seal.reason, "")
    chain = ""
    if header.parent:
        chain = f"session {max(2, session.depth)} of its chain, after {header.parent}"
    counts = counts_text(session.totals.queries, session.totals.combined)
    when = f"{header.created:%Y-%m-%d %H:%M}{end}"
    facts = (header.id, header.model, when, header.git_branch, counts, price, chain)
    about = [("", " · ".join(filter(None, facts)))]
    if damage:
        more = ""
        if len(damage) > 1:
            more = f" … and {plural(len(damage) - 1, 'more fault')}"
        about.append(("Damage", damage[0] + more))
    if seal is not None and seal.summary is not None:
        for name in ("topics", "decisions", "pending", "pinned"):
            about.append((name.capitalize(), "; ".join(getattr(seal.summary, name))))
    messages = []
    for exchange in session.exchanges[-EXCHANGES:]:
        messages.append((f"[{exchange.number}] You", exchange.query.text))
        if exchange.reply is not None:
            agent = header.agent or "Agent"
            if stop := STOPS.get(exchange.reply.stop):
                agent += f" ({stop})"
            messages.append((agent, exchange.reply.text))
    earlier = max(0, len(session.exchanges) - EXCHANGES)
    return Preview(_safe(about, length), _safe(messages, length), earlier)


def _safe(parts: Sequence[tuple[str, str]], length: int) -> list[tuple[str, str]]:
    lines = [(steady_text(name, 80), steady_text(text, length)) for name, text in parts]
    return [(name, text) for name, text in lines if text]
