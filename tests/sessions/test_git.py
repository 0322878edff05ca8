"""The branch and the commit of the working directory in a session's record."""

from __future__ import annotations

import json
import os
import re
from contextlib import closing
from pathlib import Path

import pytest

from chat_loop.library.library import Library
from chat_loop.sessions.git import git_head
from chat_loop.sessions.manager import SessionManager
from chat_loop.sessions.records import Query
from tests.support import fork_server
from tests.support.archives import write
from tests.support.headless import ECHO
from tests.support.scripted_chat import Clock

COMMIT = "1a2b3c4d5e" * 4
SHORT = "1a2b3c4d5e1a"
OTHER = "f" * 40


def repository(folder: Path, head: str = "ref: refs/heads/main\n") -> Path:
    git = folder / ".git"
    (git / "refs" / "heads" / "feature").mkdir(parents=True)
    (git / "HEAD").write_text(head)
    (git / "refs" / "heads" / "main").write_text(f"{COMMIT}\n")
    return git


def test_the_branch_and_the_commit_are_found_from_below(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / "src" / "deep").mkdir(parents=True)
    assert git_head(tmp_path) == git_head(tmp_path / "src" / "deep") == ("main", COMMIT)


def test_a_commit_among_the_packed_references(tmp_path: Path) -> None:
    git = repository(tmp_path, "ref: refs/heads/feature/boats\n")
    packed = f"# pack-refs\n{OTHER} refs/heads/boats\n{COMMIT} refs/heads/feature/boats\n^{OTHER}\n"
    (git / "packed-refs").write_text(packed)
    assert git_head(tmp_path) == ("feature/boats", COMMIT)


def test_a_detached_head_and_a_branch_without_a_commit(tmp_path: Path) -> None:
    git = repository(tmp_path, f"{OTHER}\n")
    assert git_head(tmp_path) == ("", OTHER)
    (git / "HEAD").write_text("ref: refs/heads/new\n")
    assert git_head(tmp_path) == ("new", "")


def test_a_worktree_has_a_head_of_its_own(tmp_path: Path) -> None:
    git = repository(tmp_path / "main", "ref: refs/heads/main\n")
    own, tree = git / "worktrees" / "tree", tmp_path / "tree"
    own.mkdir(parents=True)
    tree.mkdir()
    (own / "HEAD").write_text("ref: refs/heads/feature/sails\n")
    (own / "commondir").write_text("../..\n")
    (git / "refs" / "heads" / "feature" / "sails").write_text(f"{OTHER}\n")
    (tree / ".git").write_text(f"gitdir: {own}\n")
    assert git_head(tree) == ("feature/sails", OTHER)
    (tree / ".git").write_text("gitdir: ../main/.git/worktrees/tree\n")
    assert git_head(tree) == ("feature/sails", OTHER)


@pytest.mark.parametrize(
    "head",
    [
        "",
        "ref: refs/heads/../../../secret",
        "ref: refs/heads/.invalid",
        "ref: refs/heads/a b",
        "ref: refs/heads/a\x1b[31m",
        f"ref: refs/heads/{'a' * 201}",
        "ref: ../secret",
        "1a2b3c",
        "\0" * 5_000_000,
    ],
    ids=["empty", "up", "reftable", "blank", "escape", "long", "other", "short", "large"],
)
def test_a_strange_head_says_nothing(tmp_path: Path, head: str) -> None:
    (tmp_path / "secret").write_text(COMMIT)
    repository(tmp_path / "project", head)
    assert git_head(tmp_path / "project") == ("", "")


def test_what_is_no_repository_says_nothing(tmp_path: Path) -> None:
    assert git_head(tmp_path / "gone") == ("", "")
    (tmp_path / ".git").write_text("gitdir: //server/share\n")
    assert git_head(tmp_path) == ("", "")
    (tmp_path / ".git").unlink()
    os.mkfifo(tmp_path / ".git")
    assert git_head(tmp_path) == ("", "")


def test_a_reference_that_holds_no_commit_is_not_shown(tmp_path: Path) -> None:
    git = repository(tmp_path)
    (git / "refs" / "heads" / "main").write_text("root:x:0:0\n")
    assert git_head(tmp_path) == ("main", "")


def test_each_session_records_what_is_checked_out_when_it_begins(tmp_path: Path) -> None:
    git, clock = repository(tmp_path / "project"), Clock()
    sessions = SessionManager(tmp_path / "s", now=clock.now, project=str(tmp_path / "project"))
    live = sessions.begin(agent="Sally")
    live.add(Query(number=1, at=clock.now(), text="Hi"))
    live.close()
    fields = f"\n**Git Branch:** main  \n**Git Commit:** {SHORT}  \n"
    assert live.path.read_text().count(fields) == 1
    (git / "HEAD").write_text("ref: refs/heads/\u202egnp\n")
    child = sessions.begin(agent="Sally", parent=live.header.id, after=live.session)
    assert child.header.git_branch == "\u202egnp"
    child.add(Query(number=1, at=clock.now(), text="Hi"))
    child.close()
    assert "\u202e" not in child.path.read_text()
    assert sessions.load(child.path).session.header == child.header


def test_they_are_shown_in_the_chat_and_by_the_commands(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    environment = {"CHAT_LOOP_HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    repository(project)

    def printed(*arguments: str, stdin: bytes = b"") -> str:
        result = fork_server.run(arguments, environment, stdin, project)
        assert result.returncode == 0, result.stderr.decode()
        return result.stdout.decode()

    shown = printed(*ECHO, stdin=b"Hi\n/info\n/show .\nexit\n")
    assert re.search(rf"\nGit Branch: +main\nGit Commit: +{SHORT}\n", shown)
    assert " · main · 1 query" in shown
    [row] = json.loads(printed("sessions", "list", "--json"))["conversations"]
    assert row["git_branch"] == "main"
    assert json.loads(printed("sessions", "show", "1", "--json"))["git_commit"] == SHORT
    assert f"**Git Commit:** {SHORT}  \n" in printed("sessions", "show", "1")


def test_a_branch_that_cannot_be_stored_does_not_harm_the_index(tmp_path: Path) -> None:
    path = write(tmp_path, "a", "Hi")
    branch = "**Git Branch:** ⟦U+D800⟧x"
    path.write_text(path.read_text().replace("**Agent:**", f"{branch}\n\n**Agent:**"))
    with closing(Library(tmp_path, thorough=True)) as library:
        ([row], _), warning = library.rows()
        assert (row.git_branch, warning) == ("?x", "")
