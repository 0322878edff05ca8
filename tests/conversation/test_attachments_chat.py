"""Typing @files in a chat: echo, completion, questions, and lines that are returned for editing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chat_loop.sessions.records import LeftOut
from tests.support.approvals import SENDING as QUESTION
from tests.support.images import png
from tests.support.screens import Line, Screen
from tests.support.scripted_chat import SUMMARY, Talk
from tests.support.terminal_chat import answered, chat, leave, saved

PHOTO = png(640, 480)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "photo.png").write_bytes(PHOTO)
    (folder / "my notes.txt").write_text("port is 5432\n")
    (folder / ".env").write_text("DB_PASSWORD=hunter2hunter2\n")
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text("models: {echo: {images: true}}\n")
    return folder


def test_tab_completes_a_path_and_the_reply_begins_below_what_is_attached(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with chat(home) as terminal:
        terminal.send("see @ph\t")
        terminal.wait_for("@photo.png")
        terminal.send(" and @my\t")
        terminal.wait_for('@"my notes.txt"')
        shown = answered(terminal, "")
        assert "📎 photo.png, 640×480 · my notes.txt, 13 bytes" in shown
        assert shown.index("📎") < shown.index("Attached image: photo.png, 640×480 pixels.")
        leave(terminal)
    [exchange] = saved(home).exchanges
    assert exchange.query.text == 'see @photo.png and @"my notes.txt"'
    assert [file.name for file in exchange.attached] == ["photo.png", "my notes.txt"]


def test_a_line_whose_file_is_missing_comes_back_with_its_pastes(tmp_path: Path) -> None:
    home = tmp_path / "home"
    pasted = "\n".join(f"line {number} of @missing.txt" for number in range(30))
    with chat(home) as terminal:
        terminal.send("see @photo.gif ")
        terminal.send(f"\x1b[200~{pasted}\x1b[201~")
        terminal.wait_for("30 lines]")
        terminal.line("")
        terminal.wait_for("No file named photo.gif.")
        terminal.wait_for("You: see @photo.gif [paste 1:")
        terminal.ctrl("a")
        terminal.send("\x1b[C" * 11 + "\x1b[3~" * 3 + "png")
        shown = answered(terminal, "")
        assert "📎 photo.png, 640×480" in shown
        leave(terminal)
    [exchange] = saved(home).exchanges
    assert exchange.query.text == f"see @photo.png {pasted}"


def test_a_paste_of_several_lines_names_no_files_and_one_of_a_line_may(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with chat(home) as terminal:
        terminal.send(
            "\x1b[200~see @.env\nand @missing.txt\x1b[201~ and @\x1b[200~photo.png\x1b[201~ "
            "and @lost.md"
        )
        terminal.wait_for("and @lost.md")
        terminal.line("")
        terminal.wait_for("No file named lost.md.")
        terminal.wait_for(re.compile(r"named lost.md.*and @lost.md", re.DOTALL))
        terminal.send("\x7f" * 13)
        shown = answered(terminal, "")
        assert "📎 photo.png, 640×480" in shown
        assert ".env" not in shown.partition("📎")[2].partition("\n")[0]
        leave(terminal)
    [exchange] = saved(home).exchanges
    assert exchange.query.text == "see @.env\nand @missing.txt and @photo.png"
    assert [file.name for file in exchange.attached] == ["photo.png"]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("y", "DB_PASSWORD=hunter2hunter2\n"),
        ("m", "DB_PASSWORD=[REDACTED:password:1]\n"),
        ("n", None),
        ("", None),
    ],
)
def test_what_looks_like_a_secret_is_asked_about(
    tmp_path: Path, answer: str, text: str | None
) -> None:
    steps = ["I see.", SUMMARY] if text else []
    screen = Screen(tmp_path / "sessions", ["see @.env"], *steps, answers=[answer])
    start = (
        "You: see @.env\n"
        "This would go to the model:\n"
        "  .env: a well-known place of keys (.env) · 1 text that may be secret (password)\n"
        "Marks replace only what is recognized.\n"
        f"{QUESTION}{answer}\n"
    )
    assert screen.text.startswith(start)
    [*files] = (
        file
        for exchange in screen.talk.conversation.session.exchanges
        for file in exchange.attached
    )
    assert [file.text for file in files] == ([text] if text else [])
    assert screen.reader.again == ([] if text else ["see @.env"])
    assert ("Not sent.\n" in screen.text) == (text is None)


def test_a_file_in_a_place_of_keys_is_left_out_where_nobody_can_be_asked(tmp_path: Path) -> None:
    Path("key.pem").write_bytes(PHOTO)

    def take_images(talk: Talk) -> None:
        talk.model.takes_images = True

    lines: list[Line] = [take_images, "see @.env, @key.pem and @photo.png"]
    screen = Screen(tmp_path / "sessions", lines, "I see.", SUMMARY, asks=False)
    entries = screen.talk.conversation.session.entries
    left_out = [(entry.text, entry.reason) for entry in entries if isinstance(entry, LeftOut)]
    assert left_out == [(".env", "place"), ("key.pem", "place")]
    [exchange] = screen.talk.conversation.session.exchanges
    assert [file.name for file in exchange.attached] == ["photo.png"]
    assert ".env is not sent: a well-known place of keys (.env)" in screen.text
    sent = screen.talk.model.requests[0].messages[-1]
    assert "[.env was not sent: it may contain keys.]" in sent.text
    assert "hunter2" not in sent.text
    assert [image.name for image in sent.images] == ["photo.png"]


def test_an_exchange_is_shown_with_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    Screen(folder, ['see @"my notes.txt"'], "Fine.", SUMMARY)
    shown = Screen(folder, ["/show 1 1"], hours=1).text
    assert 'You:\nsee @"my notes.txt"\n📎 my notes.txt, 13 bytes\nSally:\nFine.\n' in shown


def test_a_quote_of_another_session_names_no_files(tmp_path: Path) -> None:
    screen = Screen(tmp_path / "sessions", ["the words are \\@photo.png"], "Fine.", SUMMARY)
    assert screen.code == 0
    again = Screen(tmp_path / "sessions", ["/quote 1 1", "hello"], "Fine.", SUMMARY, hours=1)
    [exchange] = again.talk.conversation.session.exchanges
    assert "@photo.png" in exchange.query.text
    assert exchange.attached == ()
