"""Completions of typed text, as values and in the editor's menu."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document


class Choice(Struct, frozen=True, kw_only=True):
    """A completion: `text` replaces the `length` characters before the cursor. The menu shows
    `shown`, or the text, and `note` behind it.
    """

    text: str
    length: int
    shown: str = ""
    note: str = ""


class Completions(Completer):
    """The choices that `complete(before)` returns for the text before the cursor."""

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
