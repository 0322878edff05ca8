"""Where a text comes from, as rows of a label and a sentence, in the order of time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby

from chat_loop.characters import one_line
from chat_loop.context.wanted_text import WantedText
from chat_loop.conversation.why import Kept, Loss, Newer, Origins, Passage, Said, origins_of
from chat_loop.sessions.records import Session
from chat_loop.sessions.summary_block import LISTS
from chat_loop.values import plural, when_text

LABEL = 10  # columns
MOST_TEXT = 300  # characters of a sentence
MOST_REFS = 5
SPEAKERS = {"user": "you", "model": "the model", "tool": "a tool", "file": "a file"}
PINS = {"pin": "pinned", "unpin": "unpinned"}
WRITERS = {"user": "you", "reply": "the model", "narrative": "the model"}
LOSSES: Mapping[Loss, str] = {
    "replaced": "a newer line replaced it",
    "no room": "the summary had no room for it",
    "left out": "the summary left it out",
    "tool output": "summaries do not repeat what only tools and files say",
    "edited": "the summary was edited, or made again later",
}

Row = tuple[str, str]


def find(text: str, sessions: Sequence[Session]) -> Origins:
    """Return where a text comes from in a chain, which is given oldest first. Raises UsageError for
    a text that cannot be looked for.
    """
    return origins_of(WantedText(text), sessions)


def heading(origins: Origins) -> str:
    """Return the sentence above the rows."""
    text = f"“{one_line(origins.text, MOST_TEXT)}”"
    places = plural(origins.count, "place")
    if not origins.count:
        return f"No message of this conversation says {text}, but a summary does:"
    if not origins.counts:
        return f"{text} was said in {places}, and undone:"
    how = "" if origins.exact else " in other words"
    return f"{text} was said{how} in {places}:"


def rows(origins: Origins, now: datetime, resume: str = "") -> Iterator[Row]:
    """Yield the rows. Without a chat, `resume` is the command that continues the conversation."""
    known = {each.text for each in origins.said}
    ended = [passage.session for passage in origins.passages]
    done = 0
    for number, each in enumerate(origins.said, 1):
        before = len(ended)
        if each.session in ended:
            before = ended.index(each.session)
        yield from _passage_rows(origins.passages[done:before], now, known)
        done = max(done, before)
        hidden = origins.count - len(origins.said)
        if hidden and number == len(origins.said):
            yield "…", plural(hidden, "more place")
        yield _said_row(each, now)
    yield from _passage_rows(origins.passages[done:], now, known)
    yield from _newer_rows(origins.newer, "the next compaction keeps the newer value: ")
    yield "now", _now_text(origins.now, known)
    if not origins.now and origins.count:
        yield from _back_rows(origins, resume)


def _said_row(said: Said, now: datetime) -> Row:
    when = when_text(said.at, now)
    text = one_line(said.text, MOST_TEXT)
    if not said.message:
        return PINS[said.speaker], f"by you, {when}: {text}"
    return said.message, f"{SPEAKERS[said.speaker]}, {when}: {text}"


def _passage_rows(
    passages: Sequence[Passage], now: datetime, known: Collection[str]
) -> Iterator[Row]:
    """Yield the rows of passages; neighbors that passed on the same share one. Sentences that are
    `known` are not told again.
    """
    for _, run in groupby(passages, _alike):
        alike = [*run]
        last = alike[-1]
        if last.loss and last.is_last:
            summary = f"in the summary of session {last.number} ({when_text(last.at, now)})"
            yield "missing", f"{summary}, with which a resume may go on: {LOSSES[last.loss]}"
        elif last.loss:
            yield "dropped", f"{_act_text(last, now)}: {LOSSES[last.loss]}"
        elif last.kept:
            yield "kept", _kept_text(alike, now, known)
        yield from _newer_rows(last.newer)


def _alike(passage: Passage) -> object:
    """Return what passages in one row have in common."""
    if passage.loss or passage.newer:
        return passage.number
    return passage.kept.lines, bool(passage.kept.messages)


def _act_text(passage: Passage, now: datetime) -> str:
    when = when_text(passage.at, now)
    compaction = passage.compaction
    if compaction is None:
        return f"after session {passage.number} ({when})"
    span = f"messages {compaction.first} to {compaction.last}"
    return f"by the compaction of session {passage.number} ({when}, {span})"


def _kept_text(passages: Sequence[Passage], now: datetime, known: Collection[str]) -> str:
    first = passages[0]
    last = passages[-1]
    where = f"session {first.number} ({when_text(first.at, now)})"
    noun = "summary"
    if len(passages) > 1:
        joint = "and" if last.number == first.number + 1 else "to"
        where = f"sessions {first.number} {joint} {last.number}"
        noun = "summaries"
    if not first.kept.lines:
        return f"word for word after {where}"
    words = " and word for word" * bool(first.kept.messages)
    return f"in the {noun} of {where}{words}, under {_line_text(first.kept, known)}"


def _line_text(kept: Kept, known: Collection[str]) -> str:
    """Return the list of the first line, and its text unless that is known."""
    name, text = kept.lines[0]
    title = LISTS.get(name, "Background Context").strip("*:")
    others = len(kept.lines) - 1 + kept.more
    more = f" (and {plural(others, 'more line')})" * bool(others)
    if text in known:
        return f"{title}{more}"
    return f"{title}: {one_line(text, MOST_TEXT)}{more}"


def _newer_rows(newer: Sequence[Newer], about: str = "") -> Iterator[Row]:
    for each in newer[:MOST_REFS]:
        ref = each.ref
        if ref and "." not in ref:
            ref = f"session {ref}"
        who = ", ".join(filter(None, (ref, WRITERS[each.speaker])))
        yield "newer", f"{about}{who}: {one_line(each.text, MOST_TEXT)}"


def _now_text(kept: Kept, known: Collection[str]) -> str:
    if not kept:
        return "not in the context"
    parts = []
    if kept.lines:
        parts.append(f"in the summary, under {_line_text(kept, known)}")
    if kept.messages:
        refs = ", ".join(dict.fromkeys(kept.messages[:MOST_REFS]))
        more = len(kept.messages) - MOST_REFS
        parts.append(f"word for word in {refs}{f' and {more:,} more' if more > 0 else ''}")
    return f"in the context: {'; '.join(parts)}"


def _back_rows(origins: Origins, resume: str) -> Iterator[Row]:
    """Yield how to bring it back: the commands end their rows, so that they can be copied."""
    spoken = [each for each in origins.said if each.speaker in ("user", "model")]
    if resume:
        yield "back", f"first, {resume}"
    if spoken and origins.counts:
        yield "back", f"with your next message: /quote {spoken[0].message}"
    elif spoken:
        yield "back", f"in a branch that begins there: /fork {spoken[0].message}"
    yield "back", f"for good: /pin {one_line(origins.said[0].text, MOST_TEXT)}"
