"""The JSON Schema of `bridle.toml`, from the table of settings. Pure."""

from __future__ import annotations

from typing import Any

from bridle.loop.settings.model import KEYS
from bridle.loop.settings.value_kinds import Key

DIALECT = "http://json-schema.org/draft-07/schema#"


def settings_schema() -> dict[str, Any]:
    """Return the schema: what it refuses, `bridle run` refuses too."""
    top: dict[str, Any] = {"$schema": {"type": "string", "description": "The schema, for editors. Bridle ignores it."}}
    for key in KEYS.values():
        table, dot, name = key.name.rpartition(".")
        target = top
        if dot:
            target = top.setdefault(table, {"type": "object", "additionalProperties": False, "properties": {}})[
                "properties"
            ]
        target[name] = _property(key)
    return {
        "$schema": DIALECT,
        "title": "Bridle settings (bridle.toml)",
        "type": "object",
        "additionalProperties": False,
        "properties": top,
    }


def _property(key: Key) -> dict[str, Any]:
    default = key.default
    shown = list(default) if isinstance(default, tuple) else default
    return {**key.kind.schema, "description": f"{key.help} It must be {key.kind.expected}.", "default": shown}
