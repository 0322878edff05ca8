"""What may be sent to a model, and what must be asked first."""

from __future__ import annotations

import pytest
from hypothesis import given

from chat_loop.redact import redact_text
from chat_loop.redact.outgoing import Answer, Consent, TextSource, decide, judge
from tests.support.strategies import texts

PASSWORD = "DB_PASSWORD=hunter2hunter2\n"
OTHER = "DB_PASSWORD=correcthorse99\n"
NOTES = TextSource("notes.txt", ("notes.txt",))
ENV = TextSource(".env", ("project/.env",))


@given(texts)
def test_a_text_is_asked_about_if_and_only_if_redaction_changes_it(text: str) -> None:
    judged = judge(text, NOTES)
    assert judged.text == text
    assert judged.is_free == (redact_text(text) == text)
    assert (decide(judged, None, can_ask=True) == "send") == judged.is_free
    assert judged.marked.count("\n") == text.count("\n")
    assert judged.marked.replace("\n", "") == redact_text(text).replace("\n", "")


def test_marks_keep_the_lines_of_a_private_key() -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + f"{'MIIEvQ' * 10}\n" * 3 + "-----END PRIVATE KEY-----"
    judged = judge(f"a\n{key}\nlast", NOTES)
    assert judged.marked == "a\n[REDACTED:private-key:1]\n\n\n\n\nlast"


@pytest.mark.parametrize(
    ("source", "text", "asked", "without_a_person"),
    [
        (NOTES, "port = 5432", False, "send"),
        (NOTES, PASSWORD, True, "marks"),
        (ENV, "port = 5432", True, "no"),
        (ENV, PASSWORD, True, "no"),
        (ENV, "", False, "no"),
        (TextSource("link", ("link", "/home/kim/.ssh/config")), "Host a", True, "no"),
    ],
)
def test_the_rule(source: TextSource, text: str, asked: bool, without_a_person: Answer) -> None:
    judged = judge(text, source)
    assert decide(judged, None, can_ask=True) == (None if asked else "send")
    assert decide(judged, None, can_ask=False) == without_a_person


@pytest.mark.parametrize("answer", ["marks", "no"])
def test_an_answer_that_keeps_secrets_stays_valid(answer: Answer) -> None:
    consent = Consent(answer, judge(PASSWORD, NOTES).secrets)
    assert decide(judge(OTHER, NOTES), consent, can_ask=True) == answer


def test_a_consent_covers_only_the_secrets_that_were_there() -> None:
    consent = Consent("send", judge(PASSWORD, NOTES).secrets)
    assert decide(judge(f"more\n{PASSWORD}", NOTES), consent, can_ask=True) == "send"
    assert decide(judge(PASSWORD + OTHER, NOTES), consent, can_ask=True) is None
    assert decide(judge(PASSWORD + OTHER, NOTES), consent, can_ask=False) == "marks"
