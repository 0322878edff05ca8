"""The approvals of tools that are kept: each project sees its own."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.fork_server import run
from tests.support.headless import ECHO


def test_a_project_lists_and_revokes_its_own_approvals(tmp_path: Path) -> None:
    project, other = tmp_path / "project", tmp_path / "other"
    for folder in (project, other):
        (folder / ".git").mkdir(parents=True)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    names = [(other, "edit_file"), (other, "write_file"), (project, "run_command")]
    kept = [
        {"project": str(folder), "tool": tool, "call": "", "origin": "0"} for folder, tool in names
    ]
    approvals = home / "approvals.json"
    approvals.write_text(json.dumps(kept))
    environment = {"CHAT_LOOP_HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}

    def typed(folder: Path, *lines: str) -> str:
        stdin = "".join(f"{line}\n" for line in lines).encode()
        return run(ECHO, environment, stdin, cwd=folder).stdout.decode()

    shown = typed(project, "/tools", "/tools revoke 2", "/tools revoke 1")
    assert "  1  run_command" in shown
    assert "edit_file" not in shown
    assert "write_file" not in shown
    assert "/tools takes a number from 1 to 1." in shown
    assert "Revoked: run_command" in shown
    assert json.loads(approvals.read_text()) == kept[:2]
    shown = typed(other, "/tools revoke 2")
    assert "Revoked: write_file" in shown
    assert json.loads(approvals.read_text()) == kept[:1]


def test_answers_that_do_not_cover_a_tool_as_it_is_say_so(tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    (project / ".git").mkdir(parents=True)
    home.mkdir(mode=0o700)
    old = {"project": str(project), "tool": "edit_file", "call": "", "origin": "0"}
    other = {**old, "tool": "read_file", "agent": "/a.py", "described": [["description", "x"]]}
    gone = {**old, "tool": "notes_search"}
    newer = {**old, "until": "2027"}
    approvals = home / "approvals.json"
    approvals.write_text(json.dumps([old, other, gone, newer]))
    environment = {"CHAT_LOOP_HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    arguments = (*ECHO, "--tools", "edit_file,read_file")
    typed = b"/tools\n/tools revoke 2\n"
    shown = run(arguments, environment, typed, cwd=project).stdout.decode()
    assert "  edit_file (asks first): Replaces" in shown
    assert "  read_file (asks about files outside this folder): Reads" in shown
    assert "  1  edit_file (asks again: the tool has changed)\n" in shown
    assert "  2  read_file (only with the agent /a.py)\n" in shown
    assert "  3  notes_search\n" in shown
    assert json.loads(approvals.read_text()) == [old, gone, newer]
