"""Agents in Python: only what was approved runs, exactly so, and whatever goes wrong in it is one
sentence.
"""

from __future__ import annotations

import json
import os
import py_compile
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import chat_loop
from chat_loop.agent import python_file, trust
from chat_loop.agent.definition import Definition
from chat_loop.agent.trust import Question, Snapshot, Trust, snapshot_of
from chat_loop.errors import AgentError

FAILED = "F/agent.py failed while it was loaded: "
AGENT = "from chat_loop import Agent\nagent = Agent()\n"


@pytest.fixture(autouse=True)
def _imports() -> Iterator[None]:
    """What an agent's file brings into the process is taken out again."""
    finders, modules = list(sys.meta_path), set(sys.modules)
    yield
    sys.meta_path[:] = finders
    for name in set(sys.modules) - modules:
        if not name.startswith(("chat_loop", "msgspec", "yaml", "_yaml")):
            del sys.modules[name]


def agent(folder: Path, text: str, **modules: str) -> Path:
    """An agent's file with modules beside it, by their paths without the suffix."""
    for name, source in modules.items():
        file = folder / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "agent.py"
    path.write_text(text)
    return path


def load(path: Path) -> Definition:
    return python_file.load(snapshot_of(path))


def complaint(path: Path) -> str:
    with pytest.raises(AgentError) as caught:
        load(path)
    return f"{caught.value.message} {caught.value.hint}".replace(str(path.parent), "F")


def test_our_own_agent_with_functions_and_built_in_tools(tmp_path: Path) -> None:
    path = agent(
        tmp_path / "sally",
        """
from chat_loop import Agent

def add(a: int, b: int) -> int:
    "Add."
    return a + b

agent = Agent(system_prompt=" Hi. ", model="m:n", description="Adds", tools=[add, "read_file"], mcp=["x"],
              servers={"y": {"command": "z"}}, summary_instructions="All.", config={"memory": {"enabled": False}})
""",
    )
    found = load(path)
    [function] = found.functions
    assert function(2, 3) == 5
    assert function.__annotations__["a"] is int
    assert found == Definition(
        name="sally",
        path=str(path),
        description="Adds",
        model="m:n",
        system_prompt="Hi.",
        summary_instructions="All.",
        tools=("read_file",),
        mcp=("x", "y"),
        servers={"y": {"command": "z"}},
        functions=found.functions,
        config={"memory": {"enabled": False}},
    )


def test_the_public_name_is_all_that_the_package_shows() -> None:
    from chat_loop.agent.public import Agent

    assert chat_loop.Agent is Agent
    with pytest.raises(AttributeError, match="module 'chat_loop' has no attribute 'Nothing'"):
        _ = chat_loop.Nothing


def test_an_agent_of_another_library_is_what_can_be_asked(tmp_path: Path) -> None:
    path = agent(tmp_path / "echo", '"""Repeats\neverything."""\ndef agent(text): return text\n')
    found = load(path)
    assert (found.name, found.description) == ("echo", "Repeats")
    assert callable(found.foreign)


def test_modules_beside_the_agent_come_from_what_was_read(tmp_path: Path) -> None:
    path = agent(
        tmp_path,
        "import pieces, pkg.deep.leaf\nfrom spread.part import WORD\n"
        "def agent(text): import late; return (pieces.WORD, pkg.NAME, pkg.deep.leaf.WORD, "
        "WORD, late.WORD)\n",
        **{
            "pieces": "WORD = 1",
            "late": "from pieces import WORD",
            "pkg/__init__": "NAME = 'pkg'",
            "pkg/deep/__init__": "",
            "pkg/deep/leaf": "from ..deep import __name__ as WORD",
            "spread/part": "WORD = __file__",
        },
    )
    snapshot = snapshot_of(path)
    for file in tmp_path.rglob("*.py"):
        file.write_text("raise SystemExit('not what was approved')")
    found = python_file.load(snapshot)
    assert callable(found.foreign)
    assert found.foreign("") == (1, "pkg", "pkg.deep", str(tmp_path / "spread" / "part.py"), 1)
    assert list(tmp_path.rglob("__pycache__")) == []


