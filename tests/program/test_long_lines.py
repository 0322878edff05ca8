"""A line of a pipe that is too long is one sentence, and the chat goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_loop.input.lines import LONGEST_LINE
from tests.support.headless import ECHO, run, saved

TOLD = "A line of standard input has more than 64 MB: it is left out."


@pytest.mark.slow
@pytest.mark.parametrize("more", [1, 3 << 20], ids=["a little", "more than a buffer"])
def test_a_line_that_is_too_long_is_left_out(tmp_path: Path, more: int) -> None:
    long = b"x" * (LONGEST_LINE + more)
    lines = [b"first", long, b"second", b"\\\\", b"third", long, b"fourth", b"", b"last", b""]
    done = run(tmp_path, *ECHO, stdin=b"\n".join(lines))
    text = done.stdout.decode()
    assert text.count(TOLD) == 2
    assert (done.returncode, done.stderr) == (1, b"")
    [session] = saved(tmp_path)
    assert [exchange.query.text for exchange in session.exchanges] == ["first", "second", "last"]
    assert session.seal is not None
