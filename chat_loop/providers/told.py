"""What servers tell in passing (pure): the window, in the sentence that refuses a request as too long."""

from __future__ import annotations

import re

SMALLEST_WINDOW = 256
LARGEST_WINDOW = 100_000_000

_WINDOW = re.compile(
    r"""(?:
        maximum\ context\ length\ (?:is|of)         # OpenAI, vLLM: "... is 8192 tokens. However, you requested 9000"
        | available\ context\ size                  # llama-server: "exceeds the ... (8192 tokens)"
        | context\ length\ of\ only                 # LM Studio
        | maximum\ prompt\ length\ is               # xAI
        | maximum\ number\ of\ tokens\ allowed      # Gemini: "exceeds the ... (1048576)"
        | >                                         # Anthropic: "prompt is too long: 210000 tokens > 200000 maximum"
    )[\ (:]{0,3}(\d[\d,]{2,12})""",
    re.VERBOSE | re.IGNORECASE,
)


def told_window(said: str) -> int | None:
    """The window in tokens that a refusal names; None when it names none that could be one."""
    match = _WINDOW.search(said)
    tokens = int(match.group(1).replace(",", "")) if match else 0
    return tokens if SMALLEST_WINDOW <= tokens <= LARGEST_WINDOW else None
