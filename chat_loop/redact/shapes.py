"""Secrets that are known by their own shape, or by the form in which they are sent."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator

from chat_loop.redact.values import Span, is_code, is_mixed, is_placeholder, is_prose, is_wordy


def secrets(text: str, lowered: str) -> Iterator[Span]:
    """Yield the secrets of known shapes. `lowered`: `text` in lower case, character by
    character.
    """
    yield from _tokens(text)
    yield from _jwts(text)
    yield from _keys(text)
    yield from _cards(text)
    yield from _addresses(text)
    yield from _headers(text, lowered)


# Tokens that say themselves what they are
# -----------------------------------------------------------------------------

_PLAIN = re.compile(r"[A-Za-z0-9]*+")
_UPPER = re.compile(r"[A-Z0-9]*+")
_HEX = re.compile(r"[0-9a-f]*+")
_WIDE = re.compile(r"[A-Za-z0-9_-]*+")
_DOTTED = re.compile(r"[A-Za-z0-9_.%-]*+")
_PATH = re.compile(r"[A-Za-z0-9_/+-]*+")

_TOKENS = (
    ("anthropic", _WIDE, 20, "sk-ant-"),
    ("openai", _WIDE, 20, "sk-proj- sk-svcacct- sk-admin-"),
    ("api-key", _WIDE, 20, "sk-or- sk-lf- gsk_ xai- pplx- r8_ fw_ tvly- pcsk_ nvapi- csk-"),
    ("api-key", _PLAIN, 20, "sk-"),
    ("google", _WIDE, 30, "AIza AQ.A"),
    ("google", _DOTTED, 20, "GOCSPX- ya29."),
    ("aws", _UPPER, 16, "AKIA ASIA"),
    ("github", _WIDE, 30, "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_"),
    ("gitlab", _DOTTED, 20, "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- gloas-"),
    ("slack", _DOTTED, 15, "xoxa- xoxb- xoxc- xoxd- xoxe- xoxp- xoxr- xoxs- xapp-"),
    ("slack", _PATH, 20, "hooks.slack.com/services/"),
    ("stripe", _PLAIN, 16, "sk_live_ rk_live_ sk_test_ rk_test_"),
    ("stripe", _PATH, 24, "whsec_"),
    ("twilio", _HEX, 32, "SK AC"),
    ("sendgrid", _DOTTED, 40, "SG."),
    ("npm", _PLAIN, 30, "npm_"),
    ("pypi", _WIDE, 50, "pypi-"),
    ("huggingface", _PLAIN, 30, "hf_ api_org_"),
    (
        "token",
        _WIDE,
        30,
        "dop_v1_ doo_v1_ dckr_pat_ shpat_ shpca_ shppa_ shpss_ lin_api_ ntn_ figd_ PMAK- sbp_",
    ),
    ("token", _WIDE, 30, "glsa_ glc_"),
    (
        "token",
        _DOTTED,
        20,
        "hvs. dp.pt. sntrys_ sntryu_ NRAK- AGE-SECRET-KEY-1 sq0atp- sq0csp- pscale_tkn_ pscale_pw_",
    ),
    ("token", _HEX, 32, "dapi"),
)
"""Kind, the characters after the prefix, how many at least, the prefixes."""

_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")


def _tokens(text: str) -> Iterator[Span]:
    for kind, run, least, prefixes in _TOKENS:
        for prefix in prefixes.split():
            at = text.find(prefix)
            while at >= 0:
                start = at + len(prefix)
                end = _end(run, text, start)
                value = text[start:end].rstrip(".")
                if len(value) >= least and _is_token(text, at, prefix, value):
                    yield at, start + len(value), kind
                    if kind == "aws" and (secret := _AWS_SECRET.search(text, end, end + 160)):
                        yield *secret.span(), kind
                at = text.find(prefix, max(end, at + 1))


def _is_token(text: str, at: int, prefix: str, value: str) -> bool:
    if (
        prefix == "sk-"
        and text[at - 1 : at].isalnum()
        and text[at - 2 : at] not in ("\\n", "\\r", "\\t")
    ):
        return False  # disk-, task- and other words
    if len(set(value)) < 6 or is_placeholder(value):
        return False
    return prefix in ("AKIA", "ASIA") or not is_wordy(value, humped=False)


def _end(run: re.Pattern[str], text: str, at: int) -> int:
    """Where the run of characters that begins at `at` ends; a run may be empty."""
    found = run.match(text, at)
    return found.end() if found else at


_JWT_REST = re.compile(r"(?:\.[A-Za-z0-9_-]*+){1,4}+")


def _jwts(text: str) -> Iterator[Span]:
    at = text.find("eyJ")
    while at >= 0:
        end = head = _end(_WIDE, text, at)
        if head - at >= 12 and (rest := _JWT_REST.match(text, head)) and rest.end() - head >= 10:
            end = rest.end()
            yield at, end, "jwt"
        at = text.find("eyJ", end)


_BETWEEN = r"[\s\"',>|#*]|\\[nrt]|\+(?=[\s\"'])"
_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    rf"(?:(?:{_BETWEEN}|[A-Z][A-Za-z-]{{2,20}}: [^\n]{{0,120}}\n)*+[A-Za-z0-9+/=]{{16,}}+)++"
    rf"(?:(?:{_BETWEEN})*+[A-Za-z0-9+/=]++(?![ \t]+\w))?"
    rf"(?:(?:{_BETWEEN})*+-----END [A-Z0-9 ]{{0,40}}-----)?"
)
"""A block that breaks off is taken as far as its lines look like one, and the shorter line after
them.
"""


def _keys(text: str) -> Iterator[Span]:
    if "-----BEGIN " in text:
        yield from ((*found.span(), "private-key") for found in _KEY.finditer(text))


# Cards
# ----------------------------------------------------------------------------------------------------------------

_CARD = re.compile(
    r"3[47]\d\d[ -]?\d{6}[ -]?\d{5}(?!\d)|3(?:0[0-5]|[689]\d)\d[ -]?\d{6}[ -]?\d{4}(?!\d)"
    r"|(?:4\d{3}|5[0-8]\d\d|2[2-7]\d\d|35\d\d|6\d{3})(?:[ -]?\d{4}){3}(?!\d)"
    r"|6\d{3}(?:[ -]?\d{4}){3}[ -]?\d{3}(?!\d)"
)


def _cards(text: str) -> Iterator[Span]:
    found = _CARD.search(text)
    while found:
        start, end = found.span()
        around = text[max(0, start - 1) : start] + text[end : end + 1]
        decimal = re.fullmatch(r"\d[.,]", text[max(0, start - 2) : start]) or re.match(
            r"[.,]\d", text[end : end + 2]
        )
        good = not (decimal or any(sign.isalnum() or sign == "_" for sign in around)) and _luhn(
            found[0]
        )
        if good:
            yield start, end, "card"
        found = _CARD.search(text, end if good else start + 1)


def _luhn(number: str) -> bool:
    digits = [int(sign) for sign in reversed(number) if sign.isdigit()]
    doubled = (digit * 2 - 9 if digit > 4 else digit * 2 for digit in digits[1::2])
    return len(set(digits)) > 1 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


# What stands in a place for secrets
# -----------------------------------------------------------------------------------

_USERINFO = re.compile(
    r"://[^\s/?#:@\"'<>`\ufdd0]{0,100}:"
    r"(?:([^\s/\"'<>`\ufdd0]{1,256})|(?!\d{2,5}[/?#])([^\s\"'<>`\ufdd0]{1,256}))@(?=[\w\[])"
)


def _addresses(text: str) -> Iterator[Span]:
    """Passwords in `scheme://user:password@host`, raw `@`, `#`, `?` and `/` in them included."""
    if "://" in text:
        for found in _USERINFO.finditer(text):
            start, end = found.span(found.lastindex or 1)
            value = text[start:end]
            if len(value) > 2 and not is_placeholder(value) and not is_prose(value):
                yield start, end, "url-password"


_AUTHORIZATION = re.compile(
    r"authorization[\\\"'\])]{0,4}[ \t]{0,8}(?:[:=]|,(?=[ "
    r"\t]{0,8}[\"'`](?:bearer|basic|token)))[ \t]{0,8}[\\\"'`]{0,4}"
    r"(?:(?:bearer|basic|token|bot|apikey|api-key)[ \t]{1,8})?([^\s\"'`,;<>\\\ufdd0]{6,256})"
)
_BEARER = re.compile(r"bearer[ \t]{1,8}([a-z0-9_.~+/=-]{16,256})")
_BASIC = re.compile(r"basic[ \t]{1,8}([a-z0-9+/_-]{6,256}={0,2})")
_USER = re.compile(
    r"(?<![\w-])(?:-u|--user|--proxy-user)[ =]{1,2}[\"']?[^\s:\"'@/]{1,64}:([^\s\"'\ufdd0]{1,128})"
)
_REST = re.compile(r"[^\s\"'`,;<>\\\ufdd0]*+")


def _headers(text: str, lowered: str) -> Iterator[Span]:
    for kind, anchor, pattern, judge in _HEADERS:
        found = pattern.search(lowered) if anchor in lowered else None
        while found:
            start, end = found.span(1)
            if judge(text[start:end]):
                end = _end(_REST, text, end) if end - start >= 128 else end
                yield start, start + len(text[start:end].rstrip(".:")), kind
            found = pattern.search(lowered, end)


def _is_credential(value: str) -> bool:
    return not (is_placeholder(value) or is_code(value) or is_wordy(value))


def _is_pair(value: str) -> bool:
    return is_mixed(value) and not is_placeholder(value)


def _is_basic(value: str) -> bool:
    """Whether it is `user:password` in base64."""
    try:
        plain = binascii.a2b_base64(
            value.rstrip("=") + "=" * (-len(value.rstrip("=")) % 4)
        ).decode()
    except (
        ValueError
    ):  # no base64, no UTF-8, or a character whose lower case is a letter, as the sign of kelvins
        return False
    return ":" in plain and plain.isprintable()


_HEADERS = (
    ("authorization", "authorization", _AUTHORIZATION, _is_credential),
    ("authorization", "bearer", _BEARER, _is_credential),
    ("authorization", "basic", _BASIC, _is_basic),
    ("password", "-u", _USER, _is_pair),
)
"""Kind, what must occur, the pattern in lower case whose group is the value, and what the value
must be.
"""
