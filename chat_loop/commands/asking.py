"""Ask the user. An answer is a choice, or it is text that goes back into the line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from chat_loop.display.consent import AGREEING, Question, choice_of, draw

if TYPE_CHECKING:
    from chat_loop.display.manager import DisplayManager
    from chat_loop.input.lines import Reader

SURE = "It is longer than the screen. Type the word yes to agree:"


async def ask(display: DisplayManager, reader: Reader, question: Question) -> str:
    """Show an act and its question, and return the user's choice. Return an empty text if there is
    none: after Enter alone, and after any other text, which goes back into the line.

    An act that is longer than the screen, when it is asked about or when the answer comes, needs
    the word “yes”. Raises EOFError and KeyboardInterrupt as `Reader.read`.
    """
    display.stop_waiting()
    was_long = draw(question, *reader.screen_size()).is_long
    if not was_long:
        display.act(question)
    while True:
        answer = await reader.ask(question)
        choice = choice_of(question, answer)
        if choice == "view":
            display.act(question)
            continue
        if choice is None:
            _give_back(display, reader, answer)
            return ""
        is_long = was_long or draw(question, *reader.screen_size()).is_long
        if choice not in AGREEING or not is_long or answer.strip().lower() == "yes":
            return choice
        return choice if await _is_sure(display, reader, question) else ""


async def _is_sure(display: DisplayManager, reader: Reader, question: Question) -> bool:
    """Return True if the user types the word “yes”."""
    sure = replace(question, sentence=SURE, choices=(), scope="")
    answer = await reader.ask(sure)
    word = answer.strip().lower()
    if word not in ("yes", "y", "no", "n", ""):
        _give_back(display, reader, answer)
    return word == "yes"


def _give_back(display: DisplayManager, reader: Reader, text: str) -> None:
    reader.give_back(text)
    display.prose("That is no answer, so it counts as no. Your text is in the line.", "dim")
