"""The sub-agents of a session: looked up by name, listed for the model, for `init` and for the host."""

from __future__ import annotations

from collections.abc import Iterable

from bridle.agent.permissions.decide import decide
from bridle.agent.permissions.rules.policy import Denied, Policy
from bridle.agent.subagents.definitions import AgentDefinition
from bridle.wire.events.loose_json import JsonObject

_HEAD = "These agents can be started with the Agent tool:"
_TAIL = "Start agents whose tasks do not depend on each other with several calls in one message: they run concurrently."


class Agents:
    """All definitions by name; of several with one name the last wins."""

    def __init__(self, definitions: Iterable[AgentDefinition]) -> None:
        found = {definition.name: definition for definition in definitions}
        self._known = dict(sorted(found.items(), key=lambda item: item[0].lower()))

    @property
    def names(self) -> list[str]:
        """The names of all agents, sorted; those that the host added come last."""
        return list(self._known)

    def add(self, definitions: Iterable[AgentDefinition]) -> None:
        """Add the agents of the host."""
        for definition in definitions:
            self._known.pop(definition.name, None)
            self._known[definition.name] = definition

    def find(self, name: str) -> AgentDefinition | None:
        """Return the definition of that name; one in other letters if it is the only one."""
        if (exact := self._known.get(name)) is not None:
            return exact
        alike = [agent for known, agent in self._known.items() if known.lower() == name.lower()]
        return alike[0] if len(alike) == 1 else None

    def allowed(self, policy: Policy) -> list[AgentDefinition]:
        """Return the agents that no rule denies."""
        return [
            agent
            for agent in self._known.values()
            if not isinstance(decide("Agent", {"subagent_type": agent.name}, policy), Denied)
        ]

    def listing(self, policy: Policy) -> str:
        """Return the message that lists the agents which rules do not deny."""
        lines = [f"- {agent.name}: {agent.description} ({_tools(agent)})" for agent in self.allowed(policy)]
        return "\n".join([_HEAD, *lines, "", _TAIL])

    def described(self) -> list[JsonObject]:
        """Return the agents as the answer to `initialize` lists them."""
        return [
            {
                "name": agent.name,
                "description": agent.description,
                **({"model": agent.model} if agent.model is not None else {}),
            }
            for agent in self._known.values()
        ]


def _tools(agent: AgentDefinition) -> str:
    if agent.tools is not None:
        named = [name for name in agent.tools if name not in agent.denied_tools]
        return f"tools: {', '.join(named) or 'none'}"
    return f"tools: all except {', '.join(agent.denied_tools)}" if agent.denied_tools else "tools: all"
