"""The pictures of pages in the documentation: `python -m docs.pictures.pages` takes them of the
exported chain in `sessions/`.
"""

from __future__ import annotations

from pathlib import Path

from chat_loop.export.exporting import export_bytes
from chat_loop.sessions.chain import read_chain
from chat_loop.sessions.manager import SessionManager
from tests.support.chromium import chromium

ROOT = Path(__file__).parents[2]
LARGEST = 200_000


def main() -> None:
    """Write `docs/export-light.png` (desktop size) and `docs/export-dark.png` (phone size)."""
    sessions = SessionManager(ROOT / "sessions")
    last = sessions.load(max((ROOT / "sessions").glob("*.md")))
    chain = [*reversed(read_chain(sessions, last.session).ancestors), last]
    page_text = export_bytes(chain, "html").decode()
    with chromium() as browser:
        for scheme, width, height, scale, place in (
            ("light", 1200, 860, 1, ""),
            ("dark", 390, 844, 2, "#s2q1"),
        ):
            context = browser.new_context(
                viewport={"width": width, "height": height},
                device_scale_factor=scale,
                color_scheme="dark" if scheme == "dark" else "light",
            )
            page = context.new_page()
            page.set_content(page_text)
            if place:
                page.locator(place).evaluate("element => element.scrollIntoView()")
            picture = page.screenshot()
            assert len(picture) < LARGEST, f"{scheme}: {len(picture)} bytes"
            (ROOT / "docs" / f"export-{scheme}.png").write_bytes(picture)


if __name__ == "__main__":
    main()
