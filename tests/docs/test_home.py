"""The files that a host of the repository reads: forms for issues, and workflows."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from chat_loop.options import parse
from tests.support.guide_pages import TREE, text_of

HOME = TREE / ".github"
FORMS = sorted(HOME.glob("ISSUE_TEMPLATE/*.yml"))
WORKFLOWS = sorted(HOME.glob("workflows/*.yml"))
REPORT = "chat-loop doctor --report"


def fields(form: Path) -> list[dict[str, Any]]:
    body: list[dict[str, Any]] = yaml.safe_load(text_of(form)).get("body", [])
    return body


@pytest.mark.parametrize("form", FORMS, ids=lambda form: str(form.stem))
def test_the_forms_have_what_a_host_asks_for(form: Path) -> None:
    whole = yaml.safe_load(text_of(form))
    if form.stem == "config":
        assert whole == {"blank_issues_enabled": False}
        return
    assert {"name", "description", "body"} == whole.keys()
    for field in fields(form):
        assert field["type"] in ("markdown", "textarea", "input")
        assert "value" in field["attributes"] or field["attributes"]["label"]
    names = [field["id"] for field in fields(form) if "id" in field]
    assert len(names) == len(set(names)) == sum("label" in f["attributes"] for f in fields(form))


def test_the_forms_ask_for_the_report() -> None:
    assert parse(REPORT.split()[1:]).report
    asked = [field for form in FORMS for field in fields(form) if field.get("id") == "report"]
    assert [field["attributes"]["label"] for field in asked] == [REPORT, REPORT]
    assert REPORT in text_of(HOME / "pull_request_template.md")


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: str(workflow.stem))
def test_the_workflows_run_programs_of_the_repository(workflow: Path) -> None:
    text = text_of(workflow)
    jobs = yaml.safe_load(text)["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    [own] = [command for command in commands if command.startswith(".ci/")]
    assert os.access(TREE / own, os.X_OK)
    assert re.search(r"^permissions:\n  contents: read$", text, re.MULTILINE)
