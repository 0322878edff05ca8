"""Which bullets of a model's summary have a source in the conversation. The cases were judged by
hand in four languages and more; half of them were held out while the rule was made.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from chat_loop.context.grounding import drop_groundless
from chat_loop.context.ledger import ledger
from chat_loop.context.summary import transcribe
from chat_loop.sessions.records import Exchange, Summary
from tests.context.judged import LANGUAGES, cases, is_held_out
from tests.support.scripted_chat import words
from tests.support.sentences import CHATTER, REPLIES, exchanges

ITEMS = cases("pending.txt")
TALK = CHATTER.strip().split("\n")
ANSWERS = [text for text in REPLIES.strip().split("\n") if not text.startswith("Let me know")]
"""Without the courtesy that is also one of the fillers: what was said has a source."""


def of(language: str) -> list[tuple[str, ...]]:
    return ITEMS[LANGUAGES.index(language) :: len(LANGUAGES)]


def conversation(language: str) -> tuple[Exchange, ...]:
    """Return a conversation in which each open point of a language is said once, amid small talk."""
    pairs = [
        (f"{TALK[number % len(TALK)]} {said}", ANSWERS[number % len(ANSWERS)])
        for number, (said, _) in enumerate(of(language))
    ]
    return tuple(exchanges(*pairs))


def after_compactions(narrative: Summary, spoken: tuple[Exchange, ...], times: int) -> Summary:
    """Return the block after a compaction with this narrative and others with empty ones."""
    transcripts = [transcribe(exchange) for exchange in spoken]
    told = drop_groundless(narrative, transcripts)
    block = ledger(None, told, spoken, (), (), 100_000, words).summary
    for _ in range(times - 1):
        block = ledger(block, None, (), (), (), 100_000, words).summary
    return block


def lost(language: str, *, referred: bool, together: int) -> list[tuple[str, ...]]:
    """Return the open points that are not in the block after three compactions, if summaries list
    so many of them together, with or without references.
    """
    spoken = conversation(language)
    numbered = [
        (case, f"{case[1]} [1.{number}]" if referred else case[1])
        for number, case in enumerate(of(language), 1)
    ]
    missing = []
    for start in range(0, len(numbered), together):
        group = numbered[start : start + together]
        told = Summary(topics=(spoken[0].query.text,), pending=tuple(bullet for _, bullet in group))
        block = after_compactions(told, spoken, 3)
        text = "\n".join((*block.decisions, *block.pending))
        # a bullet that repeats a sentence of the user gives way to that sentence
        missing += [case for case, bullet in group if bullet not in text and case[0] not in text]
    return missing


def survivors(language: str, mark: str) -> list[str]:
    """Return the fillers that are in the block after one compaction. Each ends with `mark`."""
    spoken = conversation(language)
    found = []
    for section, filler in (*cases("fillers.txt"), *cases("fillers_later.txt")):
        told = Summary(topics=(spoken[0].query.text,))
        if section == "decisions":
            told = replace(told, decisions=(filler + mark,))
        else:
            told = replace(told, pending=(filler + mark,))
        block = after_compactions(told, spoken, 1)
        if any(filler in line for line in (*block.decisions, *block.pending)):
            found.append(filler)
    return found


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("together", [pytest.param(1, marks=pytest.mark.slow), 4])
def test_open_points_in_other_words_outlive_three_compactions(language: str, together: int) -> None:
    missing = lost(language, referred=True, together=together)
    assert [case for case in missing if not is_held_out(case)] == []
    assert [case for case in missing if is_held_out(case)] == []


@pytest.mark.slow
@pytest.mark.parametrize("together", [1, 4])
def test_few_open_points_are_lost_that_refer_to_no_exchange(together: int) -> None:
    missing = [case for each in LANGUAGES for case in lost(each, referred=False, together=together)]
    assert len(missing) <= 0.02 * len(ITEMS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_bullet_that_says_that_there_is_nothing_outlives_no_compaction(language: str) -> None:
    assert survivors(language, " [1.7]") == []


@pytest.mark.slow
def test_few_such_bullets_survive_that_refer_to_no_exchange() -> None:
    found = [filler for language in LANGUAGES for filler in survivors(language, "")]
    assert len(found) <= 0.04 * 60 * len(LANGUAGES)


def test_in_a_language_that_the_conversation_does_not_have_only_references_count() -> None:
    transcripts = [transcribe(exchange) for exchange in conversation("ja")]
    foreign = Summary(
        topics=("Household and projects [1.3]",),
        decisions=("No decisions were made.",),
        pending=("Phone the school regarding the trip [1.3]", "Nothing pending."),
    )
    told = drop_groundless(foreign, transcripts)
    assert (told.decisions, told.pending) == ((), (foreign.pending[0],))
    without = replace(foreign, topics=("Household",), pending=("Phone the school", "Nothing."))
    assert drop_groundless(without, transcripts) == without


def test_an_exact_value_is_a_source() -> None:
    (exchange,) = exchanges(("The port is 8123, boats and all.", "Fine."))
    told = Summary(topics=("Boats",), pending=("Configure `make serve`", "Reticulate splines"))
    assert drop_groundless(told, [transcribe(exchange)]).pending == ("Configure `make serve`",)
