"""`chat-loop sync`: bring the sessions and their store to the same state."""

from __future__ import annotations

import argparse

from chat_loop.config import Config, Paths
from chat_loop.display.plain import err
from chat_loop.errors import UsageError
from chat_loop.parts import build

WAIT_SECONDS = 10.0  # the wait for another process that synchronizes


def run(options: argparse.Namespace, config: Config, paths: Paths) -> int:
    """Upload and download what changed; return 1 when something has to wait."""
    mirror = build(options, config, paths).mirror
    if mirror is None:
        hint = "Set sessions.store in the config, such as s3://BUCKET/PREFIX: docs/stores.md."
        raise UsageError("No store configured.", hint)
    report = mirror.sync(both_ways=not options.late, seconds=WAIT_SECONDS)
    for sentence in report.sentences:
        err(sentence)
    if report.waiting:
        err(f"Not uploaded while they are open: {', '.join(sorted(report.waiting))}.")
    err(f"{report.sent:,} uploaded, {report.received:,} downloaded.")
    return int(bool(report.waiting))
