"""Structured output: a schema that the answer must match, and the mistakes of models that are corrected.

A turn with a schema ends with data that matches it or with an error, never with a success without data.
"""

from __future__ import annotations

from typing import Any

import msgspec

from bridle.agent.tools.contract.input_schema import JsonSchema
from bridle.agent.tools.contract.tool import ToolResult, failed_result
from bridle.errors import UsageError

TOOL = "StructuredOutput"
DONE = "Structured output provided successfully"
NUDGE = (
    "[structured-output-enforce] You MUST call the StructuredOutput tool to complete this request. Call this tool now."
)

# As many as Claude Code makes.
ATTEMPTS = 5
# The first is a reminder in text; the second forces the tool call.
NUDGES = 2

# Names of objects that models wrap the data in.
_WRAPPERS = ("output", "result", "data", "value", "response", "structured_output", "json", "input", "arguments")
# Data with more wrong types than this is not worth correcting.
_MAX_CORRECTIONS = 50


class SchemaMatch(msgspec.Struct, frozen=True):
    """Data that matches the schema, or why it does not."""

    value: Any = None
    problem: str | None = None


class Schema:
    """A schema that an answer must match."""

    def __init__(self, document: JsonSchema) -> None:
        self.document = document
        self._validator: Any = None

    @classmethod
    def parse(cls, text: str) -> Schema:
        """Parse the value of `--json-schema`; raise UsageError if it is not a schema."""
        import json

        try:
            document = json.loads(text)
        except ValueError as error:
            raise UsageError(f"Error: --json-schema is not valid JSON: {error}") from None
        if not isinstance(document, dict):
            raise UsageError("Error: --json-schema must be a JSON object")
        schema = cls(document)
        schema._compile()
        return schema

    def match(self, data: Any) -> SchemaMatch:
        """Match data against the schema; wrappers and convertible types are corrected."""
        problems = self._problems(data)
        if not problems:
            return SchemaMatch(data)
        for candidate in (data, *_unwrap(data)):
            corrected = self._correct(candidate)
            if not self._problems(corrected):
                return SchemaMatch(corrected)
        return SchemaMatch(
            problem="Output does not match required schema: " + ", ".join(map(_describe_problem, problems))
        )

    def _compile(self) -> Any:
        if self._validator is None:
            import jsonschema_rs

            try:
                self._validator = jsonschema_rs.validator_for(self.document)
            except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
                reason = str(error).splitlines()[0]
                raise UsageError(f"Error: --json-schema is not a valid JSON Schema: {reason}") from None
        return self._validator

    def _problems(self, data: Any) -> list[Any]:
        return list(self._compile().iter_errors(data))

    def _correct(self, data: Any) -> Any:
        """Return a copy of the data with values converted to the types that the schema asks for."""
        import copy

        data = copy.deepcopy(data)
        for _ in range(_MAX_CORRECTIONS):
            wrong = next((problem for problem in self._problems(data) if problem.schema_path[-1:] == ["type"]), None)
            if wrong is None:
                return data
            converted = _convert(wrong.instance, self._expected_types(wrong.schema_path))
            if converted is None:
                return data
            data = _replace(data, list(wrong.instance_path), converted[0])
        return data

    def _expected_types(self, schema_path: list[str | int]) -> list[str]:
        node: Any = self.document
        for step in schema_path:
            try:
                node = node[step]
            except (KeyError, IndexError, TypeError):
                return []
        return [node] if isinstance(node, str) else list(node) if isinstance(node, list) else []


class StructuredOutput:
    """The tool that a model returns the data with; its input schema is the requested schema."""

    name = TOOL
    description = (
        "Return the final answer of this request as data. Call it exactly once, when everything else is done; the "
        "input must match the schema of this tool. The call ends the request."
    )

    input_type = dict

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self.value: Any = None
        self.has_value = False
        self.failures = 0

    @property
    def schema(self) -> JsonSchema:
        """The requested schema, verbatim."""
        return self._schema.document

    def begin_turn(self) -> None:
        """Reset data and failures for a new turn."""
        self.value, self.has_value, self.failures = None, False, 0

    def matching_input(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the input corrected to match the schema, or as sent if it cannot be."""
        value = self._schema.match(arguments).value
        return value if isinstance(value, dict) else arguments

    async def run(self, request: Any, *, call_id: str) -> ToolResult:  # noqa: ARG002  # part of the tool interface
        """Store the data, or return why it does not match."""
        match = self._schema.match(request)
        if match.problem is not None:
            self.failures += 1
            return failed_result(match.problem)
        self.value, self.has_value = match.value, True
        return ToolResult(DONE, detail=DONE, ends_turn=True)


def _unwrap(data: Any) -> list[Any]:
    """Return candidates for the data: inside a wrapper, or encoded as a string."""
    import json

    candidates: list[Any] = []
    if isinstance(data, dict) and len(data) == 1:
        name, inner = next(iter(data.items()))
        if name in _WRAPPERS:
            candidates.append(inner)
    for value in (data, *candidates):
        if isinstance(value, str):
            try:
                candidates.append(json.loads(value))
            except (ValueError, RecursionError):
                continue
    return candidates


def _convert(value: Any, types: list[str]) -> tuple[Any] | None:
    """Convert a text to the value of one of the types that it spells, as Claude Code does; None if it spells none."""
    for kind in types:
        match kind, value:
            case (("integer" | "number"), str()) if (number := _number(value, kind)) is not None:
                return (number,)
            case "boolean", ("true" | "false"):
                return (value == "true",)
            case (("object" | "array"), str()):
                parsed = [item for item in _unwrap(value) if isinstance(item, dict | list)]
                if parsed:
                    return (parsed[0],)
    return None


def _number(text: str, kind: str) -> int | float | None:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return None
    return number if kind == "number" and number == number and abs(number) != float("inf") else None


def _replace(data: Any, path: list[str | int], value: Any) -> Any:
    if not path:
        return value
    node = data
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value
    return data


def _describe_problem(problem: Any) -> str:
    """Describe a problem as Claude Code does: the path, and what must be there."""
    where = "".join(f"/{step}" for step in problem.instance_path) or "root"
    return f"{where}: {_requirement(problem)}"


def _requirement(problem: Any) -> str:
    kind = problem.kind
    match problem.schema_path[-1] if problem.schema_path else "":
        case "required":
            return f"must have required property '{getattr(kind, 'property', '')}'"
        case "additionalProperties" | "unevaluatedProperties":
            return "must NOT have additional properties"
        case "enum":
            return "must be equal to one of the allowed values"
        case "type":
            return f"must be {_type_names(kind)}"
        case _:
            return str(problem.message)


def _type_names(kind: Any) -> str:
    types = getattr(kind, "types", None) or []
    names = types if isinstance(types, list) else [types]
    return ",".join(str(name) for name in names)
