"""Write the tables of the documentation that are made from the code: `python -m tests.docs`."""

from __future__ import annotations

from tests.docs.tables import DOCS, TABLES, page_with_tables

for page in dict.fromkeys(page for page, _ in TABLES):
    (DOCS / page).write_text(page_with_tables(page), "utf-8")
