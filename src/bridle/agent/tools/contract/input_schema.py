"""The JSON Schema that the inputs of all tools share."""

from __future__ import annotations

from typing import Any, TypeAlias

JsonSchema: TypeAlias = dict[str, Any]

# The largest integer that a JSON number holds without losing a digit.
LARGEST_INTEGER = 9007199254740991


def input_schema(properties: JsonSchema, required: list[str]) -> JsonSchema:
    """Return the JSON Schema of an object with these properties and no others."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }
