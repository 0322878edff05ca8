"""What a session records is honored when it goes on: its model, its endpoint and its settings.

The default model is Anthropic's, the first whose key is set; the sessions are made with OpenAI's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.chats import Asked, Chats, echoed, field
from tests.support.ports import closed_port

TOOLS = ("--tools", "read_file,list_files")
RECORDED = ("openai", "test-model")
DEFAULT = ("anthropic", "claude-sonnet-5-5")


def models(asked: Sequence[Asked]) -> set[tuple[str, str]]:
    """Return the vendors and models that got a request."""
    return {(each.wire, each.body["model"]) for each in asked}


def edit(path: Path, before: str, after: str) -> None:
    """Replace a text in a transcript, as in an editor."""
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def test_a_session_records_who_answers_and_where(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        with_password = chats.server.url.replace("//", "//me:secret@")
        chats.variables["OPENAI_BASE_URL"] = f"{with_password}/v1"
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


@pytest.mark.slow
def test_a_question_goes_on_with_the_model_that_answered_last(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.run("--model", chats.model, "-p", "One.")
        first = chats.run("-c", "-p", "Two.")
        named = chats.run("--resume", "session-1", "-p", "Three.")
        chats.play("Four.", "/model openai:second-model", "exit")
        switched = chats.run("-c", "-p", "Five.")
        chats.run("sessions", "fork", "session-4", "--at", "1")
        forked = chats.run("--resume", "session-6", "-p", "Six.")
        custom = {"claude-proxy": {"base_url": f"{chats.server.url}/v1"}}
        chats.configure(providers=custom)
        chats.run("-m", "claude-proxy:tiny", "-p", "Seven.")
        proxied = chats.run("-c", "-p", "Eight.")
    for played in (first, named, switched, forked, proxied):
        assert (played.code, played.errors) == (0, "")
    assert models(forked.asked) == {("openai", "second-model")}
    assert models(proxied.asked) == {("openai", "tiny")}
    assert models((*first.asked, *named.asked)) == {RECORDED}
    assert models(switched.asked) == {("openai", "second-model")}


@pytest.mark.slow
def test_a_model_that_is_chosen_in_this_run_wins_and_that_is_said(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.run("--model", chats.model, "-p", "One.")
        other = ("--model", "anthropic:other")
        asked = chats.run(*other, "-c", "-p", "Two.")
        again = chats.run("-c", "-p", "Three.")
        chatted = chats.run(
            *other, stdin="/resume session-1 --quick\nA?\n/resume session-1 --quick\nexit\n"
        )
        typed = chats.run(stdin="/model anthropic:other\n/resume session-1 --quick\nTwo.\nexit\n")
    said = "Recorded with openai:test-model; continuing with anthropic:other.\n"
    assert (asked.code, asked.errors) == (0, said)
    assert (again.code, again.errors) == (0, "")
    assert said in chatted.shown
    assert said in typed.shown
    for played in (asked, again, chatted, typed):
        assert models(played.asked) == {("anthropic", "other")}


@pytest.mark.slow
def test_a_script_is_told_which_option_decides(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.play("One.", "exit")
        chats.variables["OPENAI_API_KEY"] = ""
        no_key = chats.run("-c", "-p", "Two.")
        as_json = chats.run("--json", "-c", "-p", "Two.")
        piped = chats.run("-c", stdin="Two.\nThree.\nexit\n")
        typed = chats.run(stdin="resume 1\nTwo.\nexit\n")
        chosen = chats.run("-m", "anthropic:other", "-c", "-p", "Two.")
        chats.variables.clear()
        chats.variables["OPENAI_BASE_URL"] = f"http://127.0.0.1:{closed_port()}/v1"
        elsewhere = chats.run("--resume", "session-1", "-p", "Two.")
        edit(chats.path("session-1"), "openai:test-model", "office:test-model")
        unknown = chats.run("--resume", "session-1", "-p", "Two.")
    for played in (no_key, as_json, piped, typed, elsewhere, unknown):
        assert (played.code, played.asked) == (1, ()), played.errors
    assert no_key.errors.startswith("session-1: Recorded with openai:test-model: No key for OpenAI")
    assert "-m MODEL says with which model to go on.\n" in no_key.errors
    assert json.loads(as_json.shown)["event"] == "error"
    for played in (piped, typed):
        assert "Recorded with openai:test-model: No key for OpenAI" in played.shown
        assert "chat-loop -m MODEL --resume session-1" in played.shown
    assert models(chosen.asked) == {("anthropic", "other")}
    assert "at http://SERVER/v1; now it is asked at http://127.0.0.1:" in elsewhere.errors
    assert "office:test-model: Unknown model “office:test-model”." in unknown.errors


def test_a_person_is_asked_before_anything_is_sent_elsewhere(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.play("Our port is 8443.", "exit")
        asked = len(chats.server.requests)
        chats.variables["OPENAI_API_KEY"] = ""
        with chats.terminal("-c", "Which port?", model=False) as screen:
            screen.wait_for("Continue with anthropic:claude-sonnet-5-5 at http")
            assert "Recorded with openai:test-model: No key for OpenAI" in screen.text()
            assert "context" not in screen.text(), "the status line claims no model yet"
            screen.line("n")
            screen.wait_for("Not resumed. Starting fresh.")
            screen.wait_for("/model takes another one first")
            screen.wait_for(" of 1M · anthropic:claude-sonnet-5-5")
            assert len(chats.server.requests) == asked
            screen.ctrl("u")  # the message waits in the line
            screen.mark()
            screen.line("/resume last --quick")
            screen.wait_for("[y]es [n]o", output=True)
            screen.line("y")
            screen.wait_for("Restoring context")
            screen.line("Which lock?")
            screen.wait_for("You said: Which lock?")
            screen.ctrl("d")
            assert screen.exit_code() == 0
        wires = [request.wire for request in chats.server.requests[asked:]]
        assert set(wires) == {"anthropic"}
        assert "8443" in json.dumps(chats.server.requests[asked].body)

        chats.variables.clear()
        edit(chats.path("session-1"), chats.server.url, "http://proxy.example:9")
        asked = len(chats.server.requests)
        with chats.terminal("-r", "session-1", model=False) as screen:
            screen.wait_for("Continue with openai:test-model at http://127.0.0.1")
            assert "at http://proxy.example:9/v1; now it is asked at" in " ".join(
                screen.text().split()
            )
            assert len(chats.server.requests) == asked
            screen.line("y")
            screen.wait_for("Restoring context")
            screen.line("Which lock?")
            screen.wait_for("You said: Which lock?")
            screen.ctrl("d")
            assert screen.exit_code() == 0
        assert {request.wire for request in chats.server.requests[asked:]} == {"openai"}


def test_a_server_of_this_machine_that_does_not_listen_is_asked_about(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.play("One.", "exit")
        nobody = f"http://127.0.0.1:{closed_port()}/v1"
        chats.variables["OPENAI_BASE_URL"] = nobody
        edit(chats.path("session-1"), f"{chats.server.url}/v1", nobody)
        played = chats.run("-c", "-p", "Two.")
    assert (played.code, played.asked) == (1, ())
    assert f"Recorded with openai:test-model: nothing listens at {nobody}." in played.errors


@pytest.mark.slow
def test_files_that_record_less_or_nonsense_go_on(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.run("--model", chats.model, "-p", "One.")
        path = chats.path("session-1")
        endpoint = f"**Endpoint:** {chats.server.url}/v1"
        edit(path, endpoint, "**Team:** blue")
        old = chats.run("--resume", "session-1", "-p", "Two.")
        chat = chats.run(stdin="/resume session-1 --quick\nTwo.\nexit\n")
        edit(path, "openai:test-model", "GPT of my aunt")
        nonsense = chats.run("--resume", "session-1", "-p", "Two.")
        edit(path, "**Model:** GPT of my aunt", "**Color:** blue")
        nothing = chats.run("--resume", "session-1", "-p", "Two.")
    said = "Its file does not say where openai:test-model was asked; now that is http://SERVER/v1, "
    assert (old.code, models(old.asked)) == (0, {RECORDED})
    assert old.errors.startswith(said)
    assert models(chat.asked) == {RECORDED}
    assert "Its file does not say where openai:test-model was asked" in chat.shown
    assert (nonsense.code, models(nonsense.asked)) == (0, {DEFAULT})
    assert "names the model “GPT of my aunt”, which is not a model: ignored." in nonsense.errors
    assert (nothing.code, nothing.errors, models(nothing.asked)) == (0, "", {DEFAULT})
    for played in (old, nonsense, nothing):
        assert played.asked[0].messages == (*echoed("One."), "user: Two.")


@pytest.mark.parametrize("endpoint", ["https://evil.example/v1", "file:///etc/passwd", "http://["])
def test_a_file_chooses_no_server(tmp_path: Path, endpoint: str) -> None:
    with Chats(tmp_path) as chats:
        chats.run("--model", chats.model, "-p", "One.")
        edit(chats.path("session-1"), f"{chats.server.url}/v1", endpoint)
        refused = chats.run("-c", "-p", "Two.")
        decided = chats.run("-m", "openai:test-model", "-c", "-p", "Two.")
    assert (refused.code, refused.asked) == (1, ())
    assert f"at {endpoint}; now it is asked at http://SERVER/v1." in refused.errors
    assert (decided.code, models(decided.asked)) == (0, {RECORDED})


@pytest.mark.slow
def test_a_session_keeps_its_system_prompt_and_its_longest_reply(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        given = ("--system", "Talk like a pirate.", "--max-tokens", "77")
        chats.run("--model", chats.model, *given, "-p", "One.")
        asked = chats.run("-c", "-p", "Two.")
        chatted = chats.run("-c", stdin="Three.\n/new\nFour.\nexit\n")
        changed = chats.run("--resume", "session-2", "--system", "Be brief.", "-p", "Five.")
        kept = chats.run("-c", "-p", "Six.")
        files = chats.transcripts()
    assert (asked.code, asked.errors) == (0, "")
    assert "It keeps its own system prompt: “Talk like a pirate.”\n" in chatted.shown
    systems = [(each.system, each.body.get("max_completion_tokens")) for each in asked.requests]
    systems += [
        (each.system, each.body.get("max_completion_tokens"))
        for played in (chatted, changed, kept)
        for each in played.requests
    ]
    assert systems[:2] == [("Talk like a pirate.", 77)] * 2
    assert systems[2] != systems[1]
    assert "helpful assistant" in systems[2][0]
    assert systems[3:] == [("Be brief.", 77)] * 2
    assert json.loads(field(files["session-1"], "Settings")) == {
        "agent.system_prompt": "Talk like a pirate.",
        "max_tokens": "77",
    }


def test_a_file_grants_no_tools_and_names_them_once(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.run("--model", chats.model, *TOOLS, "-p", "One.")
        less = chats.run("-c", "-p", "Two.")
        again = chats.run("-c", "-p", "Three.")
        more = chats.run("--tools", "list_files", "--resume", "session-1", "-p", "Four.")
        edit(chats.path("session-1"), "read_file, list_files", "run_command, write_file")
        forged = chats.run("--tools", "list_files", "--resume", "session-1", "-p", "Five.")
        chatted = chats.run(stdin="/resume session-1 --quick\nSix.\nexit\n")
    assert less.errors.startswith("It had tools that are not allowed now: read_file, list_files.")
    assert again.errors == ""
    assert "not allowed now: read_file." in more.errors
    for played in (forged, chatted):
        said = played.errors or played.shown
        assert "It had tools that are not allowed now: run_command, write_file" in said
    tools = [played.requests[0].tools for played in (less, again, more, forged, chatted)]
    assert tools == [(), (), ("list_files",), ("list_files",), ()]


@pytest.mark.slow
def test_summaries_go_to_the_model_of_the_session_unless_another_is_configured(
    tmp_path: Path,
) -> None:
    with Chats(tmp_path) as chats:
        chats.play("One.", "exit")
        ended = chats.run("-c", stdin="Two.\nexit\n")
        chats.configure(auto_compact={"summary_model": "small"})  # of the chat's provider
        typed = chats.run(stdin="/resume session-1 --quick\nTwo.\nexit\n")
        remade = chats.run("sessions", "compact", "session-1")
        named = {"summary_provider": "anthropic", "summary_model": "small"}
        chats.configure(auto_compact=named)
        configured = chats.run("-c", stdin="Three.\nexit\n")
        chats.configure()
        chats.variables["OPENAI_API_KEY"] = ""
        refused = chats.run("sessions", "compact", "session-1")
        chosen = chats.run("-m", "anthropic:other", "sessions", "compact", "session-1")
    assert (len(ended.summaries), models(ended.asked)) == (1, {RECORDED})
    assert (len(typed.summaries), models(typed.asked)) == (1, {RECORDED})
    assert (remade.code, models(remade.asked)) == (0, {("openai", "small")})
    assert models(configured.summaries) == {("anthropic", "small")}
    assert models(configured.requests) == {RECORDED}
    assert (refused.code, refused.asked) == (1, ())
    assert "Recorded with openai:test-model: No key for OpenAI." in refused.errors
    assert (chosen.code, models(chosen.asked)) == (0, {("anthropic", "other")})


def test_a_server_that_only_an_option_named_is_not_taken_from_the_file(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        server = ("-m", "compatible:test-model", "--base-url", f"{chats.server.url}/v1")
        same = chats.run(*server, stdin="One.\nexit\n")
        switched = chats.run(*server, stdin="One.\n/model openai:other\nexit\n")
        refused = chats.run("--resume", "session-1", "-p", "Two.")
        decided = chats.run(*server, "--resume", "session-1", "-p", "Two.")
    assert "--base-url http://SERVER/v1 --resume session-1\n" in same.shown
    assert "chat-loop --model openai:other --resume session-2\n" in switched.shown
    assert (refused.code, refused.asked) == (1, ())
    assert "The address of a compatible server is not set." in refused.errors
    assert "It was asked at http://SERVER/v1." in refused.errors
    assert (decided.code, decided.errors) == (0, "")


@pytest.mark.slow
def test_the_choice_of_a_session_needs_no_default_model(tmp_path: Path) -> None:
    with Chats(tmp_path) as chats:
        chats.configure(providers={"proxy": {"base_url": f"{chats.server.url}/v1"}})
        chats.run("-m", "proxy:tiny", stdin="One.\nexit\n")
        chats.variables.update(OPENAI_API_KEY="", ANTHROPIC_API_KEY="")
        assert chats.run("-p", "Hi.").code == 2, "there is no default model"
        with chats.terminal("-r", model=False) as screen:
            screen.wait_for("Enter resume")
            screen.send("\r")
            screen.wait_for("Restoring context")
            screen.line("Two.")
            screen.wait_for("You said: Two.")
            screen.ctrl("d")
            assert screen.exit_code() == 0
        assert chats.server.requests[-1].body["model"] == "tiny"
