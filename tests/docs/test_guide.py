"""The user guide covers everything that can be typed or set, and nothing else."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import Struct
from msgspec.structs import asdict

from benchmarks.__main__ import parser as benchmarks
from chat_loop import (
    loop,  # noqa: F401 - importing it registers the commands
)
from chat_loop.commands.registry import registry
from chat_loop.config import Config, McpServer, ModelConfig, ProviderConfig
from chat_loop.errors import UsageError
from chat_loop.options import parse, parser
from tests.support.guide_pages import CODE, FENCE, PAGES, TREE, named, prose, text_of
from tests.support.levels import levels

pytestmark = pytest.mark.slow

WRITTEN = [*PAGES, TREE / "CHANGELOG.md", *sorted((TREE / "examples").rglob("*.md"))]
"""The pages, the changelog, and the markdown files of the examples."""

_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")

TEMPLATES = {"explain"}
"""Commands in examples that come from the user's own templates."""
OTHERS_OPTIONS = {"--check", "--loss", "--table", "--reasoning-effort", "--thinking-tokens"} | {
    *re.findall(r"--[a-z]+", benchmarks().format_help())
}
"""Options of ruff, the benchmarks, `tests.mutants` and aider."""


def site_parts() -> list[list[str]]:
    """The pages in each part of the site's navigation."""
    site = yaml.safe_load(text_of(TREE / "mkdocs.yml"))
    return [pages for part in site["nav"][1:] for pages in part.values()]


def test_the_table_of_contents_leads_to_every_page_in_the_order_of_the_site() -> None:
    contents = TREE / "docs" / "index.md"
    pages = {page.name for page in contents.parent.glob("*.md")} - {contents.name}
    led = [Path(link).name for link in _LINK.findall(text_of(contents))]
    assert pages <= {*led}
    assert led == [page for part in site_parts() for page in part]


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, named as services that show markdown name them."""
    headings = re.findall(r"^#{1,6} (.+)$", FENCE.sub("", text_of(page)), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings
    }


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(named(page)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in _LINK.findall(prose(page)):
        if link.startswith(("https://", "http://")):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def chat_commands(page: Path) -> Iterator[str]:
    """The commands of the chat that a page has in inline code or in its conversations."""
    yield from re.findall(r"(?<!`)`(/[a-z]+(?: [^`\n]*)?)`", prose(page))
    for _, block in FENCE.findall(text_of(page)):
        yield from re.findall(r"^You: (/[a-z]+(?: .*)?)$", block, re.MULTILINE)


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(named(page)))
def test_every_command_that_is_named_exists(page: Path) -> None:
    for typed in chat_commands(page):
        name, _, argument = typed[1:].partition(" ")
        if name in TEMPLATES:
            continue
        command = registry.named(name)
        assert command is not None, typed
        for option in re.findall(r"--[a-z][a-z-]*", argument):
            assert option in f"{command.usage} {command.help} {command.details}", typed


def split(line: str) -> Iterator[list[str]]:
    """The words of each command in a line for a shell."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    redirected = False
    for word in lexer:
        if word in ("|", "&&", ";", "<(", ")"):
            yield words
            words = []
        elif redirected or word in ("<", ">"):
            redirected = not redirected
        else:
            words.append(word)
    yield words


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(named(page)))
def test_every_line_for_a_shell_is_one(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for language, block in FENCE.findall(text_of(page)):
        for line in block.split("\n") if language == "sh" else ():
            accepted(line, capsys)


def test_every_example_of_the_help_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    examples = re.findall(
        r"^  (.*?chat-loop\b.*?)(?:   +\S.*)?$", parser().epilog or "", re.MULTILINE
    )
    assert len(examples) > 5
    for example in examples:
        if not example.endswith(" --help"):
            accepted(example, capsys)


def accepted(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Fail unless the program accepts its arguments in a line for a shell."""
    for words in split(line):
        if words and words[0].rpartition("/")[2] == "chat-loop":
            try:
                parse(words[1:])
            except (SystemExit, UsageError) as error:
                if "needs a terminal" in str(error):  # which tests do not have
                    continue
                pytest.fail(f"{line}\n{error}\n{capsys.readouterr().err}")


LEVELS = {level.at: level for level in levels(parser())}


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(named(page)))
def test_every_option_that_is_named_exists(page: Path) -> None:
    known = {name for level in LEVELS.values() for option in level.options for name in option.names}
    told = " ".join(
        f"{command.usage} {command.help} {command.details}" for command in registry.commands
    )
    found = {
        option
        for code in CODE.findall(prose(page))
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", code)
    }
    assert {one for one in found if one not in known and one not in told} - OTHERS_OPTIONS == set()


def test_every_command_and_option_is_in_the_guide() -> None:
    told = "\n".join(map(text_of, PAGES))
    wanted = {name for level in LEVELS.values() for name in level.commands}
    wanted |= {
        name
        for level in LEVELS.values()
        for option in level.options
        for name in option.names
        if len(name) > 2
    }
    wanted |= {f"/{name}" for name in registry.names()}
    missing = {
        one for one in wanted if not re.search(rf"(?<![\w/-]){re.escape(one)}(?![\w-])", told)
    }
    assert missing - {"--help", "--print", "--version"} == set()


SECTIONS: Mapping[str, Any] = {
    **asdict(Config()),
    "providers": ProviderConfig(),
    "models": ModelConfig(),
    "mcp": McpServer(),
}


@pytest.mark.parametrize("section", SECTIONS)
def test_every_setting_is_in_the_guide_with_its_default(section: str) -> None:
    page = text_of(TREE / "docs" / "configuring.md")
    part = page.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    told = {
        key: yaml.safe_load(default)
        for key, default in re.findall(
            r"^\| `([a-z_]+)` \| `(.+?)` \| \S.*\.? \|$", part, re.MULTILINE
        )
    }
    value = SECTIONS[section]
    wanted = asdict(value) if isinstance(value, Struct) else {section: value}
    plain = {
        key: list(one) if isinstance(one, tuple) else dict(one) if isinstance(one, Mapping) else one
        for key, one in wanted.items()
    }
    assert told == plain
