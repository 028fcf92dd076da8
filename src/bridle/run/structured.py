"""Structured output: validate an answer against the schema, and write the correction for the agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bridle.errors import UsageError
from bridle.wire.record.record import Record

# An agent that did not call the tool after three corrections will not; Claude Code has the same number.
CORRECTIONS = 3


class Schema:
    """A JSON schema that answers are validated against."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        import jsonschema_rs  # 30 ms and 15 MB: only runs with a schema pay for it

        self._schema = dict(schema)
        try:
            self._validator = jsonschema_rs.validator_for(self._schema)
        except (ValueError, jsonschema_rs.ValidationError) as error:
            raise UsageError(f"the JSON schema is not valid: {error}", remedy="Correct the schema.") from error

    def complaint(self, record: Record) -> str | None:
        """Return what is wrong with the structured output of a record; None where it is valid."""
        if not record.has_structured_output:
            return "there was no structured output"
        fault = next(iter(self._validator.iter_errors(record.structured_output)), None)
        if fault is None:
            return None
        place = "/".join(str(part) for part in fault.instance_path) or "the top"
        return f"the structured output does not fit the schema at {place}: {fault.message}"

    def correction(self, complaint: str) -> str:
        """Return the message that asks the agent to try again."""
        import json

        return (
            f"Your last turn cannot be used: {complaint}. Call the StructuredOutput tool now, once, with an object"
            f" that fits this JSON schema, and write nothing else: {json.dumps(self._schema, ensure_ascii=False)}"
        )
