"""Facts that differ only in one name or number. All of them stay in the requests, on every wire,
after any number of compactions, whatever the model's summaries leave out.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, Received, Reply, talk
from chat_loop.context.budget import Limits, ledger_room
from chat_loop.context.ledger import LedgerBlock, items, ledger
from chat_loop.sessions.records import Summary
from chat_loop.tokens import estimate
from chat_loop.values import Usage
from tests.support.headless import AT_LENGTH, COMPACT, chat_at_home
from tests.support.sentences import exchanges

SERVICES = [
    f"We decided that service{number} listens on port {7000 + number}." for number in range(1, 13)
]
TEAMS = [f"Team {number} meets at {8 + number % 12}:00." for number in range(1, 13)]
PATHS = [f"The service{number} password file is /srv/s{number}.key." for number in range(1, 21)]
LETTERS = [
    f"Rack {letter} holds {20 + number} servers." for number, letter in enumerate("ABCDEFGHIJKL")
]
DATES = [f"Release 4.{number} goes out on 2026-03-{10 + number}." for number in range(1, 13)]
NAMES = [
    f"{name}'s desk is on floor 3."
    for name in ("Anna", "Ben", "Clara", "David", "Emma", "Felix", "Greta", "Hugo")
]
PORTS = [
    f"Allow port {port}." for port in (80, 443, 22, 25, 53, 110, 143, 993, 995, 587, 8080, 8443)
]
CHANGES = [f"Service{number} now listens on port {7100 + number}." for number in range(1, 13)]

FAMILIES = {
    "services": SERVICES,
    "teams": TEAMS,
    "paths": PATHS,
    "letters": LETTERS,
    "dates": DATES,
    "names": NAMES,
    "ports": PORTS,
    "changes": CHANGES,
}
MODEL, KEYS = "compatible:loopback", {"COMPATIBLE_API_KEY": "k"}
COMPACTIONS = 5


def rambling(request: Received) -> Reply:
    """Answer at length without exact values. A summary contains no decision."""
    if request.system.startswith("Task: session summary"):
        return talk(request)
    return Reply(
        chunks=(AT_LENGTH,),
        usage=Usage(input=sum(map(len, (request.system, *request.texts))) // 4, output=9),
    )


def test_all_are_sent_after_compactions(tmp_path: Path) -> None:
    facts = [*SERVICES, *TEAMS[:6]]
    lines: list[str] = []
    for part in range(COMPACTIONS):
        lines += [*facts[part::COMPACTIONS], COMPACT]
    with Loopback(rambling) as server:
        printed = chat_at_home(tmp_path, server, MODEL, KEYS, *lines, "What holds?")
    assert printed.count("📦 Compacted") == COMPACTIONS
    asked = next(request for request in server.requests if request.query.endswith("What holds?"))
    sent = "\n".join((asked.system, *asked.texts))
    assert [fact for fact in facts if fact not in sent] == []


@pytest.mark.parametrize("compactions", [1, 5])
@pytest.mark.parametrize("family", FAMILIES)
def test_all_stay_in_the_block_of_a_window_of_64k(family: str, compactions: int) -> None:
    assert missing(FAMILIES[family], ledger_room(64_000, Limits()), compactions) == ([], [])


@pytest.mark.parametrize("family", FAMILIES)
def test_what_has_no_room_is_listed(family: str) -> None:
    facts = FAMILIES[family]
    left_out, listed = missing(facts, 60, 1)
    assert 0 < len(left_out) < len(facts)
    assert listed == left_out


def missing(facts: list[str], room: int, compactions: int) -> tuple[list[str], list[str]]:
    """Return the facts that are in no line of a chain's last block, and the facts that its last
    compaction lists as archived.
    """
    parent: Summary | None = None
    kept: LedgerBlock | None = None
    for part in range(compactions):
        said = exchanges(*((fact, AT_LENGTH) for fact in facts[part::compactions]), depth=part + 1)
        kept = ledger(parent, None, said, [], [], room, estimate)
        parent = kept.summary
    assert kept is not None
    lines = {item.text for item in items(kept.summary)}
    archived = {found.text for found in kept.archived}
    return [fact for fact in facts if fact not in lines], [
        fact for fact in facts if fact in archived
    ]
