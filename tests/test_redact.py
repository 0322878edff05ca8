"""Secrets are redacted regardless of the text around them."""

from __future__ import annotations

import base64
import random
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_loop import redact
from chat_loop.redact import Redactor, Secret, find_secrets, keys_from, redact_text
from tests.support.made_secrets import (
    BOUNDED,
    CARDS,
    CHOSEN,
    MADE,
    PLACES,
    TOKENS,
    Maker,
    card,
    private_key,
    seeds,
    shape,
)
from tests.support.strategies import texts


def mark(kind: str, number: int = 1) -> str:
    return f"[REDACTED:{kind}:{number}]"


@pytest.mark.parametrize("name", TOKENS)
def test_a_token_becomes_a_mark_of_its_kind_and_value(name: str) -> None:
    kind, make = TOKENS[name]
    for seed in range(50):
        secret = make(random.Random(seed))
        gone = mark(kind)
        assert redact_text(f"Use {secret}, or\n“{secret}”.") == f"Use {gone}, or\n“{gone}”."


@pytest.mark.parametrize(("place", "kind", "makers"), PLACES)
def test_a_value_goes_from_beside_its_name(
    place: str, kind: str, makers: tuple[Maker, ...]
) -> None:
    for seed in range(40):
        rng = random.Random(seed)
        for secret in (make(rng) for make in makers):
            frame = "before\n" + place + "\nafter"
            assert redact_text(frame.format(secret)) == frame.format(mark(kind))


def test_a_value_may_stand_in_the_line_below() -> None:
    text = "- name: DB_PASSWORD\n  value: {}\n- name: MODE\n  value: fast"
    assert redact_text(text.format("hunter22")) == text.format(mark("password"))


@pytest.mark.parametrize("word", ["swordfish", "Sommer", "correcthorse"])
def test_a_password_may_be_a_plain_word_where_nothing_else_can_stand(word: str) -> None:
    gone = mark("password")
    assert redact_text(f'PASSWORD={word}\n  password: {word}\nx = {{"password": "{word}"}}') == (
        f'PASSWORD={gone}\n  password: {gone}\nx = {{"password": "{gone}"}}'
    )


def test_a_passphrase_in_quotes_goes_whole() -> None:
    phrase = "correct horse battery staple"
    assert redact_text(f'password = "{phrase}"') == f'password = "{mark("password")}"'


@pytest.mark.parametrize("make", CARDS)
def test_card_numbers_go(make: Maker) -> None:
    for seed in range(50):
        number = make(random.Random(seed))
        gone = mark("card")
        assert redact_text(f"Card {number}, 12/29; 12 {number}") == f"Card {gone}, 12/29; 12 {gone}"
        for wrong in set("0123456789") - {number[-1]}:
            assert redact_text(f"no. {number[:-1]}{wrong}") == f"no. {number[:-1]}{wrong}"


def test_long_values_go_whole() -> None:
    token, password = (shape(f"{{L{length}}}")(random.Random(length)) for length in (3000, 129))
    assert redact_text(f"TOKEN={token} password: {password}\nBearer {token}.") == (
        f"TOKEN={mark('token')} password: {mark('password', 2)}\nBearer {mark('authorization')}."
    )


def test_a_secret_that_another_hid_goes_too() -> None:
    number, token = card(random.Random(1)), TOKENS["github"][1](random.Random(1))
    assert redact_text(number + token) == mark("card", 2) + mark("github")


def test_characters_whose_lower_case_is_longer_shift_nothing() -> None:
    assert redact_text("İİİİ PASSWORD=Tr0ub4dor&3 İ") == f"İİİİ PASSWORD={mark('password')} İ"


def test_basic_authorization_goes() -> None:
    value = base64.b64encode(b"bob:swordfish").decode()
    assert redact_text(f"Basic {value}") == f"Basic {mark('authorization')}"


def test_an_aws_secret_goes_with_the_id_that_stands_before_it() -> None:
    rng = random.Random(1)
    key, secret = TOKENS["aws"][1](rng), shape("{L20}/{L19}")(rng)
    assert redact_text(f"{key},{secret}\n{secret}") == f"{mark('aws')},{mark('aws', 2)}\n{secret}"


@given(rng=seeds, keep=st.integers(40, 700))
def test_a_key_that_breaks_off_goes_as_far_as_it_goes(rng: random.Random, keep: int) -> None:
    secret = private_key(rng)[:keep]
    out = redact_text(f"Here:\n{secret}")
    assert not [
        row for row in secret.split("\n")[1:] if len(row) > 15 and row in out and row[0] != "-"
    ]


def test_a_key_s_end_is_not_looked_for_in_prose() -> None:
    secret = private_key(random.Random(1)).rpartition("\n")[0]
    assert (
        redact_text(f"{secret}\n\nIt broke off there.")
        == f"{mark('private-key')}\n\nIt broke off there."
    )


@given(before=texts, name=st.sampled_from(sorted(TOKENS)), rng=seeds, after=texts)
def test_no_neighbor_hides_a_token(before: str, name: str, rng: random.Random, after: str) -> None:
    secret = TOKENS[name][1](rng)
    if name in BOUNDED and before[-1:].isalnum():
        before += " "
    out = redact_text(before + secret + after)
    assert not [
        row for row in re.split(r"\\n|\r?\n", secret) if not row.startswith("-----") and row in out
    ]


@given(before=texts, place=st.sampled_from(PLACES), rng=seeds, after=texts)
def test_no_other_line_hides_a_value(
    before: str, place: tuple[str, str, tuple[Maker, ...]], rng: random.Random, after: str
) -> None:
    for secret in (make(rng) for make in place[2]):
        assert secret not in redact_text(f"{before}\n{place[0].format(secret)}\n{after}")


