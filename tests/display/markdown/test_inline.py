"""Letters, formulas, cells and code that only look like markup stay unchanged."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.export.markup import prose
from tests.support.rendered import cut, plain, sent


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("имя_файла_тест и 变量_名称_一, naïve_été_x", None),
        ("https://пример.рф/имя_файла_тест", None),
        ("_имя_ и (_файл_), __важно__", "имя и (файл), важно"),
        ("这是**重点**内容, *强调*文字", "这是重点内容, 强调文字"),
        (
            "see <https://a.b/x/__main__.py> and <mailto:a_b_c@d.e>",
            "see https://a.b/x/__main__.py and mailto:a_b_c@d.e",
        ),
        ("see https://a.b/_x_/y", None),
        ("1. item\n\n       # a comment, *in* code", "1. item\n\n    # a comment, *in* code"),
        (
            "if a <b and c> d, List<String>, x < y, 1 <2 *or* 3",
            "if a <b and c> d, List<String>, x < y, 1 <2 or 3",
        ),
        ('<a href="__init__.py" title="*x*">*y*</a>', '<a href="__init__.py" title="*x*">y</a>'),
        ("[![CI](https://a.b/c.svg)](https://a.b/d) **ok**", "CI (https://a.b/d) ok"),
        ("[![CI](img)] x, [![CI] y, [!", "[CI (img)] x, [![CI] y, [!"),
        ("Text.\n\n    # install deps\n    pip install *x* __name__\n\nMore.", None),
        ("    __name__\n    **x**", None),
        ("- item\n    - **b**\n\n1. x\n\n    *y*", "• item\n  ◦ b\n\n1. x\n\n   y"),
        ("para\n    *goes* on", "para\ngoes on"),
        ("Steps:\n\n   - **a**\n   1. b", "Steps:\n\n• a\n1. b"),
        ("1. ```bash\n   # hi *x*\n   ```\n   done *x*", "1. ─── bash\n# hi *x*\n───\n   done x"),
        ("- ~~~\n  a\n  ~~~\n- ``b``", "• ───\na\n───\n• b"),
        ("- ```not` a fence\n- `", "• ```not` a fence\n• `"),
    ],
)
def test_nothing_is_eaten(text: str, shown: str | None) -> None:
    assert plain(text) == (text if shown is None else shown)


LITERAL = (
    '__init__.py, if __name__ == "__main__": obj.__dict__, __slots__, `__x__`',
    "a*b*c, 2*x*y, x**2 + y**2, (a+b)**2 - (c)**2, COUNT(*) and COUNT(*)",
    "src/**/*.py, tests/**/*.py, a/*, b/*, path/_x_/y",
    "handlers[name](event) and matrix[i](x)",
    r"C:\Users\me\.ssh, C:\_build\*, \\server\_x_\y",
    r"\d+\.\d*, ^\*\w+\_$, (\(a\)|\[b\]), 50\%",
    r"\mathbf{x}_{i} + \mathbf{y}_{i} = \{z\}, \sum_{i=1}^{n} (x)_{i} (y)_{i}",
    r"\(a_{1} * b_{1} *c* \, d\), $\{x\}_{i} + \{y\}_{i}$, $$\|x\|_2 *y* \|z\|_2$$",
    "So:\n\\[\nx = y \\\\\n- z_{i}\n* *w*\n\\]\nthen",
    "$$\n# _a_\n$$",
    "\\begin{align}\n1. &= _b_ \\\\\n> c\n\\end{align}",
)


@pytest.mark.parametrize("text", LITERAL)
def test_what_a_model_means_literally_stays(text: str) -> None:
    assert plain(text) == text.replace("`", "")
    assert html.unescape(re.sub("<[^>]*>", "", prose(text))).strip() == text.replace("`", "")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            r"\*a\* \_b\_ 1\#2 \<i\> \`c\` \[d] snake\_case \$5",
            "*a* _b_ 1#2 <i> `c` [d] snake_case $5",
        ),
        ("1\\. one\n\\- two\n\\+ three 1\\. \\-", "1. one\n- two\n+ three 1\\. \\-"),
        (
            "__two words__, __Note:__, **S**tructured **Q**uery",
            "two words, Note:, Structured Query",
        ),
        ("costs $5 and *not* $6, **$A** ($) and ($)", "costs $5 and not $6, $A ($) and ($)"),
        ("**C:\\x** and **src/**, **a**b**2** *x*", "C:\\x and src/, ab**2** x"),
        ("\\[not a link](/x) *y*\nz", "[not a link](/x) y\nz"),
        ("$$\na *b\n\n*c*", "$$\na *b\n\nc"),
        ("- a\n      - *b*\n      - c\n          - d\n- e", "• a\n  ◦ b\n  ◦ c\n    ▪ d\n• e"),
        ("- a\n\n      1. *b*\n\n  c", "• a\n\n  1. b\n\n  c"),
        ("- a\n\n      b\n      - *c*", "• a\n\n    b\n    - *c*"),
    ],
)
def test_what_is_markup_is_drawn_beside_it(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_the_boxes_of_tasks_are_drawn_on_a_page_too() -> None:
    page = prose("- [x] *a*\n- [ ] b\n  1. [X] c\n- [x](https://a.b)\n- `[x]` d")
    boxes = ('class="task">☑ <em>a', 'class="task">☐ b', "<li>☑ c", "<li><a href", "<li><code>[x]")
    assert [box for box in boxes if box not in page] == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("| a | b |\n|---|---|\n| 1 | 2 | 3 | 4 |\n", "a │ b\n──┼──────────\n1 │ 2 | 3 | 4"),
        ("| a | b |\n|---|---|\n| `x | y` | 2 |\n", "a     │ b\n──────┼──\nx | y │ 2"),
        (
            "| a | b |\n|---|---|\n| `x` | ``p | q`` |\n| `u | v |\n",
            "a  │ b\n───┼──────\nx  │ p | q\n`u │ v",
        ),
        (
            "| a | b |\n|---|---|\n| 1<br>2 | 3<br/>4<br /> | 5 |\n",
            "a   │ b\n────┼────────\n1 2 │ 3 4 | 5",
        ),
    ],
)
def test_no_cell_of_a_table_is_dropped(text: str, shown: str) -> None:
    assert plain(text) == shown


PIECES = (
    *("<", ">", "https://", "__x__", "a", "</b>", "<br/>", ' href="', '"', "=", "[![", "]("),
    *(")](", ")", "]", "\n", "\n\n", "    ", "  ", " ", "- ", "1. ", "```", "~~~", "sh", "# x"),
    *("имя", "_", "*", "> ", "| a | `b|c` |", "|-|-|", "$", "$$", "$5 ", "\\", "\\(", "\\)"),
    *("\\[", "\\]", "\\d", "C:\\", "\\begin{x}\n", "\\end{x}"),
    *("**2", "(*)", "x[i](y)", "_{i}", "/", "      - "),
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


@given(TEXTS, st.lists(st.integers(1, 7), min_size=1, max_size=5), st.booleans())
def test_how_these_are_cut_changes_nothing(text: str, sizes: list[int], wraps: bool) -> None:
    assert sent(cut(text, sizes), 40, wraps=wraps) == sent([text], 40, wraps=wraps)
