"""`chat-loop doctor` in good and broken homes: no traceback, and no secret."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.support.loopback import Loopback, failing
from chat_loop import __version__
from tests.support import fork_server
from tests.support.headless import ECHO, run
from tests.support.injected_bugs import bug
from tests.support.ports import closed_port
from tests.support.pty_chat import PtyChat

SECRET = "sk-not-to-be-shown-0123456789"
Findings = dict[str, list[tuple[str, str, str]]]

posix = pytest.mark.skipif(sys.platform == "win32", reason="only POSIX has modes")


def examined(
    home: Path, *arguments: str, keys: dict[str, str] | None = None, code: int | None = 0
) -> Findings:
    """The findings of `doctor --json` in order, by name: (state, text, hint). The exit code must
    be `code`, unless that is None.
    """
    result = run(home, *arguments, "doctor", "--json", keys=keys)
    assert result.stderr == b""
    told = json.loads(result.stdout)
    states = [finding["state"] for finding in told["findings"]]
    assert (told["problems"], told["warnings"]) == (
        states.count("problem"),
        states.count("warning"),
    )
    assert result.returncode == int(told["problems"] > 0)
    assert code is None or result.returncode == code, told
    found: Findings = {}
    for finding in told["findings"]:
        assert set(finding) == {"name", "state", "text", "hint"}
        assert "\n" not in finding["text"] + finding["hint"]
        found.setdefault(finding["name"], []).append(
            (finding["state"], finding["text"], finding["hint"])
        )
    return found


def one(found: Findings, name: str) -> tuple[str, str, str]:
    [only] = found[name]
    return only


def test_a_home_that_is_used_has_no_problems(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("restoration: {acknowledge: false}\n")
    old_key = "restoration.acknowledge is resume.acknowledge now; restoration.acknowledge works until 1.0."
    assert run(tmp_path, *ECHO, "-p", "hello").stderr.decode().count(old_key) == 1
    run(tmp_path, *ECHO, "-p", "again")
    run(tmp_path, "sessions", "list")
    found = examined(tmp_path, *ECHO)
    assert one(found, "Sessions")[:2] == ("ok", one(found, "Sessions")[1])
    assert one(found, "Sessions")[1].startswith("2 sessions, ")
    assert one(found, "Index")[1].endswith("up to date")
    assert one(found, "Model")[1].startswith("scripted:echo would answer now, window ")
    assert one(found, "Config") == ("ok", str(path), old_key)


def test_each_finding_is_a_line_with_what_to_do_below(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("agnet: {}\n")
    result = run(tmp_path, *ECHO, "doctor")
    lines = result.stdout.decode().split("\n")
    assert result.returncode == 1
    at = lines.index(f"✗ Config          {tmp_path / 'config.yaml'}, line 1: unknown key agnet.")
    assert lines[at + 1] == "                  → Did you mean agent?"
    assert lines[-3:-1] == ["", "1 problem."] or lines[-2].startswith("1 problem, ")
    assert all(line[:2] in ("✓ ", "· ", "! ", "✗ ", "  ", "") for line in lines[:-3])


def test_of_two_environments_the_one_that_runs_is_named(tmp_path: Path) -> None:
    venv.create(tmp_path / "other", symlinks=True)
    [packages] = (tmp_path / "other" / "lib").glob("python*/site-packages")
    (packages / "this.pth").write_text("\n".join(filter(None, sys.path)))
    environment = {"CHAT_LOOP_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    for prefix in (Path(sys.prefix), tmp_path / "other"):
        result = subprocess.run(
            (prefix / "bin" / "python", "-m", "chat_loop", "--model", "scripted:echo", "doctor"),
            env=environment,
            check=False,
            capture_output=True,
            text=True,
        )
        assert f"✓ chat-loop       {__version__} in {prefix}\n" in result.stdout


def test_looking_changes_nothing(tmp_path: Path) -> None:
    run(tmp_path, *ECHO, "-p", "hello")
    (tmp_path / "sessions" / ".index.sqlite").write_bytes(b"garbage" * 1000)

    def everything() -> dict[str, tuple[int, bytes]]:
        files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
        return {
            str(path): (path.stat().st_mtime_ns, path.read_bytes())
            for path in files
            if path.suffix != ".lock"
        }

    before = everything()
    assert one(examined(tmp_path, *ECHO), "Index")[0] == "warning"
    assert everything() == before
    fresh = tmp_path / "fresh"
    examined(fresh, *ECHO)
    assert not fresh.exists()


def test_keys_are_named_and_never_shown(tmp_path: Path) -> None:
    keys = {"OPENAI_API_KEY": SECRET, "GROQ_API_KEY": f"{SECRET} ", "XAI_API_KEY": "..."}
    result = run(tmp_path, "doctor", keys=keys)
    text = result.stdout.decode()
    assert result.returncode == 0
    assert "✓ Keys            set: GROQ_API_KEY, OPENAI_API_KEY, XAI_API_KEY\n" in text
    assert SECRET not in text + result.stderr.decode()
    assert "✓ Model           openai:" in text


def test_what_is_not_there_has_no_mark_of_success(tmp_path: Path) -> None:
    assert one(examined(tmp_path, code=None), "Keys")[:2] == ("note", "none is set")


def test_the_model_that_would_answer(tmp_path: Path) -> None:
    found = examined(tmp_path, "--model", "openai:never-heard-of", keys={"OPENAI_API_KEY": SECRET})
    assert one(found, "Model") == (
        "warning",
        "openai:never-heard-of would answer now, window 128K?: its window is not known.",
        "models: {never-heard-of: {window: N}} in the config sets it.",
    )
    assert one(examined(tmp_path, "--model", "nonsense", code=1), "Model")[0] == "problem"


def test_a_model_that_lacks_something_would_not_answer(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(
        f"providers: {{ollama: {{base_url: 'http://127.0.0.1:{closed_port()}/v1'}}}}\n"
    )
    state, text, hint = one(examined(tmp_path, "--model", "ollama:qwen3", code=1), "Model")
    assert state == "problem"
    assert re.fullmatch(
        r"ollama:qwen3 cannot answer: Nothing listens at http://127\.0\.0\.1:\d+/v1\.", text
    )
    assert hint == "Start Ollama, or set providers.ollama.base_url."
    assert one(examined(tmp_path, "--model", "groq:llama", code=1), "Model") == (
        "problem",
        "groq:llama cannot answer: GROQ_API_KEY is not set.",
        "export GROQ_API_KEY=...",
    )
    with Loopback() as server:
        found = examined(tmp_path, "--model", "compatible:m", "--base-url", f"{server.url}/v1")
    assert one(found, "Model")[0] != "problem"


@pytest.mark.slow
@posix
def test_on_a_terminal_lines_are_broken_between_words() -> None:
    with tempfile.TemporaryDirectory() as home:  # a short path, as a long one is not broken
        (Path(home) / "config.yaml").write_text("model: [x\n")
        env = {"CHAT_LOOP_HOME": home, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        with PtyChat(
            [sys.executable, "-m", "chat_loop", *ECHO, "doctor"], env=env, rows=100, cols=80
        ) as terminal:
            assert terminal.exit_code() == 1
            *found, empty, _ = terminal.text().rstrip().split("\n")
    assert empty == ""
    assert all(line[:2] in ("✓ ", "· ", "! ", "✗ ") or line.startswith(" " * 18) for line in found)
    assert all(len(line) < 80 for line in found)
    assert " ".join(" ".join(found).split()).count("→ Fix this before starting chat-loop.") == 1


def test_online_asks_once_and_says_how_long_it_took(tmp_path: Path) -> None:
    with Loopback() as server:
        keys = {"OPENAI_API_KEY": SECRET, "OPENAI_BASE_URL": f"{server.url}/v1"}
        result = run(tmp_path, "--model", "openai:gpt-4o", "doctor", "--online", keys=keys)
        assert len(server.requests) == 1
        told = r"✓ Online          openai:gpt-4o answered in \d+\.\d s\n"
        assert re.search(told, result.stdout.decode())
        server.enqueue(failing(401, "invalid_api_key", "Incorrect API key provided"))
        refused = run(tmp_path, "--model", "openai:gpt-4o", "doctor", "--online", keys=keys)
    assert refused.returncode == 1
    assert "✗ Online          openai:gpt-4o: " in refused.stdout.decode()
    assert "→ Set OPENAI_API_KEY to a valid key." in refused.stdout.decode()
    assert SECRET not in refused.stdout.decode() + refused.stderr.decode()


def test_damaged_sessions_and_what_is_no_session_are_told(tmp_path: Path) -> None:
    run(tmp_path, *ECHO, "-p", "hello")
    folder = tmp_path / "sessions"
    [file] = folder.glob("*.md")
    data = file.read_bytes()
    (folder / "cut_in_the_middle.md").write_bytes(data.replace(b"<!-- chat:end", b"<!-- chat:bend"))
    (folder / "empty.md").write_bytes(b"")
    (folder / "picture.md").write_bytes(bytes(range(256)) * 100)
    found = examined(tmp_path, *ECHO)
    assert one(found, "Sessions")[1].startswith("4 sessions, ")
    texts = " ".join(text for _, text, _ in found["Damaged"])
    assert all(name in texts for name in ("cut_in_the_middle", "empty.md", "picture.md"))
    assert {state for state, _, _ in found["Damaged"]} == {"warning"}


def _file_for_folder(home: Path) -> None:
    home.rmdir()
    home.write_text("in the way")


def _garbage(home: Path) -> None:
    for name in (
        "config.yaml",
        "aliases.yaml",
        "history",
        "MEMORY.md",
        "sessions/.index.sqlite",
        "sessions/.current",
    ):
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_bytes(bytes(range(256)) * 40)
    for name in ("approved-agents", "agents", "models", "sessions/.locks"):
        (home / name).mkdir()
        for inner in ("a.json", "a.md", "a.py", "a.lock", "smollm2-135m.gguf"):
            (home / name / inner).write_bytes(b"\xff\x00{" * 100)
    for number in range(20):
        (home / "sessions" / f"s{number}.md").write_bytes(os.urandom(number * 100))


def _folders_for_files(home: Path) -> None:
    for name in (
        "config.yaml",
        "aliases.yaml",
        "history",
        "sessions/.index.sqlite",
        "sessions/a.md",
        "MEMORY.md",
    ):
        (home / name).mkdir(parents=True)


def _files_for_folders(home: Path) -> None:
    for name in ("sessions", "agents", "models", "approved-agents", "prompts"):
        (home / name).write_text("in the way")


def _loops(home: Path) -> None:
    for name in (
        "config.yaml",
        "aliases.yaml",
        "sessions",
        "agents",
        "models",
        "approved-agents",
        "history",
    ):
        (home / name).symlink_to(home / name)


def _dangling(home: Path) -> None:
    (home / "sessions").symlink_to(home / "nowhere")
    (home / "config.yaml").symlink_to(home / "nowhere")


def _nested(home: Path) -> None:
    (home / "config.yaml").write_text("[" * 100_000)
    (home / "aliases.yaml").write_text("a: &a [*a]\n")


def _pipes(home: Path) -> None:
    (home / "sessions" / ".locks").mkdir(parents=True)
    for name in ("sessions/a.md", "sessions/.index.sqlite"):
        os.mkfifo(home / name)


@pytest.mark.slow
@posix
@pytest.mark.parametrize(
    "broken",
    [
        _file_for_folder,
        _garbage,
        _folders_for_files,
        _files_for_folders,
        _loops,
        _dangling,
        _nested,
        _pipes,
    ],
)
def test_a_broken_home_is_told_without_a_traceback(
    tmp_path: Path, broken: Callable[[Path], None]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    broken(home)
    result = run(home, *ECHO, "doctor")
    assert result.stderr == b""
    assert result.returncode == (0 if broken is _pipes else 1), result.stdout.decode()
    assert ("✗" in result.stdout.decode()) == (broken is not _pipes)
    examined(home, *ECHO, code=None)


@pytest.mark.skipif(
    sys.platform == "win32" or not shutil.which("setpriv"),
    reason="rights of POSIX, given away on Linux",
)
@pytest.mark.parametrize(
    ("mode", "state"), [(0o000, "problem"), (0o500, "problem"), (0o777, "warning")]
)
def test_folders_with_other_modes(tmp_path: Path, mode: int, state: str) -> None:
    run(tmp_path, *ECHO, "-p", "hello")
    folder = tmp_path / "sessions"
    folder.chmod(mode)
    prefix = (
        ("setpriv", "--bounding-set", "-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
    )
    try:
        result = run(tmp_path, *ECHO, "doctor", "--json", prefix=prefix)
    finally:
        folder.chmod(0o700)
    if not result.stdout:
        pytest.skip("these rights cannot be given away here")
    assert result.stderr == b""
    found = {finding["name"]: finding for finding in json.loads(result.stdout)["findings"]}
    assert found["Sessions folder"]["state"] == state
    assert found["Sessions folder"]["hint"].startswith("chmod ")


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"HOME": ""},
        {"HOME": "/nowhere"},
        {"CHAT_LOOP_HOME": "~nosuchuser/x"},
        {"CHAT_LOOP_HOME": "/dev/null/x"},
    ],
    ids=["no HOME", "empty HOME", "HOME is not there", "no such user", "below a device"],
)
def test_without_a_home(tmp_path: Path, environment: dict[str, str]) -> None:
    names = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **environment}
    result = fork_server.run([*ECHO, "doctor"], names, cwd=tmp_path)
    assert result.stderr == b""
    assert result.returncode in (0, 1)
    assert "✓ Python" in result.stdout.decode()
    if "CHAT_LOOP_HOME" in environment:
        assert result.returncode == 1


def can_mount() -> bool:
    """Return True if this user may mount in a namespace of its own."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return False
    done = subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False)
    return done.returncode == 0


READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'


@pytest.mark.skipif(not can_mount(), reason="needs a read-only mount")
def test_a_read_only_disk_is_named(tmp_path: Path) -> None:
    run(tmp_path, *ECHO, stdin=b"hello\n")
    run(tmp_path, "sessions", "list")
    prefix = ("unshare", "-rm", "sh", "-c", READ_ONLY, str(tmp_path))
    done = run(tmp_path, "doctor", prefix=prefix)
    text = done.stdout.decode()
    assert (done.returncode, done.stderr) == (1, b"")
    assert f"✗ Sessions folder {tmp_path / 'sessions'} is on a read-only disk.\n" in text
    assert f"✗ Data folder     {tmp_path} is on a read-only disk.\n" in text
    assert "chmod" not in text
    index = tmp_path / "sessions" / ".index.sqlite"
    assert f"! Index           up to date; {index} may not be written.\n" in text
    assert "1 session, " in text


def test_a_check_that_fails_of_a_bug_is_one_finding(tmp_path: Path) -> None:
    home = tmp_path / "home"
    done = run(home, "doctor", keys=bug(tmp_path / "code", "chat_loop.library.index:stale_count"))
    text = done.stdout.decode()
    assert (done.returncode, done.stderr) == (1, b"")
    assert "✗ Sessions        Something went wrong in chat-loop: TypeError" in text
    assert "Keys" in text
