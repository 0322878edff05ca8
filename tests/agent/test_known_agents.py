"""Agents in Python: only an approved file runs, and each failure in it is one sentence."""

from __future__ import annotations

import stat
from hashlib import sha256
from pathlib import Path

import pytest

import chat_loop
from chat_loop.agent import agent_files
from chat_loop.agent.agent_files import AgentFile, Definition, read_file
from chat_loop.agent.known_agents import AgentQuestion, AgentRegistry
from chat_loop.config import Paths
from chat_loop.errors import AgentError

FAILED = "F/agent.py failed while it was loaded: "
NOTHING_TO_ASK = (
    "F/agent.py has no usable agent named agent or root_agent. "
    'For example: from chat_loop import Agent; agent = Agent(system_prompt="…")'
)
RUNS = ("to run",)
AGENT = "from chat_loop import Agent\nagent = Agent()\n"


def agent(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "agent.py"
    path.write_text(text)
    return path


def load(path: Path) -> Definition:
    return agent_files.load(read_file(path))


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
        digest=sha256(path.read_bytes()).hexdigest(),
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
    assert chat_loop.Agent is agent_files.Agent
    with pytest.raises(AttributeError, match="module 'chat_loop' has no attribute 'Nothing'"):
        _ = chat_loop.Nothing


def test_an_agent_of_another_library_is_what_can_be_asked(tmp_path: Path) -> None:
    path = agent(tmp_path / "echo", '"""Repeats\neverything."""\ndef agent(text): return text\n')
    found = load(path)
    assert (found.name, found.description) == ("echo", "Repeats")
    assert callable(found.foreign)


def test_what_was_read_is_what_runs_and_nothing_beside_it(tmp_path: Path) -> None:
    path = agent(tmp_path, "def agent(text): import pieces_of_it")
    file = read_file(path)
    (tmp_path / "pieces_of_it.py").write_text("raise SystemExit('it was not approved')")
    path.write_text("raise SystemExit('not what was approved')")
    foreign = agent_files.load(file).foreign
    assert callable(foreign)
    with pytest.raises(ModuleNotFoundError):
        foreign("")
    assert list(tmp_path.rglob("__pycache__")) == []


def test_a_root_agent_is_an_agent(tmp_path: Path) -> None:
    foreign = load(agent(tmp_path, "def root_agent(text): return 'the root'\n")).foreign
    assert callable(foreign)
    assert foreign("") == "the root"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("agent = (", f"{FAILED}SyntaxError: '(' was never closed (agent.py, line 1). "),
        ("a\0b", f"{FAILED}SyntaxError: source code string cannot contain null bytes. "),
        ("x = 1", NOTHING_TO_ASK),
        ("class Sally:\n    def __call__(self, text): ...\nagent = Sally", NOTHING_TO_ASK),
        ("\n\nraise ValueError('two\\nlines.')", f"{FAILED}ValueError: two lines (agent.py, line 3). "),
        ("raise SystemExit(3)", f"{FAILED}SystemExit: 3 (agent.py, line 1). "),
        (
            "import asyncio\nraise asyncio.CancelledError",
            f"{FAILED}RuntimeError: CancelledError (agent.py, line 2). ",
        ),
        ("class E(Exception):\n    def __str__(self): raise self\nraise E", f"{FAILED}E (agent.py, line 3). "),
        ("raise Exception('x' * 10_000)", f"{FAILED}Exception: {'x' * 299}… (agent.py, line 1). "),
        (
            "import nothing_like_it.at_all",
            (
                f"{FAILED}ModuleNotFoundError: No module named 'nothing_like_it' (agent.py, "
                "line 1). "
                "Install nothing_like_it where chat-loop is installed."
            ),
        ),
        ("input('who?')", f"{FAILED}EOFError: EOF when reading a line (agent.py, line 1). "),
        (
            "from chat_loop import Agent\nagent = Agent(nmae='x')",
            (f"{FAILED}TypeError: Unexpected keyword argument 'nmae' (agent.py, line 2). "),
        ),
    ],
)  # fmt: skip
def test_what_goes_wrong_in_it_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    assert complaint(agent(tmp_path, text)) == message


def test_what_it_prints_is_not_shown(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = agent(
        tmp_path,
        "import sys\nprint('\\x1b[2J')\nprint('x', file=sys.stderr)\nsys.stdout.write('y')\n"
        + AGENT,
    )
    load(path)
    assert capfd.readouterr() == ("", "")


def test_an_approval_is_for_exactly_what_was_read(tmp_path: Path) -> None:
    approvals = AgentRegistry(Paths(tmp_path / "config" / "config.yaml", tmp_path, tmp_path))
    path = agent(tmp_path / "sally", AGENT)
    first = read_file(path)
    assert approvals.question(first) == AgentQuestion(file=first, permissions=RUNS)
    approvals.approve(first)
    assert approvals.question(read_file(path)) is None
    kept = approvals.approval_of(path)
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    assert [file.name for file in path.parent.iterdir()] == ["agent.py"]
    changed = read_file(agent(tmp_path / "sally", AGENT.replace("Agent()", "Agent(name='x')")))
    lines = (
        "--- approved", "+++ now", "@@ -1,3 +1,3 @@", " from chat_loop import Agent",
        "-agent = Agent()", "+agent = Agent(name='x')", " ",
    )  # fmt: skip
    assert approvals.question(changed) == AgentQuestion(file=changed, permissions=RUNS, lines=lines)
    approvals.approve(changed)
    assert approvals.question(changed) is None
    assert approvals.question(first) is not None
    copy = read_file(agent(tmp_path / "copy", AGENT))
    assert approvals.question(copy) == AgentQuestion(
        file=copy, permissions=RUNS
    )  # an approval is for a path as well


def test_a_damaged_approval_approves_nothing(tmp_path: Path) -> None:
    approvals = AgentRegistry(Paths(tmp_path / "config.yaml", tmp_path, tmp_path))
    file = AgentFile(path=tmp_path / "agent.py", source=b"x")
    kept = approvals.approval_of(file.path)
    kept.mkdir(parents=True)
    assert approvals.question(file) == AgentQuestion(file=file, permissions=RUNS)
    kept.rmdir()
    for data in (b"", b"\xff", b"x\n", b"x" * 5_000_000):
        kept.write_bytes(data)
        question = approvals.question(file)
        assert question is not None
        assert question.lines
        approvals.approve(file)
        assert approvals.question(file) is None
        assert kept.read_bytes() == file.source