def test_bytecode_that_somebody_planted_is_not_run(tmp_path: Path) -> None:
    path = agent(
        tmp_path, "import pieces\ndef agent(text): return pieces.WORD\n", pieces="WORD = 'evil'"
    )
    pieces = tmp_path / "pieces.py"
    py_compile.compile(str(pieces), doraise=True)
    before = pieces.stat()
    pieces.write_text("WORD = 'good'")  # of the same length
    os.utime(pieces, ns=(before.st_atime_ns, before.st_mtime_ns))
    foreign = load(path).foreign
    assert callable(foreign)
    assert foreign("") == "good"


def test_a_root_agent_is_an_agent(tmp_path: Path) -> None:
    foreign = load(agent(tmp_path, "def root_agent(text): return 'the root'\n")).foreign
    assert callable(foreign)
    assert foreign("") == "the root"


def test_installed_and_standard_modules_keep_their_meaning(tmp_path: Path) -> None:
    path = agent(
        tmp_path,
        "import json, anthropic\ndef agent(text): return json.__file__, anthropic.__file__\n",
        json="",
        anthropic="",
    )
    foreign = load(path).foreign
    assert callable(foreign)
    assert all(str(tmp_path) not in file for file in foreign(""))


def test_a_module_of_the_working_directory_does_not_take_the_place_of_an_approved_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = agent(
        tmp_path / "a",
        "import pieces\ndef agent(text): return pieces.WORD\n",
        pieces="WORD = 'good'",
    )
    agent(tmp_path / "cwd", "", pieces="WORD = 'evil'")
    monkeypatch.chdir(tmp_path / "cwd")
    for entry in (str(tmp_path / "a"), str(tmp_path / "cwd"), ""):
        monkeypatch.syspath_prepend(entry)
    foreign = load(path).foreign
    assert callable(foreign)
    assert foreign("") == "good"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agent = (", "F/agent.py, line 1: '(' was never closed. It is no valid Python."),
        (
            "a\0b",
            "F/agent.py: source code string cannot contain null bytes. It is no valid Python.",
        ),
        ("# coding: nonsense\n", "F/agent.py: unknown encoding: nonsense. It is no valid Python."),
        (
            "x = 1",
            (
                "F/agent.py has no agent: nothing in it has the name agent or root_agent. "
                'It needs: from chat_loop import Agent; agent = Agent(system_prompt="…")'
            ),
        ),
        (
            "agent = 3",
            (
                "F/agent.py: agent is an int, which cannot be asked anything. "
                "A function can: def agent(prompt): return THE_AGENT.run(prompt).content, or "
                "however it is asked."
            ),
        ),
        (
            "class Sally:\n    def __call__(self, text): ...\nagent = Sally",
            "F/agent.py: agent is the class Sally. Make one of it: agent = Sally(…)",
        ),
        ("import pieces", f"{FAILED}ValueError: two lines (pieces.py, line 3). "),
        ("raise SystemExit(3)", f"{FAILED}it ended the program (exit code 3) (agent.py, line 1). "),
        ("raise KeyboardInterrupt", f"{FAILED}KeyboardInterrupt (agent.py, line 1). "),
        (
            "import asyncio\nraise asyncio.CancelledError",
            f"{FAILED}RuntimeError: CancelledError (agent.py, line 2). ",
        ),
        (
            "class E(Exception):\n    def __str__(self): raise self\nraise E",
            f"{FAILED}E (agent.py, line 3). ",
        ),
        ("raise Exception('x' * 10_000)", f"{FAILED}Exception: {'x' * 299}… (agent.py, line 1). "),
        (
            "import nothing_like_it.at_all",
            (
                f"{FAILED}ModuleNotFoundError: No module named 'nothing_like_it' (agent.py, "
                "line 1). "
                "Install nothing_like_it where chat-loop is installed, or put it beside the agent."
            ),
        ),
        ("import broken", "F/broken.py, line 2: invalid syntax. It is no valid Python."),
        ("input('who?')", f"{FAILED}EOFError: EOF when reading a line (agent.py, line 1). "),
        (
            "from chat_loop import Agent\nagent = Agent(name=3)",
            "F/agent.py: name of the agent must be a text. ",
        ),
        (
            "from chat_loop import Agent\nagent = Agent(tools=[3])",
            "F/agent.py: a tool is a function or the name of a built-in one, not int. ",
        ),
        (
            "from chat_loop import Agent\nagent = Agent(tools='read_file')",
            "F/agent.py: tools of the agent must be a list. ",
        ),
        (
            "from chat_loop import Agent\nagent = Agent(config={'memry': {}})",
            "F/agent.py: unknown key config.memry. Did you mean config.memory?",
        ),
        (
            "from chat_loop import Agent\nagent = Agent(nmae='x')",
            (
                f"{FAILED}TypeError: Agent.__init__() got an unexpected keyword argument 'nmae' "
                "(agent.py, line 2). "
            ),
        ),
        (
            "from chat_loop import Agent\nagent = Agent(config=[])",
            "F/agent.py: config of the agent must be a dict. ",
        ),
    ],
)
def test_what_goes_wrong_in_it_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    path = agent(tmp_path, text, pieces="\n\nraise ValueError('two\\nlines.')", broken="\nx y")
    assert complaint(path) == message