ATOMS = (
    "password", "Token", "api_key", "Authorization", "Bearer ", "Basic ", "secret", "--password ", "-u a:",
    "key", "=", " = ", ": ", ":", "\"", "'", "`", "\\", "\\n", "\n", " ", ",", ";", "&", "?", "@", "://", "<",
    ">", "(", ")", "[", "]", "{", "}", "${", "$", "%", "***", "xxxx", "...", "is ",
    "-----BEGIN PRIVATE KEY-----", "-----END", "eyJ", "sk-", "AC", "hunter22", "Tr0ub4dor&3", "swordfish",
    "your", "EXAMPLE", "getToken()", "[REDACTED:password:0a1b]", "[REDACTED:", "0", "4111", " 1111",
    "x" * 130, "\ufdd0", "\u0130", "ß",
)  # fmt: skip
soups = st.lists(
    st.one_of(
        st.sampled_from(ATOMS),
        st.text(max_size=4),
        st.builds(
            lambda make, rng: make(rng),
            st.sampled_from([*(make for _, make in TOKENS.values()), *CARDS, *MADE, *CHOSEN]),
            seeds,
        ),
    ),
    max_size=14,
).map("".join)


@given(text=soups)
def test_a_second_time_changes_nothing(text: str) -> None:
    once = redact_text(text)
    assert redact_text(once) == once


def test_marks_are_numbered_in_a_document_and_equal_secrets_have_one_number() -> None:
    redactor = Redactor("It was [REDACTED:token:4] and [REDACTED:password:f52f].")
    fifth, sixth = mark("password", 5), mark("password", 6)
    assert (
        redactor("password = hunter22, PASSWORD=Tr0ub4dor&3")
        == f"password = {fifth}, PASSWORD={sixth}"
    )
    assert redactor("The password is hunter22") == f"The password is {fifth}"
    assert Redactor()("The password is hunter22") == f"The password is {mark('password')}"
    assert (
        redact_text("[REDACTED:token:4], password=hunter22")
        == f"[REDACTED:token:4], password={fifth}"
    )


def test_secrets_are_found_where_they_stand_and_marks_are_none() -> None:
    text = "[REDACTED:token:4], password=hunter22\nCard 4111 1111 1111 1111"
    assert find_secrets(text) == [Secret(29, 37, "password"), Secret(43, 62, "card")]
    assert [text[start:end] for start, end, _ in find_secrets(text)] == [
        "hunter22",
        "4111 1111 1111 1111",
    ]


@pytest.fixture
def own_keys() -> Iterator[list[str]]:
    keys: list[str] = []
    keys_from(lambda: keys)
    yield keys
    keys_from(tuple)


@pytest.mark.parametrize(
    "key", ["zq-Private-Key-77Xy88Zw-own", "abcdefghijkl0", "correct-horse-battery"]
)
def test_the_programs_own_keys_go_wherever_they_stand(own_keys: list[str], key: str) -> None:
    own_keys.append(key)
    assert redact_text(f"See {key}, or x{key}y") == f"See {mark('key')}, or x{mark('key')}y"


@pytest.mark.parametrize(
    "key", ["ollama", "local", "short-key", "notneededhere", "Unnecessarily", ""]
)
def test_a_word_that_stands_for_a_key_stays(own_keys: list[str], key: str) -> None:
    own_keys.append(key)
    assert redact_text(f"It is {key}, and {key}.") == f"It is {key}, and {key}."


@pytest.mark.parametrize("before", ["", "a", "ab", "abc", "user:"])
def test_a_key_in_base64_is_known(own_keys: list[str], before: str) -> None:
    key = "zq-Private-Key-77Xy88Zw-own"
    own_keys.append(key)
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        packed = encode(f"{before}{key}?>".encode()).decode()
        gone = redact_text(f"It is {packed}.")
        assert mark("key") in gone
        assert len(gone) < len(packed) / 2 + len(f"It is {mark('key')}.")


INVISIBLE = ["\u200b", "\u2060", "\ufeff", "\u00ad", "\u202e"]


@pytest.mark.parametrize("sign", INVISIBLE)
def test_invisible_characters_hide_no_key(own_keys: list[str], sign: str) -> None:
    key = "zq-Private-Key-77Xy88Zw-own"
    own_keys.append(key)
    token = TOKENS["github"][1](random.Random(1))
    for secret, gone in ((key, mark("key")), (token, mark("github"))):
        assert redact_text(f"See {sign.join(secret)}!") == f"See {gone}!"
        assert redact_text(f"{sign}See {secret[:9]}{sign}{secret[9:]}!") == f"{sign}See {gone}!"


def test_text_with_invisible_characters_stays() -> None:
    text = "\ufeffA fam\u00adi\u00adly: 👩\u200d👩\u200d👧, zero\u200bwidth and a \u202eturn\u202c."
    assert redact_text(text) == text


def test_a_token_of_the_least_length_is_found() -> None:
    data = tomllib.loads(Path(redact.__file__).with_name("patterns.toml").read_text("utf-8"))
    some = {"upper": "7K2QX9ZB4M", "hex": "7f2a9c4e1b"}
    assert len(data["tokens"]["rows"]) > 20
    for _, sign, least, prefixes in data["tokens"]["rows"]:
        for prefix in prefixes.split():
            token = prefix + (some.get(sign, "k7Qz2Xv9Bm") * least)[:least]
            assert token not in redact_text(f"It is {token} now."), prefix
