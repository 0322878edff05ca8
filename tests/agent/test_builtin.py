"""The file tools: reads, changes, diffs before a change, and the folders they may touch."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat_loop.agent import builtin
from chat_loop.agent.builtin import SPECS, builtin_tools
from chat_loop.agent.tools import SENSITIVE_PREFIX, Tool, Toolbox
from chat_loop.values import ALLOWED, ToolCall
from tests.support.approvals import User

NAMES = tuple(SPECS)
FILES = tuple(name for name in NAMES if name not in ("run_command", "remember"))


class Bench:
    """The file tools in a folder. The user is `asked` these questions and always gives `answer`."""

    def __init__(self, root: Path, *protected: Path, answer: bool = True) -> None:
        self.root = root
        self.asked: list[str] = []
        self.answer = answer
        self.box = Toolbox(
            {tool.spec.name: tool for tool in builtin_tools(FILES, root, protected=protected)},
            50_000,
            self._approve,
        )

    async def _approve(self, tool: Tool, text: str) -> bool:
        self.asked.append(text)
        return self.answer

    def use(self, name: str, **given: object) -> str:
        """Return the result that the model gets, with an exclamation mark before a failure."""

        async def call() -> str:
            [returned] = [
                event async for event in self.box.run([ToolCall("c1", name, json.dumps(given))])
            ]
            text = returned.text.removeprefix(f"{ALLOWED}\n")
            assert (text != returned.text) == (len(self.asked) > before and self.answer)
            return f"!{text}" if returned.failed else text

        before = len(self.asked)
        return asyncio.run(call())


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    root = tmp_path / "project"
    (root / "src" / "deep").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("secret")
    (root / "src" / "a.py").write_text("import os\n\nPORT = 8443\nHOST = 'x'\n")
    (root / "src" / "deep" / "b.py").write_text("PORT = 1\nport = 2")
    (root / "windows.txt").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    (root / "picture.png").write_bytes(b"\x89PNG\0\xff")
    (root / "zeros").write_bytes(b"a\0b")
    (tmp_path / "outside.txt").write_text("not yours\n")
    return Bench(root)


def test_reading(bench: Bench) -> None:
    assert bench.use("read_file", path="src/a.py") == "import os\n\nPORT = 8443\nHOST = 'x'\n"
    assert (
        bench.use("read_file", path="./src/../src/a.py", first=3, last=3)
        == "PORT = 8443\n[lines 3 to 3 of 4]"
    )
    assert (
        bench.use("read_file", path="src/a.py", first=3)
        == "PORT = 8443\nHOST = 'x'\n[lines 3 to 4 of 4]"
    )
    assert bench.use("read_file", path="src/a.py", first=-5, last=900).count("\n") == 4
    assert bench.use("read_file", path="windows.txt") == "one\ntwo\nthree\n"
    assert bench.use("read_file", path="src/a.py", first=5) == "!src/a.py has 4 lines."
    (bench.root / "empty").touch()
    assert bench.use("read_file", path="empty") == "(nothing)"
    assert bench.asked == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("none.py", "!none.py: no such file or directory."),
        ("src", "!src: it is not a regular file."),
        ("picture.png", "!picture.png: it is not UTF-8 text."),
        ("zeros", "!zeros: it is a binary file."),
        ("", "!This is not a path. Paths are relative to the working directory."),
        ("a\0b", "!This is not a path. Paths are relative to the working directory."),
        ("circle", "!"),
        ("pipe", "!pipe"),
    ],
)
def test_what_cannot_be_read(bench: Bench, path: str, text: str) -> None:
    (bench.root / "circle").symlink_to("circle")
    os.mkfifo(bench.root / "pipe")
    assert bench.use("read_file", path=path).startswith(text)


def test_a_file_that_is_too_large_is_not_read(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builtin, "MAX_FILE_BYTES", 1_000_000)
    (bench.root / "large").write_text("x" * 1_000_001)
    assert bench.use("read_file", path="large") == "!large: it is larger than 1.0 MB."


def test_listing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = "picture.png\nsrc/a.py\nsrc/deep/b.py\nwindows.txt\nzeros"
    assert bench.use("list_files") == everything
    assert bench.use("list_files", pattern="*.py") == "src/a.py\nsrc/deep/b.py"
    assert bench.use("list_files", pattern="src/*/*.py") == "src/deep/b.py"
    assert bench.use("list_files", pattern="**/*.py", path="src") == "src/a.py\nsrc/deep/b.py"
    assert bench.use("list_files", pattern="a.py", path="src") == "src/a.py"
    assert bench.use("list_files", path=".git") == ".git/config"
    assert bench.use("list_files", pattern="*.c") == "(nothing)"
    assert bench.use("list_files", path="zeros") == "!zeros is not a folder."
    monkeypatch.setattr(builtin, "MAX_LISTED", 2)
    assert bench.use("list_files").endswith(
        "[cut: there are more than these 2 files; a narrower pattern finds them]"
    )
    monkeypatch.setattr(builtin, "MAX_VISITED", 1)
    cut = "[cut: there are more than these 1 file; a narrower pattern finds them]"
    assert bench.use("list_files") == f"picture.png\n{cut}"


def test_searching(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        bench.use("search_files", text="PORT")
        == "src/a.py:3: PORT = 8443\nsrc/deep/b.py:1: PORT = 1"
    )
    assert (
        bench.use("search_files", text="port = ", ignore_case=True, path="src/deep").count("\n")
        == 1
    )
    assert bench.use("search_files", text="secret") == "(nothing)"
    assert bench.use("search_files", text="a.*b") == "(nothing)"
    assert bench.use("search_files", text="") == "!The text must be part of one line."
    monkeypatch.setattr(builtin, "MAX_MATCHES", 1)
    assert (
        bench.use("search_files", text="PORT")
        == "src/a.py:3: PORT = 8443\n[cut: the first 1 lines]"
    )


def test_a_new_file_is_shown_whole(bench: Bench) -> None:
    text = "first\n" + "middle\n" * 500 + "\x1b[2J\u202eend\rof it"
    assert (
        bench.use("write_file", path="new/deep/c.txt", text=text)
        == "Wrote new/deep/c.txt: 502 lines."
    )
    middle = "+middle\n" * 500
    head = (
        "New file new/deep/c.txt:\n--- /dev/null\n+++ new/deep/c.txt\n@@ -0,0 +1,503 @@\n+first\n"
    )
    assert bench.asked == [f"{head}{middle}+\x1b[2J\u202eend\rof it\n+\\ No newline at end of file"]
    written = bench.root / "new" / "deep" / "c.txt"
    assert written.read_bytes() == text.encode()
    assert stat.S_IMODE(written.stat().st_mode) == 0o666 & ~current_umask()
    assert [path.name for path in written.parent.iterdir()] == ["c.txt"]


def current_umask() -> int:
    return int(subprocess.run(["sh", "-c", "umask"], capture_output=True, check=True).stdout, 8)


def test_overwriting_shows_a_diff_and_keeps_the_mode(bench: Bench) -> None:
    path = bench.root / "src" / "a.py"
    path.chmod(0o750)
    assert (
        bench.use("write_file", path="src/a.py", text="import os\n\nPORT = 5544\n")
        == "Wrote src/a.py: 3 lines."
    )
    diff = "@@ -1,4 +1,3 @@\n import os\n \n-PORT = 8443\n-HOST = 'x'\n+PORT = 5544"
    assert bench.asked == [f"Change src/a.py:\n--- src/a.py\n+++ src/a.py\n{diff}"]
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == (
        "import os\n\nPORT = 5544\n",
        0o750,
    )
    again = "!src/a.py already has exactly this content."
    assert bench.use("write_file", path="src/a.py", text="import os\n\nPORT = 5544\n") == again
    assert len(bench.asked) == 1


def test_long_files_are_shown_whole_without_comparing_them(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builtin, "MAX_COMPARED", 3)
    assert bench.use("write_file", path="src/a.py", text="new\n") == "Wrote src/a.py: 1 line."
    assert bench.asked[0].endswith(
        "+++ src/a.py\n@@ -1,4 +1,1 @@\n-import os\n-\n-PORT = 8443\n-HOST = 'x'\n+new"
    )


def test_line_ends_stay(bench: Bench) -> None:
    path = bench.root / "windows.txt"
    assert (
        bench.use("edit_file", path="windows.txt", old="two\nthree", new="2\n3")
        == "Edited windows.txt at line 2."
    )
    assert path.read_bytes() == b"one\r\n2\r\n3\r\n"
    assert (
        bench.use("write_file", path="windows.txt", text="one\nfour\n")
        == "Wrote windows.txt: 2 lines."
    )
    assert path.read_bytes() == b"one\r\nfour\r\n"
    assert bench.asked == [
        (
            "Change windows.txt:\n--- windows.txt\n+++ windows.txt\n@@ -1,3 +1,3 @@\n "
            "one\n-two\n-three\n+2\n+3"
        ),
        (
            "Change windows.txt:\n--- windows.txt\n+++ windows.txt\n@@ -1,3 +1,2 @@\n "
            "one\n-2\n-3\n+four"
        ),
    ]


def test_a_change_of_line_ends_alone_is_seen(bench: Bench) -> None:
    (bench.root / "mixed").write_bytes(b"a\r\nb\n")
    bench.use("write_file", path="mixed", text="a\nb\n")
    assert bench.asked == ["Change mixed:\n--- mixed\n+++ mixed\n@@ -1,2 +1,2 @@\n-a\r\n+a\n b"]
    assert (bench.root / "mixed").read_bytes() == b"a\nb\n"


@pytest.mark.parametrize(
    ("old", "new", "text", "hunk"),
    [
        (
            "8443", "1", "Edited src/a.py at line 3.",
            "-1,4 +1,4 @@\n import os\n \n-PORT = 8443\n+PORT = 1\n HOST = 'x'",
        ),
        (
            "\nPORT = 8443\n", "\n", "Edited src/a.py at line 2.",
            "-1,4 +1,3 @@\n import os\n \n-PORT = 8443\n HOST = 'x'",
        ),
        (
            "import os\n", "", "Edited src/a.py at line 1.",
            "-1,4 +1,3 @@\n-import os\n \n PORT = 8443\n HOST = 'x'",
        ),
        (
            "os\n\nPORT", "sys", "Edited src/a.py at line 1.",
            "-1,4 +1,2 @@\n-import os\n-\n-PORT = 8443\n+import sys = 8443\n HOST = 'x'",
        ),
        (
            "'x'\n", "'y'", "Edited src/a.py at line 4.",
            "-1,4 +1,5 @@\n import os\n \n PORT = 8443\n-HOST = 'x'\n+HOST = 'y'\n+\\ No newline at end of file",
        ),
        (
            "8442",
            "1",
            "!The old text is not in src/a.py. It must match the file exactly.",
            None,
        ),
        (
            "",
            "1",
            "!The old text is not in src/a.py. It must match the file exactly.",
            None,
        ),
        (
            "O",
            "1",
            "!The old text occurs more than once in src/a.py. Include more of the text around it.",
            None,
        ),
        ("os", "os", "!src/a.py already has exactly this content.", None),
    ],
)  # fmt: skip
def test_editing(bench: Bench, old: str, new: str, text: str, hunk: str | None) -> None:
    path = bench.root / "src" / "a.py"
    before = path.read_text()
    assert bench.use("edit_file", path="src/a.py", old=old, new=new) == text
    head = "Change src/a.py:\n--- src/a.py\n+++ src/a.py\n@@ "
    assert bench.asked == ([f"{head}{hunk}"] if hunk else [])
    assert path.read_text() == (before.replace(old, new) if hunk else before)


def test_a_file_that_changed_since_the_question_is_not_overwritten(bench: Bench) -> None:
    path = bench.root / "src" / "a.py"

    async def changing(tool: Tool, text: str) -> bool:
        path.write_text("somebody else's\n")
        return True

    bench.box = Toolbox(bench.box.tools, 1000, changing)

    async def call() -> str:
        call = ToolCall("c1", "write_file", '{"path": "src/a.py", "text": "mine"}')
        [returned] = [event async for event in bench.box.run([call])]
        return returned.text

    assert (
        asyncio.run(call())
        == f"{ALLOWED}\nsrc/a.py has changed since the user was asked. Read it again."
    )
    assert path.read_text() == "somebody else's\n"


def test_edits_of_one_file_that_come_together_are_all_made(bench: Bench) -> None:
    (bench.root / "many").write_text("".join(f"line {number};\n" for number in range(20)))

    async def together() -> list[bool]:
        calls = [
            ToolCall(
                f"c{number}",
                "edit_file",
                f'{{"path": "many", "old": "line {number};", "new": "LINE {number};"}}',
            )
            for number in range(20)
        ]
        return [event.failed async for event in bench.box.run(calls)]

    assert asyncio.run(together()) == [False] * 20
    assert (bench.root / "many").read_text() == "".join(f"LINE {number};\n" for number in range(20))


def test_outside_of_the_working_directory_is_asked_about(bench: Bench, tmp_path: Path) -> None:
    (bench.root / "link").symlink_to(tmp_path / "outside.txt")
    (bench.root / "folder").symlink_to(tmp_path)
    outside = tmp_path / "outside.txt"
    head = f"Outside of the working directory {bench.root}:\n"
    ways = ("../outside.txt", "link", "folder/outside.txt", str(outside), "src/../../outside.txt")
    for path in ways:
        assert bench.use("read_file", path=path) == "not yours\n"
    assert bench.use("list_files", path="..", pattern="outside.*") == str(outside)
    assert (
        bench.use("search_files", text="yours", path="folder", pattern="*.txt")
        == f"{outside}:1: not yours"
    )
    assert bench.asked == [f"{head}read {outside}"] * 5 + [f"{head}read {tmp_path}"] * 2
    bench.asked.clear()
    assert (
        bench.use("edit_file", path="link", old="not", new="all") == f"Edited {outside} at line 1."
    )
    diff = f"--- {outside}\n+++ {outside}\n@@ -1 +1 @@\n-not yours\n+all yours"
    assert bench.asked == [f"{head}Change {outside}:\n{diff}"]
    assert (outside.read_text(), (bench.root / "link").is_symlink()) == ("all yours\n", True)
    bench.answer = False
    assert (
        bench.use("write_file", path="../new.txt", text="x")
        == "!Not run: the user did not allow it."
    )
    assert bench.use("read_file", path="../outside.txt") == "!Not run: the user did not allow it."
    assert not (tmp_path / "new.txt").exists()


@pytest.mark.parametrize(
    "path",
    [
        ".git/config", ".git/hooks/pre-commit", "MEMORY.md", "memory.md", "docs/AGENTS.md", "CLAUDE.md", ".envrc",
        ".vscode/tasks.json", ".idea/runConfigurations/x.xml", ".ssh/config", ".bashrc", "src/.zshrc",
        ".github/workflows/x.yml", ".gitlab-ci.yml", "Jenkinsfile", "Makefile", "package.json", "src/conftest.py",
        "x.pth", "a.code-workspace", "CLAUDE.local.md",
        "hooks/config", "hooks2/config", "src/../.git/config", "src/deep/../../.envrc", ".GIT/config", "agents.MD",
        "AGENTſ.md", "MEMORY.md.", "MEM\u200cORY.md", "\u200c.envrc", "/proc/PROCESS/cwd/MEMORY.md",
    ],
)  # fmt: skip
def test_always_does_not_cover_files_that_run_code_or_steer_later_sessions(
    bench: Bench, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(bench.root)
    (bench.root / "hooks").symlink_to(".git")
    (bench.root / "hooks2").symlink_to("hooks")
    user = User("always", "no")

    async def calls() -> list[bool]:
        box = Toolbox(bench.box.tools, 1000, user.approve_call)
        denied = []
        for target in ("src/plain.txt", "src/other.txt", path.replace("PROCESS", str(os.getpid()))):
            call = ToolCall("c1", "write_file", json.dumps({"path": target, "text": "x"}))
            denied += [event.denied async for event in box.run([call])]
        return denied

    assert asyncio.run(calls()) == [False, False, True]
    asked = [text.partition("[n]o ")[2] for text in user.seen if text.startswith("Apply? ")]
    assert asked == [
        "[a]lways, always in this [p]roject (write_file) ",
        "[a]lways (this exact call) ",
    ]


@pytest.mark.parametrize("folder", [".git/hooks", ".github/workflows", ".ssh"])
def test_in_such_a_folder_every_file_is_one(tmp_path: Path, folder: str) -> None:
    root = tmp_path / folder
    root.mkdir(parents=True)
    bench = Bench(root)
    bench.use("write_file", path="plain", text="x")
    assert bench.asked[0].startswith(SENSITIVE_PREFIX)


def test_a_hard_link_to_such_a_file_gets_a_text_of_its_own(bench: Bench) -> None:
    (bench.root / "notes.txt").hardlink_to(bench.root / ".git" / "config")
    bench.use("edit_file", path="notes.txt", old="secret", new="fsmonitor")
    assert (bench.root / "notes.txt").read_text() == "fsmonitor"
    assert (bench.root / ".git" / "config").read_text() == "secret"


def test_calls_on_one_file_outside_that_come_together_each_run_once_allowed(
    bench: Bench, tmp_path: Path
) -> None:
    """All calls that the user allows run, and leave no permission for a later call."""

    async def together() -> list[str]:
        calls = [
            ToolCall(f"c{number}", "read_file", '{"path": "../outside.txt"}')
            for number in range(40)
        ]
        allowed = [event.text async for event in bench.box.run(calls)]
        bench.answer = False
        return allowed + [event.text async for event in bench.box.run(calls[:1])]

    assert asyncio.run(together()) == [f"{ALLOWED}\nnot yours\n"] * 40 + [
        "Not run: the user did not allow it."
    ]


def test_a_path_that_is_turned_outside_after_the_question_is_not_followed(
    bench: Bench, tmp_path: Path
) -> None:
    async def turning(tool: Tool, text: str) -> bool:
        (bench.root / "new").symlink_to(tmp_path)
        return True

    async def call() -> str:
        box = Toolbox(bench.box.tools, 1000, turning)
        call = ToolCall("c1", "write_file", '{"path": "new/a.txt", "text": "mine"}')
        [returned] = [event async for event in box.run([call])]
        return returned.text

    turned = "new/a.txt now points elsewhere. Call the tool again."
    assert asyncio.run(call()) == f"{ALLOWED}\n{turned}"
    assert not (tmp_path / "a.txt").exists()


def test_the_program_s_own_files_are_not_touched(tmp_path: Path) -> None:
    sessions = tmp_path / "sessions"
    sessions.mkdir()
    (sessions / "one.md").write_text("what was said")
    (tmp_path / "config.yaml").write_text("key: what")
    (tmp_path / "way").symlink_to(sessions)
    bench = Bench(tmp_path, sessions, tmp_path / "config.yaml")
    ways = (
        "sessions/one.md",
        "config.yaml",
        "way/one.md",
        "Sessions/One.md",
        str(sessions / "one.md"),
    )
    for path in ways:  # some file systems fold case
        refused = f"!{path} belongs to chat-loop itself; tools cannot use it."
        assert bench.use("read_file", path=path) == refused
        assert bench.use("write_file", path=path, text="x") == refused
        assert bench.use("edit_file", path=path, old="what", new="x") == refused
    assert bench.use("list_files") == "(nothing)"
    assert bench.use("search_files", text="what") == "(nothing)"
    assert bench.asked == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("picture.png", "!picture.png: it is not UTF-8 text."),
        ("src", "!src: it is not a regular file."),
        ("locked.txt", "!locked.txt: it is write-protected."),
        ("src/a.py/new", "!src/a.py/new"),
        ("pipe", "!pipe"),
    ],
)
def test_what_cannot_be_written(bench: Bench, path: str, text: str) -> None:
    os.mkfifo(bench.root / "pipe")
    (bench.root / "locked.txt").write_text("old")
    (bench.root / "locked.txt").chmod(0o444)
    before = sorted(bench.root.rglob("*"))
    assert bench.use("write_file", path=path, text="x").startswith(text)
    assert sorted(bench.root.rglob("*")) == before


HOSTILE = st.text(max_size=20) | st.sampled_from(
    (
        *("~nobody/x", "~", "/", "//", "..", "a/../..", "x/" * 2000, "[!", "[" * 200),
        *("*" * 250 + "b", "**/" * 80, "\\", "a\nb"),
    )
)


@given(st.sampled_from(FILES), HOSTILE, HOSTILE, st.integers(-3, 2**70))
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_whatever_a_model_writes_a_sentence_comes_back(
    bench: Bench, name: str, path: str, text: str, number: int
) -> None:
    bench.answer = False
    more: dict[str, dict[str, object]] = {
        "read_file": {"first": number, "last": -number},
        "list_files": {"pattern": text},
        "search_files": {"text": text or "x", "pattern": text},
        "write_file": {"text": text},
        "edit_file": {"old": text, "new": path},
    }
    if name in ("list_files", "search_files") and path in ("/", "//", "..", "~", "a/../.."):
        path = "."  # the folders outside are large
    assert bench.use(name, path=path, **more.get(name, {}))
