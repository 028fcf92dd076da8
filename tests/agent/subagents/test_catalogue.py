"""The sub-agents of a session: which one a name means, and how they are listed."""

from __future__ import annotations

from bridle.agent.permissions.rules.policy import Policy
from bridle.agent.permissions.rules.syntax import parse_rules
from bridle.agent.subagents.builtin import BUILT_IN
from bridle.agent.subagents.catalogue import Agents
from bridle.agent.subagents.definitions import AgentDefinition


def policy(*denied: str) -> Policy:
    return Policy(cwd="/w", home="/h", deny=tuple(parse_rules(denied)))


def definition(name: str, prompt: str = "p", **more: object) -> AgentDefinition:
    return AgentDefinition(name=name, description=f"Does {name}.", prompt=prompt, **more)  # type: ignore[arg-type]


def test_names_are_sorted_without_case_and_the_last_definition_wins() -> None:
    agents = Agents([*BUILT_IN, definition("zeta"), definition("Plan", "mine")])
    assert agents.names == ["claude", "Explore", "general-purpose", "Plan", "zeta"]
    found = agents.find("Plan")
    assert found is not None
    assert found.prompt == "mine"
    assert agents.find("nope") is None


def test_agents_of_the_host_come_last_and_win() -> None:
    agents = Agents(BUILT_IN)
    agents.add([definition("ini"), definition("claude", "mine")])
    assert agents.names == ["Explore", "general-purpose", "Plan", "ini", "claude"]


def test_the_listing_names_tools_and_leaves_out_denied_agents() -> None:
    agents = Agents([definition("a", tools=("Read", "Bash"), denied_tools=("Bash",)), *BUILT_IN])
    listing = agents.listing(policy("Agent(Plan)"))
    assert "- a: Does a. (tools: Read)" in listing
    assert "- Explore:" in listing
    assert "- Plan:" not in listing
    assert [agent.name for agent in agents.allowed(policy("Agent"))] == []


def test_the_host_learns_name_description_and_model() -> None:
    described = {agent["name"]: agent for agent in Agents(BUILT_IN).described()}
    assert described["Explore"]["model"] == "haiku"
    assert "model" not in described["general-purpose"]
