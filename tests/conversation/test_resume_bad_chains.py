"""Files with missing or impossible dates, and broken chains, can be read, exported, forked and
continued.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from chat_loop.conversation.resume import fork_stored
from chat_loop.export.exporting import SUFFIXES, export_bytes
from chat_loop.sessions import partial
from chat_loop.sessions.chain import read_chain
from tests.support.imported_chain import imported
from tests.support.scripted_chat import SUMMARY, Talk

DATES = {
    "without_date": "",
    "last_moment": "9999-12-31T23:59:59-12:00",
    "first_moment": "0001-01-01T00:00:00+12:00",
    "in_a_century": "2126-01-01T00:00:00+00:00",
    "without_zone": "2026-01-01T00:00:00",
    "no_date": "2026-99-99",
}
CHAINS = {
    "its_own_parent": "its_own_parent",
    "circle_1": "circle_2",
    "circle_2": "circle_1",
    "middle_gone": "not_there",
    "twin_1": "without_date",
    "twin_2": "without_date",
}


def document(
    identity: str, parent: str = "", at: str = "2026-01-01T10:00:00+00:00", sealed: bool = True
) -> str:
    time, created, of = (f" {key}={at}" if at else "" for key in ("at", "created", "of"))
    restoration = f"""
---

<!-- chat:restoration queries=1 tokens=5{of} since=1.1{time} -->
## Session Restored (10:00:00)
**Context:** Resumed from {parent} (1 query, 5 tokens)
**Previous Session:** /gone/{parent}.md

<details><summary>Restored context</summary>

**Background Context:** Initial session.

</details>
<!-- chat:end -->
"""
    end = f"""
---

<!-- SESSION_SUMMARY_START -->
**Background Context:** Birds.

**Current Session Summary:**
**Topics Discussed:**
- Herons [1.1]

**Decisions Made:**
*none*

**Pending:**
*none*
<!-- SESSION_SUMMARY_END -->

*Summary*
<!-- chat:sealed reason=exit summary=model queries=1 tokens=5{time} -->
"""
    return f"""<!-- chat:session v=1 id={identity}{created}{f" parent={parent}" if parent else ""} -->
# Sally Conversation

**Agent:** Sally
<!-- chat:end -->
{restoration if parent else ""}
---

<!-- chat:query n=1{time} -->
## Query 1 (10:00:00)
**You:** a heron, {identity}
<!-- chat:end n=1 -->

<!-- chat:reply n=1{time} -->
**Sally:** a grey one
<!-- chat:end n=1 stop=end -->
{end if sealed else ""}"""


@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "open"])
@pytest.mark.parametrize("identity", [*DATES, *CHAINS])
def test_it_is_read_and_gone_on_with(identity: str, sealed: bool, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    for one, at in DATES.items():
        (folder / f"{one}.md").write_text(document(one, at=at, sealed=sealed))
    for one, parent in CHAINS.items():
        (folder / f"{one}.md").write_text(document(one, parent, sealed=sealed))
    talk = Talk(folder, *([] if sealed else [SUMMARY]), "Welcome back.", "four")
    assert {row.id for row in partial.rows(talk.sessions.directory)} == {*DATES, *CHAINS}
    loaded = talk.sessions.load(folder / f"{identity}.md")
    assert [exchange.query.text for exchange in loaded.session.exchanges] == [
        f"a heron, {identity}"
    ]

    chain = read_chain(talk.sessions, loaded.session)
    whole = [*reversed(chain.ancestors), loaded]
    if identity in CHAINS and not identity.startswith("twin"):
        assert chain.problem
    for form in SUFFIXES:
        data = export_bytes(whole, form)
        assert form == "html" or imported(data).sessions, identity

    assert (
        talk.sessions.load(
            folder / f"{fork_stored(talk.sessions, loaded, 1)}.md"
        ).session.header.parent
        == identity
    )

    async def on() -> None:
        await talk.resume(identity)
        await talk.conversation.ask("and now?")
        await talk.conversation.leave("exit")
        talk.conversation.close()

    talk.clock.seconds += 60
    asyncio.run(on())
    children = {
        row.id: row.parent
        for row in partial.rows(talk.sessions.directory)
        if row.parent == identity
    }
    assert len(children) >= 2
