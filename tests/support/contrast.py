"""The contrast of two colors."""

from __future__ import annotations

from collections.abc import Sequence

ENOUGH = 4.5
"""What WCAG AA asks of text."""


def luminance(color: Sequence[int]) -> float:
    """Return the relative luminance of red, green and blue, each from 0 to 255."""
    shares = [part / 255 for part in color]
    linear = [
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: Sequence[int], other: Sequence[int]) -> float:
    """Return the contrast ratio of two colors as WCAG defines it."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)
