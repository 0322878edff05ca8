"""Secrets made from their shapes, and the contexts in which they occur.

No secret is written down here or in a test: all are made when the tests run.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
import tomllib
from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st

Maker = Callable[[random.Random], str]

LETTERS = string.ascii_letters + string.digits
URL_SAFE = LETTERS + "-_"
CAPITALS = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
DIGITS = string.digits


def shape(pattern: str) -> Maker:
    """Return a maker of texts such as `key-{L20}`: 20 letters or digits. U is for URL-safe
    characters, C for capitals, H for hex and D for digits.
    """
    alphabets = {"L": LETTERS, "U": URL_SAFE, "C": CAPITALS, "H": HEX, "D": DIGITS}

    def make(rng: random.Random) -> str:
        def run(found: re.Match[str]) -> str:
            return "".join(rng.choices(alphabets[found[1]], k=int(found[2])))

        return re.sub(r"\{([LUCHD])(\d+)\}", run, pattern)

    return make


def jwt(rng: random.Random) -> str:
    parts = (b'{"alg":"HS256"}', json.dumps({"sub": rng.random()}).encode(), rng.randbytes(32))
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)


def private_key(rng: random.Random, kind: str = "RSA ", newline: str = "\n", lines: int = 9) -> str:
    body = base64.b64encode(rng.randbytes(48 * lines + 20)).decode()
    rows = [body[at : at + 64] for at in range(0, len(body), 64)]
    edges = [f"-----{edge} {kind}PRIVATE KEY-----" for edge in ("BEGIN", "END")]
    return newline.join([edges[0], *rows, edges[1]])


def card(
    rng: random.Random,
    prefix: str = "4",
    length: int = 16,
    groups: tuple[int, ...] = (),
    sign: str = " ",
) -> str:
    digits = prefix + "".join(rng.choices(DIGITS, k=length - len(prefix) - 1))
    doubled = sum(int(digit) * 2 - 9 * (digit > "4") for digit in digits[::-1][::2])
    digits += str(-(doubled + sum(map(int, digits[::-1][1::2]))) % 10)
    ends = [sum(groups[: at + 1]) for at in range(len(groups))]
    return (
        sign.join(digits[end - size : end] for end, size in zip(ends, groups, strict=True))
        or digits
    )


TOKENS: dict[str, tuple[str, Maker]] = {
    "anthropic": ("anthropic", shape("sk-ant-" + "api03-{U93}AA")),
    "openai": ("api-key", shape("sk-" + "{L20}T3BlbkFJ{L20}")),
    "openai project": ("openai", shape("sk-" + "proj-{U74}T3BlbkFJ{U74}")),
    "openai service account": ("openai", shape("sk-" + "svcacct-{U60}")),
    "deepseek": ("api-key", shape("sk-" + "{H32}")),
    "openrouter": ("api-key", shape("sk-" + "or-v1-{H64}")),
    "groq": ("api-key", shape("gsk" + "_{L52}")),
    "google": ("google", shape("AI" + "za{U35}")),
    "google oauth": ("google", shape("ya29" + ".a0{U120}")),
    "aws": ("aws", shape("AK" + "IA{C16}")),
    "aws session": ("aws", shape("AS" + "IA{C16}")),
    "github": ("github", shape("gh" + "p_{L36}")),
    "github oauth": ("github", shape("gh" + "o_{L36}")),
    "github fine-grained": ("github", shape("github" + "_pat_{L22}_{L59}")),
    "gitlab": ("gitlab", shape("gl" + "pat-{U20}")),
    "slack bot": ("slack", shape("xox" + "b-{D12}-{D13}-{L24}")),
    "slack user": ("slack", shape("xox" + "p-{D11}-{D12}-{D12}-{H32}")),
    "slack hook": ("slack", shape("hooks.slack" + ".com/services/T{C8}/B{C8}/{L24}")),
    "stripe": ("stripe", shape("sk" + "_live_{L24}")),
    "stripe restricted": ("stripe", shape("rk" + "_live_{L99}")),
    "twilio": ("twilio", shape("S" + "K{H32}")),
    "sendgrid": ("sendgrid", shape("S" + "G.{U22}.{U43}")),
    "npm": ("npm", shape("np" + "m_{L36}")),
    "pypi": ("pypi", shape("py" + "pi-AgEIcHlwaS5vcmc{U150}")),
    "huggingface": ("huggingface", shape("h" + "f_{L34}")),
    "vault": ("token", shape("hv" + "s.{U24}")),
    "discord": ("token", shape("M" + "T{L22}{D1}.{L6}.{L27}")),
    "telegram": ("token", shape("{D9}:A" + "A{L33}")),
    "jwt": ("jwt", jwt),
    "key": ("private-key", private_key),
    "key on one line": ("private-key", lambda rng: private_key(rng, "", "\\n")),
    "key with CRLF": ("private-key", lambda rng: private_key(rng, "EC ", "\r\n", 2)),
    "short key": ("private-key", lambda rng: private_key(rng, "OPENSSH ", lines=1)),
}
"""Name -> kind and maker of secrets that are redacted regardless of the characters next to them."""

BOUNDED = {"openai", "deepseek", "discord", "telegram"}
"""The secrets whose prefix is also a part of words (disk-, task-): after a letter it is part of
another word.
"""

CARDS: tuple[Maker, ...] = (
    card,
    lambda rng: card(rng, "4", groups=(4, 4, 4, 4)),
    lambda rng: card(rng, "55", groups=(4, 4, 4, 4), sign="-"),
    lambda rng: card(rng, "2221", groups=(4, 4, 4, 4)),
    lambda rng: card(rng, "6011"),
    lambda rng: card(rng, "37", 15, (4, 6, 5)),
    lambda rng: card(rng, "36", 14, (4, 6, 4)),
)

MADE: tuple[Maker, ...] = (
    shape("{L32}"),
    shape("{H32}"),
    shape("{H40}"),
    shape("{U24}{D3}"),
    lambda rng: base64.b64encode(rng.randbytes(40)).decode(),
)
CHOSEN: tuple[Maker, ...] = (
    shape("{L14}{D1}"),
    shape("hunter{D2}"),
    shape("P@ssw0rd{D1}!"),
    shape("Tr0ub4dor&{D1}"),
    shape("{L8}-{L7}{D1}"),
    shape("s{D2}#{L6}*{L4}"),
)

seeds = st.integers(0, 2**32).map(random.Random)

CONTEXTS: dict[str, str] = tomllib.loads(
    (Path(__file__).parents[1] / "golden" / "secret_places.toml").read_text("utf-8")
)
"""The contexts in which secrets occur, by their kinds, one a line; doubled braces are braces."""

PLACES = (
    *((place, "token", MADE) for place in CONTEXTS["made"].splitlines()),
    *((place, "authorization", MADE) for place in CONTEXTS["authorizations"].splitlines()),
    *((place, "cookie", MADE) for place in CONTEXTS["cookies"].splitlines()),
    *((place, "password", CHOSEN) for place in CONTEXTS["chosen"].splitlines()),
    *((place, "url-password", CHOSEN) for place in CONTEXTS["addresses"].splitlines()),
    ("/login?user=bob&password={}&next=home", "password", MADE),
)
