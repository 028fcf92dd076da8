"""Validates the arguments of a tool call against the tool's schema, with the messages of Claude Code.

Supports the part of JSON Schema that the tools use, and accepts common mistakes of models: a quoted number or boolean,
an array or object encoded as a string.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

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


class _Rule(msgspec.Struct, frozen=True, rename="camel"):
    """The part of JSON Schema that the tools use."""

    type: str | None = None
    default: Any = UNSET
    enum: list[Any] | UnsetType = UNSET
    const: Any = UNSET
    any_of: list[_Rule] | None = None
    minimum: int | float | None = None
    exclusive_minimum: int | float | None = None
    maximum: int | float | None = None
    format: str | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    items: _Rule | None = None
    properties: dict[str, _Rule] = {}
    required: tuple[str, ...] = ()
    additional_properties: bool | _Rule | None = None

    @property
    def options(self) -> list[Any] | None:
        """The values that are allowed; None for any."""
        if self.enum is not UNSET:
            return self.enum
        return None if self.const is UNSET else [self.const]

    @property
    def expected(self) -> str:
        """The name of the type in messages."""
        return "number" if self.type == "integer" else self.type or "unknown"


def validate_arguments(tool: str, schema: JsonSchema, arguments: Mapping[str, Any]) -> _Arguments | ToolResult:
    """Return the arguments with defaults and converted types, or the result that lists the issues."""
    issues: list[_Issue] = []
    rules = msgspec.convert(schema, _Rule)
    properties = rules.properties
    checked = dict(arguments)
    for name, rule in properties.items():
        default = _ABSENT if rule.default is UNSET else rule.default
        value = _convert(rule, arguments.get(name, default))
        if value is not _ABSENT:
            checked[name] = value
            issues += _issues(rule, value, (name,))
        elif name in rules.required:
            issues.append(_missing(rule, (name,)))
    unknown = [name for name in arguments if name not in properties]
    if unknown and rules.additional_properties is False:
        issues.append(_unknown(unknown))
    return _rejection(tool, issues) if issues else _order(tool, properties, checked)


def validate_known(tool: str, schema: JsonSchema, arguments: Mapping[str, Any]) -> _Arguments | ToolResult:
    """Do the same, without the arguments that the tool does not know."""
    properties = schema.get("properties", {})
    is_closed = schema.get("additionalProperties") is False
    known = {name: value for name, value in arguments.items() if name in properties or not is_closed}
    return validate_arguments(tool, schema, known)


def _order(tool: str, properties: Mapping[str, _Rule], checked: _Arguments) -> _Arguments:
    order = _EDIT_ORDER if tool == "Edit" else tuple(properties) if tool in _IN_SCHEMA_ORDER else ()
    return {name: checked[name] for name in dict.fromkeys((*order, *checked)) if name in checked}


def _convert(rule: _Rule, value: Any) -> Any:
    """Convert a string to the type that the schema asks for, where it is unambiguous."""
    if not isinstance(value, str):
        return int(value) if isinstance(value, float) and value.is_integer() else value
    kind = rule.type
    if kind in ("number", "integer") and re.fullmatch(r"\s*-?[0-9]{1,300}(\.[0-9]+)?\s*", value):
        number = float(value)
        return int(value) if "." not in value else int(number) if number.is_integer() else number
    if kind == "boolean" and value in ("true", "false"):
        return value == "true"
    if kind in ("array", "object"):
        return _parse(value, list if kind == "array" else dict)
    return value


def _parse(text: str, kind: type) -> Any:
    import json  # late: few calls need it

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, kind) else text


def _issues(rule: _Rule, value: Any, path: _Path) -> Iterator[_Issue]:
    if rule.any_of is not None:
        yield from _no_choice_fits(rule.any_of, value, path)
    elif rule.options is not None:
        yield from _not_one_of(rule.options, value, path)
    elif not _fits(rule.type, value):
        yield {"expected": rule.expected, **_wrong_type(rule.expected, _type_name(value), path)}
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


def _wrong_type(expected: str, received: str, path: _Path) -> _Issue:
    message = f"Invalid input: expected {expected}, received {received}"
    return {"code": "invalid_type", "path": list(path), "message": message}


def _missing(rule: _Rule, path: _Path) -> _Issue:
    if rule.options is not None:
        return next(_not_one_of(rule.options, _ABSENT, path))
    return {"expected": rule.expected, **_wrong_type(rule.expected, "undefined", path)}


def _unknown(names: list[str]) -> _Issue:
    word = "key" if len(names) == 1 else "keys"
    message = f"Unrecognized {word}: " + ", ".join(f'"{name}"' for name in names)
    return {"code": "unrecognized_keys", "keys": names, "path": [], "message": message}


def _not_one_of(values: list[Any], value: Any, path: _Path) -> Iterator[_Issue]:
    if value in values:
        return
    quoted = "|".join(f'"{option}"' for option in values)
    message = f"Invalid option: expected one of {quoted}" if len(values) > 1 else f"Invalid input: expected {quoted}"
    yield {"code": "invalid_value", "values": values, "path": list(path), "message": message}


def _no_choice_fits(choices: list[_Rule], value: Any, path: _Path) -> Iterator[_Issue]:
    errors = [list(_issues(choice, value, ())) for choice in choices]
    if all(errors):
        yield {"code": "invalid_union", "errors": errors, "path": list(path), "message": "Invalid input"}


def _wrong_number(rule: _Rule, value: float, path: _Path) -> Iterator[_Issue]:
    is_integer = rule.type == "integer"
    has_minimum = rule.minimum is not None or rule.exclusive_minimum is not None
    if is_integer and has_minimum and value <= 0:
        return  # the tool treats it as missing
    if is_integer and isinstance(value, float):
        yield {"expected": "int", "format": "safeint", **_wrong_type("int", "number", path)}
    elif rule.maximum is not None and value > rule.maximum:
        yield _out_of_range("number", "too_big", "maximum", rule.maximum, path, f"to be <={rule.maximum}")
    elif rule.minimum is not None and value < rule.minimum:
        yield _out_of_range("number", "too_small", "minimum", rule.minimum, path, f"to be >={rule.minimum}")


def _wrong_text(rule: _Rule, value: str, path: _Path) -> Iterator[_Issue]:
    if rule.format == "uri" and not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:\S", value):
        yield {"code": "invalid_format", "format": "url", "path": list(path), "message": "Invalid URL"}
    yield from _wrong_size(rule.min_length, rule.max_length, len(value), path, "string", "characters")


def _wrong_list(rule: _Rule, value: list[Any], path: _Path) -> Iterator[_Issue]:
    yield from _wrong_size(rule.min_items, rule.max_items, len(value), path, "array", "items")
    if rule.items is not None:
        for index, item in enumerate(value):
            yield from _issues(rule.items, item, (*path, index))


def _wrong_object(rule: _Rule, value: _Arguments, path: _Path) -> Iterator[_Issue]:
    """Yield the issues of an object; fields that the schema does not name are allowed."""
    for name, inner in rule.properties.items():
        if name in value:
            yield from _issues(inner, value[name], (*path, name))
        elif name in rule.required and inner.default is UNSET:
            yield _missing(inner, (*path, name))
    others = rule.additional_properties
    if isinstance(others, _Rule):
        for name in value:
            if name not in rule.properties:
                yield from _issues(others, value[name], (*path, name))


def _wrong_size(
    minimum: int | None, maximum: int | None, size: int, path: _Path, origin: str, unit: str
) -> Iterator[_Issue]:
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
