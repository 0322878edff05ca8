"""The lines of the summary block about files and tools, made from the records of the calls."""

from __future__ import annotations

import pytest

from chat_loop.context import activity, ledger
from chat_loop.sessions.records import Call, Exchange, Query, Result, Summary, Use
from tests.support.scripted_chat import START, words


def exchange(*uses: tuple[str, str, bool]) -> Exchange:
    """Return an exchange with `uses`. Each is a tool, its arguments, and True if it failed."""
    made = tuple(
        Use(
            Call(number=1, at=START, id=f"c{number}", name=name, arguments=arguments),
            Result(number=1, at=START, id=f"c{number}", text="ok", failed=failed),
        )
        for number, (name, arguments, failed) in enumerate(uses, 1)
    )
    return Exchange(Query(number=1, at=START, text="Go"), None, 1, made)


SEARCHED = exchange(
    ("archive_search", '{"query": "port of the database"}', False),
    ("archive_search", '{"query": "who; what (where)"}', False),
    ("read_file", '{"path": "src/a.py"}', False),
)
WRITTEN = exchange(
    ("write_file", '{"path": "src/a.py", "text": "x"}', False),
    ("edit_file", '{"file_path": "src/b.py"}', False),
    ("write_file", '{"path": "src/refused.py"}', True),
    ("read_file", '{"path": "src/c.py"}', False),
    ("write_file", "no JSON", False),
    ("write_file", "[" * 100_000, False),
)


def test_tools_are_counted_with_their_first_notable_uses() -> None:
    once = activity.tools((), [SEARCHED])
    assert once == (
        "archive_search: 2 uses (port of the database; who, what [where])",
        "read_file: 1 use (src/a.py)",
    )
    assert activity.tools(once, [SEARCHED, SEARCHED]) == (
        "archive_search: 6 uses (port of the database; who, what [where])",
        "read_file: 3 uses (src/a.py)",
    )


def test_a_line_that_was_written_by_hand_stays() -> None:
    assert activity.tools(("We use grep a lot.",), [SEARCHED])[0] == "We use grep a lot."


def test_files_are_those_that_were_changed() -> None:
    assert activity.files((), [SEARCHED, WRITTEN]) == ("src/a.py", "src/b.py")
    assert activity.files(("src/b.py", "z.py"), [WRITTEN]) == ("z.py", "src/a.py", "src/b.py")
    many = [exchange(("write_file", f'{{"path": "f{number}.py"}}', False)) for number in range(150)]
    assert activity.files((), many)[-1] == "f149.py"
    assert len(activity.files((), many)) == activity.MAX_FILES
    assert activity.files((), [*many, many[0]])[-2:] == ("f149.py", "f0.py")


@pytest.mark.parametrize("count", [1, 3])
def test_a_chain_counts_on(count: int) -> None:
    parent: Summary | None = None
    for _ in range(count):
        parent = ledger.ledger(
            parent, Summary(topics=("t",)), [SEARCHED, WRITTEN], (), (), 500, words
        ).summary
    assert parent is not None
    assert parent.tools[0].startswith(f"archive_search: {2 * count} uses (")
    assert parent.files == ("src/a.py", "src/b.py")


def test_a_secret_in_an_argument_is_taken_out() -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 4
    (line,) = activity.tools((), [exchange(("fetch", f'{{"token": "{secret}"}}', False))])
    assert secret not in line
