"""Text that is not a secret stays, and redaction takes linear time."""

from __future__ import annotations

import random
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

import chat_loop
from chat_loop.redact import redact_text
from tests.support.limits import cpu_limit
from tests.support.made_secrets import shape

BENIGN_FILE = Path(__file__).parent / "golden" / "benign.txt"
BENIGN = BENIGN_FILE.read_text("utf-8").strip().split("\n")


SECRET = shape("ghp_{L36}")(random.Random(5))
MARK = "[REDACTED:github:1]"


@pytest.mark.parametrize("text", BENIGN)
def test_what_is_no_secret_stays_and_a_secret_beside_it_goes(text: str) -> None:
    assert redact_text(text) == text
    assert redact_text(f"{text}\n{SECRET}\n{text}") == f"{text}\n{MARK}\n{text}"


def paragraphs() -> Iterator[str]:
    """Yield code that mentions passwords and tokens but contains none: this package and parts of
    Python's library.
    """
    library = Path(sysconfig.get_paths()["stdlib"])
    names = (
        "getpass netrc secrets hmac ssl smtplib ftplib imaplib poplib tokenize token ast "
        "email urllib http json"
    )
    roots = [Path(chat_loop.__file__).parent, *(library / name for name in names.split())]
    for root in roots:
        for path in sorted(root.rglob("*.py")) if root.is_dir() else [root.with_suffix(".py")]:
            yield from re.split(r"\n\s*\n", path.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_hardly_any_paragraph_of_code_is_changed() -> None:
    every = list(paragraphs())
    changed = [text for text in every if redact_text(text) != text]
    assert len(every) > 5000
    assert not any(SECRET in redact_text(f"{text}\n{SECRET}") for text in every[::50])
    assert len(changed) <= len(every) * 0.0005, changed


HOSTILE = (
    "a", "4", "sk-", "eyJ", "eyJ.", "AC", "password=", "token=token=", 'password="', "password='a\"b`", "://a:b/",
    "authorization:", "authorization: basic ", "password: ", "--token ", "-u a:", "((((", "41111111 ", "\\", "[REDACTED:",
    "-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAA\n", "password=" + "a" * 60 + "1234.", "token: " + "aB" * 60 + "12 ",
    "sk-ant-" + "a" * 500 + "-", "password=aB1[REDACTED:x:aaaa]", "cookie: a=", "cookie:a=b;", "mysql -x ", "mysql", "\u200b", "M\u200b", "password=" + "(" * 70, "login a password ",
)  # fmt: skip


@pytest.mark.parametrize(
    "size", [10_000, pytest.param(150_000, marks=pytest.mark.slow)], ids=["short", "long"]
)
@pytest.mark.parametrize("unit", HOSTILE)
def test_a_secret_behind_a_hostile_text_is_found_in_linear_time(unit: str, size: int) -> None:
    text = (unit * size)[:size]
    with cpu_limit(60):
        redacted = redact_text(f"{text}\n\n{SECRET}\n")
    assert SECRET not in redacted
    assert len(redacted) < len(text) + 100
