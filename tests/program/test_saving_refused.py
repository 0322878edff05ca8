"""Folders that refuse a part of what saving takes: whether words are on disk is said once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.headless import ECHO, run, said, saved

pytestmark = pytest.mark.skipif(
    os.name == "nt" or not shutil.which("setpriv"), reason="rights of POSIX, given away on Linux"
)
MORTAL = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search") if not os.geteuid() else ()
"""The beginning of a command that obeys permissions, also as root."""


@pytest.mark.slow
def test_a_folder_that_takes_no_new_files_has_all_words_but_no_summary(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    command = [*MORTAL, sys.executable, "-m", "chat_loop", *ECHO]
    environment = {"CHAT_LOOP_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as chat:
        assert chat.stdin is not None
        assert chat.stdout is not None
        chat.stdin.write(b"hi\n")
        chat.stdin.flush()
        read = b""
        while read.count(b"You: ") < 2:
            read += os.read(chat.stdout.fileno(), 1000)
        folder.chmod(0o500)
        try:
            shown = chat.communicate(b"there\nexit\n")[0].decode()
        finally:
            folder.chmod(0o700)
    assert chat.returncode == 0, "all words are saved"
    assert shown.count("has all words, but no summary: permission denied") == 1
    assert shown.count("Conversation saved successfully!") == 1
    assert "NOT saved" not in shown
    assert "Not saved" not in shown
    assert "works again" not in shown
    assert "Type a path" not in shown
    [session] = saved(tmp_path)
    assert said(session) == ["hi", "You said: hi", "there", "You said: there"]
    assert session.seal is None

    resumed = run(tmp_path, *ECHO, "--continue", "-p", "and now")
    assert resumed.returncode == 0
    assert len(saved(tmp_path)) == 2


@pytest.mark.slow
def test_a_conversation_without_a_file_is_not_saved(tmp_path: Path) -> None:
    (tmp_path / "sessions").mkdir(mode=0o500)
    prefix = MORTAL or ("env",)
    chat = run(tmp_path, *ECHO, stdin=b"hi\nexit\n", prefix=prefix)
    shown = chat.stdout.decode()
    assert chat.returncode == 1
    assert shown.count("The conversation is NOT saved") == 1
    assert "works again" not in shown
    assert "Resume with" not in shown
    once = run(tmp_path, *ECHO, "-p", "hi", prefix=prefix)
    assert (once.returncode, once.stdout) == (1, b"You said: hi\n")
    assert once.stderr.decode().count("Not saved: ") == 1
