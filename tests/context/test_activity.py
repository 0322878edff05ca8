"""The lines of the summary block about files and tools, made from the records of the calls."""

from __future__ import annotations

import json

import pytest

from chat_loop.context import activity, ledger
from chat_loop.errors import DENIED
from chat_loop.sessions.records import Call, Exchange, Query, Result, Summary, Use
from chat_loop.values import ToolCounts
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


def run_of(*results: tuple[str, str | None, bool]) -> Exchange:
    """Return an exchange with commands: each with its result (None: interrupted), and True if that
    was an error.
    """
    made = tuple(
        Use(
            Call(
                number=1,
                at=START,
                id=f"c{number}",
                name="run_command",
                arguments=json.dumps({"command": command}),
            ),
            None
            if text is None
            else Result(number=1, at=START, id=f"c{number}", text=text, failed=failed),
        )
        for number, (command, text, failed) in enumerate(results, 1)
    )
    return Exchange(Query(number=1, at=START, text="Go"), None, 1, made)


MIXED = run_of(
    ("make", "Exit code 0.", False),
    ("rm -rf /tmp/zzz", f"{DENIED}the user did not allow it.", True),
    ("sleep 99", "It took longer than 5 seconds and was stopped.", True),
    ("vim", None, False),
)


def test_what_was_denied_failed_or_interrupted_is_told_as_such() -> None:
    line = (
        "run_command: 1 use (make), 1 failed (sleep 99), 1 denied (rm -rf /tmp/zzz), "
        "1 interrupted (vim)"
    )
    assert activity.tools((), [MIXED]) == (line,)
    again = activity.tools((line,), [run_of(("ls", "Exit code 0.", False))])
    assert again == (line.replace("1 use (make)", "2 uses (make; ls)"),)
    assert activity.tools((), [run_of(("rm x", f"{DENIED}no.", True))]) == (
        "run_command: 1 denied (rm x)",
    )


def test_a_block_counts_what_its_labels_name() -> None:
    summary = Summary(
        files=("a.py", "b.png (image, 20×10)", "notes.md (attached)"),
        tools=(*activity.tools((), [MIXED, SEARCHED]), "We use grep 7 times."),
    )
    assert activity.counts(summary, ()) == ToolCounts(changed_files=1, commands=1, not_done=3)
    kept = [MIXED, WRITTEN]
    beside = activity.counts(summary, kept)
    assert beside == ToolCounts(changed_files=3, commands=2, not_done=7)


def test_a_commit_that_a_command_made_is_a_fact() -> None:
    made = "Exit code 0.\n[main 4be91c7] Mend the mast\n 1 file changed, 2 insertions(+)"
    spoken = run_of(("git commit -qam 'Mend the mast'", made, False), ("cat git.txt", made, True))
    block = ledger.ledger(None, Summary(topics=("t",)), [spoken], (), (), 500, words).summary
    assert block.key_facts == ("git commit 4be91c7: Mend the mast [1 reply]",)


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
