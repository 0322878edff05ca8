"""The requests of whole conversations: what a server gets in each situation, on both wires.

`tests/golden/requests/` has the bodies. A field is written when it differs from that of the request
before, and a message when it is new. `python -m tests.providers.test_wire_requests` rewrites the files.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from benchmarks.support.loopback import Reply
from benchmarks.support.loopback_wires import unmarked
from chat_loop.values import ToolCall
from tests.support.chats import WIRES, Asked, Chats, Step, Wire, size
from tests.support.images import base64, png
from tests.support.pdfs import pdf

Json = Any


def parts(content: Json) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


def openai_faults(body: Json) -> list[str]:
    """Return what Mistral, the strictest service of the wire, would refuse."""
    faults: list[str] = []
    awaited: list[str] = []
    seen: set[str] = set()
    before = ""
    for message in (each for each in body["messages"] if each["role"] != "system"):
        role = message["role"]
        calls = [each["id"] for each in message.get("tool_calls", ())]
        if role == "tool":
            if not awaited or message["tool_call_id"] != awaited.pop(0):
                faults.append("a result without its call")
        elif awaited:
            faults.append(f"{role} instead of a result")
        expected = {"": ["user"], "user": ["assistant"], "assistant": ["user"]}
        if before == "assistant" and role == "tool":
            pass
        elif before == "tool" and role not in ("tool", "assistant"):
            faults.append(f"{role} after tool")
        elif before in expected and role not in expected[before]:
            faults.append(f"{role} after {before or 'nothing'}")
        texts = [part["text"] for part in parts(message.get("content")) if part["type"] == "text"]
        if role != "tool" and not calls and not any(text.strip() for text in texts):
            faults.append(f"{role} says nothing")
        faults += [
            f"id {each}" for each in calls if each in seen or not re.fullmatch("[a-z0-9]{9}", each)
        ]
        seen.update(calls)
        awaited += calls
        before = role
    if awaited or before == "assistant":
        faults.append(f"it ends with {before}")
    return faults + ([] if body.get("tools") or not seen else ["calls without tools"])


def anthropic_faults(body: Json) -> list[str]:
    """Return what Anthropic would refuse."""
    faults: list[str] = []
    awaited: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(body["messages"]):
        blocks = parts(message["content"])
        if message["role"] != ("assistant" if number % 2 else "user"):
            faults.append(f"message {number} is the {message['role']}'s")
        kinds = [block["type"] for block in blocks]
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if answered != awaited or kinds[: len(answered)] != ["tool_result"] * len(answered):
            faults.append(f"results {answered} for the calls {awaited}")
        if answered and len(answered) < len(kinds):
            faults.append("words beside results")
        awaited = [block["id"] for block in blocks if block["type"] == "tool_use"]
        faults += [f"id {each}" for each in awaited if each in seen]
        seen.update(awaited)
        texts = [block["text"] for block in blocks if block["type"] == "text"]
        if not blocks or not all(text.strip() for text in texts):
            faults.append(f"message {number} is blank")
    if len(body["messages"]) % 2 == 0:
        faults.append("it ends with the assistant")
    marks = json.dumps(body).count('"cache_control"')
    return [
        *faults,
        *([] if body.get("tools") or not seen else ["calls without tools"]),
        *([] if marks <= 4 else [f"{marks} marks"]),
    ]


def faults(asked: Asked) -> list[str]:
    """Return what the strictest service of a request's wire would refuse."""
    return (anthropic_faults if asked.wire == "anthropic" else openai_faults)(asked.body)


GOLDEN = Path(__file__).parents[1] / "golden" / "requests"
PHOTO = png(4, 3)
AGENT = '''
import os, signal, threading
from pathlib import Path
from chat_loop import Agent


def read_note(name: str) -> str:
    """Read a note."""
    return Path(name).read_text()


def wait() -> str:
    """Wait for the build."""
    os.kill(os.getpid(), signal.SIGINT)  # as Ctrl-C while it runs
    threading.Event().wait()


agent = Agent(name="Sally", system_prompt="You keep notes.", tools=[read_note, wait])
'''


