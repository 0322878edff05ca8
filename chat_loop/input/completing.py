"""Completions of a text that is typed, as values, and their way into the editor's menu."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document


class Choice(Struct, frozen=True, kw_only=True):
    """`text` takes the place of the `length` characters before the cursor. The menu shows `shown`,
    else the text, and behind it `note`.
    """

    text: str
    length: int
    shown: str = ""
    note: str = ""


class Completions(Completer):
    """The choices that `complete(before)` gives for the text before the cursor."""

    def __init__(self, complete: Callable[[str], Iterable[Choice]]) -> None:
        self._complete = complete

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        for choice in self._complete(document.text_before_cursor):
            yield Completion(
                choice.text,
                start_position=-choice.length,
                display=choice.shown or choice.text,
                display_meta=choice.note,
            )
