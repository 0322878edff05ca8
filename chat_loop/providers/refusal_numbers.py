"""Read the numbers of a refusal: the window in tokens, and the time to wait in seconds."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime

from chat_loop.providers.capabilities import tokens_in
from chat_loop.providers.upstream import ErrorDetails

MAX_WAIT = 366 * 86_400.0  # seconds; the most that a service can ask for

_LIMIT = (
    r"max(?:imum)?\b|limit\w*|window|context (?:length|size)|allow\w*|only|at most|up to|"
    r"cannot exceed|exceeds?(?! by)|(?:longer|greater|larger|less|fewer|more) than|[<>]=?|\[1,|"
    r"model_len|n_ctx"
)
_ASKED = (
    r"request\w*|result(?:ed|s)?\b(?! in a max)|contain\w*|passed|given|received|current|has\b|"
    r"have\b|took|takes?|used|total|count|too long|by\b|at least|in the messages|prompt is|got\b"
)
_NUMBER = re.compile(r"(?<![\w.,-])(\d[\d,_]{2,12})(?![\w.]*\w|\s*[>+])")
_CUE = re.compile(f"(?P<limit>{_LIMIT})|(?P<asked>{_ASKED})", re.IGNORECASE)
_UNIT_BEFORE = re.compile(r"token|length|size|ctx", re.IGNORECASE)
_IS_LIMIT = re.compile(r"\s*(?:tokens?)?\s*(?:max(?:imum)?\b|limit|context|allowed)", re.IGNORECASE)

_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_UNIT = r"(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)"
_PART = re.compile(rf"(\d+(?:\.\d+)?)\s*{_UNIT}(?![a-z])", re.IGNORECASE)
_WAIT = re.compile(
    r"(?:wait|(?:retry|again|reset|refill|renew|regain|available)\w*[^\d\n]{0,40}?\b(?:in|after|for|"
    rf"within))\b[^\d\n]{{0,15}}((?:{_PART.pattern}[\s,]*(?:and\s)?)+)",
    re.IGNORECASE,
)
_WAIT_FIELD = re.compile(
    r"(?:retry|resets?|try again)(?:after|delay|in)?(ms|millis\w*|s|sec\w*)?\Z"
)
_DATE_FIELD = re.compile(r"(?:x?ratelimit)?resets?(?:at|time)?\Z")


def window_of(details: ErrorDetails) -> int | None:
    """Return the window in tokens that a refusal names, or None if it names no plausible one."""
    if size := tokens_in(details.fields.get("nctx")):
        return size
    text = details.message
    end = 0
    for match in _NUMBER.finditer(text):
        before = text[max(end, match.start() - 70) : match.start()]
        after = text[match.end() :]
        end = match.end()
        if before.endswith("(") and not _UNIT_BEFORE.search(before):
            continue  # the code of an error
        size = tokens_in(int(re.sub(r"\D", "", match[1])))
        if size and (_IS_LIMIT.match(after) or _last_cue(before) == "limit"):
            return size
    return None


def _last_cue(text: str) -> str:
    """Return the last word that says what the number after `text` is: `limit`, `asked` or ""."""
    cues = [cue.lastgroup or "" for cue in _CUE.finditer(text)]
    return cues[-1] if cues else ""


def wait_of(
    details: ErrorDetails, headers: Mapping[str, str], now: float | None = None
) -> float | None:
    """Return the seconds after which a service wants to be asked again, or None if it does not say:
    in Retry-After, else in a field or in words, else in a date or in another header. `now` is the
    time since the epoch.
    """
    if now is None:
        now = time.time()
    in_headers = [
        _seconds(headers.get("retry-after-ms", ""), 0.001, now),
        _seconds(headers.get("retry-after", ""), 1.0, now),
    ]
    in_body: list[float | None] = []
    dates: list[float | None] = []
    for name, value in details.fields.items():
        if field := _WAIT_FIELD.match(name):
            unit = 0.001 if (field[1] or "").startswith("m") else 1.0
            in_body.append(_seconds(str(value), unit, now))
        elif _DATE_FIELD.match(name):
            dates.append(_seconds(str(value), 1.0, now))
    if words := _WAIT.search(details.message):
        in_body.append(_duration(words[1]))
    for waits in (in_headers, in_body, dates, _resets(headers, now)):
        known = [wait for wait in waits if wait is not None]
        if known:
            return min(max(known), MAX_WAIT)
    return None


def _resets(headers: Mapping[str, str], now: float) -> list[float | None]:
    """Return the seconds until each limit that is used up is filled again, by the headers that
    services send with all answers. If none says that it is used up, return the shortest wait.
    """
    now = _time_of(headers.get("date", "")) or now  # by the server's clock
    waits: list[float] = []
    used_up: list[float | None] = []
    for name, value in headers.items():
        wait = None
        if "-reset" in name:
            wait = _seconds(value, 1.0, now)
        if wait is None:
            continue
        waits.append(wait)
        left = headers.get(name.replace("reset", "remaining"))
        used = headers.get(f"{name.partition('-reset')[0]}-used-percent")
        if left == "0" or used == "100":
            used_up.append(wait)
    return used_up or [min(waits, default=None)]


def duration_text(seconds: float) -> str:
    """Return a wait in its largest unit, rounded up: `8 s`, `11 minutes`, `9 hours`, `7 days`."""
    for size, unit in ((86_400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{math.ceil(seconds / size):,} {unit}"
    return f"{math.ceil(seconds)} s"


def _seconds(text: str, unit: float, now: float) -> float | None:
    """Return a number of `unit`s, a duration such as `1m26.4s`, or a date, as seconds from now."""
    text = text.strip()
    try:
        number = float(text) * unit
    except ValueError:
        if _PART.match(text):
            return _duration(text)
        moment = _time_of(text)
        if moment is None:
            return None
        return max(0.0, moment - now)
    if not math.isfinite(number):
        return None
    if number > 1e11:  # milliseconds since the epoch
        number /= 1000
    if number > 1e9:  # seconds since the epoch
        number -= now
    return max(0.0, number)


def _duration(text: str) -> float:
    """Return the sum of numbers with units, such as `1h 20m`, in seconds."""
    total = 0.0
    for number, unit in _PART.findall(text):
        letter = "ms"
        if not unit.lower().startswith(("ms", "mil")):
            letter = unit[0].lower()
        total += float(number) * _SECONDS[letter]
    return total


def _time_of(text: str) -> float | None:
    """Return the time of a date of HTTP or ISO 8601 since the epoch, or None if it is neither."""
    from email.utils import parsedate_to_datetime  # takes 10 ms

    for parse in (parsedate_to_datetime, datetime.fromisoformat):
        with suppress(ValueError, OverflowError):
            return parse(text).timestamp()
    return None
