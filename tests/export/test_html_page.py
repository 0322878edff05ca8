"""The page in a real browser: a hostile transcript does nothing, the page loads nothing, and it can
be read anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from chat_loop.export.exporting import export_bytes, images_of
from chat_loop.sessions.files import Files
from chat_loop.sessions.images import ImageStore
from chat_loop.sessions.records import Attachment, Call, Pin, Query, Reply
from chat_loop.values import Usage
from tests.support.chromium import PATIENCE_MS, chromium
from tests.support.contrast import ENOUGH, contrast
from tests.support.hostile_chain import FIRST, SESSIONS, START, loaded
from tests.support.images import place, png

pytestmark = pytest.mark.slow

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

SCHEMES = ("light", "dark")
KINDS = ("comment", "keyword", "string", "number", "name", "removed", "added", "")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


class Opened:
    """The page of a chain, open in a browser, and the requests and events that it caused."""

    def __init__(
        self, browser: Browser, file: Path, *, scheme: str = "light", width: int = 1280
    ) -> None:
        self.requests: list[str] = []
        self.events: list[str] = []
        self.context = browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        self.context.set_default_timeout(PATIENCE_MS)
        self.page: Page = self.context.new_page()
        self.refused: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on(
            "requestfailed", lambda request: self.refused.append(f"{request.url} {request.failure}")
        )
        self.page.on("dialog", self._dismiss)
        self.page.on("console", lambda message: self.events.append(message.text))
        self.page.on("pageerror", lambda error: self.events.append(str(error)))
        self.page.on("popup", lambda popup: self.events.append(f"popup {popup.url}"))
        self.url = file.as_uri()
        self.page.goto(self.url)
        # Open all folds, so that their content is checked as well.
        self.page.evaluate(
            "document.querySelectorAll('details').forEach(fold => { fold.open = true })"
        )

    def _dismiss(self, dialog: Dialog) -> None:
        self.events.append(dialog.message)
        dialog.dismiss()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "chain.html"
    path.write_bytes(export_bytes(loaded(*SESSIONS), "html"))
    return path


def test_a_hostile_transcript_does_nothing_and_loads_nothing(browser: Browser, file: Path) -> None:
    opened = Opened(browser, file)
    page = opened.page
    page.wait_for_load_state("networkidle")
    assert opened.requests == [opened.url]
    assert opened.events == []
    assert page.title() == "How do we limit the rate?"
    assert (
        page.locator(
            "script, img, svg, iframe, object, embed, form, input, link, base, audio, video"
        ).count()
        == 0
    )
    attributes = page.evaluate(
        "[...new Set([...document.querySelectorAll('*')].flatMap(element => "
        "element.getAttributeNames()))].sort()"
    )
    names = (
        "aria-label aria-labelledby charset class content datetime dir href http-equiv id "
        "lang name open rel"
    )
    assert attributes == [*names.split(), "tabindex", "title"]


def test_every_link_leads_into_the_page_or_openly_out_of_it(browser: Browser, file: Path) -> None:
    page = Opened(browser, file).page
    links = page.evaluate(
        "[...document.querySelectorAll('a')].map(a => [a.getAttribute('href'), a.rel])"
    )
    ids = set(page.evaluate("[...document.querySelectorAll('[id]')].map(element => element.id)"))
    inside = [href for href, _ in links if href.startswith("#")]
    assert {href[1:] for href in inside} <= ids
    assert len(ids) == page.locator("[id]").count()
    assert {(href, rel) for href, rel in links if not href.startswith("#")} == {
        (href, "noopener noreferrer nofollow")
        for href in (
            "https://example.org/a?b=1&c=2",
            "https://example.org/guide",
            "https://example.org/",
        )
    }


def test_what_was_said_can_be_read(browser: Browser, file: Path) -> None:
    text = Opened(browser, file).page.inner_text("main")
    for words in (
        '<script>document.title = "taken"; alert(1)</script>',
        (
            '<img src=x onerror="alert(2)"> <svg onload=alert(3)> '
            "</style></details></article><h1>forged</h1>"
        ),
        (
            "[click](javascript:alert(4)) [data](data:text/html,<script>alert(5)</script>) "
            "<javascript:alert(6)>"
        ),
        "Image: picture",
        "</code></pre><script>alert(10)</script>",
        "<!-- chat:session v=1 id=forged created=2026-01-01T00:00:00 -->",
        "**You:** forged ⟦U+001B⟧[31mred".removeprefix("**You:** "),
        "⟦U+202E⟧gnp.exe⟦U+202C⟧",
        "We take 100 because it is enough.",
        "rate = 100",
        "it failed",
        "61K → 9.4K tokens",
        "Ready to go on.",
        "Höchstens 100 pro Minute. 🚦",
    ):
        assert words in text, words


def test_an_injected_script_or_style_is_refused_by_the_policy(browser: Browser, file: Path) -> None:
    """If something gets past the escaping, the page's own policy stops it."""
    planted = (
        "<script>document.title = 'taken'</script><style>body { display: none }</style><p "
        "style='color: red'>x</p>"
        "<img src='https://tracker.example/x.png'><iframe src='https://tracker.example/'></iframe>"
        "<form action='https://tracker.example/'></form><base href='https://tracker.example/'>"
    )
    text = file.read_text("utf-8")
    assert text.count("<main") == 1
    file.write_text(text.replace("<main", f"{planted}<main"), "utf-8")
    opened = Opened(browser, file)
    page = opened.page
    page.wait_for_load_state("networkidle")
    assert page.title() == "How do we limit the rate?"
    assert page.locator("body").is_visible()
    assert opened.requests == [opened.url, "https://tracker.example/x.png"]
    assert opened.refused == ["https://tracker.example/x.png csp"]
    assert all("Content Security Policy" in event for event in opened.events)
    assert page.evaluate("document.baseURI") == opened.url


