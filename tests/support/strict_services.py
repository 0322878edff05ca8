"""What the strictest services refuse in a request, by the order and the content of its messages."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.support.chats import Asked

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
