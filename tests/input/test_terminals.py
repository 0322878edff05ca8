"""What the environment tells of a terminal."""

from __future__ import annotations

import pytest

from chat_loop.input.terminals import backs_over_wraps


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"TERM": "screen-256color", "TMUX": "/tmp/tmux"}, True),
        ({"TERM": "tmux-256color"}, True),  # on a server that was reached from tmux
        ({"TERM": "tmux-256color", "TMUX": "/tmp/tmux", "STY": "1.pts"}, True),
        ({"TERM": "screen-256color", "TMUX": "/tmp/tmux", "STY": "1.pts"}, False),
        ({"TERM": "screen-256color", "STY": "1.pts"}, False),
        ({"TERM": "xterm-256color"}, False),
    ],
)
def test_backspace_is_used_only_where_it_cannot_be_that_of_gnu_screen(
    variables: dict[str, str], expected: bool
) -> None:
    assert backs_over_wraps(variables) == expected
