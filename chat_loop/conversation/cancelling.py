"""What becomes of a task of which one step was cancelled."""

from __future__ import annotations

import asyncio


def uncancel() -> None:
    """A cancelled step was skipped; the task itself goes on."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
