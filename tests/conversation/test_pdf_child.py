"""PDFs and folders named in a query: their text, its limits, and malicious files."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from chat_loop.conversation import reading
from chat_loop.conversation.reading import QueryFile, read, read_files
from chat_loop.errors import UsageError
from tests.support.pdfs import bomb, pdf, pdf_of, stream

NO_TEXT = (
    "a.pdf has no text that can be read: it is damaged, encrypted, too complex, or has only "
    "pictures."
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def read_pdf(here: Path, data: bytes) -> QueryFile:
    (here / "a.pdf").write_bytes(data)
    return read("a.pdf", here / "a.pdf", here)


def refusal(here: Path, data: bytes) -> str:
    with pytest.raises(UsageError) as error:
        read_pdf(here, data)
    assert error.value.hint
    assert "\n" not in error.value.message
    return error.value.message


def test_the_pages_of_a_pdf_are_marked(here: Path) -> None:
    data = pdf("The port is 5432.", "", "Password: hunter2hunter2")
    file = read_pdf(here, data)
    assert file.attachment.text == (
        "[page 1 of 3]\nThe port is 5432.\n\n[page 2 of 3]\n\n\n[page 3 of 3]\n"
        "Password: hunter2hunter2\n"
    )
    assert (file.attachment.media, file.attachment.size) == ("application/pdf", len(data))
    assert file.description == f"a.pdf, {len(data) / 1000:.1f} KB"
    assert file.outgoing is not None
    assert not file.outgoing.is_free


def endless_pages() -> bytes:
    """Return a PDF with a page tree that contains itself."""
    kids = b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 1000000 >>"
    return pdf_of([b"<< /Type /Catalog /Pages 2 0 R >>", kids])


def locked() -> bytes:
    """Return a PDF with a password that nobody knows."""
    key = b"<" + b"41" * 32 + b">"
    entry = b"/Encrypt << /Filter /Standard /V 1 /R 2 /O %s /U %s /P -4 >> " % (key, key)
    return pdf("secret", trailer=entry + b"/ID [<41> <41>]")


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: b"%PDF-1.7\n",
        lambda: pdf("text")[:300],
        lambda: b"%PDF-1.4\n" + b"\x00\xff" * 50_000,
        lambda: bomb(400 << 20),
        endless_pages,
        lambda: pdf(""),
        locked,
    ],
    ids=["header", "cut", "noise", "bomb", "endless", "empty", "locked"],
)
def test_a_hostile_pdf_is_one_sentence(here: Path, make: Callable[[], bytes]) -> None:
    assert refusal(here, make()) == NO_TEXT


@pytest.mark.slow
def test_a_pdf_that_takes_forever_is_given_up(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PDF_SECONDS", 0.01)
    assert refusal(here, pdf("text")) == NO_TEXT


def test_a_long_pdf_is_cut_after_a_whole_page(here: Path) -> None:
    page = stream(b"BT /F1 12 Tf 72 700 Td (" + b"0123456789" * 40_000 + b") Tj ET")
    text = read_pdf(here, pdf(contents=page, pages=4)).attachment.text
    assert text.count("0123456789") == 120_000
    assert text.endswith("\n\n[cut: pages 4 to 4 are left out]\n")


def test_a_page_that_cannot_be_read_is_marked(here: Path) -> None:
    data = pdf("First.", "Second.").replace(b"(Second.) Tj", b"[[[[Second] Tj")
    text = read_pdf(here, data).attachment.text
    assert text == ("[page 1 of 2]\nFirst.\n\n[page 2 of 2]\n[cut: this page cannot be read]\n")


def test_a_pdf_may_have_34_mb(here: Path) -> None:
    message = refusal(here, b"%PDF-1.4\n" + bytes(32 << 20))
    assert message == "a.pdf is too large: 34 MB. The limit is 34 MB."


def test_without_the_extra_a_sentence_says_how_to_get_it(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    (here / "a.pdf").write_bytes(pdf("text"))
    with pytest.raises(UsageError, match=r"a\.pdf is a PDF: reading it needs pypdf\.") as error:
        read("a.pdf", here / "a.pdf", here)
    assert "chat-loop[pdf]" in error.value.hint


def test_a_folder_is_a_list_of_its_files(here: Path) -> None:
    for name in ("src/b.py", "src/a.py", "src/deep/c.py", "src/.git/config", "src/new\nline"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text("x")
    (here / "src/link.py").symlink_to("a.py")
    (here / "empty").mkdir()
    [file] = read_files("What is in @src/?")
    assert file.attachment.name == "src/"
    assert file.attachment.text == (
        "Files in the folder src/:\na.py\nb.py\nnew⟦U+000A⟧line\ndeep/c.py"
    )
    assert file.attachment.media == "text/plain"
    [file] = read_files("@empty")
    assert file.attachment.text == "Files in the folder empty:\n(none)"


def test_a_large_folder_is_cut(here: Path) -> None:
    for number in range(1_001):
        (here / f"{number:04}").touch()
    [file] = read_files("@./")
    assert file.attachment.text.endswith("\n0998\n0999\n[cut: the first 1,000]")
    (here / "1000").unlink()
    [file] = read_files("@./")
    assert file.attachment.text.endswith("\n0998\n0999")


def test_a_folder_behind_a_link_is_refused(here: Path) -> None:
    (here.parent / "outside").mkdir()
    (here / "out").symlink_to(here.parent / "outside")
    with pytest.raises(UsageError, match=r"out/ is a link to"):
        read_files("@out/")