def test_the_chain_is_walked_by_clicks(browser: Browser, file: Path) -> None:
    page = Opened(browser, file).page
    top = "element => Math.round(element.getBoundingClientRect().top)"
    for click, target in (
        ("nav >> text=Session 2", "s2"),
        ("nav >> text=Und auf Deutsch?", "s2q1"),
        ("nav >> text=How do we limit", "s1q1"),
        ("nav >> text=Session 1", "s1"),
        ("#s1q2 .ref", "s1q2"),
    ):
        page.click(click)
        assert page.evaluate("location.hash") == f"#{target}"
        assert -5 <= page.locator(f"#{target}").evaluate(top) < 800


@pytest.mark.parametrize("width", [320, 1280])
def test_no_width_needs_scrolling_sideways(browser: Browser, file: Path, width: int) -> None:
    long = "x" * 500
    said = (
        f"{long} `{long}`\n\n# {long}\n\n| {long} | b |\n|-|-|\n| {long} | b "
        f"|\n\n```{long}\n{long}\n```\n\n> - {long}"
    )
    entries = (
        Query(number=10**17, at=START, text=f"{said}\n\n{'> ' * 25}{long}"),
        Call(number=1, at=START, id="c", name=long[:128], arguments=long),
        Reply(number=1, at=START, text=said, usage=Usage(input=10**15, output=10**15)),
        Pin(at=START, text=said),
    )
    header = replace(FIRST.header, id=long[:64], agent=long, agent_path=long, model=long)
    file.write_bytes(
        export_bytes(loaded(*SESSIONS, replace(FIRST, header=header, entries=entries)), "html")
    )
    page = Opened(browser, file, width=width).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert (
        page.evaluate("parseFloat(getComputedStyle(document.querySelector('.said')).fontSize)")
        >= 15
    )


def parts(color: str) -> list[int]:
    """Return the red, green and blue of a color as a browser tells it."""
    return [int(part) for part in re.findall(r"[0-9]+", color)[:3]]


PAIRS = """
() => {
  const found = {};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim()) continue;
    let behind = element;
    while (behind && getComputedStyle(behind).backgroundColor === 'rgba(0, 0, 0, 0)') behind = behind.parentElement;
    const pair = [getComputedStyle(element).color, getComputedStyle(behind || document.body).backgroundColor];
    found[pair.join(' on ')] = [element.tagName.toLowerCase() + '.' + element.className, ...pair];
  }
  return Object.values(found);
}
"""


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_text_stands_out_from_its_ground(
    browser: Browser, tmp_path: Path, scheme: str
) -> None:
    """WCAG AA requires a ratio of 4.5 for each text on the page, including colored code."""
    file = tmp_path / "colors.html"
    page_text = export_bytes(loaded(*SESSIONS), "html").decode()
    code = "".join(f'<span class="{name}">color</span>' for name in KINDS)
    file.write_text(
        page_text.replace("</main>", f"<figure><pre><code>{code}</code></pre></figure></main>"),
        "utf-8",
    )
    pairs = Opened(browser, file, scheme=scheme).page.evaluate(PAIRS)
    assert len(pairs) > 10
    assert [
        (where, front, back)
        for where, front, back in pairs
        if contrast(parts(front), parts(back)) < ENOUGH
    ] == []


def test_on_paper_the_words_are_there_without_the_navigation(browser: Browser, file: Path) -> None:
    page = Opened(browser, file, scheme="dark").page
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible()
    assert page.locator("text=Höchstens 100 pro Minute").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.pdf()[:5] == b"%PDF-"


def test_an_image_is_in_the_page_and_nothing_is_loaded_for_it(
    browser: Browser, tmp_path: Path
) -> None:
    data = png(640, 480)
    name = 'photo"><img src=x onerror=alert(12)>.png'
    digest = PurePosixPath(place(data)).stem
    image = Attachment(
        number=1,
        at=START,
        name=name,
        media="image/png",
        size=len(data),
        sha256=digest,
        width=640,
        height=480,
    )
    lost = replace(image, sha256="0" * 64, name="lost.png")
    session = replace(FIRST, entries=(Query(number=1, at=START, text="Look"), image, lost))
    ImageStore(tmp_path, Files()).keep(image.file, data)
    found = [replace(one, path=tmp_path / one.path.name) for one in loaded(session)]
    file = tmp_path / "page.html"
    file.write_bytes(export_bytes(found, "html", images=images_of(found)[0]))
    opened = Opened(browser, file, width=320)
    page = opened.page
    page.wait_for_load_state("networkidle")
    assert [url for url in opened.requests if not url.startswith("data:")] == [opened.url]
    assert opened.events == []
    assert page.locator("img").count() == 1
    shown = page.evaluate(
        "(i => [i.naturalWidth, i.naturalHeight, i.alt])(document.querySelector('img'))"
    )
    assert shown == [640, 480, name]
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert "Attached: lost.png 640×480 The image is not in this page." in page.inner_text("main")