def test_what_it_prints_is_not_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = agent(
        tmp_path,
        "import sys\nprint('\\x1b[2J')\nprint('x', file=sys.stderr)\nsys.stdout.write('y')\n"
        + AGENT,
    )
    load(path)
    assert capfd.readouterr() == ("", "")


def test_a_docstring_is_read_without_running_anything() -> None:
    assert (
        python_file.description_of(b'"""Rolls dice.\n\nMore."""\nraise SystemExit') == "Rolls dice."
    )
    assert python_file.description_of(b"x = (") == ""
    assert python_file.description_of(b"\xff\0") == ""


def test_what_belongs_to_an_agent(tmp_path: Path) -> None:
    path = agent(tmp_path, AGENT, **{"pieces": "1", "pkg/part": "2"})
    for name in (
        "venv/lib/python3.11/site-packages/big.py",
        ".git/hook.py",
        "my-notes/x.py",
        "data.txt",
        "not-one.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "elsewhere").symlink_to("/usr/lib")
    snapshot = snapshot_of(path)
    assert snapshot.files == {"agent.py": AGENT.encode(), "pieces.py": b"1", "pkg/part.py": b"2"}
    assert snapshot_of(agent(tmp_path / "alone", AGENT)).digest != snapshot.digest


def test_a_link_beside_the_agent_and_too_much_code_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = agent(tmp_path / "one", AGENT)
    (tmp_path / "one" / "pieces.py").symlink_to("/etc/passwd")
    with pytest.raises(AgentError, match=r"pieces.py beside the agent in .* is a symbolic link"):
        snapshot_of(path)
    path = agent(tmp_path / "many", AGENT, a="1", b="2")
    monkeypatch.setattr(trust, "MOST_FILES", 2)
    with pytest.raises(AgentError, match="Too much Python code lies beside the agent"):
        snapshot_of(path)
    monkeypatch.setattr(trust, "MOST_FILES", 300)
    monkeypatch.setattr(trust, "MOST_FOLDERS", 1)
    (tmp_path / "many" / "inner").mkdir()
    with pytest.raises(AgentError, match="too many folders"):
        snapshot_of(path)


def test_an_approval_is_for_exactly_what_was_read(tmp_path: Path) -> None:
    approvals = Trust(tmp_path / "config")
    path = agent(tmp_path / "sally", AGENT, pieces="1", gone="2")
    first = snapshot_of(path)
    assert approvals.question(first) == Question(snapshot=first)
    approvals.approve(first)
    assert approvals.question(snapshot_of(path)) is None
    assert stat.S_IMODE(approvals.file_of(path).stat().st_mode) == 0o600
    assert stat.S_IMODE(approvals.file_of(path).parent.stat().st_mode) == 0o700
    assert sorted(file.name for file in path.parent.iterdir()) == [
        "agent.py",
        "gone.py",
        "pieces.py",
    ]
    agent(tmp_path / "sally", AGENT, pieces="3", fresh="4")
    (path.parent / "gone.py").unlink()
    changed = snapshot_of(path)
    changes = ("fresh.py is new", "pieces.py has changed", "gone.py is gone")
    lines = (
        "--- fresh.py (approved)", "+++ fresh.py (now)", "@@ -0,0 +1 @@", "+4",
        "--- gone.py (approved)", "+++ gone.py (now)", "@@ -1 +0,0 @@", "-2",
        "--- pieces.py (approved)", "+++ pieces.py (now)", "@@ -1 +1 @@", "-1", "+3",
    )  # fmt: skip
    assert approvals.question(changed) == Question(snapshot=changed, changes=changes, lines=lines)
    approvals.approve(changed)
    assert approvals.question(changed) is None
    same_names = Snapshot(path=path, files={**changed.files, "pieces.py": b"5"})
    asked = approvals.question(same_names)
    assert asked is not None
    assert (asked.changes, asked.lines[-2:]) == (("pieces.py has changed",), ("-3", "+5"))
    assert approvals.question(first) is not None
    copy = snapshot_of(agent(tmp_path / "copy", AGENT, pieces="3", fresh="4"))
    assert approvals.question(copy) == Question(snapshot=copy)  # approved is the place as well


@pytest.mark.parametrize(
    "text",
    [
        "", "[", "[]", "3", "\ud800", "[" * 100_000, "{}", '{"path": "%s"}', "x" * 5_000_000,
        '{"path": "%s", "digests": {"agent.py": 3}, "texts": {}}', '{"path": "%s", "digests": {}, "texts": []}',
        '{"path": "/another", "digests": {}, "texts": {}}',
    ],
)  # fmt: skip
def test_a_damaged_file_of_approvals_approves_nothing(tmp_path: Path, text: str) -> None:
    approvals = Trust(tmp_path)
    snapshot = Snapshot(path=tmp_path / "agent.py", files={"agent.py": b"x"})
    file = approvals.file_of(snapshot.path)
    file.parent.mkdir()
    file.write_bytes(text.replace("%s", str(snapshot.path)).encode("utf-8", "surrogatepass"))
    assert approvals.question(snapshot) == Question(snapshot=snapshot)
    approvals.approve(snapshot)
    assert approvals.question(snapshot) is None
    assert json.loads(file.read_text()) == {
        "path": str(snapshot.path), "digests": snapshot.digests, "texts": {"agent.py": "x"},
    }  # fmt: skip


def test_what_is_much_is_approved_without_its_text(tmp_path: Path) -> None:
    approvals = Trust(tmp_path)
    large = Snapshot(
        path=tmp_path / "agent.py", files={"agent.py": b"x" * 200_000, "b.py": b"y" * 200_000}
    )
    approvals.approve(large)
    changed = Snapshot(path=large.path, files={**large.files, "b.py": b"z"})
    assert approvals.question(changed) == Question(snapshot=changed, changes=("b.py has changed",))
    lines = b"x\n" * 1_500
    approvals.approve(Snapshot(path=large.path, files={"agent.py": lines}))
    changed = Snapshot(path=large.path, files={"agent.py": lines + b"y"})
    assert approvals.question(changed) == Question(
        snapshot=changed, changes=("agent.py has changed",)
    )


def test_names_of_files_cannot_make_one_digest_of_two(tmp_path: Path) -> None:
    one = Snapshot(path=tmp_path / "a.py", files={"a.py": b"x", "b.py": b"y"})
    two = Snapshot(path=tmp_path / "a.py", files={"a.py": b"x", f"b.py\n{'0' * 64} c.py": b"y"})
    three = Snapshot(path=tmp_path / "a.py", files={"a.py": b"y", "b.py": b"x"})
    assert len({one.digest, two.digest, three.digest}) == 3
