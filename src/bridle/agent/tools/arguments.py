"""Validates the arguments of a tool call against the tool's schema, with the messages of Claude Code.

Supports the part of JSON Schema that the tools use, and accepts common mistakes of models: a quoted number or boolean,
an array or object encoded as a string.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from bridle.agent.tools.contract.input_schema import JsonSchema
from bridle.agent.tools.contract.tool import ToolResult

# The order in which the arguments of some tools are printed, whatever order the model used.
_EDIT_ORDER = ("replace_all", "file_path", "old_string", "new_string")
_IN_SCHEMA_ORDER = frozenset({"Bash", "TaskOutput", "Write"})

_Arguments: TypeAlias = dict[str, Any]
_Issue: TypeAlias = dict[str, Any]
"""An issue as zod words it, which programs get as JSON."""
_Path = tuple[str | int, ...]
_ABSENT = object()


def validate_arguments(tool: str, schema: JsonSchema, arguments: Mapping[str, Any]) -> _Arguments | ToolResult:
    """Return the arguments with defaults and converted types, or the result that lists the issues."""
    issues: list[_Issue] = []
    properties: JsonSchema = schema.get("properties", {})
    checked = dict(arguments)
    for name, rule in properties.items():
        value = _converted(rule, arguments.get(name, rule.get("default", _ABSENT)))
        if value is not _ABSENT:
            checked[name] = value
            issues += _issues(rule, value, (name,))
        elif name in schema.get("required", ()):
            issues.append(_missing(rule, (name,)))
    unknown = [name for name in arguments if name not in properties]
    if unknown and schema.get("additionalProperties") is False:
        issues.append(_unknown(unknown))
    return _rejection(tool, issues) if issues else _ordered(tool, properties, checked)


def _ordered(tool: str, properties: JsonSchema, checked: _Arguments) -> _Arguments:
    order = _EDIT_ORDER if tool == "Edit" else tuple(properties) if tool in _IN_SCHEMA_ORDER else ()
    return {name: checked[name] for name in dict.fromkeys((*order, *checked)) if name in checked}


def _converted(rule: JsonSchema, value: Any) -> Any:
    """Convert a string to the type that the schema asks for, where it is unambiguous."""
    if not isinstance(value, str):
        return int(value) if isinstance(value, float) and value.is_integer() else value
    kind = rule.get("type")
    if kind in ("number", "integer") and re.fullmatch(r"\s*-?[0-9]{1,300}(\.[0-9]+)?\s*", value):
        number = float(value)
        return int(value) if "." not in value else int(number) if number.is_integer() else number
    if kind == "boolean" and value in ("true", "false"):
        return value == "true"
    if kind in ("array", "object"):
        return _parsed(value, list if kind == "array" else dict)
    return value


def _parsed(text: str, kind: type) -> Any:
    import json  # late: few calls need it

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, kind) else text


def _issues(rule: JsonSchema, value: Any, path: _Path) -> Iterator[_Issue]:
    if "anyOf" in rule:
        yield from _no_choice_fits(rule["anyOf"], value, path)
    elif "enum" in rule or "const" in rule:
        yield from _not_one_of(rule, value, path)
    elif not _fits(rule.get("type"), value):
        yield {"expected": _expected(rule), **_wrong_type(_expected(rule), _type_name(value), path)}
    elif isinstance(value, bool):
        return
    elif isinstance(value, int | float):
        yield from _wrong_number(rule, value, path)
    elif isinstance(value, str):
        yield from _wrong_text(rule, value, path)
    elif isinstance(value, list):
        yield from _wrong_list(rule, value, path)
    elif isinstance(value, dict):
        yield from _wrong_object(rule, value, path)


def _fits(kind: str | None, value: Any) -> bool:
    if kind is None:
        return True
    if kind == "integer":
        return _type_name(value) == "number"
    return _type_name(value) == kind


def _type_name(value: Any) -> str:
    """Return the name of a value's type in JSON."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _expected(rule: JsonSchema) -> str:
    kind = rule.get("type", "unknown")
    return "number" if kind == "integer" else str(kind)


def _wrong_type(expected: str, received: str, path: _Path) -> _Issue:
    message = f"Invalid input: expected {expected}, received {received}"
    return {"code": "invalid_type", "path": list(path), "message": message}


def _missing(rule: JsonSchema, path: _Path) -> _Issue:
    if "enum" in rule or "const" in rule:
        return next(_not_one_of(rule, _ABSENT, path))
    return {"expected": _expected(rule), **_wrong_type(_expected(rule), "undefined", path)}


def _unknown(names: list[str]) -> _Issue:
    word = "key" if len(names) == 1 else "keys"
    message = f"Unrecognized {word}: " + ", ".join(f'"{name}"' for name in names)
    return {"code": "unrecognized_keys", "keys": names, "path": [], "message": message}


def _not_one_of(rule: JsonSchema, value: Any, path: _Path) -> Iterator[_Issue]:
    values: list[Any] = rule["enum"] if "enum" in rule else [rule["const"]]
    if value in values:
        return
    quoted = "|".join(f'"{option}"' for option in values)
    message = f"Invalid option: expected one of {quoted}" if len(values) > 1 else f"Invalid input: expected {quoted}"
    yield {"code": "invalid_value", "values": values, "path": list(path), "message": message}


