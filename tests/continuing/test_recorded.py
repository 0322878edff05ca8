"""What a session records is honored when it goes on: its model, its endpoint and its settings."""

from __future__ import annotations

from pathlib import Path

from tests.support.chats import Chats, field

TOOLS = ("--tools", "read_file,list_files")


def test_a_session_records_who_answers_and_where(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.server_user = "me:secret@"
        chats.play("One.", "/model anthropic:other-model", "Two.", "exit", options=TOOLS)
        chats.run("--model", chats.model, "-p", "Three.")
        chatted, asked = chats.transcripts().values()
    assert field(chatted, "Model") == "openai:test-model"
    assert field(chatted, "Endpoint") == "http://SERVER/v1"
    assert field(chatted, "Tools") == "read_file, list_files"
    switch = chatted.partition("<!-- chat:model ")[2]
    assert "endpoint=http://SERVER at=DATE -->\n**Model:** anthropic:other-model\n" in switch
    assert (field(asked, "Endpoint"), field(asked, "Tools")) == ("http://SERVER/v1", "")
    assert "secret" not in chatted + asked
