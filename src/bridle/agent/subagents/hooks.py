"""The hooks of a sub-agent: those of the session, with the id and type of the agent in their input."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bridle.agent.conversation.session_hooks import SessionHooks, StopDecision, decision_of, stop_fields
from bridle.agent.hooks.prompt_hook import Ask


class AgentHooks(SessionHooks):
    """Runs the hooks of a session for one sub-agent: SubagentStart, SubagentStop, and those of its calls."""

    def __init__(
        self,
        session: SessionHooks,
        environment: Mapping[str, str],
        ask: Ask,
        effort: Callable[[], str | None],
        *,
        agent_id: str,
        agent_type: str,
        transcript_path: Callable[[], str],
    ) -> None:
        """`ask` asks a model about the conversation of the agent; `effort` returns that of its own model."""
        agent = {"agent_id": agent_id, "agent_type": agent_type}
        self._transcript_path = transcript_path
        super().__init__(session.hooks.with_ask(ask), environment, session.mode, effort, agent)

    async def begin(self) -> tuple[str, ...]:
        """Run SubagentStart; return its texts for the agent."""
        outcome = await self.hooks.run("SubagentStart", {}, context=self._agent, subject=self._agent["agent_type"])
        return outcome.contexts

    async def stop(self, last_text: str, *, is_active: bool) -> StopDecision:
        """Run SubagentStop; a hook that blocks sends the agent back to work."""
        fields = stop_fields(last_text, is_active=is_active, agent_transcript_path=self._transcript_path())
        subject = self._agent["agent_type"]
        return decision_of(await self.hooks.run("SubagentStop", fields, context=self.turn_fields(), subject=subject))