def reading(number: int, *names: str) -> Reply:
    calls = [
        ToolCall(f"call_{number}_{place}", "read_note", json.dumps({"name": name}))
        for place, name in enumerate(names)
    ]
    return Reply(chunks=("I look.",), calls=tuple(calls))


SIGNED = Reply(
    thinking=("Where ", "is it?"),
    chunks=("I look.",),
    calls=(ToolCall("call_6", "read_note", '{"name": "port.txt"}'),),
    signature="c2lnbmVk",
)
"""A reply that the service wants back with its reasoning and its signature."""


class Talk:
    """A conversation whose lines have names, and its requests with the names of their lines."""

    def __init__(self, folder: Path, wire: Wire, talk: str) -> None:
        window = SMALL_WINDOW if talk == SMALL else 32_000
        self.chats = Chats(folder, wire, window)
        model = {"window": window, "images": True}
        models = {"test-model": model, "other-model": model}
        settings: dict[str, dict[str, object]] = {
            # a longer reply than it has room for; Anthropic's wire asks for the longest
            SMALL: {"max_tokens": 5_000},
            REASONING: {"wants_back": ["reasoning_content", "extra_content"]},
        }
        self.chats.configure(
            models=models, tools={"max_steps": 2}, providers={"openai": settings.get(talk, {})}
        )
        project = self.chats.project
        (project / "agent.py").write_text(AGENT)
        (project / "port.txt").write_text("8443")
        (project / "hull.txt").write_text("oak")
        (project / "log.txt").write_text("The hull is sanded.\n" * 70)
        (project / "photo.png").write_bytes(PHOTO)
        (project / "plan.pdf").write_bytes(pdf("Sand it twice."))
        stop = "refusal" if wire == "anthropic" else "content_filter"
        self.chats.replies |= {
            "Read both.": [reading(1, "port.txt", "hull.txt"), "It is 8443, and oak."],
            "Stall.": Reply(chunks=("Half an", " answer"), stall_after=1),
            "Wait.": [Reply(calls=(ToolCall("call_2", "wait", "{}"),))],
            "Say nothing.": Reply(),
            "Do harm.": Reply(chunks=("I must not.",), stop=stop),
            "Read the port.": [SIGNED, "It is 8443."],
            "Read the log.": [reading(5, "log.txt"), "It is long."],
            "Read on and on.": [reading(number, "port.txt") for number in (3, 4)] + ["Enough."],
            "Then": "Yes.",
        }
        self._starts: list[tuple[str, int]] = []

    def requests(self, lines: dict[str, str]) -> dict[str, Asked]:
        """Play the lines, and return the requests other than those for summaries."""
        steps: list[Step] = []
        for name, line in lines.items():
            steps.append(partial(self._start, name))
            if line == "Stall.":
                steps.append(self.chats.interrupt_at("Half an"))
            steps.append(line)
        agent = str(self.chats.project / "agent.py")
        with self.chats:
            played = self.chats.play(*steps, "exit", options=("--agent", agent, "--trust-agent"))
        assert played.code == 0, played.errors
        named: dict[str, Asked] = {}
        for number, asked in enumerate(played.asked):
            if asked.kind == "summary":
                continue
            name = [name for name, first in self._starts if first <= number][-1]
            step = 1
            while name in named:
                step += 1
                name = f"{name.partition(', step')[0]}, step {step}"
            named[name] = asked
        return named

    def _start(self, name: str) -> None:
        self._starts.append((name, len(self.chats.server.requests)))


