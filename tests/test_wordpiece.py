"""Word pieces: the numbers that the model was trained with, for any text, in bounded time."""

from __future__ import annotations

import hashlib
import time
import unicodedata
import zlib
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop.errors import ModelError
from chat_loop.search import wordpiece
from chat_loop.search.wordpiece import SIZE, VOCABULARY, familiar, numbers, words
from tests.strategies import texts as hostile

GOLDEN: list[tuple[str, list[int]]] = [
    ("", [101, 102]),
    ("   \t\n ", [101, 102]),
    ("Hello, world!", [101, 7592, 1010, 2088, 999, 102]),
    (
        "The Staging Database listens on port 5433.",
        [101, 1996, 15308, 7809, 4952, 2015, 2006, 3417, 5139, 22394, 1012, 102],
    ),
    ("unaffable embeddings", [101, 14477, 20961, 3468, 7861, 8270, 4667, 2015, 102]),
    (
        "Straßenverkehrsordnung: Übergrößenzuschlag für Äpfel, 1.234,56 €",
        [
            101,
            2358,
            27807,
            2078,
            6299,
            3489,
            8093,
            21748,
            2094,
            11231,
            3070,
            1024,
            19169,
            16523,
            2080,
            17499,
            14191,
            2271,
            2818,
            17802,
            6519,
            9706,
            7959,
            2140,
            1010,
            1015,
            1012,
            22018,
            1010,
            5179,
            1574,
            102,
        ],
    ),
    (
        "l'été à Saint-Étienne, où ça ?",
        [101, 1048, 1005, 3802, 2063, 1037, 3002, 1011, 16821, 1010, 15068, 6187, 1029, 102],
    ),
    (
        "决定：测试数据库使用端口 5533。",
        [
            101,
            100,
            1822,
            1993,
            100,
            100,
            100,
            100,
            100,
            100,
            100,
            100,
            1788,
            4583,
            22394,
            1636,
            102,
        ],
    ),
    (
        "決定：ステージング環境のポートは6543にします。",
        [
            101,
            100,
            1822,
            1993,
            1707,
            30239,
            30265,
            30232,
            30263,
            30228,
            100,
            100,
            1671,
            30248,
            30265,
            30240,
            30198,
            26187,
            23777,
            30194,
            30183,
            30203,
            30184,
            1636,
            102,
        ],
    ),
    (
        "고양이는 약을 먹습니다.",
        [
            101,
            100,
            100,
            1459,
            30008,
            30020,
            29997,
            30017,
            30024,
            29992,
            30019,
            29993,
            30006,
            1012,
            102,
        ],
    ),
    (
        "Моя сестра не ест орехи.",
        [
            101,
            1191,
            14150,
            17432,
            1196,
            15290,
            29747,
            22919,
            16856,
            10260,
            1192,
            15290,
            1185,
            29747,
            22919,
            1193,
            16856,
            15290,
            29750,
            10325,
            1012,
            102,
        ],
    ),
    (
        "ΟΔΥΣΣΕΥΣ στο σπίτι",
        [
            101,
            1169,
            29722,
            29735,
            29733,
            29733,
            29723,
            29735,
            29733,
            1173,
            29734,
            29730,
            1173,
            29731,
            18199,
            29734,
            18199,
            102,
        ],
    ),
    (
        "İstanbul'da ılık bir gün",
        [101, 9960, 1005, 4830, 1104, 2140, 11722, 2243, 12170, 2099, 3282, 102],
    ),
    (
        "مرحبا بالعالم",
        [
            101,
            1295,
            17149,
            29820,
            29816,
            25573,
            1271,
            25573,
            23673,
            29830,
            25573,
            23673,
            22192,
            102,
        ],
    ),
    ("नमस्ते दुनिया", [101, 1327, 29867, 29874, 29859, 1325, 29863, 29877, 29868, 29876, 102]),
    (
        (
            "\U0001f600\U0001f389 party \U0001f469\u200d\U0001f469\u200d\U0001f467 "
            "\U0001f1e9\U0001f1ea\u2705"
        ),
        [101, 100, 2283, 100, 100, 102],
    ),
    ("é̂ä ñ", [101, 19413, 1050, 102]),
    (
        "def f(x: int) -> int:\n    return x**2 + my_var[0]  # caf\xe9",
        [
            101,
            13366,
            1042,
            1006,
            1060,
            1024,
            20014,
            1007,
            1011,
            1028,
            20014,
            1024,
            2709,
            1060,
            1008,
            1008,
            1016,
            1009,
            2026,
            1035,
            13075,
            1031,
            1014,
            1033,
            1001,
            7668,
            102,
        ],
    ),
    (
        "/etc/nginx/nginx.conf and C:\\Temp\\a.txt",
        [
            101,
            1013,
            4385,
            1013,
            12835,
            2378,
            2595,
            1013,
            12835,
            2378,
            2595,
            1012,
            9530,
            2546,
            1998,
            1039,
            1024,
            1032,
            8915,
            8737,
            1032,
            1037,
            1012,
            19067,
            2102,
            102,
        ],
    ),
    (
        "snake_case camelCase kebab-case CONSTANT_9",
        [101, 7488, 1035, 2553, 19130, 18382, 17710, 3676, 2497, 1011, 2553, 5377, 1035, 1023, 102],
    ),
    (
        "https://example.com/a?b=c&d=%20",
        [
            101,
            16770,
            1024,
            1013,
            1013,
            2742,
            1012,
            4012,
            1013,
            1037,
            1029,
            1038,
            1027,
            1039,
            1004,
            1040,
            1027,
            1003,
            2322,
            102,
        ],
    ),
    ("a\u200bb\ufeffc\x00d\x07e\xadf", [101, 5925, 3207, 2546, 102]),
    ("non\xa0breaking\u3000space\u2028line", [101, 2512, 4911, 2686, 2240, 102]),
    ("\ufffd\ue000x", [101, 1060, 102]),
    (
        "“quoted” – dash — ellipsis…",
        [101, 1523, 9339, 1524, 1516, 11454, 1517, 3449, 15000, 6190, 1529, 102],
    ),
    (
        "x" * 100,
        [
            101,
            22038,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            20348,
            102,
        ],
    ),
    ("x" * 101, [101, 100, 102]),
    (
        "a" * 100 + " " + "b" * 101 + " c",
        [
            101,
            13360,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            11057,
            2050,
            100,
            1039,
            102,
        ],
    ),
    ("##ing ##s", [101, 1001, 1001, 13749, 1001, 1001, 1055, 102]),
    (
        "$100 + 5% = ~£80^2 `code` |pipe|",
        [
            101,
            1002,
            2531,
            1009,
            1019,
            1003,
            1027,
            1066,
            1069,
            17914,
            1034,
            1016,
            1036,
            3642,
            1036,
            1064,
            8667,
            1064,
            102,
        ],
    ),
    ("ﬁne ﬂight ½ ² Ⅷ", [101, 1984, 2638, 1985, 18743, 1092, 1082, 100, 102]),
    ("𠀀𪜀 豈 鿿", [101, 100, 100, 100, 100, 102]),
]
"""What the tokenizer that the model was published with makes of these texts."""


