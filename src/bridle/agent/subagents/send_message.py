"""The SendMessage tool: sends a message to a running agent, or continues one that has ended."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from bridle.agent.subagents.agent_log import AgentIdentity
from bridle.agent.subagents.live_agents import LiveAgents
from bridle.agent.subagents.run_subagent import Subagent
from bridle.agent.tools.contract.input_schema import JsonSchema, input_schema
from bridle.agent.tools.contract.tool import ToolResult, rejected_call
from bridle.errors import Error

MAIN = "main"
_AGENT_ID = re.compile("a[0-9a-f]{16}")

Resume = Callable[[str, str, str], Subagent]
"""Makes an agent from the transcript of one that has ended. The arguments are its id, the message and the call's id.

Raises UserError if it cannot be continued.
"""


class SendMessageInput(msgspec.Struct, frozen=True):
    """The input of SendMessage."""

    to: str
    message: str
    summary: str | None = None


class SendMessage:
    """Sends messages between the agents of a session."""

    name = "SendMessage"
    description = (
        "Send a message to another agent. What you write as text is read by no other agent.\n\n"
        "- to: the agentId that the Agent tool returned, or main for the main conversation if you are a sub-agent.\n"
        "- summary: the message in five to ten words.\n"
        "- message: the text.\n\n"
        "A running agent reads the message after its current tool calls. An agent that has ended continues in the"
        " background with everything that it knew; you are notified when it ends again."
    )
    input_type = SendMessageInput
    schema: ClassVar[JsonSchema] = input_schema(
        {
            "to": {"type": "string"},
            "summary": {"type": "string", "maxLength": 200},
            "message": {"type": "string"},
        },
        ["to", "message"],
    )

    def __init__(self, live: LiveAgents, resume: Resume, sender: AgentIdentity | None = None) -> None:
        """`sender` is the agent that has the tool; None for the main agent."""
        self._live, self._resume, self._sender = live, resume, sender

    async def run(self, request: SendMessageInput, *, call_id: str) -> ToolResult:
        """Send the message."""
        if (rejection := _rejected(request)) is not None:
            return rejection
        if request.to == MAIN:
            return self._to_main(request.message)
        if (agent := self._live.find(request.to)) is not None:
            if agent.queue_message(request.message):
                return _answer(f"Message queued for delivery to {request.to} at its next tool round.", is_sent=True)
            await agent.ended.wait()  # it ends what its calls left running: then it can be continued
        if _AGENT_ID.fullmatch(request.to) is None:
            return _answer(
                f"No agent named '{request.to}' is currently addressable. Spawn a new one or use the agent ID.",
                is_sent=False,
            )
        return self._continue_agent(request.to, request.message, call_id)

    def _to_main(self, text: str) -> ToolResult:
        if self._sender is None:
            return _answer(
                'You are the main conversation — "main" addresses you. Send to a named agent instead.', is_sent=False
            )
        self._live.send_to_main(self._sender, text)
        return _answer("Message queued for the main conversation's next turn.", is_sent=True)

    def _continue_agent(self, agent_id: str, text: str, call_id: str) -> ToolResult:
        try:
            agent = self._resume(agent_id, text, call_id)
        except Error as error:
            return _answer(f'Agent "{agent_id}" could not be resumed: {error.message}', is_sent=False)
        output_file: Path = self._live.start(agent)
        return _answer(
            f'Agent "{agent_id}" had no active task; resumed from transcript in the background with your message.'
            f" You'll be notified when it finishes. Output: {output_file}",
            is_sent=True,
            resumedAgentId=agent_id,
        )


def _rejected(request: SendMessageInput) -> ToolResult | None:
    if not request.to.strip():
        return rejected_call("to must not be empty")
    if request.to == "*":
        return rejected_call('broadcast (to: "*") is no longer supported — send a message per recipient')
    if not (request.summary or "").strip():
        return rejected_call("summary is required when message is a string")
    return None


def _answer(text: str, *, is_sent: bool, **more: Any) -> ToolResult:
    detail = {"success": is_sent, "message": text, **more}
    shown = json.dumps(detail, ensure_ascii=False, separators=(",", ":"))
    return ToolResult([{"type": "text", "text": shown}], detail=detail)
