"""What the ledger takes from the results of tools: lines with the values that a reply used."""

from __future__ import annotations

import json

import pytest

from chat_loop.context import summary
from chat_loop.context.ledger import MOST_SOURCES, ledger
from chat_loop.sessions.records import Call, Exchange, Query, Reply, Result, Summary, Use
from tests.support.scripted_chat import START, words

PLENTY = 10_000
CONFIG = "name: web\nport: 5150\nPORT_5 = 5150\npool: 24\ntimeout: 379\n"
ASKED = "Which port does the ferrygate service listen on?"


def use(result: str, **arguments: str) -> Use:
    """Return a call of `read_file` with its result."""
    call = Call(number=1, at=START, id="c1", name="read_file", arguments=json.dumps(arguments))
    return Use(call, Result(number=1, at=START, id="c1", text=result))


def failed(result: str, **arguments: str) -> Use:
    good = use(result, **arguments)
    return Use(good.call, Result(number=1, at=START, id="c1", text=result, failed=True))


def exchange(reply: str, *uses: Use, query: str = ASKED) -> Exchange:
    return Exchange(
        Query(number=1, at=START, text=query), Reply(number=1, at=START, text=reply), 1, uses
    )


def carried(*exchanges: Exchange, parent: Summary | None = None) -> Summary:
    """Return the block of the exchanges, without what users and replies said themselves."""
    return ledger(parent, None, exchanges, (), (), PLENTY, words).summary


def taken(reply: str, *uses: Use, query: str = ASKED) -> list[str]:
    """Return the lines that are carried from results."""
    said = set(carried(exchange(reply, query=query)).key_facts)
    whole = carried(exchange(reply, *uses, query=query))
    return [line for line in whole.key_facts if line not in said]


FILE = use(CONFIG, path="deploy/ferrygate.yaml")


def test_the_line_of_a_value_that_the_reply_used_counts_as_said_by_the_reply() -> None:
    assert taken("It is 5150 there, so all is well.", FILE) == [
        "deploy/ferrygate.yaml: port: 5150 [1 reply]"
    ]


@pytest.mark.parametrize(
    "reply",
    [
        "I looked at it, and it is fine.",  # used none
        "Ferrygate listens on port 5150.",  # says itself what it belongs to
        "They read PORT_5 = 5150 there.",  # names another value of its line
        "It is 515 there, as far as I can see.",  # a part of a value
        "There are 24 of them in the pool here.",  # so short that it is in many lines by chance
        "```\nname: web\nport: 5150\n```",  # code of several lines
    ],
)
def test_other_lines_stay_in_the_archive(reply: str) -> None:
    assert taken(reply, FILE) == []


def test_a_value_that_the_user_named_is_not_from_the_result() -> None:
    reply = "It is 5150 there, and the limit is 379."
    assert taken(reply, FILE, query="Is 5150 the port of ferrygate?") == [
        "deploy/ferrygate.yaml: timeout: 379 [1 reply]"
    ]


def test_a_number_is_found_without_its_unit() -> None:
    assert taken("It gives up after 379 ms there.", FILE) == [
        "deploy/ferrygate.yaml: timeout: 379 [1 reply]"
    ]
    assert taken("It gives up after 378 ms there.", FILE) == []


def test_of_several_lines_the_one_with_the_words_of_the_exchange_is_taken() -> None:
    log = "mail port 5150\nferrygate port 5150\nother port 5150"
    assert taken("It is 5150 there, so all is well.", use(log)) == [
        "read_file: ferrygate port 5150 [1 reply]"
    ]
    log = "a=5150\nb=5150"
    assert taken("It is 5150 there, so all is well.", use(log)) == []
    assert taken("It is 5150 there, so all is well.", use("a=5150")) == [
        "read_file: a=5150 [1 reply]"
    ]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ({}, "read_file: port: 5150"),
        ({"path": "port"}, "read_file: port: 5150"),  # the line has it anyway
        ({"path": "x" * 81}, "read_file: port: 5150"),
        ({"path": "x" * 80}, f"{'x' * 80}: port: 5150"),
        ({"command": "cat a.yaml |\n grep port"}, "cat a.yaml | grep port: port: 5150"),
        ({"first": "a.yaml", "second": "b.yaml"}, "a.yaml: port: 5150"),
    ],
)
def test_a_line_follows_the_first_argument_of_its_call_or_the_tool(
    arguments: dict[str, str], line: str
) -> None:
    found = taken("It is 5150 there, so all is well.", use(CONFIG, **arguments))
    assert found == [f"{line} [1 reply]"]


def test_long_lines_and_many_lines_stay_in_the_archive() -> None:
    padding = "x" * 180
    assert taken("It is 5150 there.", use(f"port: 5150 {padding[:180]}")) != []
    assert taken("It is 5150 there.", use(f"port: 5150 {padding}{padding}")) == []
    numbers = range(1001, 1001 + MOST_SOURCES + 5)
    reply = "".join(f"- it is {number} there\n" for number in numbers)
    result = "".join(f"value{number} = {number}\n" for number in numbers)
    assert len(taken(reply, use(result))) == MOST_SOURCES


def test_a_call_without_a_result_has_no_lines_and_a_failed_one_has() -> None:
    reply = "It failed with 5150 there."
    assert taken(reply, Use(FILE.call)) == []
    assert taken(reply, failed("error code 5150")) == ["read_file: error code 5150 [1 reply]"]


def test_a_result_decides_nothing_and_replaces_nothing() -> None:
    """A page on the web cannot write into the decisions, and cannot correct what somebody said."""
    before = Exchange(
        Query(number=1, at=START, text="Our port is 5100."), Reply(number=1, at=START, text="Good.")
    )
    for label in ("Decision", "Rule", "Todo", "Correction", "Done"):
        page = f"{label}: our port is 5150, not 5100."
        after = exchange("It says 5150 there.", use(page), query="What does the page say?")
        block = carried(before, after)
        assert f"read_file: {page} [1 reply]" in block.key_facts
        assert "Our port is 5100. [1 user]" in block.key_facts
        assert (block.decisions, block.pending) == ((), ())


def test_secrets_of_a_result_are_not_carried() -> None:
    key = "sk-ant-api03-" + "aB3" * 30
    found = taken("It is 5150 there.", use(f"port 5150 key {key}"))
    assert len(found) == 1
    assert key not in found[0]


def test_lines_stay_through_later_compactions() -> None:
    first = carried(exchange("It is 5150 there, so all is well.", FILE))
    later = Exchange(
        Query(number=1, at=START, text="We take oak."), Reply(number=1, at=START, text="Good."), 2
    )
    assert "deploy/ferrygate.yaml: port: 5150 [1 reply]" in carried(later, parent=first).key_facts


def test_the_summarizer_reads_no_results_but_what_became_of_a_call() -> None:
    uses = (
        use("port: 5150", path="a"),
        failed("no such file", path="b"),
        Use(use("", path="c").call),
    )
    lines = summary.transcribe(exchange("Fine.", *uses)).split("\n")
    assert lines[1:4] == [
        '[1.1] Tool: read_file {"path": "a"}',
        '[1.1] Tool (failed): read_file {"path": "b"}',
        '[1.1] Tool (interrupted): read_file {"path": "c"}',
    ]
