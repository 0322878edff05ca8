"""A folder of images that another process keeps: the message is sent all the same."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback
from chat_loop.sessions.files import take_lock
from chat_loop.sessions.records import IMAGE_FOLDER
from tests.support.headless import run, saved
from tests.support.images import png
from tests.support.terminal_chat import compatible


@pytest.mark.slow
def test_an_image_that_cannot_be_saved_now_is_sent(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text("models: {m: {images: true}}\n")
    (tmp_path / "photo.png").write_bytes(png())
    question = f"@{tmp_path / 'photo.png'} what is it?"
    held = take_lock(home / "sessions", IMAGE_FOLDER)
    with closing(held), Loopback() as server:
        done = run(home, *compatible(server), "-p", question)
        assert "image_url" in str(server.request().body)
    assert done.returncode == 0
    told = done.stderr.decode()
    assert "photo.png cannot be saved: its folder is in use." in told
    assert "Session" not in told
    [session] = saved(home)
    [exchange] = session.exchanges
    assert exchange.reply is not None
    assert session.seal is not None
