"""The restoration prompt (pure): how a child session is told what its parent's summary block
holds.
"""

from __future__ import annotations

from chat_loop.sessions import marker
from chat_loop.sessions.records import Header, Restoration
from chat_loop.wording import counts_text

TASK = """Task: Review the above and provide a brief acknowledgment (2-6 sentences or bullets) that includes:
1. Main topics discussed
2. Key decisions made
3. Confirmation you're ready to continue

Keep your response concise."""

GUIDE = (
    "The summary is for orientation. What is pinned or marked [2 user] or [2 reply] is word "
    "for word what the user or "
    "you said in the chain's second session; [2.14] is its query 14. If the summary does not "
    "contain the answer to a "
    "later question, search the archive when you have a tool for that; otherwise say that it "
    "does not."
)


def restoration_text(header: Header, restoration: Restoration) -> str:
    """The restored block as it is sent; the same bytes for the whole life of the session."""
    counts = counts_text(restoration.queries, restoration.tokens)
    when = f"{restoration.parent_created:%Y-%m-%d %H:%M}"
    lines = [
        f"CONTEXT RESTORATION: You are continuing a previous conversation from {when}.",
        "",
        f"Previous session summary (Session ID: {header.parent}, {counts}):",
        "",
    ]
    if restoration.grandparent:
        lines.append(f"This session was resumed from: {restoration.grandparent}")
    lines += [
        f"Previous session file: {header.parent_path}",
        "",
        marker.SUMMARY_START,
        restoration.block,
        marker.SUMMARY_END,
        "",
        GUIDE,
    ]
    if restoration.verbatim_from:
        lines += [
            "",
            f"What follows are the words of the conversation itself, from [{restoration.verbatim_from}] on.",
        ]
    return "\n".join(lines)


def acknowledgment_request(header: Header, restoration: Restoration) -> str:
    """The first message when the agent is asked to confirm what it was given."""
    return with_task(restoration_text(header, restoration))


def with_task(text: str) -> str:
    """A restoration's text with the request to confirm it."""
    return f"{text}\n\n{TASK}"
