"""Files that programs use by themselves: no “always” covers them, whatever they are called."""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from chat_loop.agent.builtin import builtin_tools
from chat_loop.agent.functions import changes, tool_of
from chat_loop.agent.tools import CALL_PREFIX, SENSITIVE_PREFIX, Approve, Tool, Toolbox
from chat_loop.values import ToolCall
from tests.support.approvals import User

# From the documentation of each program: which files it runs, loads or obeys without being told to.
TABLE = Path(__file__).parents[1] / "golden" / "automatic.toml"
DOCUMENTED: dict[str, str] = tomllib.loads(TABLE.read_text("utf-8"))
ORDINARY = (
    "notes.txt README.md src/main.py src/lib.rs index.html src/app.js src/app.test.ts main.go "
    "style.css data.json docs/head.md docs/update.md src/build/a.txt config.yaml settings.json "
    "a.b/c.d test_a.py Main.java a.cs a.rb a.sh src/configure.py updates/x builds/y.txt "
    "etc/hosts.txt report.pdf.txt pre-commit.md"
)


class Folder:
    """The tool write_file in a folder, and a user who once answered “always”."""

    def __init__(self, root: Path) -> None:
        self.tools = {tool.spec.name: tool for tool in builtin_tools(["write_file"], root)}
        self.user = User("always")
        assert self.results("an ordinary name.txt") == ["written"]
        self.user.seen.clear()

    def results(self, *paths: str) -> list[str]:
        """Write the files; return “written” or the reason of each that was not."""
        calls = [
            ToolCall(str(number), "write_file", json.dumps({"path": path, "text": "x"}))
            for number, path in enumerate(paths)
        ]
        return run(self.tools, calls, self.user.approve_call)

    def asked(self, *paths: str) -> list[str]:
        """Write the files, and allow none; return those that the user is asked about."""
        self.user.answers += ["no"] * len(paths)
        results = self.results(*paths)
        self.user.answers.clear()
        return [
            path for path, text in zip(paths, results, strict=True) if text.startswith("Not run:")
        ]


def run(tools: Mapping[str, Tool], calls: list[ToolCall], approve: Approve) -> list[str]:
    async def each() -> list[str]:
        results = []
        for call in calls:
            [returned] = [event async for event in Toolbox(tools, 100_000, approve).run([call])]
            results.append(returned.text if returned.failed else "written")
        return results

    return asyncio.run(each())


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "project" / ".git" / "hooks").mkdir(parents=True)
    return Folder(tmp_path / "project")


def test_files_that_programs_use_by_themselves_are_asked_about_each_time(folder: Folder) -> None:
    names = [name for names in DOCUMENTED.values() for name in names.split()]
    assert len(names) > 180
    assert folder.asked(*names) == names
    assert sum(text.startswith(SENSITIVE_PREFIX) for text in folder.user.seen) == len(names)
    assert not [text for text in folder.user.seen if "[p]roject" in text]


def test_other_files_are_not_asked_about(folder: Folder) -> None:
    assert folder.asked(*ORDINARY.split()) == []


def test_the_question_says_which_program_uses_the_file(folder: Folder) -> None:
    folder.asked("build.rs", "Taskfile.yml", ".hidden")
    heads = [text.partition("\n")[0] for text in folder.user.seen if text[:1] == "T"]
    assert heads == [
        f"{SENSITIVE_PREFIX} (used by Cargo and rust-analyzer):",
        f"{SENSITIVE_PREFIX} (used by make and other task runners):",
        f"{SENSITIVE_PREFIX} (used by programs that read hidden files):",
    ]


def test_names_that_a_file_system_takes_for_the_same_are_the_same(folder: Folder) -> None:
    spellings = [
        *("BUILD.RS", "cargo.TOML", "Makefile.", "MAKEFILE", "gemFILE", "Ｍakefile", "make\u200cfile"),
        *(".GIT/Hooks/x", "GIT~1/config", "Node_Modules/a.js", "A.GIT/config", "./././build.rs"),
        *("src/../build.rs", "x/../.husky/a", ".VSCODE/tasks.json"),
    ]  # fmt: skip
    assert folder.asked(*spellings) == spellings


