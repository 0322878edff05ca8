"""The tools and results of MCP servers as a model gets them, hostile ones included."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from chat_loop.agent.mcp_servers import MAX_TOOLS, name_tools
from chat_loop.agent.mcp_tools import (
    MAX_LISTED,
    MAX_SCHEMA,
    MAX_TEXT,
    clean_tools,
    parameters,
    result_text,
)
from chat_loop.agent.tools import ServerTool

OPEN = {"type": "object", "properties": {}}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=20,
)
KEYWORDS = st.sampled_from(
    ["type", "properties", "required", "enum", "items", "$ref", "$defs", "allOf", "pattern", "a"]
)
SCHEMAS = st.recursive(
    JSON | st.sampled_from(["object", "string", "nonsense"]),
    lambda inner: st.dictionaries(KEYWORDS, inner, max_size=5),
    max_leaves=20,
)


def tool(server: str, name: str, description: str = "") -> tuple[str, ServerTool]:
    return server, ServerTool(name, description, parameters({}))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "a_b", "x" * 32]), st.lists(st.text(min_size=1, max_size=80))
        )
    )
)
def test_every_name_is_one_that_every_wire_takes_and_no_other_has(
    servers: list[tuple[str, list[str]]],
) -> None:
    taken = {"a_tool", "archive_search"}
    tools = [tool(server, name) for server, names in servers for name in names]
    owners: dict[str, tuple[str, str]] = {}
    chosen = name_tools(tools, taken, 100_000, owners)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in chosen)
    assert not taken & set(chosen)
    assert {name: (server, each.name) for name, (server, each) in chosen.items()}.items() <= (
        owners.items()
    )


def test_a_name_stays_its_first_tools_own_whatever_comes_and_goes() -> None:
    owners: dict[str, tuple[str, str]] = {}
    tools = [tool("a_b", "c"), tool("a", "b_c"), tool("a", "b.d"), tool("a", "tool")]
    assert list(name_tools(tools, {"a_tool"}, 100_000, owners)) == ["a_b_c", "a_b_d"]
    tools = [tool("a", "b_c"), tool("a_b", "d"), tool("a", "b.d")]
    assert list(name_tools(tools, (), 100_000, owners).items()) == [("a_b_d", tools[2])]


def test_no_more_tools_than_a_model_can_be_told_of() -> None:
    many = [tool("s", f"t{number}", "x" * 100) for number in range(200)]
    assert len(name_tools(many, (), 10**9, {})) == MAX_TOOLS
    chosen = name_tools([*many, tool("z", "small")], (), 1_000, {})
    told = [
        len(name) + len(each.description) + len(json.dumps(each.parameters))
        for name, (_, each) in chosen.items()
    ]
    assert 800 < sum(told) <= 1_000


@given(SCHEMAS.filter(lambda schema: isinstance(schema, dict)))
def test_whatever_a_schema_is_it_becomes_one_that_can_be_sent(schema: dict[str, Any]) -> None:
    made = parameters(schema)
    assert made["type"] == "object"
    Draft202012Validator.check_schema(made)
    assert len(json.dumps(made, allow_nan=False)) <= MAX_SCHEMA
    assert set(made.get("required", ())) <= set(made["properties"])
    assert parameters(made) == {**made, "required": made.get("required", [])}, (
        "a second time changes nothing"
    )


def test_a_schema_as_it_should_be_stays_as_it_is() -> None:
    schema = {
        "$defs": {"point": {"type": "array", "items": {"type": "number"}}},
        "type": "object",
        "properties": {
            "at": {"$ref": "#/$defs/point"},
            "how": {"enum": ["a", "b"], "description": "Grüße\n2"},
        },
        "required": ["at"],
        "additionalProperties": False,
    }
    assert parameters(schema) == schema


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        ({"type": "string"}, {**OPEN, "required": []}),
        ({"type": "object", "properties": {"a": {"type": 5}}}, OPEN),
        ({"properties": {"a b": {}, "c": {}}, "required": ["a b", "c", 5, [], "c"]}, {
            "type": "object", "properties": {"c": {}}, "required": ["c"],
        }),
        ({"properties": {"a": 5}, "anyOf": [{"required": ["a"]}]}, {
            "type": "object", "properties": {"a": {}}, "required": [],
        }),
        (
            {"properties": {"a": {"type": "string", "description": "x" * 9_000}, "b": {}}, "$comment": "y" * 9_000},
            {"$comment": "y" * 1_023 + "…", "type": "object", "required": [], "properties": {
                "a": {"type": "string", "description": "x" * 1_023 + "…"}, "b": {},
            }},
        ),
        (
            {"properties": {"a.b-c": {"type": "array"}, "d": {"items": {"type": "array", "prefixItems": [{}]}}}},
            {"type": "object", "required": [], "properties": {
                "a.b-c": {"type": "array", "items": {}}, "d": {"items": {"type": "array", "prefixItems": [{}]}},
            }},
        ),
        (
            {"required": ["a"], "properties": {
                "a": {"type": "string", "enum": ["z" * 999] * 9}, "b": {"type": "array"},
            }},
            {"type": "object", "required": ["a"], "properties": {
                "a": {"type": "string"}, "b": {"type": "array", "items": {}},
            }},
        ),
        (
            {"properties": {"a": {"description": "\x1b[2Jhi\u202e \U000e0041there\x00"}}},
            {"type": "object", "properties": {"a": {"description": "[2Jhi there"}}, "required": []},
        ),
    ],
)  # fmt: skip
def test_what_is_made_of_odd_schemas(schema: dict[str, Any], made: dict[str, Any]) -> None:
    assert parameters(schema) == made


def test_a_schema_that_is_nested_without_end_or_has_a_thousand_arguments() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5_000):
        deep = {"properties": {"a": deep}}
    made = parameters(deep)
    assert len(json.dumps(made)) < 1_000
    wide = parameters({"properties": {f"a{number}": {"type": "string"} for number in range(1_000)}})
    assert wide == {"type": "object", "properties": {}}


def test_a_list_of_tools_is_cleaned() -> None:
    tools: list[dict[str, Any]] = [
        {
            "name": "a",
            "description": "\x1b]0;x\x07Say\u200b it.\nTwice.",
            "inputSchema": {"type": "object"},
        },
        {"name": "a", "description": "Another one.", "inputSchema": {"type": "object"}},
        {"name": "", "inputSchema": {}},
        {"name": "x" * 257, "inputSchema": {}},
        {"name": "\ud800", "inputSchema": {}},
        {"name": 5, "inputSchema": {}},
        {"name": "bare"},
        {"name": "odd", "inputSchema": 5},
        {"name": "b c/ü", "title": "Titled", "inputSchema": {}},
        {"name": "long", "description": "y" * 5_000, "inputSchema": {}},
    ]
    clean, skipped = clean_tools([7, *tools])
    assert [(each["name"], each["description"]) for each in clean] == [
        ("a", "]0;xSay it.\nTwice."),
        ("b c/ü", "Titled"),
        ("long", "y" * (MAX_TEXT - 1) + "…"),
    ]
    assert skipped == ("“”", "“a”", "“”", f"“{'x' * 39}…”", "“”", "“”", "“bare”", "“odd”")
    many = [{"name": f"t{number}", "inputSchema": {}} for number in range(5_000)]
    assert len(clean_tools(many)[0]) == MAX_LISTED


@pytest.mark.parametrize(
    ("content", "structured", "text"),
    [
        ([], None, ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b\n"}], None, "a\nb\n"),
        ([], {"a": [1, "ü"]}, '{"a": [1, "ü"]}'),
        ([{"type": "text", "text": '{ "a": 1 }'}], {"a": 1}, '{ "a": 1 }'),
        ([{"type": "text", "text": "One."}], {"a": 1}, "One."),
        (
            [{"type": "image", "data": "A" * 4_000, "mimeType": "image/png"}],
            None,
            "[image image/png: not shown]",
        ),
        ([{"type": "audio", "data": "", "mimeType": "a\x1b\nb"}], None, "[audio a\nb: not shown]"),
        ([{"type": "resource_link", "uri": "file:///a", "title": "T"}], None, "[resource_link file:///a: not shown]"),
        ([{"type": "resource", "resource": {"uri": "x:y", "text": "It is."}}], None, "[resource x:y]\nIt is."),
        (
            [{"type": "resource", "resource": {"uri": "x:y", "blob": "AAAA", "mimeType": "application/pdf"}}],
            None,
            "[resource x:y: not shown]",
        ),
        ([{"type": "new\x1bkind"}], None, "[newkind: not shown]"),
    ],
)  # fmt: skip
def test_results_become_text(content: object, structured: object, text: str) -> None:
    result = (
        {"content": content}
        if structured is None
        else {"content": content, "structuredContent": structured}
    )
    assert result_text(result) == text
