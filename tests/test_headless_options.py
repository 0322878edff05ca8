"""Options of -p: resuming, --output, --no-save, signals, and pipes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.support.loopback import Loopback, Reply
from chat_loop.errors import ChatLoopError
from chat_loop.events import Event, OpaqueArrived
from chat_loop.values import ToolCall, Usage
from tests.support.headless import ECHO, run, said, saved
from tests.support.pty_chat import PtyChat

DOCUMENT = (Path(__file__).parents[1] / "docs" / "headless.md").read_text(encoding="utf-8")
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC"}


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return the time and the content of every file below a folder."""
    return {
        str(file): (file.stat().st_mtime_ns, file.read_bytes())
        for file in folder.rglob("*")
        if file.is_file()
    }


def test_a_session_of_another_agent_is_not_gone_on_with(tmp_path: Path) -> None:
    agent = tmp_path / "sally.md"
    agent.write_text("---\nname: Sally\nmodel: scripted:echo\n---\nYou are Sally.\n")
    assert run(tmp_path, "--agent", str(agent), "-p", "hello").returncode == 0
    refused = run(tmp_path, *ECHO, "-c", "-p", "and?")
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert f"was made with {agent}, not with the built-in agent" in refused.stderr.decode()
    assert f"--agent {agent}" in refused.stderr.decode()
    assert run(tmp_path, "--agent", str(agent), "-c", "-p", "and?").returncode == 0


APART: list[tuple[tuple[str, ...], str]] = [
    (("--resume", "-p", "x"), "With -p, --resume needs a session."),
    (("--no-save", "-c", "-p", "x"), "--no-save cannot be used with --continue and --resume"),
    (("-p", "x", "providers"), "-p asks one question: it cannot be used with a command."),
    (("--no-save",), "--no-save needs -p."),
    (("--system", "x"), "--system needs -p."),
    (("-p", "-"), "No question given."),
]


def test_options_that_do_not_go_together(tmp_path: Path) -> None:
    for arguments, message in APART:
        result = run(tmp_path, *ECHO, *arguments)
        assert (result.returncode, result.stdout) == (2, b""), arguments
        assert message in result.stderr.decode()
        assert list(tmp_path.iterdir()) == []


def test_the_question_comes_from_standard_input(tmp_path: Path) -> None:
    result = run(tmp_path, *ECHO, "-p", "-", stdin=b"What is in @/etc/passwd?\n")
    assert (result.returncode, result.stdout) == (0, b"You said: What is in @/etc/passwd?\n")
    assert said(saved(tmp_path)[0])[0] == "What is in @/etc/passwd?"


def test_the_system_prompt(tmp_path: Path) -> None:
    with Loopback() as server:
        keys = {"OPENAI_API_KEY": "sk-test-0123456789", "OPENAI_BASE_URL": f"{server.url}/v1"}
        run(tmp_path, "--model", "openai:gpt-4o", "--system", "Be a pirate.", "-p", "hi", keys=keys)
        assert "Be a pirate." in json.dumps(server.requests[0].body["messages"][0])


@pytest.mark.slow
def test_nothing_is_left_on_the_disk(tmp_path: Path) -> None:
    home = tmp_path / "home"
    result = run(home, *ECHO, "--no-save", "-p", "secret plan")
    assert (result.returncode, result.stdout, result.stderr) == (0, b"You said: secret plan\n", b"")
    assert list(tmp_path.iterdir()) == []
    run(home, *ECHO, "-p", "kept")
    (home / "config.yaml").write_text("models: {echo: {images: true}}\n")
    picture = tmp_path / "dot.png"
    picture.write_bytes((Path(__file__).parents[1] / "docs" / "export-dark.png").read_bytes())
    before = everything(home)
    assert run(home, *ECHO, "--no-save", "-p", f"look at @{picture}").returncode == 0
    assert run(home, *ECHO, "--no-save", "-p", "x", stdin=b"word " * 100_000).returncode == 0
    events = [
        json.loads(line)
        for line in run(home, *ECHO, "--no-save", "--json", "-p", "x").stdout.splitlines()
    ]
    assert (events[-1]["path"], events[-1]["saved"]) == (os.devnull, False)
    assert everything(home) == before


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, 129, marks=pytest.mark.slow),
    ],
)
def test_a_signal_keeps_what_came(tmp_path: Path, number: signal.Signals, code: int) -> None:
    with Loopback() as server:
        server.enqueue(Reply(chunks=("Half of ", "it"), stall_after=2))
        env = ENVIRONMENT | {
            "CHAT_LOOP_HOME": str(tmp_path),
            "OPENAI_API_KEY": "k",
            "OPENAI_BASE_URL": f"{server.url}/v1",
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "chat_loop", "--model", "openai:m", "-p", "x"],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stdout.read(len(b"Half of it")) == b"Half of it"
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (code, b"")
    [session] = saved(tmp_path)
    assert said(session) == ["x", "Half of it"]
    assert session.seal is not None


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_reader_that_leaves_ends_the_reply(tmp_path: Path, options: tuple[str, ...]) -> None:
    query = "word " * 25_000  # larger than the buffer of a pipe
    program = [sys.executable, "-m", "chat_loop", "--model", "scripted:echo"]
    command = [*program, *options, "-p", query]
    shell = 'set -o pipefail; "$@" | head -c 1'
    result = subprocess.run(
        ["bash", "-c", shell, "bash", *command],
        env=ENVIRONMENT | {"CHAT_LOOP_HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (result.returncode, len(result.stdout), result.stderr) == (0, 1, b"")
    [session] = saved(tmp_path)
    assert session.seal is not None
    reply = session.exchanges[0].reply
    assert reply is not None
    assert reply.stop == "interrupted"
    assert len(reply.text) < len(query)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("-p", "hello"),
        pytest.param(("--json", "-p", "hello"), marks=pytest.mark.slow),
        pytest.param(("doctor",), marks=pytest.mark.slow),
        pytest.param(("models", "list"), marks=pytest.mark.slow),
    ],
)
def test_streams_that_were_closed(tmp_path: Path, closed: str, arguments: tuple[str, ...]) -> None:
    result = subprocess.run(
        [
            "bash",
            "-c",
            f'"$@" {closed}',
            "bash",
            sys.executable,
            "-m",
            "chat_loop",
            *ECHO,
            *arguments,
        ],
        env=ENVIRONMENT | {"CHAT_LOOP_HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    takes = ">&-" not in closed.replace("2>&-", "")
    assert (result.returncode, bool(result.stdout)) == ((0, True) if takes else (1, False))
    assert bool(result.stderr) == (closed == ">&-")
    if "-p" in arguments:
        assert [said(session) for session in saved(tmp_path)] == [["hello", "You said: hello"]]


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def keys_of(kind: Any) -> list[str]:
    return list(kind.__struct_fields__)


def test_the_document_names_every_event_with_its_keys() -> None:
    part = DOCUMENT.partition("## Events")[2]
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", part, re.MULTILINE)
    documented = {name: re.findall(r"`(\w+)`", keys) for name, keys in rows}
    shown = {*Event.__subclasses__()} - {OpaqueArrived}  # a turn keeps those to itself
    emitted = {snake(kind.__name__): keys_of(kind) for kind in shown}
    assert documented == emitted | {
        "error": [name for name in vars(ChatLoopError("", "")) if name in ("message", "hint")]
    }
    words = set(re.findall(r"`(\w+)`", part))
    assert words >= {*keys_of(Usage), *keys_of(ToolCall)}


def test_the_example_of_the_document_is_what_is_printed(tmp_path: Path) -> None:
    example = DOCUMENT.partition("```json\n")[2].partition("```")[0]
    result = run(tmp_path, *ECHO, "--json", "-p", "hello")

    def same(lines: str) -> list[dict[str, Any]]:
        events = [json.loads(line) for line in lines.strip().split("\n")]
        return [
            {**event, **{key: "" for key in ("id", "path", "seconds") if key in event}}
            for event in events
        ]

    assert same(result.stdout.decode()) == same(example)


@pytest.mark.slow
def test_a_dumb_terminal_is_sent_no_control_characters_of_a_reply(tmp_path: Path) -> None:
    with Loopback() as server:
        server.enqueue(Reply(chunks=("\x1b]0;owned\x07\x1b[2J\x9b31m",)))
        keys = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{server.url}/v1"}
        command = [sys.executable, "-m", "chat_loop", "--model", "openai:m", "-p", "When?"]
        home = {"CHAT_LOOP_HOME": str(tmp_path), "TERM": "dumb"}
        with PtyChat(command, env=ENVIRONMENT | keys | home) as terminal:
            assert terminal.exit_code() == 0
            assert terminal.output().strip() == "␛]0;owned␇␛[2J<U+009B>31m"


@pytest.mark.slow
def test_a_transcript_on_a_terminal_is_sent_no_control_characters(tmp_path: Path) -> None:
    assert run(tmp_path, "--model", "scripted:echo", "-p", "HERE").returncode == 0
    [path] = (tmp_path / "sessions").glob("*.md")
    path.write_bytes(path.read_bytes().replace(b"HERE", b"\x1b]0;owned\x07"))
    command = [sys.executable, "-m", "chat_loop", "sessions", "show", path.stem]
    home = {"CHAT_LOOP_HOME": str(tmp_path), "TERM": "dumb"}
    with PtyChat(command, env=ENVIRONMENT | home) as terminal:
        assert terminal.exit_code() == 0
        assert "**You:** ␛]0;owned␇" in terminal.output()


def test_a_pipe_gets_no_control_codes_of_a_reply_but_its_lines(tmp_path: Path) -> None:
    """A terminal may be behind a pipe, as in `-p … | tee log`; --json has the exact text."""
    raw = ("a\x1b]52;c;x\x07\x9b31m\x08", "b\tc\r", "\nd\re\r", "\nf\u202e")
    with Loopback() as server:
        server.enqueue(Reply(chunks=raw), Reply(chunks=raw))
        at = ("--model", "compatible:m", "--base-url", f"{server.url}/v1", "-p", "When?")

        plain = run(tmp_path, *at)
        as_json = run(tmp_path, "--json", *at)

    shown = "a␛]52;c;x␇<U+009B>31m␈b\tc\r\nd␍e\r\nf\u202e\n"
    assert plain.stdout.decode() == shown
    events = map(json.loads, as_json.stdout.splitlines())
    assert "".join(event["text"] for event in events if event["event"] == "text_delta") == "".join(
        raw
    )


@pytest.mark.slow
def test_a_reply_on_a_terminal_is_rendered(tmp_path: Path) -> None:
    source = "# Tide\n\nIt is **high** at noon, and " + "low " * 30 + "later.\n"
    with Loopback() as server:
        for _ in range(5):
            server.enqueue(Reply(chunks=tuple(source)))
        keys = {
            "OPENAI_API_KEY": "k",
            "OPENAI_BASE_URL": f"{server.url}/v1",
            "CHAT_LOOP_HOME": str(tmp_path),
        }
        command = [sys.executable, "-m", "chat_loop", "--model", "openai:m", "-p", "When?"]
        with PtyChat(command, env=ENVIRONMENT | keys) as terminal:
            assert terminal.exit_code() == 0
            assert terminal.text().rstrip("\n").split("\n") == [
                "Tide",
                "",
                f"It is high at noon, and {('low ' * 14).strip()}",
                f"{'low ' * 16}later.",
            ]
            assert "\x1b[1mhigh\x1b[0m" in terminal.output()
        with PtyChat(command, env=ENVIRONMENT | keys | {"TERM": "dumb"}) as terminal:
            assert terminal.exit_code() == 0
            assert terminal.output().replace("\r\n", "\n") == f"{source}\n"
        with PtyChat([*command, "--json"], env=ENVIRONMENT | keys) as terminal:
            assert terminal.exit_code() == 0
            assert "\x1b" not in terminal.output()
        result = run(tmp_path, "--model", "openai:m", "-p", "When?", keys=keys)
    assert result.stdout.decode() == f"{source}\n"
