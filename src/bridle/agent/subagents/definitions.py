"""The definition of a sub-agent, and how it is read from JSON or from the frontmatter of a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from bridle.agent.permissions.rules.policy import MODES
from bridle.agent.permissions.rules.syntax import canonical
from bridle.agent.skills.frontmatter import Document, as_flag, as_text, as_words

Source = Literal["built-in", "plugin", "user", "project", "flag", "host"]

INHERITED_MODEL = "inherit"
ALL_TOOLS = "*"
WORKTREE = "worktree"


class AgentDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of sub-agent."""

    name: str
    description: str
    """When the main agent should use it."""
    prompt: str
    """Its system prompt."""
    tools: tuple[str, ...] | None = None
    """The tools that it may use; None for all that sub-agents may use."""
    denied_tools: tuple[str, ...] = ()
    model: str | None = None
    """None for the model of its caller."""
    permission_mode: str | None = None
    max_turns: int | None = None
    skills: tuple[str, ...] = ()
    """The skills whose texts it starts with."""
    in_background: bool = False
    is_isolated: bool = False
    """Whether it works in a git worktree of its own."""
    source: Source = "built-in"
    reads_instructions: bool = True
    """Whether it gets the project's instructions."""


def read_definition(name: str, value: object, source: Source) -> AgentDefinition:
    """Read an entry of `--agents` or of `initialize`. Raises ValueError with the reason if it is invalid."""
    if not isinstance(value, dict):
        raise ValueError("it must be an object")  # one type for every invalid entry
    description, prompt = value.get("description"), value.get("prompt")
    if not isinstance(description, str) or not description.strip():
        raise ValueError("description must be a text")
    if not isinstance(prompt, str) or not prompt.strip():
        raise ValueError("prompt must be a text")
    return _definition(name, description, prompt, value, source)


def document_definition(document: Document, source: Source, *, prefix: str = "") -> AgentDefinition | None:
    """Return the definition that a document holds; None if it has no name or no description."""
    name, description = as_text(document.fields.get("name")), as_text(document.fields.get("description"))
    if name is None or description is None:
        return None
    return _definition(prefix + name, description, document.body.strip(), document.fields, source)


def _definition(name: str, description: str, prompt: str, fields: Mapping[str, Any], source: Source) -> AgentDefinition:
    model = as_text(fields.get("model"))
    return AgentDefinition(
        name=name,
        description=description,
        prompt=prompt,
        tools=_tools(fields.get("tools")),
        denied_tools=_tools(fields.get("disallowedTools")) or (),
        model=None if model in (None, INHERITED_MODEL) else model,
        permission_mode=_mode(fields.get("permissionMode")),
        max_turns=_turns(fields.get("maxTurns")),
        skills=as_words(fields.get("skills")),
        in_background=as_flag(fields.get("background"), default=False),
        is_isolated=fields.get("isolation") == WORKTREE,
        source=source,
    )


def _tools(value: object) -> tuple[str, ...] | None:
    """Return the names of tools, without what rules have in parentheses; None for all tools."""
    if value is None:
        return None
    names = tuple(dict.fromkeys(canonical(word.partition("(")[0].strip()) for word in as_words(value)))
    return None if ALL_TOOLS in names else names


def _mode(value: object) -> str | None:
    return value if isinstance(value, str) and value in MODES else None


def _turns(value: object) -> int | None:
    text = as_text(value)
    return int(text) if text is not None and text.isdecimal() and int(text) > 0 else None