def _no_choice_fits(choices: list[Any], value: Any, path: _Path) -> Iterator[_Issue]:
    errors = [list(_issues(choice, value, ())) for choice in choices]
    if all(errors):
        yield {"code": "invalid_union", "errors": errors, "path": list(path), "message": "Invalid input"}


def _wrong_number(rule: JsonSchema, value: float, path: _Path) -> Iterator[_Issue]:
    is_integer = rule.get("type") == "integer"
    if is_integer and ("minimum" in rule or "exclusiveMinimum" in rule) and value <= 0:
        return  # the tool treats it as missing
    if is_integer and isinstance(value, float):
        yield {"expected": "int", "format": "safeint", **_wrong_type("int", "number", path)}
    elif "maximum" in rule and value > rule["maximum"]:
        yield _out_of_range("number", "too_big", "maximum", rule["maximum"], path, f"to be <={rule['maximum']}")
    elif "minimum" in rule and value < rule["minimum"]:
        yield _out_of_range("number", "too_small", "minimum", rule["minimum"], path, f"to be >={rule['minimum']}")


def _wrong_text(rule: JsonSchema, value: str, path: _Path) -> Iterator[_Issue]:
    if rule.get("format") == "uri" and not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:\S", value):
        yield {"code": "invalid_format", "format": "url", "path": list(path), "message": "Invalid URL"}
    yield from _wrong_size(rule, ("minLength", "maxLength"), len(value), path, "string", "characters")


def _wrong_list(rule: JsonSchema, value: list[Any], path: _Path) -> Iterator[_Issue]:
    yield from _wrong_size(rule, ("minItems", "maxItems"), len(value), path, "array", "items")
    for index, item in enumerate(value):
        yield from _issues(rule.get("items", {}), item, (*path, index))


def _wrong_object(rule: JsonSchema, value: _Arguments, path: _Path) -> Iterator[_Issue]:
    """Yield the issues of an object; fields that the schema does not name are allowed."""
    for name, inner in rule.get("properties", {}).items():
        if name in value:
            yield from _issues(inner, value[name], (*path, name))
        elif name in rule.get("required", ()) and "default" not in inner:
            yield _missing(inner, (*path, name))
    others = rule.get("additionalProperties")
    if isinstance(others, dict):
        for name in value:
            if name not in rule.get("properties", {}):
                yield from _issues(others, value[name], (*path, name))


def _wrong_size(
    rule: JsonSchema, names: tuple[str, str], size: int, path: _Path, origin: str, unit: str
) -> Iterator[_Issue]:
    minimum, maximum = rule.get(names[0]), rule.get(names[1])
    if minimum is not None and size < minimum:
        yield _out_of_range(origin, "too_small", "minimum", minimum, path, f"to have >={minimum} {unit}")
    if maximum is not None and size > maximum:
        yield _out_of_range(origin, "too_big", "maximum", maximum, path, f"to have <={maximum} {unit}")


def _out_of_range(origin: str, code: str, bound: str, limit: float, path: _Path, expected: str) -> _Issue:
    size = "Too big" if code == "too_big" else "Too small"
    message = f"{size}: expected {origin} {expected}"
    return {"origin": origin, "code": code, bound: limit, "inclusive": True, "path": list(path), "message": message}


def _rejection(tool: str, issues: list[_Issue]) -> ToolResult:
    """Return the rejection: all issues as JSON for programs, sentences for the model where there are any."""
    import json  # late: few calls need it

    raw = f"InputValidationError: {json.dumps(issues, indent=2, ensure_ascii=False)}"
    sentences = [*_missing_parameters(issues), *_unknown_parameters(issues), *_wrong_types(issues)]
    message = raw
    if sentences:
        word = "issue" if len(sentences) == 1 else "issues"
        message = f"InputValidationError: {tool} failed due to the following {word}:\n" + "\n".join(sentences)
    return ToolResult(f"<tool_use_error>{message}</tool_use_error>", detail=raw, is_error=True)


def _missing_parameters(issues: list[_Issue]) -> Iterator[str]:
    for issue in issues:
        if issue["code"] == "invalid_type" and issue["message"].endswith("received undefined"):
            yield f"The required parameter `{_format_path(issue['path'])}` is missing"


def _unknown_parameters(issues: list[_Issue]) -> Iterator[str]:
    for issue in issues:
        for name in issue.get("keys", ()):
            yield f"An unexpected parameter `{name}` was provided"


def _wrong_types(issues: list[_Issue]) -> Iterator[str]:
    for issue in issues:
        received = issue["message"].rpartition("received ")[2]
        if issue["code"] == "invalid_type" and received != "undefined":
            place = _format_path(issue["path"])
            yield f"The parameter `{place}` type is expected as `{issue['expected']}` but provided as `{received}`"


def _format_path(path: list[str | int]) -> str:
    place = ""
    for part in path:
        place += f"[{part}]" if isinstance(part, int) else f".{part}" if place else part
    return place
