"""Structured output: the schema that an answer must fit, and what is forgiven on the way there.

A turn with a schema ends with data that fits it or with an error, never with a success that has none.
"""

from __future__ import annotations

from typing import Any

import msgspec

from bridle.agent.tools.contract.tool import ToolResult, failed_result
from bridle.errors import UsageError

TOOL = "StructuredOutput"
DONE = "Structured output provided successfully"
NUDGE = (
    "[structured-output-enforce] You MUST call the StructuredOutput tool to complete this request. Call this tool now."
)

# As often as programs that drive `claude` have seen it.
ATTEMPTS = 5
# One reminder in words; the second one leaves the model no other choice.
NUDGES = 2

# Values that models put around the data they were asked for.
_WRAPPERS = ("output", "result", "data", "value", "response", "structured_output", "json", "input", "arguments")
# No data has more wrong types than this in one call and is still worth mending.
_MENDS = 50


class SchemaMatch(msgspec.Struct, frozen=True):
    """Data that fits, or why it does not."""

    value: Any = None
    problem: str | None = None


class Schema:
    """A schema that an answer must fit."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self._validator: Any = None

    @classmethod
    def parse(cls, text: str) -> Schema:
        """Read the flag's value; one that is no schema is refused, since nothing could be held against it."""
        import json

        try:
            document = json.loads(text)
        except ValueError as error:
            raise UsageError(f"Error: --json-schema is not valid JSON: {error}") from None
        if not isinstance(document, dict):
            raise UsageError("Error: --json-schema must be a JSON object")
        schema = cls(document)
        schema._ready()
        return schema

    def fit(self, data: Any) -> SchemaMatch:
        """Hold data against the schema; wrappers and near types that models produce are forgiven."""
        first = self._problems(data)
        if not first:
            return SchemaMatch(data)
        for candidate in (data, *_unwrapped(data)):
            mended = self._mended(candidate)
            if not self._problems(mended):
                return SchemaMatch(mended)
        return SchemaMatch(problem="Output does not match required schema: " + ", ".join(map(_words, first)))

    def _ready(self) -> Any:
        if self._validator is None:
            import jsonschema_rs

            try:
                self._validator = jsonschema_rs.validator_for(self.document)
            except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
                reason = str(error).splitlines()[0]
                raise UsageError(f"Error: --json-schema is not a valid JSON Schema: {reason}") from None
        return self._validator

    def _problems(self, data: Any) -> list[Any]:
        return list(self._ready().iter_errors(data))

    def _mended(self, data: Any) -> Any:
        """The data with texts turned into the numbers and truths that the schema asks for, and back."""
        import copy

        data = copy.deepcopy(data)
        for _ in range(_MENDS):
            wrong = next((problem for problem in self._problems(data) if problem.schema_path[-1:] == ["type"]), None)
            if wrong is None:
                return data
            near = _near(wrong.instance, self._wanted(wrong.schema_path))
            if near is None:
                return data
            data = _replaced(data, list(wrong.instance_path), near[0])
        return data

    def _wanted(self, schema_path: list[str | int]) -> list[str]:
        node: Any = self.document
        for step in schema_path:
            try:
                node = node[step]
            except (KeyError, IndexError, TypeError):
                return []
        return [node] if isinstance(node, str) else list(node) if isinstance(node, list) else []


class StructuredOutput:
    """The tool through which a model gives the data; its input schema is the schema itself."""

    name = TOOL
    description = (
        "Give the final answer of this request as data. Call it exactly once, when everything else is done; "
        "the input must fit the schema of this tool, and the request ends with it."
    )

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self.value: Any = None
        self.has_value = False
        self.failures = 0

    @property
    def schema(self) -> dict[str, Any]:
        """The schema that was asked for, verbatim."""
        return self._schema.document

    def begin_turn(self) -> None:
        """A new turn owes new data, and its failures are its own."""
        self.value, self.has_value, self.failures = None, False, 0

    def shown(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The input as it is shown: the data that fits, where there is any in it."""
        value = self._schema.fit(arguments).value
        return value if isinstance(value, dict) else arguments

    async def run(self, arguments: Any, *, call_id: str) -> ToolResult:  # noqa: ARG002  # the protocol of tools
        """Take the data, or say what is wrong with it."""
        fit = self._schema.fit(arguments)
        if fit.problem is not None:
            self.failures += 1
            return failed_result(fit.problem)
        self.value, self.has_value = fit.value, True
        return ToolResult(DONE, detail=DONE, ends_turn=True)


def _unwrapped(data: Any) -> list[Any]:
    """What may be meant: the data inside a wrapper, or written out as text."""
    import json

    found: list[Any] = []
    if isinstance(data, dict) and len(data) == 1:
        name, inner = next(iter(data.items()))
        if name in _WRAPPERS:
            found.append(inner)
    for value in (data, *found):
        if isinstance(value, str):
            try:
                found.append(json.loads(value))
            except (ValueError, RecursionError):
                continue
    return found


def _near(value: Any, wanted: list[str]) -> tuple[Any] | None:
    """The value in one of the types that are wanted, where nothing is lost by it."""
    for kind in wanted:
        match kind, value:
            case (("integer" | "number"), str()) if (number := _number(value, kind)) is not None:
                return (number,)
            case "boolean", ("true" | "false"):
                return (value == "true",)
            case "string", bool():
                return ("true" if value else "false",)
            case "string", int() | float():
                return (str(value),)
            case "null", "":
                return (None,)
            case (("object" | "array"), str()):
                found = [item for item in _unwrapped(value) if isinstance(item, dict | list)]
                if found:
                    return (found[0],)
            case "array", _ if value is not None and not isinstance(value, list | dict):
                return ([value],)
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


def _replaced(data: Any, path: list[str | int], value: Any) -> Any:
    if not path:
        return value
    node = data
    for step in path[:-1]:
        node = node[step]
    node[path[-1]] = value
    return data


def _words(problem: Any) -> str:
    """A problem in the words that programs and models know: where, and what must be."""
    where = "".join(f"/{step}" for step in problem.instance_path) or "root"
    return f"{where}: {_must(problem)}"


def _must(problem: Any) -> str:
    kind = problem.kind
    match problem.schema_path[-1] if problem.schema_path else "":
        case "required":
            return f"must have required property '{getattr(kind, 'property', '')}'"
        case "additionalProperties" | "unevaluatedProperties":
            return "must NOT have additional properties"
        case "enum":
            return "must be equal to one of the allowed values"
        case "type":
            return f"must be {_type_words(kind)}"
        case _:
            return str(problem.message)


def _type_words(kind: Any) -> str:
    types = getattr(kind, "types", None) or []
    names = types if isinstance(types, list) else [types]
    return ",".join(str(name) for name in names)
