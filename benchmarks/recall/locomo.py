"""The evidence that `sessions search` finds in LoCoMo's dialogues.

The file is `data/locomo10.json` of github.com/snap-research/locomo; its license is CC BY-NC 4.0, so
it is not part of this repository. Each of the ten dialogues becomes a folder of sessions, with two
turns per exchange. For each, 40 of its questions that have evidence are asked, the same ones every
time. A hit is an exchange that contains evidence. Weights were chosen on the first, third, …
dialogue; the others were not used for that.
"""

from __future__ import annotations

import json
import random
import re
import sqlite3
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import mean
from typing import Any

from msgspec import Struct

from benchmarks.support.results import NotMeasured, Results, Settings
from chat_loop.library.filters import SessionFilter
from chat_loop.library.index import Index
from chat_loop.library.library import Library
from chat_loop.library.search import search_all
from chat_loop.library.semantic import SemanticIndex, available
from chat_loop.sessions.records import Entry, Header, Query, Reply, Seal, Session
from chat_loop.sessions.writer import render

QUESTIONS, SEED = 40, 7
UNANSWERABLE = 5
"""The category of questions without an answer."""
GOALS = {5: 82.0, 10: 88.0}
WAYS = ("plain windows", "text", "both")
"""`plain windows` is FTS5 alone: each exchange with its neighbors, by Porter stems."""
_LIMIT = 10

Place = tuple[str, int]


class Dialogue(Struct, frozen=True):
    """The exchanges and the beginning of each session by id, and questions with their evidence."""

    sessions: dict[str, list[tuple[str, str]]]
    began: dict[str, datetime]
    questions: list[tuple[str, set[Place]]]


def read(path: Path) -> list[Dialogue]:
    """Read the dialogues. Raises OSError."""
    return [_dialogue(one["conversation"], one["qa"]) for one in json.loads(path.read_bytes())]


def _dialogue(said: dict[str, Any], asked: list[dict[str, Any]]) -> Dialogue:
    sessions: dict[str, list[tuple[str, str]]] = {}
    began: dict[str, datetime] = {}
    places: dict[str, Place] = {}
    for number in range(1, 1 + sum(isinstance(value, list) for value in said.values())):
        identity, turns = f"s{number:02}", said[f"session_{number}"]
        date = datetime.strptime(said[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
        began[identity] = date.replace(tzinfo=UTC)
        texts = [_text(turn) for turn in turns] + [""] * (len(turns) % 2)
        sessions[identity] = list(zip(texts[::2], texts[1::2], strict=True))
        places |= {turn["dia_id"]: (identity, at // 2 + 1) for at, turn in enumerate(turns)}
    questions = []
    for one in asked:
        named = re.findall(r"D\d+:\d+", " ".join(one["evidence"]))
        evidence = {places[name] for name in named if name in places}
        if evidence and one["category"] != UNANSWERABLE:
            questions.append((one["question"], evidence))
    random.Random(SEED).shuffle(questions)
    return Dialogue(sessions, began, questions[:QUESTIONS])


def _text(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    return f"{turn['speaker']}: {turn['text']}{f' [shares {caption}]' if caption else ''}"


def store(dialogue: Dialogue, folder: Path) -> None:
    """Write a dialogue as sealed sessions."""
    folder.mkdir(parents=True)
    for identity, exchanges in dialogue.sessions.items():
        start, entries = dialogue.began[identity], list[Entry]()
        for number, (query, reply) in enumerate(exchanges, 1):
            at = start + timedelta(minutes=number)
            entries.append(Query(number=number, at=at, text=query))
            entries += [Reply(number=number, at=at, text=reply)] if reply else []
        header = Header(id=identity, created=start, agent="A")
        session = Session(header=header, entries=tuple(entries), seal=Seal(at=start, reason="exit"))
        (folder / f"{identity}.md").write_bytes(render(session))


def plain(dialogue: Dialogue) -> list[int]:
    """Return the rank of the evidence of each question when FTS5 alone searches windows."""
    rows: list[tuple[Place, str]] = []
    for identity, exchanges in dialogue.sessions.items():
        joined = [" ".join(pair) for pair in exchanges]
        windows = (" ".join(joined[max(0, at - 1) : at + 2]) for at in range(len(joined)))
        rows += [((identity, number), window) for number, window in enumerate(windows, 1)]
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE VIRTUAL TABLE t USING fts5 (words, tokenize='porter unicode61')")
        database.executemany("INSERT INTO t VALUES (?)", [(text,) for _, text in rows])
        ranks = []
        for question, evidence in dialogue.questions:
            match = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
            statement = f"SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT {_LIMIT}"
            found = [rows[row - 1][0] for (row,) in database.execute(statement, (match,))]
            ranks.append(_rank(found, evidence))
    return ranks


def measured(
    dialogue: Dialogue, folder: Path, milliseconds: dict[str, list[float]]
) -> dict[str, Any]:
    """Return the ranks of the evidence of all questions, by way of searching."""
    store(dialogue, folder)
    ranks: dict[str, list[int]] = {"plain windows": plain(dialogue), "text": [], "both": []}
    semantic = SemanticIndex()
    with closing(Library(folder)) as library:
        library.update_index()
        with closing(Index(folder)) as index:
            while semantic.embed_batch(index):
                continue
        for question, evidence in dialogue.questions:
            for way, meaning in (("text", None), ("both", semantic)):
                started = time.perf_counter()
                hits, _ = search_all(library, question, SessionFilter(), _LIMIT, semantic=meaning)
                milliseconds[way].append(1000 * (time.perf_counter() - started))
                ranks[way].append(
                    _rank([(hit.row.id, hit.exchange.query.number) for hit in hits], evidence)
                )
    if semantic.problem:
        raise SystemExit(semantic.problem)
    return ranks


def _rank(found: list[Place], evidence: set[Place]) -> int:
    return next((at for at, place in enumerate(found) if place in evidence), _LIMIT)


def run(results: Results, settings: Settings) -> None:
    """Measure and judge. Raises NotMeasured without the file or the model."""
    if settings.locomo is None or not settings.locomo.exists():
        raise NotMeasured("It needs --locomo FILE, the locomo10.json of snap-research/locomo.")
    if not available():
        raise NotMeasured("The extra `search` is not installed.")
    milliseconds: dict[str, list[float]] = {way: [] for way in WAYS[1:]}
    with tempfile.TemporaryDirectory() as name:
        every = [
            measured(dialogue, Path(name) / str(at), milliseconds)
            for at, dialogue in enumerate(read(settings.locomo))
        ]
    for title, some in (("tuning", every[::2]), ("held out", every[1::2]), ("all", every)):
        for first, goal in GOALS.items():
            for way in WAYS:
                share = 100 * mean(rank < first for one in some for rank in one[way])
                judged = title == "held out" and way == "both"
                results.add(
                    f"evidence among {first}, {way}, {title}",
                    [share],
                    "%",
                    at_least=goal if judged else None,
                )
    for way, times in milliseconds.items():
        results.add(f"a search, {way}", times, "ms")
