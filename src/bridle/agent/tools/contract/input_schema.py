"""The shape that the input schemas of all tools share."""

from __future__ import annotations

from typing import Any

# What a JSON number can hold without losing a digit: the schemas name it as the largest integer.
LARGEST_INTEGER = 9007199254740991


def input_schema(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    """The JSON Schema of an object with these properties and no others."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
