"""Is a task solved? The answer's code and the check run in a process of their own.

The process has a few seconds, no network, and writes no files. That keeps accidents of a small model
away from this machine; it is no barrier against an attack.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile

SECONDS = 10
SOLVED = 83
"""The exit code after a check that held; an answer's code does not know it."""
_BLOCK = re.compile(r"```\w*\n(.*?)(?:```|\Z)", re.DOTALL)
_CHILD = """
import collections, datetime, decimal, itertools, json, math, os, re, resource, string, sys

def refuse(event, arguments):
    area = event.partition(".")[0]
    if area in ("socket", "subprocess", "ctypes", "shutil") or area == "os" and event != "os.listdir":
        raise PermissionError(event)
    if event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        raise PermissionError(event)

code, check, solved = json.load(sys.stdin)
resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
resource.setrlimit(resource.RLIMIT_AS, (2**29, 2**29))
sys.addaudithook(refuse)
names = {"__name__": "answer"}
exec(code, names)
exec(check, names)
sys.exit(solved)
"""


def code_of(answer: str) -> str:
    """Return the code blocks of an answer, or the whole answer if it is nothing but code."""
    if blocks := _BLOCK.findall(answer):
        return "\n".join(blocks)
    try:
        compile(answer, "answer", "exec")
    except (SyntaxError, ValueError):
        return ""
    return answer


def failure(answer: str, check: str) -> str:
    """Return why an answer does not solve its task; an empty string if it does."""
    given = json.dumps((code_of(answer), check, SOLVED))
    with tempfile.TemporaryDirectory() as folder:
        try:
            ended = subprocess.run(
                [sys.executable, "-I", "-c", _CHILD],
                input=given,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                cwd=folder,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"It did not end in {SECONDS} seconds."
    if ended.returncode == SOLVED:
        return ""
    return (ended.stderr.strip().splitlines() or [f"exit code {ended.returncode}"])[-1]
