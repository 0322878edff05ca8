"""What tools send of files and outputs with secrets, and what the user is asked about them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from chat_loop.agent.builtin import builtin_tools
from chat_loop.agent.secret_gate import SecretGate
from chat_loop.agent.tools import Tool, Toolbox
from chat_loop.errors import ChatLoopError
from chat_loop.events import ToolReturned
from chat_loop.redact.outgoing import Answer
from chat_loop.values import LeftOutText, ToolCall, ToolSpec

PASSWORD = "DB_PASSWORD=hunter2hunter2"
MARKED = "DB_PASSWORD=[REDACTED:password:1]"
TOOLS = ["read_file", "list_files", "search_files", "write_file", "run_command"]
KEY = "-----BEGIN PRIVATE KEY-----\n" + f"{'MIIEvQ' * 10}\n" * 3 + "-----END PRIVATE KEY-----\n"


class Desk:
    """Tools in a folder, and a user who gives `answers` about secrets, and is `asked` so. Without
    answers nobody is there, and `told` is what is said instead.
    """

    def __init__(self, root: Path, *answers: Answer | None, more: tuple[Tool, ...] = ()) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []
        self.told: list[str] = []
        self.most = 0  # questions on the screen at a time
        self._open = 0
        self.gate = SecretGate(self._ask if answers else None, self._tell)
        self.tools = {tool.spec.name: tool for tool in (*builtin_tools(TOOLS, root), *more)}
        self.events: list[ToolReturned] = []

    async def _ask(self, text: str) -> Answer | None:
        self._open += 1
        self.most = max(self.most, self._open)
        self.asked.append(text)
        await asyncio.sleep(0)
        self._open -= 1
        return self.answers.pop(0)

    def _tell(self, text: str, hint: str) -> None:
        self.told.append(text)

    def use(self, *calls: tuple[str, Mapping[str, object]]) -> list[str]:
        """Return the results that the model gets from these calls of one reply."""

        async def approve(tool: Tool, text: str) -> bool:
            return True

        async def run() -> list[ToolReturned]:
            box = Toolbox(self.tools, 50_000, approve, secrets=self.gate)
            made = [
                ToolCall(f"c{number}", name, json.dumps(given))
                for number, (name, given) in enumerate(calls)
            ]
            return [event async for event in box.run(made)]

        self.events = sorted(asyncio.run(run()), key=lambda event: event.id)
        return [event.text.removeprefix("[allowed by the user]\n") for event in self.events]

    def read(self, path: str, **given: int) -> str:
        return self.use(("read_file", {"path": path, **given}))[0]

    def search(self, text: str, **given: str) -> str:
        return self.use(("search_files", {"text": text, **given}))[0]

    @property
    def left_out(self) -> list[tuple[str, str]]:
        """The names and reasons that the last calls report for the transcript."""
        return [(one.text, one.reason) for event in self.events for one in event.left_out]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "notes.txt").write_text(f"one\n{PASSWORD}\nthree\n")
    (root / "other.txt").write_text(f"{PASSWORD}\n")
    (root / "plain.txt").write_text("port = 5432\n")
    (root / ".env").write_text("PORT=5432\n")
    (root / "deploy.txt").write_text(f"first\n{KEY}last\n")
    return root


@pytest.mark.parametrize(
    ("answer", "sent"),
    [("send", f"one\n{PASSWORD}\nthree\n"), ("marks", f"one\n{MARKED}\nthree\n"), ("no", None)],
)
def test_a_file_with_a_secret_is_asked_about_once(
    root: Path, answer: Answer, sent: str | None
) -> None:
    desk = Desk(root, answer)
    text = desk.read("notes.txt")
    assert desk.asked == [
        "This would go to the model:\n  notes.txt: 1 text that may be secret (password)"
    ]
    note = "[Left out: notes.txt. Reason: the user did not allow it. Go on without it.]"
    assert text == (note if sent is None else sent)
    assert desk.left_out == ([("notes.txt", "refused")] if sent is None else [])
    # later calls get the same without a question, also by another path
    again = desk.use(
        ("read_file", {"path": "./src/../notes.txt"}),
        ("read_file", {"path": "notes.txt", "first": 2, "last": 2}),
        ("search_files", {"text": "DB_PASS", "pattern": "notes.txt"}),
    )
    assert again[0] == text
    if sent is None:
        assert again[1:] == [note, note]
        assert desk.left_out == [("notes.txt", "refused")]  # once per reply
    else:
        line = sent.split("\n")[1]
        assert again[1:] == [f"{line}\n[lines 2 to 2 of 3]", f"notes.txt:2: {line}"]
    assert len(desk.asked) == 1
    assert desk.told == []


def test_lines_without_a_secret_and_plain_files_need_no_question(root: Path) -> None:
    desk = Desk(root, None)
    assert desk.read("notes.txt", first=3) == "three\n[lines 3 to 3 of 3]"
    assert desk.read("plain.txt") == "port = 5432\n"
    assert desk.search("three") == "notes.txt:3: three"
    assert desk.use(("list_files", {}))[0].startswith(".env\ndeploy.txt\n")
    assert desk.use(("run_command", {"command": "echo hi"})) == ["Exit code 0.\nhi"]
    assert not desk.asked


def test_a_consent_covers_one_file_and_what_was_in_it(root: Path) -> None:
    desk = Desk(root, "send", "marks", "no")
    assert PASSWORD in desk.read("notes.txt")
    assert desk.read("other.txt") == f"{MARKED}\n"
    (root / "notes.txt").write_text(f"{PASSWORD}\nSMTP_PASSWORD=correcthorse99\n")
    assert desk.read("notes.txt").startswith("[Left out: notes.txt.")
    assert len(desk.asked) == 3


def test_one_question_for_all_files_of_a_search(root: Path) -> None:
    desk = Desk(root, "send")
    assert desk.search("DB_PASS") == f"notes.txt:2: {PASSWORD}\nother.txt:1: {PASSWORD}"
    assert len(desk.asked) == 1
    assert "  notes.txt: " in desk.asked[0]
    assert "  other.txt: " in desk.asked[0]
    assert PASSWORD in desk.read("other.txt")


def test_calls_at_once_ask_one_after_the_other_and_once_per_file(root: Path) -> None:
    desk = Desk(root, "send", "marks")
    calls = [("read_file", {"path": name}) for name in ("notes.txt", "other.txt") * 4]
    texts = desk.use(*calls)
    assert len(desk.asked) == 2
    assert desk.most == 1
    first = "notes.txt" in desk.asked[0]
    assert [PASSWORD in text for text in texts] == [first, not first] * 4


def test_a_part_of_a_private_key_is_not_read_line_by_line(root: Path) -> None:
    desk = Desk(root)
    assert desk.read("deploy.txt", first=3, last=4) == "\n\n[lines 3 to 4 of 7]"
    assert "MIIEvQ" not in desk.search("M")
    assert desk.read("deploy.txt", first=7) == "last\n[lines 7 to 7 of 7]"


def test_a_search_does_not_tell_what_a_secret_contains(root: Path) -> None:
    script = Desk(root)
    assert script.search("hunter2") == script.search("hunter3")
    assert script.left_out == []
    desk = Desk(root, "no", "no")
    desk.read("notes.txt")
    desk.read("other.txt")
    assert desk.search("hunter2") == desk.search("hunter3") == "(nothing)"


@pytest.mark.parametrize(
    "path",
    [".env", "./src/../.env", "src/link.txt", "src/folder/config", "src/.ENV", "hosts/.netrc"],
)
def test_places_of_keys_are_always_asked_about(root: Path, path: str) -> None:
    home = root.parent / "home" / ".ssh"
    home.mkdir(parents=True)
    (home / "config").write_text("Host a\n")
    (root / "src" / "link.txt").symlink_to(root / ".env")
    (root / "src" / "folder").symlink_to(home)
    (root / "src" / ".ENV").write_text("PORT=5432\n")
    (root / "hosts").mkdir()
    (root / "hosts" / ".netrc").symlink_to(root / "plain.txt")
    text = (root / path).read_text()

    allowed = Desk(root, "send")
    assert allowed.read(path) == allowed.read(path) == text
    [question] = allowed.asked
    assert "a well-known place of keys (" in question
    script = Desk(root)
    assert script.read(path).startswith("[Left out: ")
    assert [reason for _, reason in script.left_out] == ["place"]
    [told] = script.told
    assert "is not sent: a well-known place of keys (" in told
    assert script.read(path)
    assert len(script.told) == 1


def test_a_script_gets_marks_and_a_sentence_and_no_places(root: Path) -> None:
    desk = Desk(root)
    assert desk.read("notes.txt") == f"one\n{MARKED}\nthree\n"
    assert desk.told == [
        "What looks like a key or a password is not sent: marks replace it in notes.txt."
    ]
    found = desk.search("=")
    assert found == (
        f"notes.txt:2: {MARKED}\nother.txt:1: {MARKED}\nplain.txt:1: port = 5432\n"
        "[Left out: .env. Reason: a well-known place of keys, and there is nobody to ask. "
        "Go on without it.]"
    )
    assert desk.left_out == [(".env", "place")]


def test_the_output_of_a_command_goes_through_the_rule(root: Path) -> None:
    desk = Desk(root, "marks", "send", None)
    cat = ("run_command", {"command": "cat notes.txt"})
    assert desk.use(cat) == desk.use(cat) == [f"Exit code 0.\none\n{MARKED}\nthree"]
    assert "  the output of `cat notes.txt`: 1 text" in desk.asked[0]
    assert desk.use(("run_command", {"command": "cat .env"})) == ["Exit code 0.\nPORT=5432"]
    assert "a well-known place of keys (.env)" in desk.asked[1]
    [text] = desk.use(("run_command", {"command": "cat other.txt; exit 3"}))
    assert text.startswith("[Left out: the output of `cat other.txt; exit 3`.")
    assert len(desk.asked) == 3

    [slow] = builtin_tools(["run_command"], root, seconds=0.0001)
    desk = Desk(root, more=(slow,))
    desk.use(("run_command", {"command": "cat .env; sleep 100"}))
    assert desk.left_out == [("the output of `cat .env; sleep 100`", "place")]

    script = Desk(root)
    assert script.use(cat) == [f"Exit code 0.\none\n{MARKED}\nthree"]
    [text] = script.use(("run_command", {"command": "cat ./src/../.env"}))
    assert "5432" not in text
    assert script.left_out == [("the output of `cat ./src/../.env`", "place")]


def test_results_and_failures_of_other_tools_go_through_the_rule(root: Path) -> None:
    async def fetch(given: Mapping[str, Any]) -> str:
        if given["path"] == "fail":
            raise ChatLoopError(f"Cannot log in: {PASSWORD}")
        return PASSWORD if given["path"] == "secret" else f"text of {given['path']}"

    tool = Tool(ToolSpec("notes_fetch", "", {"properties": {"path": {"type": "string"}}}), fetch)
    desk = Desk(root, "send", "marks", "no", more=(tool,))

    def use(path: str) -> str:
        return desk.use(("notes_fetch", {"path": path}))[0]

    assert use("a.txt") == "text of a.txt"
    assert not desk.asked
    assert use("secret") == use("secret") == PASSWORD
    assert use("fail") == use("fail") == f"Cannot log in: {MARKED}"
    assert use("/home/kim/.netrc").startswith("[Left out: the result of notes_fetch: path:")
    assert len(desk.asked) == 3


def test_a_call_that_never_ran_asks_nothing(root: Path) -> None:
    desk = Desk(root, None)
    assert "is missing" in desk.use(("read_file", {}))[0]
    assert "No tool named" in desk.use(("fly", {"path": ".env"}))[0]
    assert "no such file" in desk.read(".pgpass")
    assert desk.use(("write_file", {"path": ".npmrc", "text": "x"})) == ["Wrote .npmrc: 1 line."]
    assert not desk.asked


async def test_a_call_without_a_question_does_not_wait_for_one(root: Path) -> None:
    order = []
    gate_opens = asyncio.Event()

    async def ask(text: str) -> Answer:
        await gate_opens.wait()
        order.append("answered")
        return "send"

    async def ping(given: Mapping[str, Any]) -> str:
        order.append("ran")
        gate_opens.set()
        return "pong"

    unasked = Tool(ToolSpec("ping", "", {}), ping, lambda given: "")
    tools = [*builtin_tools(["read_file"], root), unasked]
    box = Toolbox({tool.spec.name: tool for tool in tools}, 50_000, secrets=SecretGate(ask))
    calls = [ToolCall("c1", "read_file", '{"path": "notes.txt"}'), ToolCall("c2", "ping", "{}")]
    async for _ in box.run(calls):
        pass
    assert order == ["ran", "answered"]


def test_no_answer_is_no_and_is_not_remembered(root: Path) -> None:
    desk = Desk(root, None, "send")
    assert desk.read("notes.txt").startswith("[Left out")
    assert PASSWORD in desk.read("notes.txt")


def test_many_places_in_one_note(root: Path) -> None:
    for number in range(20):
        (root / f"{number:02}.pem").write_text("x\n")
    desk = Desk(root)
    assert desk.search("x", pattern="*.pem") == (
        "[Left out: 00.pem, 01.pem, 02.pem, 03.pem, 04.pem, 05.pem, 06.pem, 07.pem and 12 more. "
        "Reason: a well-known place of keys, and there is nobody to ask. Go on without it.]"
    )
    assert desk.events[0].left_out[-1] == LeftOutText("19.pem", "place")
