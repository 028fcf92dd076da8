"""Runs one hook of type prompt: a model says whether its condition is met."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from bridle.agent.hooks.definitions import PromptHook
from bridle.agent.hooks.outcome import Condition, HookOutput
from bridle.errors import Error
from bridle.wire.events.loose_json import from_json, to_bytes

Ask: TypeAlias = Callable[[PromptHook, str, str], Awaitable[str]]
"""Asks a model, for a hook and an event, the question; returns the text of its answer."""

SYSTEM = (
    "You decide whether the condition of a hook of a coding agent is met. Answer with a JSON object alone: "
    '{"ok": true, "reason": "<why it is met>"} or {"ok": false, "reason": "<why it is not met>"}. '
    "Always give a reason."
)
"""The system prompt of the request."""
OF_CONVERSATION = (
    " The conversation so far is above the condition: decide by what it shows, and do not take a claim for a fact. "
    'Add "impossible": true if the condition can never be met in this session.'
)
"""What follows for the end of a turn, whose request has the conversation."""
FORMAT: dict[str, Any] = {
    "type": "json_schema",
    "schema": {
        "type": "object",
        "properties": {
            "ok": {"type": "boolean"},
            "reason": {"type": "string"},
            "impossible": {"type": "boolean"},
        },
        "required": ["ok", "reason"],
        "additionalProperties": False,
    },
}
"""The form of the answer, as the endpoint is asked for it."""
_ARGUMENTS = "$ARGUMENTS"
# The events that have no prompt hooks: no turn runs.
_WITHOUT = ("SessionStart", "SessionEnd", "Setup")
# The events whose question is about the whole conversation.
STOPS = ("Stop", "SubagentStop")
_QUESTION = "Does the conversation above meet this condition? Decide by what it shows alone.\n\nCondition: {text}"


async def run_prompt(hook: PromptHook, event: str, payload: dict[str, Any], ask: Ask) -> HookOutput:
    """Ask the model; an answer that cannot be used decides nothing."""
    if event in _WITHOUT:
        return HookOutput(hook.name, None, stderr=f"a hook of type prompt cannot handle {event}: use type command")
    try:
        async with asyncio.timeout(hook.timeout_seconds):
            answer = await ask(hook, event, question(hook, event, payload))
    except TimeoutError:
        return HookOutput(hook.name, None, stderr=f"no answer within {hook.timeout_seconds:g} s")
    except Error as error:
        return HookOutput(hook.name, None, stderr=error.message)
    condition = _condition(answer, continues=hook.continues)
    if condition is None:
        return HookOutput(hook.name, None, stderr=f"the answer is not a JSON object with ok and reason: {answer}")
    return HookOutput(hook.name, condition=condition)


def question(hook: PromptHook, event: str, payload: dict[str, Any]) -> str:
    """Return the prompt with the event as JSON: at `$ARGUMENTS`, or after it."""
    data = to_bytes(payload).decode()
    has_place = _ARGUMENTS in hook.prompt
    text = hook.prompt.replace(_ARGUMENTS, data) if has_place else f"{hook.prompt}\n\nARGUMENTS: {data}"
    return _QUESTION.format(text=text) if event in STOPS else text


def _condition(answer: str, *, continues: bool) -> Condition | None:
    match from_json(answer.strip().encode("utf-8", "surrogatepass")):
        case {"ok": bool(is_met), **rest}:
            reason = rest.get("reason")
            # What can never be met does not send the model back.
            is_over = is_met or rest.get("impossible") is True
            return Condition(is_over, reason if isinstance(reason, str) else "", continues)
    return None
