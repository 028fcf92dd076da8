"""The JSON Schema of `prd.json`, as the parser reads it. Pure."""

from __future__ import annotations

from typing import Any

_TEXTS: dict[str, Any] = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


def prd_schema() -> dict[str, Any]:
    """Return the schema. Members that it does not name are allowed: other tools have their own."""
    stories = {"type": "array", "minItems": 1, "items": _story()}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Bridle stories (prd.json)",
        "anyOf": [
            stories,
            {
                "type": "object",
                "required": ["tasks"],
                "not": {"required": ["userStories"]},
                "properties": {"tasks": stories},
            },
            {
                "type": "object",
                "required": ["userStories"],
                "properties": {
                    "$schema": {"type": "string"},
                    "name": {"type": "string", "description": "The plan's title; also `project` or `title`."},
                    "project": {"type": "string"},
                    "title": {"type": "string"},
                    "userStories": stories,
                },
            },
        ],
    }


def _story() -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["title"],
        "properties": {
            "id": {"type": ["string", "integer", "null"], "description": "A short name that `dependsOn` may use."},
            "title": {"type": "string", "minLength": 1},
            "description": {"type": ["string", "null"], "description": "What the agent is to do."},
            "notes": {"type": ["string", "null"], "description": "More text for the agent."},
            "acceptanceCriteria": {**_nullable(_TEXTS), "description": "The agent's checklist."},
            "priority": {"type": ["integer", "null"], "description": "The smallest number is first."},
            "passes": {"type": ["boolean", "null"], "description": "A story that passes is left out."},
            "completed": {"type": ["boolean", "null"], "description": "The same as `passes`, in a list of `tasks`."},
            "parallel_group": {
                "type": ["integer", "null"],
                "description": "A group starts when the one before is done.",
            },
            "dependsOn": {**_nullable(_TEXTS), "description": "Ids or titles of the stories that must be done first."},
        },
    }


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [*schema["anyOf"], {"type": "null"}]}
