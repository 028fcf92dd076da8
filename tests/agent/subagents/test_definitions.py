"""How definitions of sub-agents are read from JSON and from documents."""

from __future__ import annotations

import pytest

from bridle.agent.skills.frontmatter import parse_document
from bridle.agent.subagents.definitions import document_definition, read_definition


def test_all_fields_of_json_are_read() -> None:
    definition = read_definition(
        "rev",
        {
            "description": "Reviews",
            "prompt": "You review.",
            "tools": ["Read", "Task", "Bash(git *)"],
            "disallowedTools": "Write, Edit",
            "model": "haiku",
            "permissionMode": "plan",
            "maxTurns": 3,
            "skills": ["greet"],
            "background": True,
            "isolation": "worktree",
        },
        "flag",
    )
    assert definition.tools == ("Read", "Agent", "Bash")
    assert definition.denied_tools == ("Write", "Edit")
    assert (definition.model, definition.permission_mode, definition.max_turns) == ("haiku", "plan", 3)
    assert (definition.skills, definition.in_background, definition.source) == (("greet",), True, "flag")
    assert definition.is_isolated


def test_fields_that_say_nothing_leave_the_defaults() -> None:
    value = {
        "description": "d",
        "prompt": "p",
        "model": "inherit",
        "tools": ["*"],
        "permissionMode": "x",
        "maxTurns": 0,
    }
    definition = read_definition("a", value, "host")
    assert (definition.model, definition.tools, definition.permission_mode, definition.max_turns) == (None,) * 4


def test_an_empty_list_of_tools_means_no_tools() -> None:
    assert read_definition("a", {"description": "d", "prompt": "p", "tools": []}, "flag").tools == ()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (5, "it must be an object"),
        ({"prompt": "p"}, "description must be a text"),
        ({"description": "d", "prompt": " "}, "prompt must be a text"),
    ],
)
def test_an_invalid_entry_is_refused_with_its_reason(value: object, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_definition("a", value, "flag")


def test_a_document_defines_an_agent_with_its_body_as_prompt() -> None:
    text = "---\nname: proj\ndescription: Does it\ntools: Read, Bash\nmaxTurns: 2\n---\n\nYou do it.\n"
    definition = document_definition(parse_document(text), "plugin", prefix="plug:")
    assert definition is not None
    assert (definition.name, definition.prompt, definition.tools) == ("plug:proj", "You do it.", ("Read", "Bash"))
    assert definition.max_turns == 2


@pytest.mark.parametrize("text", ["Only text.\n", "---\nname: a\n---\nNo description.\n"])
def test_a_document_without_name_or_description_defines_none(text: str) -> None:
    assert document_definition(parse_document(text), "project") is None
