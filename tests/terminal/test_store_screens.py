"""A chat on a terminal whose sessions have a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.killed_store import Home
from tests.support.s3_server import S3Server, require_server
from tests.support.terminal_chat import started

pytestmark = pytest.mark.slow


def test_a_store_that_comes_and_goes(tmp_path: Path) -> None:
    require_server()
    with S3Server(tmp_path / "objects") as server:
        there = Home(tmp_path / "there", server)
        assert there.run("-p", "Our port is 8443.") == 0
        there.finish()
        here = Home(tmp_path / "here", server)
        keys = server.environment()
        with started(here.folder, cols=100, typed="", until="context", **keys) as chat:
            chat.line("Which port?")
            chat.wait_for("Which port?", output=True)
            chat.wait_for("tokens")
            assert here.run("sync") == 0
            assert len(server.objects("team/")) == 2  # from both machines
            server.kill()
            chat.line("And the host?")
            chat.wait_for("s3://chats/team cannot be reached.")
            chat.wait_for("not uploaded")
            chat.line("exit")
            assert chat.exit_code() == 0
        here.finish()
        server.start()
        assert here.run("sync") == 0
        assert server.objects("team/") == here.contents()
