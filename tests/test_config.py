"""The config file: every key is shown, every mistake is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_loop.config import Config, ModelConfig, Paths, find_paths, load, parse
from chat_loop.errors import ConfigError

EXAMPLE = Path(__file__).parent.parent / "config.example.yaml"


def keys(value: object, prefix: str = "") -> set[str]:
    if not isinstance(value, dict):
        return {prefix}
    return {key for name, inner in value.items() for key in keys(inner, f"{prefix}.{name}")} or {prefix}


def test_the_example_shows_every_key_with_its_default() -> None:
    import dataclasses

    import yaml

    assert parse(EXAMPLE.read_bytes(), "example") == Config()
    assert keys(yaml.safe_load(EXAMPLE.read_bytes())) == keys(dataclasses.asdict(Config()))


def test_no_file_is_the_defaults_and_an_empty_one_too(tmp_path: Path) -> None:
    assert load(tmp_path / "none.yaml", required=False) == Config()
    assert parse(b"# nothing\n", "x") == Config()


def test_a_window_is_set_by_model_name() -> None:
    config = parse(b"models:\n  my-model: {window: 8000}\n  other: {}\n", "x")
    assert config.models == {"my-model": ModelConfig(window=8000), "other": ModelConfig()}
    assert config.windows == {"my-model": 8000}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("modle: x", "c.yaml: unknown key modle. Did you mean model?"),
        ("agent: {nmae: x}", "c.yaml: unknown key agent.nmae. Did you mean agent.name?"),
        (
            "providers: {local: {contxt: 1}}",
            "c.yaml: unknown key providers.local.contxt. Did you mean providers.local.context?",
        ),
        ("models: {m: {windw: 1}}", "c.yaml: unknown key models.m.windw. Did you mean models.m.window?"),
        ("1: 2", ("c.yaml: unknown key 1. Known keys: agent, agents, auto_compact, context, "
        "memory, model, models, providers, restoration, search, sessions, summary.")),
        (
            "summary: {timeout: soon}",
            "c.yaml: summary.timeout: expected `float`, got `str`. config.example.yaml shows every key.",
        ),
        ("- a", "c.yaml: the top level: expected `object`, got `array`. config.example.yaml shows every key."),
        ("agent: {name: 3}", "c.yaml: agent.name: expected `str`, got `int`. config.example.yaml shows every key."),
        ("agent: {default: ./x.md}", "c.yaml: agent.default must be a name or a whole path, not ./x.md. "),
        ("a: [", "c.yaml, line 1: expected the node content, but found '<stream end>'. "),
        (
            "a: !!python/object:os.system {}",
            (
                "c.yaml, line 1: could not determine a constructor for the tag "
                "'tag:yaml.org,2002:python/object:os.system'. "
            ),
        ),
        ("[" * 5000, "c.yaml is not valid YAML. "),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text.encode(), "c.yaml")
    assert f"{caught.value.message} {caught.value.hint}" == message


def test_bytes_that_are_no_text_and_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"c\.yaml is not UTF-8"):
        parse(b"\xff\xfe", "c.yaml")
    with pytest.raises(ConfigError, match=r"There is no config file .*none\.yaml\."):
        load(tmp_path / "none.yaml", required=True)
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load(tmp_path, required=True)
    (tmp_path / "large.yaml").write_bytes(b"#" * 300_000)
    with pytest.raises(ConfigError, match="larger than 256 KB"):
        load(tmp_path / "large.yaml", required=True)


def test_where_things_are(tmp_path: Path) -> None:
    paths = find_paths({"CHAT_LOOP_HOME": str(tmp_path)})
    assert paths == Paths(tmp_path / "config.yaml", tmp_path)
    assert paths.sessions(Config()) == tmp_path / "sessions"
    assert paths.sessions(parse(b"sessions: {directory: /a/b}", "x")) == Path("/a/b")
    assert paths.sessions(parse(b"sessions: {directory: /a/b}", "x"), "/c") == Path("/c")
    assert find_paths({}).config.name == "config.yaml"
