"""The visible text of CommonMark's examples, compared with markdown-it-py."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.support.rendered import SGR, cut, sent

SPEC = Path(__file__).parents[2] / "golden" / "commonmark" / "spec.txt"
EXCEPTIONS = {
    "link definitions are text: a link that was printed cannot change when one arrives": (
        re.compile(r"^[ >\-]*\[(?:\\.|[^\]\\])+(?:\]|\n.*\]):", re.MULTILINE)
    ),
    "arithmetic is no emphasis: 5*6*78": re.compile(r"\w\*+\w"),
    "Python's names stay: __init__": re.compile(r"__\w+__"),
    "a backslash that escapes no markup stays": re.compile(r"\\[!-,.-/:-@\\{-~]"),
    "the underscores of an address stay: https://a.b/__c__": (
        re.compile(r"[a-z]+://\S*(_\S*_|\*)")
    ),
}
GLYPHS = re.compile(r"\x1b\[[0-9;]*m|[\s•◦▪│─☐☑]")


def examples() -> Iterator[str]:
    """The markdown of each example in the specification."""
    text = SPEC.read_text()
    for example in re.findall(
        r"^`{32} example\n(.*?)^\.\n.*?^`{32}$", text, re.DOTALL | re.MULTILINE
    ):
        yield example.replace("→", "\t")


def visible(tokens: list[Token], *, within: bool = False) -> Iterator[str]:
    """The text of tokens, in the order in which a terminal shows it. Pictures in a link, or
    `within` a picture, have no address.
    """
    links: list[tuple[str, int]] = []
    shown: list[str] = []
    for token in tokens:
        match token.type:
            case "inline":
                shown += visible(token.children or [])
            case "image":
                shown += visible(token.children or [], within=True)
                if not (links or within):
                    shown.append(f"({token.attrs['src']})" if token.attrs["src"] else "")
            case "link_open":
                links.append((str(token.attrs["href"]), len(shown)))
            case "link_close":
                address, begin = links.pop()
                if address and "".join(shown[begin:]) != address:
                    shown.append(f"({address})")
            case "fence":
                shown += [token.info, token.content]
            case "list_item_open" if token.info:
                shown.append(f"{token.info}{token.markup}")
            case _:
                shown.append(token.content)
    yield from shown


def expected(text: str) -> str:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.normalizeLink = parser.normalizeLinkText = str  # type: ignore[method-assign, assignment]
    return GLYPHS.sub("", "".join(visible(parser.parse(text))))


@pytest.mark.slow
@pytest.mark.parametrize("wraps", [False, True])
def test_the_words_of_the_specification_are_shown(wraps: bool) -> None:
    chance = random.Random(1)
    wrong, excepted = [], Counter[str]()
    texts = list(examples())
    for text in texts:
        reasons = [reason for reason, pattern in EXCEPTIONS.items() if pattern.search(text)]
        whole = sent([text], 60, wraps=wraps)
        if (shown := GLYPHS.sub("", whole)) != expected(text):
            if reasons:
                excepted[reasons[0]] += 1
            else:
                wrong.append((text, shown, expected(text)))
        pieces = cut(text, [chance.randint(1, 9) for _ in range(5)])
        assert SGR.sub("", sent(pieces, 60, wraps=wraps)) == SGR.sub("", whole), text
    assert wrong == []
    assert (len(texts), [*excepted.values()]) == (655, [5, 77, 10, 7])
