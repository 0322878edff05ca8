"""What is carried stays what it was: files over several children, calls to a model without tools,
calls that a kill cut off, and words from files of earlier versions.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.support.loopback import Reply
from chat_loop.values import ToolCall
from tests.support.chats import ONE_WIRE_QUICK, WIRES, Chats, Wire, call

GOLDEN = Path(__file__).parents[1] / "golden" / "transcripts"
AGENT = '''
import os, signal
from chat_loop import Agent


def deploy(name: str) -> str:
    """Deploy it."""
    os.kill(os.getpid(), signal.SIGKILL)


agent = Agent(name="Sally", system_prompt="You deploy.", tools=[deploy])
'''


@pytest.mark.parametrize("wire", WIRES)
def test_a_model_without_tools_gets_calls_as_words_and_the_next_one_as_calls(
    tmp_path: Path, wire: Wire
) -> None:
    with Chats(tmp_path, wire) as chats:
        chats.configure(
            agent={"tools": ["read_file"]},
            models={"plain": {"window": 32_000}, "test-model": {"window": 32_000}},
            providers={"ollama": {"base_url": f"{chats.server.url}/v1", "tools": False}},
        )
        (chats.project / "notes.txt").write_text("the port is 5150\n")
        chats.replies["Read it"] = [call("read_file", path="notes.txt"), "It is 5150."]
        played = chats.play(
            *("Read it.", "/model ollama:plain", "And now?"),
            *(f"/model {wire}:test-model", "And then?", "exit"),
        )
    first, second, plain, last = played.requests
    assert first.tools == last.tools
    assert plain.tools == ()
    assert '[read_file {"path": "notes.txt"} gave: the port is 5150' in plain.text
    assert "assistant: It is 5150." in plain.messages
    assert last.messages[: len(second.messages)] == second.messages


@pytest.mark.parametrize("wire", ONE_WIRE_QUICK)
def test_after_a_kill_the_model_is_told_what_happened_to_its_calls(
    tmp_path: Path, wire: Wire
) -> None:
    with Chats(tmp_path, wire) as chats:
        (chats.project / "agent.py").write_text(AGENT)
        options = ("--agent", str(chats.project / "agent.py"), "--trust-agent")
        calls = (ToolCall("a", "deploy", '{"name": "web"}'),)
        chats.replies["Deploy"] = [Reply(chunks=("I deploy it.",), calls=calls)]
        killed = chats.play("Deploy it.", options=options)
        played = chats.play("/resume session-1 --full --quick", "Well?", "exit", options=options)
    assert killed.code != 0
    assert played.requests[0].messages == (
        "user: Deploy it.",
        "assistant: I deploy it.",
        'call: deploy {"name": "web"}',
        "result: interrupted",
        "assistant: (no reply: interrupted)",
        "user: Well?",
    )


def test_a_chain_of_files_of_three_versions(tmp_path: Path) -> None:
    with Chats(tmp_path, window=128_000) as chats:
        folder = chats.home / "sessions"
        folder.mkdir(exist_ok=True)
        for version, name in (("1.0", "sally_20261121_143000"), ("1.1", "sally_20261121_143030")):
            (folder / f"{name}.md").write_bytes((GOLDEN / version / f"{name}.md").read_bytes())
        with_model = ("--model", chats.model)
        first = chats.run("-p", "Third?", "--resume", "sally_20261121_143030", *with_model)
        second = chats.run("-c", "-p", "Fourth?", *with_model)
        newest = [*chats.transcripts().values()][-1]
    assert first.errors.count("Warning") == second.errors.count("Warning") == 0
    [third] = first.requests
    [fourth] = second.requests
    assert "user: Und auf Deutsch?" in third.text
    assert "forged" in third.text
    assert "forged" in fourth.messages[0]
    assert fourth.messages[1 : len(third.messages)] == third.messages[1:]
    assert fourth.messages[-1] == "user: Fourth?"
    assert " minor=2 " in newest
