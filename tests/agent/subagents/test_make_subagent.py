"""The model, the permission mode and the tools of a sub-agent."""

from __future__ import annotations

import pytest

from bridle.agent.model.api.models import resolve_model
from bridle.agent.subagents.builtin import BUILT_IN
from bridle.agent.subagents.definitions import AgentDefinition
from bridle.agent.subagents.make_subagent import chosen_mode, chosen_model, chosen_tools

OFFERED = ["Agent", "Bash", "Edit", "Read", "Skill", "TaskCreate", "TaskOutput", "TaskStop", "Write", "mcp__x__add"]
EXPLORE = next(agent for agent in BUILT_IN if agent.name == "Explore")


def agent(**fields: object) -> AgentDefinition:
    return AgentDefinition(name="a", description="d", prompt="p", **fields)  # type: ignore[arg-type]


def tools(definition: AgentDefinition, *, in_background: bool = False, may_start: bool = True) -> list[str]:
    return chosen_tools(definition, OFFERED, in_background=in_background, may_start=may_start)


def test_an_agent_has_the_tools_of_its_caller_except_those_of_the_main_agent() -> None:
    assert tools(agent()) == [name for name in OFFERED if name != "TaskOutput"]
    assert "Agent" not in tools(agent(), may_start=False)


def test_an_agent_in_the_background_has_fewer_tools_and_those_of_mcp_servers() -> None:
    assert tools(agent(), in_background=True) == [
        "Agent",
        "Bash",
        "Edit",
        "Read",
        "Skill",
        "TaskStop",
        "Write",
        "mcp__x__add",
    ]


def test_a_definition_chooses_its_tools_in_its_order_and_denies_others() -> None:
    assert tools(agent(tools=("Read", "Bash", "Nope"))) == ["Read", "Bash"]
    assert tools(agent(tools=("Read", "Bash"), denied_tools=("Bash",))) == ["Read"]
    assert tools(agent(tools=())) == []
    assert tools(agent(tools=("mcp__x",))) == ["mcp__x__add"]
    assert "mcp__x__add" not in tools(agent(denied_tools=("mcp__x__*",)))


def test_an_agent_that_searches_cannot_change_files() -> None:
    assert tools(EXPLORE) == ["Bash", "Read", "Skill", "TaskCreate", "TaskStop", "mcp__x__add"]


def test_the_model_of_the_call_wins_over_that_of_the_definition() -> None:
    main = resolve_model(None, {})
    assert chosen_model(agent(), None, main, {}) is main
    assert chosen_model(agent(model="haiku"), None, main, {}).id == resolve_model("haiku", {}).id
    assert chosen_model(EXPLORE, "sonnet", main, {}).id == resolve_model("sonnet", {}).id
    # The caller's own model by its alias keeps the caller's context window.
    assert chosen_model(agent(), "opus", main, {}) is main


@pytest.mark.parametrize(
    ("mode", "source", "caller", "may_bypass", "is_trusted", "chosen"),
    [
        ("acceptEdits", "flag", "default", False, False, "acceptEdits"),
        ("plan", "project", "default", False, False, "plan"),
        ("acceptEdits", "project", "default", False, False, None),
        ("acceptEdits", "project", "default", False, True, "acceptEdits"),
        ("acceptEdits", "plugin", "default", False, False, None),
        ("bypassPermissions", "project", "default", False, True, None),
        ("bypassPermissions", "flag", "default", False, False, None),
        ("bypassPermissions", "flag", "default", True, False, "bypassPermissions"),
        ("plan", "flag", "bypassPermissions", True, False, None),
        (None, "flag", "default", True, True, None),
    ],
)
def test_a_definition_can_allow_more_only_if_its_source_may(
    mode: str | None, source: str, caller: str, may_bypass: bool, is_trusted: bool, chosen: str | None
) -> None:
    definition = agent(permission_mode=mode, source=source)
    assert chosen_mode(definition, caller, may_bypass=may_bypass, is_trusted=is_trusted) == chosen