SMALL = "small window"
REASONING = "reasoning"
GOING_ON = "ways of going on"
SMALL_WINDOW = 2_000  # tokens
TALKS = {
    "turns": {
        "first": "Hello.",
        "two tools": "Read both.",
        "next": "Then what?",
        "interrupted": "Stall.",
        "after an interruption": "Then go on.",
        "interrupted tool": "Wait.",
        "after an interrupted tool": "Then go on.",
        "empty reply": "Say nothing.",
        "after an empty reply": "Then speak.",
        "refusal": "Do harm.",
        "after a refusal": "Then do good.",
        "retry": "/retry",
        "edit": "/edit Then do better.",
        "undo": "/undo",
        "after an undo": "Then once more.",
        "image": "Then look at @photo.png",
        "PDF": "Then read @plan.pdf",
        "after the files": "Then what?",
        "many steps": "Read on and on.",
        "after many steps": "Then what?",
    },
    SMALL: {
        "first": "Hello.",
        "a longer message": "Then what? " * 100,
        "after a longer message": "Then what?",
        "a full window": "Read the log. " + "What is next? " * 215,
    },
    "branches": {
        "first": "Hello. " + "The hull is made of oak, and sanded. " * 60,
        "two tools": "Read both.",
        "fork": "/fork",
        "in the fork": "Read both.",
        "compact": "/compact",
        "after the compaction": "Then what?",
        "model": "/model {wire}:other-model",
        "after the switch": "Then what?",
    },
    GOING_ON: {
        "first": "Read both.",
        "next": "Then what? " * 3_200,  # more than a quarter of the window
        "compact": "/compact",
        "after the compaction": "Then what?",
        "uncompact": "/uncompact",
        "after uncompact": "Then read both. Read both.",
        "resume from the summary": "/resume session-1",
        "after the resume": "Then what?",
        "resume with all words": "/resume session-1 --full",
        "after all words": "Read both.",
    },
    REASONING: {
        "first": "Read the port.",
        "next": "Then what?",
        "fork": "/fork",
        "in the fork": "Read the port.",
        "model": "/model {wire}:other-model",
        "with another model": "Then what?",
        "its own": "Read the port.",
        "model again": "/model {wire}:test-model",
        "with the first model": "Then what?",
    },
}


GOLDEN_TALKS = [talk for talk in TALKS if talk != GOING_ON]
"""The talks with a golden file. What going on sends is in the tests of the ways."""


def played(wire: Wire, talk: str) -> dict[str, Asked]:
    """Return the requests of a talk."""
    lines = {name: line.format(wire=wire) for name, line in TALKS[talk].items()}
    with tempfile.TemporaryDirectory() as folder:
        return Talk(Path(folder), wire, talk).requests(lines)


def message_list(asked: Asked) -> list[dict[str, Any]]:
    """Return the messages without the marks for the cache, which move from request to request."""
    return unmarked(asked.body["messages"])


def marks(asked: Asked) -> list[str]:
    """Return the places of the marks for the cache: "system", or the index of a message."""
    places = [f"{number}" for number, one in enumerate(asked.body["messages"]) if _marked(one)]
    return ["system"] * _marked(asked.body.get("system")) + places


def _marked(value: object) -> bool:
    return "cache_control" in json.dumps(value)


CHANGING = {
    r"[a-z]+_\d{8}_\d{6}(_\d+)?": "SESSION",
    r"\d{4}-\d\d-\d\d \d\d:\d\d": "DATE",
    r"/\S+/home/": "HOME/",
    r"\b[\d.,]+K? tokens": "N tokens",
}


def line(value: object) -> str:
    """Return a value in one line, without what differs from run to run, long texts cut."""
    text = json.dumps(value, ensure_ascii=False).replace(base64(PHOTO), "PHOTO")
    for pattern, same in CHANGING.items():
        text = re.sub(pattern, same, text)
    return text if len(text) < 800 else f"{text[:300]} … {text[-200:]}"


def written(requests: dict[str, Asked]) -> Iterator[str]:
    """Yield the lines of requests as a golden file has them."""
    fields: dict[str, str] = {}
    before: list[dict[str, Any]] = []
    for name, asked in requests.items():
        yield f"== {name}"
        body = dict(asked.body) | {"marks": marks(asked)}
        del body["messages"]
        now = {field: line(value) for field, value in body.items()}
        for field in [*now, *sorted(fields.keys() - now.keys())]:
            if now.get(field) != fields.get(field):
                yield f"{field}: {now.get(field, 'gone')}"
        messages = message_list(asked)
        kept = 0
        while messages[kept : kept + 1] == before[kept : kept + 1] != []:
            kept += 1
        if kept:
            yield f"messages: the first {kept} of the request before"
        yield from (f"message: {line(message)}" for message in messages[kept:])
        yield ""
        fields, before = now, messages


IDS = re.compile(r'(?<=id": ")[a-z2-7]{9}(?=")')


