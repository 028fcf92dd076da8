"""What a server declares: its tools, prompts and resources, read tolerantly."""

from __future__ import annotations

from typing import Any

import msgspec

# Longer descriptions fill the context of every request; Claude Code cuts them here.
DESCRIPTION_CHARACTERS = 2048
CUT = "… [truncated]"


class DeclaredTool(msgspec.Struct, frozen=True):
    """A tool of a server."""

    name: str
    description: str
    schema: dict[str, Any]
    title: str
    """How clients show it."""
    annotations: dict[str, bool]
    """Its hints as `mcp_status` shows them: readOnly, destructive, openWorld."""

    @property
    def is_read_only(self) -> bool:
        """Whether the server says that a call changes nothing."""
        return self.annotations.get("readOnly", False)


class DeclaredPrompt(msgspec.Struct, frozen=True):
    """A prompt of a server."""

    name: str
    description: str
    arguments: tuple[tuple[str, bool], ...] = ()
    """The name of each argument, and whether it is required."""


def read_tool(entry: Any) -> DeclaredTool | None:
    """Read an entry of `tools/list`; None if it has no name."""
    if not isinstance(entry, dict) or not isinstance(name := entry.get("name"), str) or not name:
        return None
    schema, hints = entry.get("inputSchema"), entry.get("annotations")
    hints = hints if isinstance(hints, dict) else {}
    names = {"readOnlyHint": "readOnly", "destructiveHint": "destructive", "openWorldHint": "openWorld"}
    return DeclaredTool(
        name,
        shorten(_text(entry, "description")),
        schema if isinstance(schema, dict) and schema.get("type") == "object" else {"type": "object", "properties": {}},
        _text(hints, "title") or _text(entry, "title") or _make_title(name),
        {shown: True for hint, shown in names.items() if hints.get(hint) is True},
    )


def read_prompt(entry: Any) -> DeclaredPrompt | None:
    """Read an entry of `prompts/list`; None if it has no name."""
    if not isinstance(entry, dict) or not isinstance(name := entry.get("name"), str) or not name:
        return None
    sent = entry.get("arguments")
    arguments = [item for item in (sent if isinstance(sent, list) else []) if isinstance(item, dict)]
    named = tuple((str(item.get("name")), item.get("required") is True) for item in arguments if item.get("name"))
    return DeclaredPrompt(name, _text(entry, "description"), named)


def shorten(text: str) -> str:
    """Cut a text that is too long for every request."""
    return text if len(text) <= DESCRIPTION_CHARACTERS else text[:DESCRIPTION_CHARACTERS] + CUT


def _text(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def _make_title(name: str) -> str:
    words = name.replace("_", " ").replace("-", " ").strip() or name
    return words[:1].upper() + words[1:]
