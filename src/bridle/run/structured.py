"""Structured output: what the agent answered against the schema, and what to tell it when it does not fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bridle.errors import UsageError
from bridle.wire.record.record import Record

# An agent that did not call the tool after three reminders will not: the same number as the harness it comes from.
CORRECTIONS = 3


class Schema:
    """A JSON schema that answers are held against."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        import jsonschema_rs  # 30 ms and 15 MB: only runs with a schema pay for it

        self._schema = dict(schema)
        try:
            self._validator = jsonschema_rs.validator_for(self._schema)
        except (ValueError, jsonschema_rs.ValidationError) as refusal:
            raise UsageError(f"the JSON schema is not valid: {refusal}", remedy="mend the schema") from refusal

    def complaint(self, record: Record) -> str | None:
        """What is wrong with the structured output of a record; None where it fits."""
        if not record.has_structured_output:
            return "there was no structured output"
        fault = next(iter(self._validator.iter_errors(record.structured_output)), None)
        if fault is None:
            return None
        place = "/".join(str(part) for part in fault.instance_path) or "the top"
        return f"the structured output does not fit the schema at {place}: {fault.message}"

    def correction(self, complaint: str) -> str:
        """The message that asks for another try."""
        import json

        return (
            f"Your last turn cannot be used: {complaint}. Call the StructuredOutput tool now, once, with an object"
            f" that fits this JSON schema, and write nothing else: {json.dumps(self._schema, ensure_ascii=False)}"
        )
