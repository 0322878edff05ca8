"""The sentence splitter, in any language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.text import MAX_SENTENCE, sentences
from tests.support.strategies import texts

TEXT = """\
Hello! Dr. Weber comes on the 3. Mai at 15:40. It costs ca. 45 Euro, z. B. here.
- flour: 500 g
- [ ] call Bob
```bash
git push --force
```
```
two
lines
```
| a | 5 kg |
|---|---|
# Part 3
> said by others
This line is long enough to have been wrapped by an editor that breaks
lines after seventy characters.

予算は5000円です。会議は明日です！"""


def test_sentences_of_a_text() -> None:
    assert [(one.role, one.text) for one in sentences(TEXT)] == [
        ("prose", "Hello!"),
        ("prose", "Dr. Weber comes on the 3. Mai at 15:40."),
        ("prose", "It costs ca. 45 Euro, z. B. here."),
        ("item", "flour: 500 g"),
        ("item", "call Bob"),
        ("command", "git push --force"),
        ("code", "two"),
        ("code", "lines"),
        ("row", "a | 5 kg"),
        ("heading", "Part 3"),
        ("quoted", "said by others"),
        (
            "prose",
            (
                "This line is long enough to have been wrapped by an editor that breaks lines "
                "after seventy characters."
            ),
        ),
        ("prose", "予算は5000円です。"),
        ("prose", "会議は明日です！"),
    ]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("It is 30. We begin.", 2),
        ("Platform 9. The train leaves.", 2),
        ("Wir treffen uns am 3. August. Danach essen wir.", 2),
        ("Mamy 5 kg mąki. Kup jeszcze 2 kg.", 2),
        ("J. Smith wrote it. I read it.", 2),
        ("So was I. They left.", 2),
        ("Wait... what?", 1),
        ("Wait... What?", 2),
        ("See fig. 3 and p. 12.", 1),
        ("See src/a.py:12. It fails.", 2),
        ('He said "no." Then he left.', 2),
        ("¿Qué? ¡Nada!", 2),
        ("first\nsecond\n\nthird", 3),
        ("", 0),
    ],
)
def test_where_a_sentence_ends(text: str, count: int) -> None:
    assert len(sentences(text)) == count


@given(texts, st.integers(1, 9))
def test_sentences_are_the_texts_words_in_their_places(text: str, times: int) -> None:
    whole = f"{text * times}\n\nIt is done."
    found = [*sentences(whole)]
    assert found[-1].text == "It is done."
    last = 0
    for one in found:
        assert one.text
        assert len(one.text) <= MAX_SENTENCE
        assert last <= one.start < one.end <= len(whole)
        assert one.text == " ".join(whole[one.start : one.end].split())
        last = one.end


@given(texts)
def test_outside_of_markdown_no_word_is_lost(text: str) -> None:
    plain = "".join(sign for sign in text if sign.isalnum() or sign in " .!?")
    assert " ".join(one.text for one in sentences(plain)).split() == plain.split()


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["x", "(", "1 ", ". ", "- 5\n", "```\n", "a ", "| ", "# ", "、"])
def test_a_hostile_text_is_split_in_bounded_time(piece: str) -> None:
    assert isinstance(sentences(piece * (1_000_000 // len(piece))), list)
