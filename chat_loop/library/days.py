"""Days (pure): the days that a query names. A month is a number or has its English name, which in
some other languages is the same.
"""

from __future__ import annotations

import re

MOST = 3
_READ = 4_000  # characters of a query
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAY = r"(?<![\w.,:/-])(?P<day>\d{1,2})"
_YEAR = r"(?:,? (?P<year>\d{4})(?!\w))?"
_NAME = r"(?P<name>[A-Z][a-z]{2,8})\b"
_FORMS = tuple(
    re.compile(form, re.ASCII)
    for form in (
        r"(?<![\w.-])(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?!\w)",
        rf"{_DAY}\. ?(?P<month>\d{{1,2}})\. ?(?P<year>\d{{4}})(?!\w)",
        rf"{_DAY}(?:st|nd|rd|th|\.)? (?:of )?{_NAME}{_YEAR}",
        rf"\b{_NAME}\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?!\w){_YEAR}",
    )
)
"""2026-11-03; 3.11.2026; 3 November, 3rd of Nov 2026, 3. November; November 3, Nov 3rd, 2026."""


def named(text: str) -> tuple[str, ...]:
    """Return the days that a text names, as `YYYY-MM-DD`, or `____-MM-DD` without a year."""
    days = dict[str, None]()
    for form in _FORMS:
        for found in form.finditer(text[:_READ]):
            parts = found.groupdict()
            month = _month(parts.get("name", "")) or int(parts.get("month", 0))
            day = int(found["day"])
            if 1 <= month <= 12 and 1 <= day <= 31:
                days[f"{parts.get('year') or '____'}-{month:02}-{day:02}"] = None
    return tuple(days)[:MOST]


def _month(name: str) -> int:
    """Return the number of a month whose name begins like this, or 0."""
    for number, month in enumerate(_MONTHS, 1):
        if name and month.startswith(name):
            return number
    return 0
