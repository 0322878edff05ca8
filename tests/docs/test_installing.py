"""The extras and the licenses that the page about installing names."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata

import pytest

from tests.support.guide_pages import TREE, text_of

pytestmark = pytest.mark.slow

PROJECT = tomllib.loads(text_of(TREE / "pyproject.toml"))["project"]
PAGE = text_of(TREE / "docs" / "installing.md")
FOR_DEVELOPERS = {"test", "lint"}
SIGNS = {
    "MIT": r"\bMIT\b",
    "MIT-CMU": r"\b(MIT-CMU|HPND)\b",
    "ISC": r"\bISC\b",
    "Apache-2.0": r"\bApache\b",
    "BSD-3-Clause": r"\bBSD\b",
    "LGPL-3.0-only": r"\bLGPL-3\b",
}
"""A license, and a pattern of what packages say when they have it."""


def packages() -> dict[str, str]:
    """The packages that users get, each with the extra that brings it; "always" without one."""
    groups = {"always": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
    return {
        re.split(r"[^\w.-]", requirement)[0]: name
        for name, requirements in groups.items()
        for requirement in requirements
        if name not in FOR_DEVELOPERS
    }


LICENSES = {
    name: (extra.strip("`"), said)
    for name, extra, said in re.findall(
        r"^\| ([\w.-]+) \| (always|`\w+`) \| ([\w.-]+) \|$", PAGE, re.MULTILINE
    )
}


def test_the_page_lists_the_extras() -> None:
    table = PAGE.partition("| extra |")[2].partition("\n\n")[0]
    listed = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert listed == {*PROJECT["optional-dependencies"]} - FOR_DEVELOPERS


def test_the_page_lists_the_license_of_each_package() -> None:
    assert {name: extra for name, (extra, _) in LICENSES.items()} == packages()


@pytest.mark.parametrize("name", LICENSES)
def test_a_package_has_the_license_that_the_page_says(name: str) -> None:
    said = metadata.metadata(name).json
    words = [said.get("license_expression", ""), said.get("license", "")[:100]]
    words += [line for line in said.get("classifier", ()) if line.startswith("License ::")]
    assert re.search(SIGNS[LICENSES[name][1]], " ".join(map(str, words)))


def test_every_requirement_has_an_upper_bound() -> None:
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    requirements = [each for group in groups for each in group]
    own = [each for each in requirements if not each.startswith("chat-loop[")]
    assert [each for each in own if not re.search(r",<[\d.]+|==[\d.]+", each)] == []