def test_links_and_what_they_lead_to_are_such_files_under_both_names(
    tmp_path: Path, folder: Folder
) -> None:
    root = tmp_path / "project"
    (root / "scripts").mkdir()
    (root / "editor").mkdir()
    (root / "sub").mkdir()
    for name in ("rules.txt", "check.sh", "free.txt"):
        (root / "scripts" / name).write_text("old")
    (root / "Makefile").symlink_to("scripts/rules.txt")
    (root / ".git" / "hooks" / "pre-push").symlink_to("../../scripts/check.sh")
    (root / ".vscode").symlink_to("editor")
    (root / "harmless").symlink_to(".git")
    (root / "sub" / "a.txt").symlink_to("build.rs")
    (root / "sub" / "build.rs").symlink_to("../scripts/other.txt")
    reached = [
        *("Makefile", "scripts/rules.txt", "scripts/check.sh", "editor/tasks.json"),
        *("harmless/description", "sub/a.txt", "sub/build.rs", "SCRIPTS/RULES.TXT"),
    ]
    assert folder.asked(*reached) == reached
    assert folder.asked("scripts/free.txt", "sub/b.txt") == []


def test_a_file_of_a_folder_of_commands_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    folder = Folder(tmp_path)
    assert folder.asked("bin/plain") == []
    monkeypatch.setenv("PATH", f"/usr/bin:{tmp_path / 'bin'}")
    assert folder.asked("bin/ls", "ls", "bin/inner/ls") == ["bin/ls"]
    monkeypatch.setenv("PATH", ":/usr/bin")  # an empty entry is the working directory
    assert folder.asked("cat", "bin/cat") == ["cat"]


@pytest.mark.parametrize("place", ["/", "PARENT"])
def test_in_the_folder_of_the_system_or_of_all_users_every_file_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "users" / "bob"))
    root = Path(place.replace("PARENT", str(tmp_path / "users")))
    (tmp_path / "users").mkdir()
    [tool] = builtin_tools(["write_file"], root)
    user = User("no")
    path = str(tmp_path / "users" / "plain.txt")
    call = ToolCall("c", "write_file", json.dumps({"path": path, "text": "x"}))
    assert run({"write_file": tool}, [call], user.approve_call)[0].startswith("Not run")
    assert "(used by the system and other users):" in user.seen[0]
    assert user.seen[1].endswith("(this exact call) ")


@changes
def move(source: str, target: str, more: list[dict[str, str]] = []) -> str:  # noqa: B006
    """Move a file."""
    return "moved"


def test_a_tool_that_moves_a_file_to_such_a_name_is_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "harmless").symlink_to(".git/hooks")
    tool = tool_of(move)
    user = User("always", *["no"] * 12)

    def moved(**arguments: object) -> bool:
        call = ToolCall("c", "move", json.dumps({"source": "a.txt", **arguments}))
        return run({"move": tool}, [call], user.approve_call) == ["written"]

    assert moved(target="b.txt")
    assert moved(target="see https://a.example/.well-known/x")
    (tmp_path / "build").mkdir()
    assert moved(target="build", source="update")
    assert moved(target="Please look at the Makefile\nand at .envrc")
    for target in (
        ".git/hooks/pre-commit", "file:///p/.envrc", "File:///p/%2Eenvrc", "~/.bashrc", "hooks/update", "harmless/post-merge",
        f"{tmp_path}/build.rs", "PACKAGE.json", "/usr/bin/ls",
    ):  # fmt: skip
        assert not moved(target=target), target
        head = f"{CALL_PREFIX} (used by "
        assert user.seen[-2].startswith(head)
        assert user.seen[-1].endswith("(this exact call) ")
    assert not moved(target="b.txt", more=[{"path": "Makefile"}])
    assert not moved(target="b.txt", more=[{".envrc": "text"}])
    monkeypatch.chdir(tmp_path.parent)
    assert moved(target="a\0b")
    assert user.answers == ["no"]