def golden(requests: dict[str, Asked]) -> str:
    """Return the content of a golden file, in which the ids of calls are numbered."""
    text = "\n".join(written(requests))
    text = re.sub(r"(?<=_tokens: )\d+", "N", text)  # depends on how the ids are counted
    names: dict[str, str] = {}
    for found in IDS.findall(text):
        names.setdefault(found, f"call{len(names) + 1}")
    return IDS.sub(lambda match: names[match[0]], text)


def golden_file(wire: Wire, talk: str) -> Path:
    return GOLDEN / f"{talk.replace(' ', '-')}-{wire}.txt"


BREAKS = {
    "after an empty reply": "the message has failed, and the model does not see it again",
    "after a refusal": "the model must not see the refused message again",
    "edit": "another message stands in its place",
    "after an undo": "the message is gone",
    "compact": "a block stands for the words",
    "after uncompact": "the words stand again for the block",
    "resume from the summary": "a block stands for the words",
    "resume with all words": "another conversation goes on",
    "with another model": "reasoning and signatures do not go to another model",
    "with the first model": "it gets its own back, and not those of the other one",
}
"""Requests that rightly do not begin with the one before."""


def beginning(asked: Asked) -> tuple[str, str]:
    """Return the tools and the system prompt, and the messages, which more may follow."""
    system = json.dumps([asked.body.get("tools"), asked.body.get("system")])
    messages = json.dumps(message_list(asked), ensure_ascii=False)
    return system, messages.rstrip('"]}')


def broken(requests: dict[str, Asked]) -> list[str]:
    """Return the names of the requests that do not begin with the one before."""
    names = []
    for (_, before), (name, asked) in pairwise(requests.items()):
        system, messages = beginning(asked)
        expected, first = beginning(before)
        if system != expected or not messages.startswith(first):
            names.append(name)
    return names


def call_ids(asked: Asked) -> set[str]:
    """Return the ids of the calls in the newest message that has some."""
    for message in reversed(asked.body["messages"]):
        blocks = message.get("content") if asked.wire == "anthropic" else message.get("tool_calls")
        if isinstance(blocks, list) and message["role"] == "assistant":
            return {block["id"] for block in blocks if block["type"] in ("tool_use", "function")}
    return set()


def have_ids_of_their_own(requests: dict[str, Asked]) -> None:
    """Check that two calls of a conversation have two ids."""
    ids = [call_ids(requests[name]) for name in ("two tools, step 2", "in the fork, step 2")]
    assert [len(both) for both in ids] == [2, 2]
    assert not ids[0] & ids[1]


def follow_no_results_with_a_user(requests: dict[str, Asked]) -> None:
    """Check the roles behind an interrupted tool. Mistral's services refuse a user there
    (`Unexpected role 'user' after role 'tool'`).
    """
    roles = requests["after an interrupted tool"].roles
    assert roles[-1] == "user"
    assert ("tool", "user") not in [*pairwise(roles)]


def fit_the_window_with_their_replies(requests: dict[str, Asked]) -> None:
    """Check the sizes of requests with those of the replies that they allow."""
    longest = []
    for name, asked in requests.items():
        tokens = size(asked.body) // 4
        longest.append(asked.body.get("max_tokens") or asked.body["max_completion_tokens"])
        assert tokens + longest[-1] <= SMALL_WINDOW, name
    assert max(longest) > 1_700  # tokens
    assert min(longest) < SMALL_WINDOW // 5


CHECKS = {
    "branches": have_ids_of_their_own,
    "turns": follow_no_results_with_a_user,
    SMALL: fit_the_window_with_their_replies,
}
"""What is true of one talk alone."""


@pytest.mark.parametrize("talk", TALKS)
@pytest.mark.parametrize("wire", WIRES)
def test_requests(wire: Wire, talk: str) -> None:
    """Requests are those of the golden file, each begins with the one before, and the strictest
    service takes them.
    """
    requests = played(wire, talk)
    if talk in GOLDEN_TALKS:
        assert golden(requests) == golden_file(wire, talk).read_text()
    assert broken(requests) == [name for name in requests if name in BREAKS]
    found = {name: faults(asked) for name, asked in requests.items()}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
    if talk in CHECKS:
        CHECKS[talk](requests)


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for wire in WIRES:
        for talk in GOLDEN_TALKS:
            golden_file(wire, talk).write_text(golden(played(wire, talk)))
