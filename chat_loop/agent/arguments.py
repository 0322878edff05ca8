"""A call's arguments against the JSON schema of its tool (pure): what models get wrong, as a
sentence for them.

Only the top level is looked at: which arguments there are, their types and `enum`. A tool checks
the rest itself.
"""

from __future__ import annotations

from collections.abc import Mapping

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def fault(given: Mapping[str, object], schema: Mapping[str, object]) -> str:
    """What is wrong with the arguments, as a sentence; empty when nothing is."""
    known = schema.get("properties")
    properties = known if isinstance(known, dict) else {}
    required = schema.get("required")
    for name in required if isinstance(required, list | tuple) else ():
        if name not in given:
            return f"The argument “{name}” is missing."
    for name, value in given.items():
        if name not in properties:
            if schema.get("additionalProperties") is False:
                return f"There is no argument “{name[:64]}”; there are: {', '.join(properties)}."
            continue
        wrong = _wrong(value, properties[name])
        if wrong:
            return f"The argument “{name}” must be {wrong}."
    return ""


def _wrong(value: object, schema: object) -> str:
    """What `value` must be and is not."""
    if not isinstance(schema, dict):
        return ""
    wanted = schema.get("type")
    names = (
        [wanted] if isinstance(wanted, str) else wanted if isinstance(wanted, list | tuple) else []
    )
    if names and not any(_is(value, name) for name in names):
        return f"of type {' or '.join(map(str, names))}"
    choices = schema.get("enum")
    if isinstance(choices, list | tuple) and value not in choices:
        return f"one of {', '.join(map(str, choices))}"
    return ""


def _is(value: object, name: object) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return not isinstance(name, str) or isinstance(value, _TYPES.get(name, (object,)))
