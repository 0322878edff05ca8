"""The start after a crash: leftovers are removed, and the conversation continues."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from chat_loop.conversation import continuing
from chat_loop.errors import SessionError
from chat_loop.sessions.files import Files
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.organizing import remove_leftovers
from tests.support import scenarios
from tests.support.scenarios import Run, facts_in


def problem_after(folder: Path) -> str:
    """Resume the last session and ask once more; return the problem, or an empty string."""
    sessions = SessionManager(folder)
    remove_leftovers(sessions)
    if left := [path.name for path in folder.rglob(".*.tmp")]:
        return f"temporary files are left: {left}"
    run = Run(folder, Files())
    asyncio.run(_go_on(run))
    return str(sorted(run.acknowledged - facts_in(folder))).removeprefix("[]")


async def _go_on(run: Run) -> None:
    recent = run.talk.sessions.pointers.recent()
    if recent is not None:
        loaded = run.talk.sessions.load(recent.row.path)
        with suppress(SessionError):  # nothing has been said in it yet
            planning = run.talk.conversation.planning()
            resumed = await continuing.resume(planning, loaded, quick=True)
            await run.talk.conversation.accept(resumed.plan, acknowledge=False)
    await scenarios.ask(run)
    run.talk.conversation.close()
