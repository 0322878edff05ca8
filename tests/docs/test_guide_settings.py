"""The settings in the user guide are settings of the config."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from msgspec import Struct
from msgspec.structs import asdict

from chat_loop.config import Config, McpServer, ModelConfig, ProviderConfig, parse
from tests.support.guide_pages import CODE, FENCE, PAGES, named, prose, text_of

pytestmark = pytest.mark.slow

SECTIONS = asdict(Config())
NAMED = {"providers": ProviderConfig(), "models": ModelConfig(), "mcp": McpServer()}
KEYS = {
    name
    for one in (*SECTIONS.values(), *NAMED.values())
    if isinstance(one, Struct)
    for name in one.__struct_fields__
}
_SETTING = re.compile(r"([a-z_]+(?:\.[a-z_-]+)*): (\S.*)")
_KEY = re.compile(r"([a-z_]+)\.([a-z_]+)(?:\.([a-z_]+))?")
FILES = {"agent.py", "agent.md", "agent.yaml", "models.json"}
"""Names of files that look like settings."""


def nested(keys: list[str], value: object) -> object:
    for key in reversed(keys):
        value = {key: value}
    return value


def settings(page: Path) -> Iterator[tuple[list[str], str]]:
    """The settings that a page names with a value: their keys, and the value as YAML."""
    for code in CODE.findall(prose(page)):
        found = _SETTING.fullmatch(code)
        if found is not None and not found[2].endswith(":") and "..." not in code:
            yield found[1].split("."), found[2]


def test_the_pages_name_settings_and_have_examples_of_a_config() -> None:
    """The tests below check what a page has, and some pages have nothing."""
    codes = [code for page in PAGES for code in CODE.findall(prose(page))]
    languages = [language for page in PAGES for language, _ in FENCE.findall(text_of(page))]
    assert sum(len([*settings(page)]) for page in PAGES) > 10
    assert len([code for code in codes if _KEY.fullmatch(code)]) > 10
    assert languages.count("yaml") > 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(named(page)))
def test_every_setting_that_is_named_with_a_value_is_taken(page: Path) -> None:
    for keys, value in settings(page):
        if keys[0] in SECTIONS and (len(keys) > 1 or value[0] == "{" or keys[0] not in KEYS):
            parse(yaml.safe_dump(nested(keys, yaml.safe_load(value))).encode(), str(named(page)))
        else:
            assert keys[0] in KEYS, (keys, value)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(named(page)))
def test_every_setting_that_is_named_exists(page: Path) -> None:
    for code in CODE.findall(prose(page)):
        found = _KEY.fullmatch(code)
        if found is None or found[1] not in SECTIONS or code in FILES or code.endswith(".py"):
            continue
        section = NAMED.get(found[1], SECTIONS[found[1]])
        key = found[3] if found[1] in NAMED and found[3] else found[2]
        assert hasattr(section, key), code


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(named(page)))
def test_every_example_of_a_config_is_one(page: Path) -> None:
    for language, block in FENCE.findall(text_of(page)):
        if language == "yaml":
            parse(block.encode(), str(named(page)))