@pytest.mark.parametrize(("text", "expected"), GOLDEN)
def test_the_numbers_are_those_of_the_models_own_tokenizer(text: str, expected: list[int]) -> None:
    assert numbers(text, 512) == expected


def test_the_list_is_the_published_one() -> None:
    raw = zlib.decompress(
        files("chat_loop.search").joinpath("data/vocab.txt.gz").read_bytes(), wbits=31
    )
    assert hashlib.sha256(raw).hexdigest() == VOCABULARY
    assert len(raw.decode().rstrip("\n").split("\n")) == SIZE
    assert VOCABULARY in files("chat_loop.search").joinpath("data/NOTICE.md").read_text("utf-8")


def test_names_of_special_pieces_are_text() -> None:
    assert numbers("[SEP] [CLS] [UNK] [MASK]") == [
        101, 1031, 19802, 1033, 1031, 18856, 2015, 1033, 1031, 4895, 2243, 1033, 1031, 7308, 1033, 102,
    ]  # fmt: skip


def test_a_long_text_is_cut() -> None:
    assert numbers("one two three four", 4) == [101, 2028, 2048, 102]
    assert numbers("unaffable", 4) == [*numbers("unaffable", 5)[:3], 102]
    assert numbers("one", 0) == numbers("one", 2) == [101, 102]
    assert numbers("one " * 1_000_000) == [101, *[2028] * 126, 102]


TEN_MEGABYTES = 10_000_000


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("x" * TEN_MEGABYTES, 3),
        ("\x00" * TEN_MEGABYTES, 2),
        ("\ud800" * TEN_MEGABYTES, 2),
        (" " * TEN_MEGABYTES, 2),
        ("a" + "\u0301\u0323" * (TEN_MEGABYTES // 2), 3),
        ("\u4e2d" * TEN_MEGABYTES, 128),
        ("(" * TEN_MEGABYTES, 128),
        (("ab" * 49 + " ") * (TEN_MEGABYTES // 99), 128),
    ],
)
def test_only_the_beginning_of_a_huge_text_costs_time(text: str, count: int) -> None:
    started = time.process_time()
    assert len(numbers(text)) == count
    familiar(text)
    assert time.process_time() - started < 0.5


@given(st.one_of(hostile, st.text(), st.text(st.characters())), st.integers(0, 40))
def test_no_text_breaks_it(text: str, limit: int) -> None:
    found = numbers(text, limit)
    assert (found[0], found[-1]) == (101, 102)
    assert 2 <= len(found) <= max(2, limit)
    assert all(0 <= number < SIZE for number in found)
    assert found == [*numbers(text, 40)[: len(found) - 1], 102]
    assert 0.0 <= familiar(text) <= 1.0


@given(st.one_of(hostile, st.text()))
def test_words_lose_no_letter(text: str) -> None:
    """Letters stay, but for case and accents: what is left out cannot be seen."""
    kept = "".join(words(text))
    letters = [
        char
        for char in unicodedata.normalize("NFD", text)
        if unicodedata.category(char) in ("Ll", "Lo", "Nd")
    ]
    assert [char for char in letters if char.lower() not in kept] == []
    assert not any(char.isspace() or char == "\x00" for char in kept)


def test_english_is_familiar_and_german_is_not() -> None:
    assert familiar("When did we buy the tickets for the plane?") == 1.0
    assert familiar("Wann haben wir die Flugkarten gekauft?") < 0.6
    assert familiar("Where is OPS-22178-bx?") < 0.9
    assert familiar("") == familiar("?!") == 1.0


def test_a_damaged_list_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    wordpiece._pieces.cache_clear()
    monkeypatch.setattr(wordpiece, "VOCABULARY", "0" * 64)
    with pytest.raises(ModelError, match="word pieces is damaged"):
        numbers("one")
