"""Ask the user. An answer is a choice, or it is text that goes back into the line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chat_loop.display.questions import NOT_SURE, Question, choice_of, draw, sure_question

if TYPE_CHECKING:
    from chat_loop.display.display_manager import DisplayManager
    from chat_loop.input.lines import EntryReader


async def ask(display: DisplayManager, reader: EntryReader, question: Question) -> str:
    """Show an act and its question, and return the user's choice. Return an empty text if there is
    none: after Enter alone, and after any other text, which goes back into the line.

    An act that is longer than the screen, when it is asked about or when the answer comes, needs
    the word “yes”. Raises EOFError and KeyboardInterrupt as `Reader.read`.
    """
    display.stop_waiting()
    was_long = draw(question, *reader.screen_size()).is_long
    if not was_long:
        display.act(question)
    choice: str | None = "view"
    while choice == "view":
        answer = await reader.ask(question)
        is_long = was_long or draw(question, *reader.screen_size()).is_long
        choice = choice_of(question, answer, is_long=is_long)
        if choice == "view":
            display.act(question)
    if choice == NOT_SURE:
        choice = choice_of(question, answer)
        answer = await reader.ask(sure_question(question))
        word = answer.strip().lower()
        if word == "yes":
            return choice or ""
        choice = "" if word in ("", "y", "n", "no") else None
    if choice is None:
        _give_back(display, reader, answer)
    return choice or ""


def _give_back(display: DisplayManager, reader: EntryReader, text: str) -> None:
    reader.give_back(text)
    display.prose("That is not an answer, so it counts as no. Your text is in the line.", "dim")
