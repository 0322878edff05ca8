"""The process that reads a PDF."""

from __future__ import annotations

import logging
import os
import sys
import time
from io import BytesIO

from pypdf import PdfReader
from pypdf.errors import PyPdfError

from chat_loop.conversation.confined import confine

MAX_TEXT = 1_000_000  # characters; the pages after them are left out
SECONDS = 15.0  # pages not read by then are left out; the last page may take as long again
DAMAGES = (PyPdfError, LookupError, ValueError, TypeError, AttributeError, RuntimeError)
"""The exceptions of pypdf for a page that it cannot read."""


def main() -> None:
    """Write the text of the PDF on standard input, with page headings. Exit with 1 without text."""
    started = time.monotonic()
    logging.disable()  # a hostile file would fill standard error
    confine(2 * int(SECONDS))
    pages = PdfReader(BytesIO(sys.stdin.buffer.read())).pages
    size = 0
    parts = []
    for number, page in enumerate(pages, 1):
        if size > MAX_TEXT or time.monotonic() - started > SECONDS:
            parts.append(f"[cut: pages {number} to {len(pages)} are left out]\n")
            break
        try:
            text = page.extract_text().strip()[:MAX_TEXT]
            size += len(text)
        except DAMAGES:
            text = "[cut: this page cannot be read]"
        parts.append(f"[page {number} of {len(pages)}]\n{text}\n")
    if not size:
        sys.exit(1)
    with os.fdopen(1, "wb") as out:
        out.write("\n".join(parts).replace("\0", "\ufffd").encode("utf-8", "replace"))


if __name__ == "__main__":
    main()
